// Assertions about the client: the report, the sinks, and the messages of both: node --test assertions.test.mjs
import assert from 'node:assert';
import { after, before, beforeEach, test } from 'node:test';
import { MessageHeaders, Petstore, PetstoreError } from 'petstore-server';

let shop;
before(async () => {
  shop = await Petstore.start({ demo: 3, settings: { 'free-minute': 3, 'sandbox-journal-body': 100 } });
});
beforeEach(async () => {
  await shop.clock.restore();
  await shop.reset();
});
after(() => shop.stop());

/** Sends a request as a client would, and returns the status; 0 without an answer. */
async function send(method, path, body) {
  const headers = { 'X-API-Key': shop.key, 'Content-Type': 'application/json' };
  try {
    const response = await fetch(shop.url + path, { method, headers, body: body && JSON.stringify(body) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

test('a report without breaches passes', async () => {
  (await shop.report()).assertKept();
  await send('GET', '/pets');
  (await shop.report()).assertKept('one-credential');
});

test('a broken rule is told with the requests that prove it', async () => {
  await shop.faults.plan([{ route: '/pets', first: 1, status: 503, retryAfter: 30 }, { method: 'POST', first: 1, drop: true }]);
  assert.deepEqual([await send('GET', '/pets'), await send('GET', '/pets')], [503, 200]);
  assert.deepEqual([await send('POST', '/categories', { name: 'Newts' }), await send('POST', '/categories', { name: 'Newts' })], [0, 201]);
  const report = await shop.report();
  assert(report.isBroken);
  assert.match(String(report), /^pet_\S+: 4 requests, broken\n  waits: It came .*\n(.*\n)*  retries-safely: It repeats/);
  // The evidence does not depend on the journal any more.
  await shop.reset();
  const failed = assertThrown(() => report.assertKept('gives-up', 'heeds-deprecation'));
  assert.equal(failed.name, 'RulesBroken');
  assert.equal(failed.report, report);
  const lines = failed.message.split('\n');
  for (const beginning of [
    'the client does not keep the rules',
    `waits is broken by the client with the key ${shop.key.slice(0, 12)}…: a client sends nothing before the Retry-After`,
    '  It came ',
    '  advice: Wait 30 s, as `Retry-After: 30` said, before the next request.',
    '    #1 ',
    '    #2 ',
    'retries-safely is broken by the client with the key',
    '  It repeats a POST whose first attempt had no Idempotency-Key',
    '    #3 ',
    '    #4 ',
    'heeds-deprecation is untested: no request met what the rule is about',
  ]) {
    const place = lines.findIndex((line) => line.startsWith(beginning));
    assert(place >= 0, `${beginning}\n${failed.message}`);
    lines.splice(0, place + 1);
  }
  assert.match(failed.message, / GET \/v1\/pets 503 unavailable\n/);
  assert.match(failed.message, / POST \/v1\/categories dropped\n/);
});

function assertThrown(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing was thrown');
}

test('a rule that does not exist is a mistake of the test', async () => {
  await send('GET', '/pets');
  const report = await shop.report();
  assert.throws(() => report.assertKept('wait'), { name: 'TypeError', message: /^there is no rule wait; the rules are waits, backs-off, / });
});

test('a webhook is awaited in its sink', async () => {
  await shop.clock.freeze();
  const sink = shop.sink('orders');
  await sink.answer({ status: 503, first: 1 });
  assert.equal(await send('POST', '/webhooks', { url: sink.url }), 201);
  assert.equal(await send('POST', '/categories', { name: 'Newts' }), 201);
  const [first] = await sink.wait();
  assert.deepEqual([first.sequence, first.signature, first.duplicate, first.status], [1, 'valid', false, 503]);
  assert.equal(first.json().type, 'category.created');
  const { count, left } = await shop.settle();
  assert.deepEqual([count, left[0].eventId], [1, first.headers.get('Webhook-Id')]);
  await shop.clock.set(left[0].nextAttemptAt);
  assert.equal((await shop.settle()).count, 0);
  const [second] = await sink.deliveries({ after: 1 });
  assert.deepEqual([second.duplicate, second.status], [true, 204]);
  const few = { name: 'NotDelivered', message: /^expected 3 requests in the sink orders within 1 s, 2 came:\n  #1 evt_\w+ valid 503\n  #2 .* duplicate 204$/ };
  await assert.rejects(sink.wait({ count: 3, seconds: 1 }), few);
  await sink.delete();
  assert.deepEqual(await sink.deliveries(), []);
});

test('deliveries that do not settle are told', async () => {
  const sink = shop.sink('slow');
  await sink.answer({ delay: '5s' });
  await send('POST', '/webhooks', { url: sink.url });
  await send('POST', '/categories', { name: 'Newts' });
  const late = { name: 'NotDelivered', message: /attempts are still due or in flight after 1 s; 1 deliveries are left/ };
  await assert.rejects(shop.settle({ seconds: 1 }), late);
});

test('a secret of a sink checks signatures', async () => {
  const sink = shop.sink('other');
  await sink.answer([], { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' });
  await (await fetch(sink.url, { method: 'POST', body: '{}' })).arrayBuffer();
  const [unsigned] = await sink.wait();
  assert.equal(unsigned.signature, 'unsigned');
  assert(unsigned.why);
});

test('requests are objects', async () => {
  const now = await shop.clock.freeze();
  await send('POST', '/pets?x=%20y', { name: '' });
  const [request] = await shop.requests({ count: 1 });
  assert.deepEqual([request.path, request.query.get('x'), request.status, request.code], ['/v1/pets', ' y', request.answer.status, request.answer.code]);
  assert.deepEqual([request.json(), request.headers.get('CONTENT-type')], [{ name: '' }, 'application/json']);
  assert(request.answer.text.startsWith(`{"code":"${request.code}"`));
  assert.equal(Number(request.at), Number(now));
  assert.match(String(request), /^#1 \d\d:\d\d:\d\d\.\d{3} POST \/v1\/pets\?x=%20y 400 \w+$/);
});

test('a body that was cut is no JSON', async () => {
  await send('POST', '/categories', { name: 'x'.repeat(200) });
  await send('GET', '/pets/1');
  const [cut, empty] = await shop.requests({ count: 2 });
  assert.throws(() => cut.json(), { message: /^of 211 bytes of the body the server kept 100: raise the setting sandbox-journal-body$/ });
  assert.throws(() => empty.json(), PetstoreError);
  assert.deepEqual([empty.body.length, empty.text, empty.bodyBytes], [0, '', 0]);
});

test('headers have no case', () => {
  const headers = new MessageHeaders([['accept', 'a'], ['X-Id', '1'], ['Accept', 'b']]);
  assert.deepEqual([headers.get('ACCEPT'), headers.all('accept'), headers.get('none')], ['a, b', ['a', 'b'], undefined]);
  assert.deepEqual(JSON.parse(JSON.stringify(headers)), { accept: 'a, b', 'x-id': '1' });
  assert(headers.has('x-id') && !headers.has('y'));
});

test('the last requests of a failed test are told with the bodies of errors', async () => {
  assert.equal(await shop.lastRequests(), `Last requests of ${shop.url}\nit has received none`);
  await shop.faults.plan({ route: '/categories', status: 503 });
  for (const path of ['/pets?limit=2', '/pets/77777', '/categories']) await send('GET', path);
  const lines = (await shop.lastRequests()).split('\n').slice(1);
  assert.match(lines[0], /^#1 .* GET \/v1\/pets\?limit=2 200$/);
  assert.match(lines[1], /^#2 .* GET \/v1\/pets\/77777 404 not_found$/);
  assert.match(lines[2], /^ {4}\{"code":"not_found"/);
  assert.match(lines[3], /^#3 .* 503 unavailable; planned failure: /);
  assert.equal((await shop.lastRequests({ limit: 1 })).split('\n')[1], lines[3]);
});
