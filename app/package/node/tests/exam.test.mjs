// Exams of functions: node --test exam.test.mjs
import assert from 'node:assert';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { exam, Petstore } from 'petstore-server';

/** Sends a request. Returns the status; 0 without an answer. */
async function send(shop, method, path, { body, headers } = {}) {
  try {
    const all = { 'X-API-Key': shop.key, 'Content-Type': 'application/json', ...headers };
    const response = await fetch(shop.url + path, { method, headers: all, body: body && JSON.stringify(body) });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

/** Repeats an order without an answer with the same key. */
async function careful(shop) {
  const order = { body: { petId: 3 }, headers: { 'Idempotency-Key': crypto.randomUUID() } };
  const status = (await send(shop, 'POST', '/store/orders', order)) || (await send(shop, 'POST', '/store/orders', order));
  assert.equal(status, 201);
}

/** Repeats an order without an answer, and without a key. */
async function careless(shop) {
  const order = { body: { petId: 3 } };
  (await send(shop, 'POST', '/store/orders', order)) || (await send(shop, 'POST', '/store/orders', order));
}

async function failing(shop) {
  await send(shop, 'GET', '/pets');
  throw new RangeError('no pet is good enough');
}

test('a function is examined in each scenario', async () => {
  const begun = [];
  const report = await exam((shop) => (begun.push(shop), careful(shop)), { scenarios: ['calm', 'lost-answers'] });
  report.assertKept('retries-safely');
  assert.deepEqual(begun.map(({ scenario }) => scenario), ['calm', 'lost-answers']);
  assert.deepEqual(report.scenarios.map(({ name }) => name), ['calm', 'lost-answers']);
  assert.notEqual(begun[0].key, begun[1].key);
  assert(begun[0].sandboxUrl.endsWith('/sandbox'));
  const lost = report.scenario('lost-answers');
  assert.deepEqual(lost.requests.map(({ outcome }) => outcome), ['dropped', 'sent']);
  assert.deepEqual([lost.passed, lost.mustPass, lost.rule('retries-safely').verdict], [true, false, 'kept']);
  assert(lost.proves.includes('retries-safely'));
  const [first, second] = lost.requests.map(({ headers }) => headers.get('Idempotency-Key'));
  assert.equal(first, second);
  assert.equal(report.isBroken, false);
  assert.match(String(report), /^calm .*\nlost-answers  \w+ +2 requests, succeeded$/);
});

test('a broken rule is told with the requests that prove it', async () => {
  const report = await exam(careless, { scenarios: 'lost-answers' });
  assert(report.isBroken);
  assert.throws(() => report.assertKept('waits'), (failed) => {
    const lines = failed.message.split('\n');
    assert.deepEqual([failed.name, failed.report, lines[0]], ['ExamFailed', report, 'the client does not pass the exam']);
    assert.match(lines[1], /^lost-answers: retries-safely is broken: a client repeats a POST/);
    assert.match(lines[3], /^lost-answers: {3}advice: Send a new `Idempotency-Key`/);
    assert.match(lines[4], / POST \/v1\/store\/orders 201 dropped$/);
    assert.match(lines[5], / POST \/v1\/store\/orders 409 pet_not_available$/);
    assert.equal(lines.at(-1), 'waits is untested: no request met what the rule is about in lost-answers');
    return true;
  });
});

test('the end of a long error is in the report, also if it begins with half of a character', async () => {
  const long = `${'🐦'.repeat(5_000)}!`;
  const report = await exam(async (shop) => (await send(shop, 'GET', '/pets'), Promise.reject(long)), { scenarios: 'calm' });
  assert.equal(report.scenario('calm').output, `\ufffd${'🐦'.repeat(3_999)}!`);
});

test('an error is a failure where the client has to succeed', async () => {
  const report = await exam(failing, { scenarios: ['calm', 'malformed'] });
  assert.deepEqual(report.scenarios.map(({ passed }) => passed), [false, false]);
  const expected = /calm: the client failed, and has to succeed in this scenario\ncalm: {3}RangeError: no pet is good enough$/;
  assert.throws(() => report.assertKept(), { name: 'ExamFailed', message: expected });
  for (const scenario of ['calm', 'busy']) {
    const silent = await exam(() => {}, { scenarios: scenario });
    assert.throws(() => silent.assertKept(), { message: new RegExp(`${scenario}: no request arrived`) });
  }
});

test('a scenario may be a file', async () => {
  writeFileSync('down.toml', "title = 'All is down'\nproves = ['gives-up']\npasses = 'may'\n[[faults]]\nstatus = 503\n");
  const report = await exam((shop) => send(shop, 'GET', '/pets'), { scenarios: 'down.toml' });
  assert.deepEqual(report.scenarios[0].requests.map(({ status, code }) => [status, code]), [[503, 'unavailable']]);
});

test('a wrong scenario and a wrong binary are named', async () => {
  await assert.rejects(exam(careful, { scenarios: 'buzy' }), { name: 'PetstoreError', message: /exit code 2: .*buzy: there is none with this name/ });
  await assert.rejects(exam(careful, { scenarios: './nowhere.toml' }), { message: /exit code 2: .*nowhere\.toml/ });
  await assert.rejects(exam(careful, { binary: './nowhere' }), { name: 'PetstoreNotAvailable', message: /nowhere cannot be started: no such file/ });
  const report = await exam(careful, { scenarios: 'calm' });
  assert.throws(() => report.scenario('busy'), { name: 'TypeError', message: 'there is no scenario busy in this exam; it has calm' });
  assert.throws(() => report.assertKept('wait'), { name: 'TypeError', message: /^there is no rule wait; the rules are waits, / });
});

test('a running petstore is examined and left as it was', async () => {
  const shop = await Petstore.start({ demo: 10 });
  try {
    (await exam(careful, { scenarios: 'lost-answers', on: shop })).assertKept('retries-safely');
    assert.deepEqual(await shop.faults.planned(), []);
    assert.equal((await shop.requests({ route: '/store/orders' })).length, 2);
  } finally {
    await shop.stop();
  }
});
