// Tests that run side by side against one server: node --test scopes.test.mjs
import assert from 'node:assert';
import { after, before, beforeEach, test } from 'node:test';
import { Petstore } from 'petstore-server';

/** The tests that each of two workers runs. */
const ROUNDS = 10;

let shop;
before(async () => {
  shop = await Petstore.start({ demo: 3 });
});
beforeEach(() => shop.reset());
after(() => shop.stop());

/** Sends a request as a client would, which names its test. Returns the status; 0 without an answer. */
async function send(scope, method, path, body) {
  const headers = { 'X-API-Key': shop.key, 'Content-Type': 'application/json', 'Idempotency-Key': scope.name, ...scope.headers };
  try {
    const response = await fetch(shop.url + path, { method, headers, body: body && JSON.stringify(body) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

/** The first answer to a POST is lost, and the client repeats it safely. */
async function lost(round) {
  const scope = shop.scope(`create.${round}`);
  await scope.faults.plan({ method: 'POST', first: 1, when: 'after', drop: true });
  const create = () => send(scope, 'POST', '/categories', { name: scope.name });
  assert.deepEqual([await create(), await create(), await send(scope, 'GET', '/pets')], [0, 201, 200]);
  const received = await scope.requests({ count: 3 });
  assert.deepEqual(received.map(({ answer }) => answer.outcome), ['dropped', 'sent', 'sent']);
  assert(received.every(({ headers }) => headers.get('X-Test-Id') === scope.name));
  assert.deepEqual((await scope.faults.planned()).map(({ calls, acted }) => [calls, acted]), [[2, 1]]);
  (await scope.report()).assertKept('retries-safely');
  await scope[Symbol.asyncDispose]();
}

/** A list is refused, and the client does not wait. */
async function refused(round) {
  const scope = shop.scope(`list.${round}`, { header: 'X-Case' });
  await scope.faults.plan([{ status: 500 }, { status: 429 }]);
  await scope.faults.plan([{ method: 'GET', first: 1, status: 503, retryAfter: 30 }]);
  const list = () => send(scope, 'GET', '/pets');
  assert.deepEqual([await list(), await list(), await send(scope, 'POST', '/categories', { name: scope.name })], [503, 200, 201]);
  assert.deepEqual((await scope.requests({ count: 3 })).map(({ status }) => status), [503, 200, 201]);
  assert.equal((await scope.requests({ status: 503, key: shop.key })).length, 1);
  const report = await scope.report({ key: shop.key });
  assert.deepEqual(report.clients.map(({ requests }) => requests), [3]);
  assert.throws(() => report.assertKept(), { name: 'RulesBroken', message: /waits is broken/ });
  assert.match(await scope.lastRequests(), new RegExp(`^Last requests of list\\.${round}\\n#\\d+ .* 503 unavailable; planned failure: `));
  await scope.end();
}

test('two workers see their own failures, requests and verdicts only', async () => {
  const worker = async (one) => {
    for (let round = 0; round < ROUNDS; round++) await one(round);
  };
  await Promise.all([worker(lost), worker(refused)]);
  assert.deepEqual(await shop.faults.planned(), []);
  assert.equal((await shop.requests()).length, 2 * 3 * ROUNDS);
});

test('rules are added and removed one by one', async () => {
  const ids = (rules) => rules.map(({ id }) => id);
  await shop.faults.plan({ route: '/inventory', status: 500 });
  const scope = shop.scope('orders.create');
  const [, second] = await shop.faults.add([{ grow: true }, { percent: 1, drop: true }]);
  const [own] = await scope.faults.add({ drop: true });
  assert.deepEqual(own.header, { name: 'x-test-id', value: 'orders.create' });
  await shop.faults.remove(second.id);
  await assert.rejects(shop.faults.remove(second.id), { name: 'SandboxError', status: 404 });
  assert.deepEqual(ids(await scope.faults.planned()), [own.id]);
  assert.equal((await shop.faults.planned()).length, 3);
  await scope.end();
  assert.deepEqual(await scope.faults.planned(), []);
  assert.equal((await shop.faults.planned()).length, 2);
});

test('a name that no header can have is refused', async () => {
  for (const name of ['größer', '', ' a', 'a\n']) assert.throws(() => shop.scope(name), { name: 'TypeError', message: /cannot name a scope/ });
  await assert.rejects(shop.scope('a', { header: 'no header' }).faults.plan({ status: 503 }), { name: 'SandboxError', status: 400 });
  const other = { status: 503, header: { name: 'x-test-id', value: 'b' } };
  await assert.rejects(shop.scope('a').faults.add(other), { name: 'TypeError', message: /is for its own header/ });
  assert.deepEqual(await shop.faults.planned(), []);
});
