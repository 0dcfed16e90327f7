// The console of a sandbox at work: its address, marks, faults as a reader changes them, and a request that is sent again.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DESK, axe, claim, open, shot, told, until, withBrowser } from './browser.mjs';

const run = promisify(execFile);
const json = { 'content-type': 'application/json' };
const ask = (path, options = {}) =>
  fetch(`${told.origin}/v1${path}`, { ...options, headers: { 'x-api-key': told.key, ...options.headers } });
const sandbox = async (method, path, body) => {
  const response = await fetch(`${told.origin}/sandbox/${path}`, { method, headers: json, body: body && JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.status === 204 ? null : response.json();
};
const visit = async (page, fragment) => {
  await page.goto('about:blank');
  await page.goto(`${told.origin}/sandbox#${fragment}`);
  await page.waitForSelector(`#${fragment.split(/[/?]/)[0]}:not([hidden])`);
};
const rows = (page) => page.locator('#list [role=option]');
const title = (page) => page.locator('#detail #detail-title');
const isLive = (page) => until('the stream is open', async () => (await page.locator('#live').textContent()) === 'Live');
const colour = (locator) => locator.evaluate((element) => getComputedStyle(element).color);
/** Returns the faults of a page; a page that is left ends its stream and its readings. */
const without = (faults, ...expected) => faults.filter((fault) => !['net::ERR_ABORTED', ...expected].some((text) => fault.includes(text)));
const planned = async () => (await sandbox('GET', 'faults')).faults.map(({ id, calls, acted, ...rule }) => rule);

/** The list, its colours and its address. */
async function list(browser) {
  const { page, context, faults } = await open(browser);
  await claim('an address with a broken escape does not stop the page', async () => {
    for (const fragment of ['requests/%', 'requests/%E0%A4', 'report/%zz', 'requests/%00?sequence=%']) {
      await visit(page, fragment);
      await isLive(page);
    }
  });
  await ask('/pets');
  await sandbox('PUT', 'faults', { faults: [{ method: 'POST', route: '/categories', when: 'after', drop: true, first: 1 }] });
  await assert.rejects(ask('/categories', { method: 'POST', headers: json, body: '{"name":"Newts"}' }));
  await sandbox('DELETE', 'faults');
  for (const path of ['/pets/1', '/pets?limit=1', '/pets/99']) await ask(path);
  await visit(page, 'requests');
  await claim('an answer that was lost has the colour of a failure', async () => {
    const status = rows(page).filter({ hasText: 'dropped' }).locator('.status');
    const bad = await page.evaluate(() => {
      const sample = document.createElement('i');
      sample.className = 's5';
      document.body.append(sample);
      const { color } = getComputedStyle(sample);
      sample.remove();
      return color;
    });
    assert.equal(await colour(status), bad);
    await rows(page).filter({ hasText: 'dropped' }).click();
    await title(page).filter({ hasText: 'dropped' }).waitFor();
    assert.equal(await colour(title(page).locator('.status')), bad);
  });
  await claim('filters and the chosen request are in the address, which shows both again', async () => {
    await page.locator('#filter-status').selectOption('2xx');
    await page.locator('#filter-target').fill('limit=1');
    await rows(page).filter({ hasText: 'limit=1' }).click();
    await title(page).filter({ hasText: '/v1/pets?limit=1' }).waitFor();
    const address = page.url();
    assert.match(address, /#requests\/[^?]+\?target=limit%3D1&status=2xx&sequence=\d+$/);
    await page.goto('about:blank');
    await page.goto(address);
    await title(page).filter({ hasText: '/v1/pets?limit=1' }).waitFor();
    assert.equal(await page.locator('#filter-target').inputValue(), 'limit=1');
    assert.equal(await rows(page).count(), 1);
    assert.equal(page.url(), address);
  });
  await claim('a filter that hides the chosen request closes it', async () => {
    await page.locator('#filter-target').fill('');
    await title(page).filter({ hasText: '/v1/pets?limit=1' }).waitFor();
    await page.locator('#filter-status').selectOption('4xx');
    await title(page).filter({ hasText: 'Choose a request' }).waitFor();
    assert.ok(!page.url().includes('sequence'), page.url());
    await page.locator('#filter-status').selectOption('');
  });
  await claim('a text is found in codes and in bodies, also of requests that come later', async () => {
    await page.locator('#filter-text').fill('NOT_FOUND');
    await until('the error is found by its code', async () => (await rows(page).allTextContents()).join().includes('/v1/pets?limit=1') === false);
    await ask('/categories', { method: 'POST', headers: { ...json }, body: '{"name":"Wombats"}' });
    await page.locator('#filter-text').fill('wombat');
    await rows(page).filter({ hasText: 'POST' }).waitFor();
    assert.equal(await rows(page).count(), 1);
    await ask('/categories', { method: 'POST', headers: { ...json }, body: '{"name":"More wombats"}' });
    await until('the later one is found', async () => (await rows(page).count()) === 2);
    assert.match(page.url(), /text=wombat/);
    await page.locator('#filter-text').fill('');
    await until('all are back', async () => (await rows(page).count()) > 4);
  });
  await claim('a request leads to a fault for its route', async () => {
    await rows(page).filter({ hasText: '/v1/pets/1' }).click();
    await title(page).filter({ hasText: '/v1/pets/1' }).waitFor();
    await page.getByRole('button', { name: 'Plan a fault' }).click();
    await page.getByRole('button', { name: 'Add the rule' }).click();
    await page.locator('#faults-rows tr').first().waitFor();
    assert.deepEqual(await planned(), [{ method: 'GET', route: '/pets/{petId}', first: 1, status: 503, code: 'unavailable', retryAfter: 1 }]);
    await sandbox('DELETE', 'faults');
  });
  await claim('a request is sent again, with a key of its account', async () => {
    await ask('/categories', { method: 'POST', headers: { ...json, 'idempotency-key': 'again' }, body: '{"name":"Rabbits \u{1f430}"}' });
    await visit(page, 'requests');
    await rows(page).filter({ hasText: 'POST' }).first().click();
    await title(page).filter({ hasText: 'POST' }).waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.locator('#messages').getByText('The request was sent again: 201, with a new key of its account.').waitFor();
    const [again] = (await sandbox('GET', 'requests?method=POST&limit=1'));
    assert.equal(again.body, '{"name":"Rabbits \u{1f430}"}');
    const of = (name) => again.answer.headers.find(([its]) => its === name)?.[1];
    assert.equal(of('idempotent-replayed'), 'true', 'the account and the headers are the same');
  });
  assert.deepEqual(without(faults), []);
  await context.close();
}

/** The plan of faults. */
async function plan(browser) {
  const { page, context, faults } = await open(browser, DESK);
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: told.origin });
  const form = page.locator('#fault-form');
  const one = (name) => form.locator(`[name=${name}]`);
  await visit(page, 'faults');
  await claim('rules to begin with stay, and each is added to the plan', async () => {
    for (const [index, name] of ['The first read fails', 'Every tenth call is slow', 'The first read fails'].entries()) {
      await page.getByRole('button', { name }).click();
      await until('it is planned', async () => (await page.locator('#faults-rows tr').count()) === index + 1);
    }
  });
  await claim('the bar of every panel says that faults are planned and that the clock is another one', async () => {
    await sandbox('POST', 'clock', { advance: '36h' });
    await visit(page, 'keys');
    await page.locator('#bar-faults', { hasText: '3 faults planned' }).waitFor();
    await page.locator('#bar-shift', { hasText: /^Clock \+1.d 12.h$/ }).waitFor();
    await sandbox('POST', 'clock', { freeze: true });
    await page.locator('#bar-shift', { hasText: 'Clock stopped' }).waitFor();
    await shot(page, 'console-badges');
    await sandbox('DELETE', 'clock');
    await until('the clock has no mark', async () => !(await page.locator('#bar-shift').isVisible()));
    await page.locator('#bar-faults').click();
    await page.waitForSelector('#faults:not([hidden])');
  });
  await claim('a field that is refused is marked until it changes', async () => {
    await one('latency').fill('soon');
    await page.getByRole('button', { name: 'Add the rule' }).click();
    await form.locator('[name=latency][aria-invalid=true]').waitFor();
    assert.match(await one('latency').evaluate((field) => field.validationMessage), /duration such as/);
    assert.equal(await form.locator('[aria-invalid]').count(), 1);
    assert.ok(await one('latency').evaluate((field) => field === document.activeElement));
    await one('latency').fill('');
    assert.equal(await form.locator('[aria-invalid]').count(), 0);
    await one('trigger').selectOption('percent');
    await one('amount').fill('101');
    await page.getByRole('button', { name: 'Add the rule' }).click();
    await form.locator('[name=amount][aria-invalid=true]').waitFor();
    await one('trigger').selectOption('always');
  });
  await claim('a rule is edited in its place', async () => {
    await page.getByRole('button', { name: /Edit the rule 2/ }).click();
    await page.getByRole('heading', { name: 'Edit the rule 2' }).waitFor();
    assert.deepEqual([await one('trigger').inputValue(), await one('amount').inputValue(), await one('latency').inputValue()], ['percent', '10', '2s']);
    assert.deepEqual(await axe(page), []);
    await one('amount').fill('20');
    await page.getByRole('button', { name: 'Save the rule' }).click();
    await page.getByRole('row', { name: /20 % of calls/ }).waitFor();
    const rules = await planned();
    assert.deepEqual([rules.length, rules[1]], [3, { percent: 20, latency: '2s' }]);
    await page.getByRole('heading', { name: 'Add a rule' }).waitFor();
  });
  await claim('every rule survives the form unchanged', async () => {
    const all = [
      { when: 'after', drop: true }, { drop: true }, { status: 503, code: 'overloaded', retryAfter: 7, when: 'after' }, { status: 403, code: 'key_banned' },
      { body: 'slow', bytesPerSecond: 7 }, { body: 'truncate' }, { grow: true }, { exhaust: 'day' }, { latency: '1s', jitter: '2s', when: 'after' },
      { method: 'HEAD', route: '/pets', first: 3, latency: '5ms' },
      { key: 'pet_4f', header: { name: 'x-test-id', value: ' orders.create' }, via: 'mcp', skip: 2, percent: 10, drop: true }, { via: 'http', grow: true },
      ...[0, 90, null, 'soon', '120.5', { date: '+90s' }, { date: '-3600s' }].map((retryAfter) => ({ status: 429, retryAfter })),
    ];
    await sandbox('PUT', 'faults', { seed: 7, faults: all });
    const before = await planned();
    await visit(page, 'faults');
    for (const place of all.keys()) {
      await page.getByRole('button', { name: new RegExp(`Edit the rule ${place + 1}:`) }).click();
      await page.getByRole('button', { name: 'Save the rule' }).click();
      await page.getByRole('heading', { name: 'Add a rule' }).waitFor();
    }
    assert.deepEqual(await planned(), before);
    assert.equal((await sandbox('GET', 'faults')).seed, 7);
  });
  await claim('the plan is copied as a command and as programs that set it', async () => {
    await sandbox('PUT', 'faults', { seed: 9, faults: [{ route: '/pets/{petId}', drop: true, first: 2 }, {
      key: 'pet_4f', header: { name: 'x-test-id', value: "it's true, null" }, via: 'mcp', skip: 1, status: 503, retryAfter: null,
    }, { status: 429, retryAfter: { date: '-5s' } }] });
    await visit(page, 'faults');
    const expected = await planned();
    for (const [name, program, flag] of [['curl', 'sh', '-ec'], ['Python', 'python3', '-c'], ['JavaScript', 'node', '--input-type=module']]) {
      await page.getByRole('button', { name: `Copy as ${name}` }).click();
      await page.locator('#messages').getByText('Copied.').first().waitFor();
      const text = await page.evaluate(() => navigator.clipboard.readText());
      await sandbox('DELETE', 'faults');
      await run(program, name === 'JavaScript' ? [flag, '-e', text] : [flag, text]);
      assert.deepEqual([(await sandbox('GET', 'faults')).seed, await planned()], [9, expected], `${name}: ${text}`);
    }
  });
  assert.deepEqual(without(faults, '400 (Bad Request)'), []);
  await context.close();
}

/** The report. */
async function report(browser) {
  const { page, context, faults } = await open(browser);
  await claim('the report has the worst verdict first, and its counts lead to the requests', async () => {
    await sandbox('DELETE', 'requests');
    await sandbox('PUT', 'faults', { faults: [{ route: '/pets', first: 1, status: 503, retryAfter: 60 }] });
    await ask('/pets');
    await ask('/pets');
    await visit(page, 'report');
    await page.locator('.is-broken').first().waitFor();
    const verdicts = await page.locator('.rules').first().locator('tbody .tag').allTextContents();
    const order = ['broken', 'hint', 'kept', 'untested'];
    assert.deepEqual(verdicts, verdicts.toSorted((one, other) => order.indexOf(one) - order.indexOf(other)));
    assert.ok(verdicts.includes('untested'), verdicts.join());
    await page.getByRole('link', { name: '1 rule broken' }).click();
    await page.locator('[data-rule=waits]').getByRole('link', { name: '1 finding in 1 case' }).click();
    await page.waitForSelector('#requests:not([hidden])');
    await until('the list has the requests of the rule', async () => (await page.locator('#counted').textContent()).includes('hint waits'));
    assert.equal(await rows(page).count(), 1);
  });
  assert.deepEqual(without(faults), []);
  await context.close();
}

await withBrowser(async (browser) => {
  await list(browser);
  await plan(browser);
  await report(browser);
  await claim('on a phone nothing of a plan is wider than the screen', async () => {
    await sandbox('PUT', 'faults', { faults: [{ method: 'POST', route: '/store/orders/{orderId}', first: 2, latency: '2s', jitter: '1s', status: 503 }, { percent: 10, drop: true }] });
    const { page, context } = await open(browser, { viewport: { width: 390, height: 740 }, isMobile: true, hasTouch: true });
    for (const panel of ['faults', 'requests', 'clock', 'keys', 'report']) {
      await visit(page, panel);
      await isLive(page);
      if (panel === 'faults') await page.locator('#faults-rows tr').first().waitFor();
      const wide = await page.evaluate(() => [...document.querySelectorAll('html, main, .panel:not([hidden])')]
        .filter((element) => element.scrollWidth > element.clientWidth).map((element) => `${element.localName} ${element.scrollWidth}`));
      assert.deepEqual(wide, [], panel);
      await shot(page, `console-phone-390-${panel}`);
    }
    assert.deepEqual(await axe(page), []);
    await context.close();
  });
});
