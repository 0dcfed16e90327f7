// A page of another origin: the requests that it may send and read, and that the owner can forbid them.

import assert from 'node:assert/strict';
import http from 'node:http';
import { claim, open, told, withBrowser } from './browser.mjs';
import { proxy } from './proxy.mjs';

const QUOTA = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-ratelimit-resource'];

/** Sends a request from a page, and says what the page may know of the answer. */
function ask(page, request) {
  return page.evaluate(async ({ url, method, headers, body, read }) => {
    try {
      const answer = await fetch(url, { method, headers, body });
      const seen = Object.fromEntries(read.map((name) => [name, answer.headers.get(name)]));
      return { status: answer.status, seen, body: await answer.json() };
    } catch (error) {
      return { refused: error.name };
    }
  }, { method: 'GET', headers: {}, read: QUOTA, ...request });
}

const elsewhere = http.createServer((request, response) => {
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<!doctype html><title>Elsewhere</title><link rel="icon" href="data:,">');
});
await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
const here = `http://127.0.0.1:${elsewhere.address().port}`;
const recorder = await proxy(told.origin);

try {
  await withBrowser(async (browser) => {
    const { page } = await open(browser);
    await page.goto(here);
    const key = { authorization: `Bearer ${told.key}` };
    const json = { ...key, 'content-type': 'application/json', 'idempotency-key': `browser-${process.pid}` };

    await claim('a preflighted request with a key works, and its quota can be read', async () => {
      for (const origin of [told.origin, recorder.origin]) {
        const answer = await ask(page, { url: `${origin}/v1/pets`, headers: key });
        assert.equal(answer.status, 200);
        assert.ok(answer.body.length > 0);
        for (const name of QUOTA) assert.ok(answer.seen[name], name);
      }
      assert.deepEqual(recorder.seen, ['OPTIONS /v1/pets', 'GET /v1/pets']);
    });
    await claim('a change works, and its place, its tag and its repetition can be read', async () => {
      const request = {
        url: `${told.origin}/v1/pets`, method: 'POST', headers: json,
        body: JSON.stringify({ name: 'Bigwig', categoryId: 1 }), read: ['location', 'etag', 'idempotent-replayed'],
      };
      const made = await ask(page, request);
      assert.equal(made.status, 201);
      assert.equal(made.seen.location, `/v1/pets/${made.body.id}`);
      const again = await ask(page, request);
      assert.deepEqual([again.body, again.seen['idempotent-replayed']], [made.body, 'true']);
      const headers = { ...key, 'content-type': 'application/merge-patch+json', 'if-match': made.seen.etag };
      const changed = await ask(page, {
        url: `${told.origin}/v1/pets/${made.body.id}`, method: 'PATCH', headers, body: '{"name":"Hazel"}',
      });
      assert.deepEqual([changed.status, changed.body.name], [200, 'Hazel']);
    });
    await claim('a refusal can be read too', async () => {
      const answer = await ask(page, { url: `${told.origin}/v1/pets`, read: ['www-authenticate'] });
      assert.deepEqual([answer.status, answer.body.code], [401, 'missing_api_key']);
      assert.match(answer.seen['www-authenticate'], /^Bearer/);
    });
    await claim('where CORS is off nothing is sent that needs leave, and nothing can be read', async () => {
      const before = await pets();
      for (const request of [
        { url: `${told.off}/v1/pets`, headers: key },
        { url: `${told.off}/v1/pets`, method: 'POST', headers: json, body: '{"name":"Woundwort","categoryId":1}' },
        { url: `${told.off}/v1/pets` },
      ]) {
        assert.deepEqual(await ask(page, request), { refused: 'TypeError' });
      }
      assert.deepEqual(await pets(), before);
    });
  });
} finally {
  elsewhere.close();
  recorder.close();
}

/** The data of the shop, which pages of other origins cannot read. */
async function pets() {
  const answer = await fetch(`${told.off}/v1/pets`, { headers: { authorization: `Bearer ${told.offKey}` } });
  assert.equal(answer.status, 200);
  return answer.json();
}
