// A client as many are: it follows pages, repeats an order safely and waits after a 429, but not after a 503. Its sandbox loses an
// answer and refuses a call. Its pauses move the sandbox's clock.

import http from 'node:http';

const [api, key] = process.argv.slice(2);
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

/** Sends a request; the answer has its status, its headers and its body, or it is null if it was lost. */
function exchange(method, url, headers, body) {
  return new Promise((resolve) => {
    const request = http.request(url, { method, agent, headers }, async (response) => {
      const pieces = await response.toArray();
      resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(pieces).toString() });
    });
    request.on('error', () => resolve(null));
    request.end(body && JSON.stringify(body));
  });
}

/** A request to the API. The host is that of the documents, not the port of this run. */
function ask(method, path, body, headers = {}) {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const all = { host: '127.0.0.1:8080', 'user-agent': 'pets-client/2.1', 'x-api-key': key, ...(body && { 'content-type': type }), ...headers };
  return exchange(method, api + path, all, body);
}

async function sandbox(method, path, body) {
  const { status, body: said } = await exchange(method, `${api.slice(0, -3)}/sandbox/${path}`, { 'content-type': 'application/json' }, body);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${said}`);
}

function expect(answer, status) {
  if (answer?.status !== status) throw new Error(`expected ${status}, not ${answer?.status ?? 'a lost answer'}: ${answer?.body}`);
  return answer;
}

const pause = (seconds) => sandbox('POST', 'clock', { advance: `${seconds}s` });

await sandbox('POST', 'clock', { set: '2030-01-01T12:00:00Z' });
await sandbox('PUT', 'faults', {
  faults: [
    { method: 'POST', route: '/store/orders', first: 1, when: 'after', drop: true },
    { method: 'GET', route: '/inventory', first: 1, status: 503, retryAfter: 3 },
  ],
});

const categories = expect(await ask('GET', '/categories'), 200);
expect(await ask('GET', '/categories', null, { 'if-none-match': categories.headers.etag }), 304);
for (let path = '/pets?limit=20'; path;) {
  const page = expect(await ask('GET', path), 200);
  path = /<[^>]*\/v1(\/[^>]*)>; rel="next"/.exec(page.headers.link)?.[1];
}
expect(await ask('POST', '/pets', { name: 'Hazel', categoryId: 1 }, { 'idempotency-key': 'hazel' }), 201);
expect(await ask('GET', '/inventory'), 503);
await pause(1);
expect(await ask('GET', '/inventory'), 200);
await pause(4);
expect(await ask('GET', '/pets/101'), 200);
expect(await ask('PATCH', '/pets/101', { name: 'Hazel the rabbit' }), 200);
const order = () => ask('POST', '/store/orders', { petId: 101 }, { 'idempotency-key': 'order-of-hazel' });
if (await order()) throw new Error('the answer was not lost');
await pause(1);
const { id } = JSON.parse(expect(await order(), 201).body);
expect(await ask('GET', '/pets?status=available&limit=5'), 200);
expect(await ask('GET', `/store/orders/${id}`), 200);
const ship = () => ask('PATCH', `/store/orders/${id}`, { complete: true });
expect(await ship(), 200);
const refused = expect(await ask('GET', '/store/orders?limit=5'), 429);
await pause(refused.headers['retry-after']);
expect(await ask('GET', '/store/orders?limit=5'), 200);
agent.destroy();
