// The console of a sandbox for tests that share it: rules for some clients, quota headers of other services, requests by a header, and
// calls of tools.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { DESK, axe, claim, open, shot, told, until, withBrowser } from './browser.mjs';

const json = { 'content-type': 'application/json' };
const ask = (path, headers = {}) => fetch(`${told.origin}/v1${path}`, { headers: { 'x-api-key': told.key, ...headers } });
const sandbox = async (method, path, body) => {
  const response = await fetch(`${told.origin}/sandbox/${path}`, { method, headers: json, body: body && JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.status === 204 ? null : response.json();
};
const call = (name, args) => fetch(`${told.origin}/mcp`, {
  method: 'POST', headers: { ...json, authorization: `Bearer ${told.key}`, 'user-agent': 'agent/1' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name, arguments: args } }),
});
const visit = async (page, fragment) => {
  await page.goto('about:blank');
  await page.goto(`${told.origin}/sandbox#${fragment}`);
  await page.waitForSelector(`#${fragment.split(/[/?]/)[0]}:not([hidden])`);
};
const rows = (page) => page.locator('#list [role=option]');
const message = (page, text) => page.locator('#messages .message', { hasText: text }).first().waitFor();
/** Returns the faults of a page; a page that is left ends its stream and its readings. */
const without = (faults, ...expected) => faults.filter((fault) => !['net::ERR_ABORTED', ...expected].some((text) => fault.includes(text)));
const planned = async () => (await sandbox('GET', 'faults')).faults.map(({ id, calls, acted, ...rule }) => rule);

/** The form of a rule. */
async function rules(browser) {
  const { page, context, faults } = await open(browser, DESK);
  await visit(page, 'faults');
  const form = page.locator('#fault-form');
  const one = (name) => form.locator(`[name=${name}]`);
  const add = () => page.getByRole('button', { name: 'Add the rule' }).click();
  await claim('a rule of one test is made in the form, and leaves the counts of the others', async () => {
    await sandbox('PUT', 'faults', { seed: 7, faults: [{ route: '/categories', percent: 100, latency: '1ms' }] });
    await ask('/categories');
    await page.locator('#faults-rows tr').first().waitFor();
    await form.getByLabel('Header', { exact: true }).fill('X-Test-Id');
    await form.getByLabel('Value of the header').fill('orders.create');
    await form.getByLabel('Calls to let pass').fill('1');
    await form.getByLabel('Acts on').selectOption('first');
    await one('retryForm').selectOption('text');
    await form.getByLabel('Value of Retry-After').fill('soon');
    await add();
    await page.getByRole('row', { name: /x-test-id: orders\.create.*the first call, after one that passes.*Retry-After "soon"/ }).waitFor();
    assert.deepEqual((await planned())[1], {
      header: { name: 'x-test-id', value: 'orders.create' }, skip: 1, first: 1, status: 503, code: 'unavailable', retryAfter: 'soon',
    });
    assert.equal((await sandbox('GET', 'faults')).faults[0].calls, 1, 'the count stays');
    const statuses = [];
    for (const test of ['orders.list', 'orders.create', 'orders.create', 'orders.create']) {
      statuses.push((await ask('/pets', { 'x-test-id': test })).status);
    }
    assert.deepEqual(statuses, [200, 200, 503, 200]);
    await page.getByRole('button', { name: /Remove the rule 2/ }).click();
    await until('it is removed', async () => (await planned()).length === 1);
    assert.equal((await sandbox('GET', 'faults')).faults[0].calls, 1, 'the count still stays');
  });
  await claim('a rule for a key or for tools, and Retry-After in each form', async () => {
    await sandbox('DELETE', 'faults');
    await page.reload();
    const made = [];
    for (const [retryForm, value, expected] of [['seconds', '0', 0], ['date', '-1h', { date: '-3600s' }], ['none', '', null], ['seconds', '', 1]]) {
      await one('key').fill(told.key);
      await one('via').selectOption('mcp');
      await one('retryForm').selectOption(retryForm);
      if (retryForm === 'none') assert.ok(!(await one('retryAfter').isVisible()));
      else await one('retryAfter').fill(value);
      await add();
      made.push({ key: told.key.slice(0, 12), via: 'mcp', status: 503, code: 'unavailable', retryAfter: expected });
      await until('it is planned', async () => (await planned()).length === made.length);
    }
    assert.deepEqual(await planned(), made);
    assert.ok(!(await page.content()).includes(told.key), 'the key is shown in part');
  });
  await claim('the form marks a member of a rule that is refused', async () => {
    await page.reload();
    await one('headerName').fill('not a name');
    await one('headerValue').fill('x');
    await add();
    await form.locator('[name=headerName][aria-invalid=true]').waitFor();
    await one('headerName').fill('');
    await one('headerValue').fill('');
    await one('retryForm').selectOption('date');
    await one('retryAfter').fill('tomorrow');
    await add();
    await form.locator('[name=retryAfter][aria-invalid=true]').waitFor();
    assert.deepEqual(await axe(page), []);
  });
  await sandbox('DELETE', 'faults');
  assert.deepEqual(without(faults, '400 (Bad Request)'), []);
  await context.close();
}

/** The forms of the quota headers. */
async function quotaHeaders(browser) {
  const { page, context, faults } = await open(browser, DESK);
  await visit(page, 'keys');
  const form = page.locator('#quota-form');
  const mark = page.locator('#bar-quotas');
  await claim('quota headers take another form and names, for all clients and for a key', async () => {
    await page.getByRole('row', { name: /All clients \(the setting\) x-ratelimit/ }).waitFor();
    assert.equal(await form.getByLabel('Form').locator('option').count(), 7);
    assert.ok(!(await mark.isVisible()));
    await form.getByLabel('Form').selectOption('ratelimit');
    await form.getByLabel("Name of the minute's policy").fill('burst');
    await page.getByRole('button', { name: 'Set the form' }).click();
    await message(page, 'Quota headers have the form ratelimit.');
    assert.match((await ask('/pets')).headers.get('ratelimit'), /^"burst";r=\d+;t=\d+, "day";r=/);
    await form.getByLabel("Name of the day's policy").fill('sustained');
    await page.getByRole('button', { name: 'Set the form' }).click();
    await page.getByText('The policies are named burst and sustained.').waitFor();
    await form.getByLabel('Of the key').fill(told.key);
    assert.ok(!(await form.getByLabel("Name of the day's policy").isVisible()), 'names are for all clients');
    await form.getByLabel('Form').selectOption('draft-6');
    await page.getByRole('button', { name: 'Set the form' }).click();
    await page.getByRole('row', { name: `Key ${told.key.slice(0, 12)} draft-6` }).waitFor();
    assert.ok((await ask('/pets')).headers.has('ratelimit-reset'));
    assert.ok(!(await page.content()).includes(told.key), 'the key is shown in part');
    assert.deepEqual(await axe(page), []);
  });
  await claim('a new key has a form of its own', async () => {
    await page.locator('#key-form').getByLabel('Quota headers').selectOption('none');
    await page.getByRole('button', { name: 'Make the key' }).click();
    const key = await page.locator('#new-key code').first().textContent();
    await page.getByRole('row', { name: `Key ${key.slice(0, 12)} none` }).waitFor();
    const { headers } = await ask('/pets', { 'x-api-key': key });
    assert.deepEqual([...headers.keys()].filter((name) => name.includes('ratelimit')), []);
  });
  await claim('a mark in the bar leads to the form, and goes with it', async () => {
    await visit(page, 'clock');
    await mark.filter({ hasText: 'Quota headers: ratelimit' }).click();
    await page.locator('#quota-title').waitFor();
    assert.ok(await page.evaluate(() => document.activeElement.id === 'quota-title'));
    await page.getByRole('button', { name: 'Back to the setting' }).click();
    await until('nothing is set', async () => !(await mark.isVisible()));
    assert.ok((await ask('/pets')).headers.has('x-ratelimit-reset'));
  });
  await claim('a name that is refused is marked', async () => {
    await form.getByLabel("Name of the minute's policy").fill('"');
    await page.getByRole('button', { name: 'Set the form' }).click();
    await form.locator('[name=minute][aria-invalid=true]').waitFor();
  });
  assert.deepEqual(without(faults, '400 (Bad Request)'), []);
  await context.close();
}

/** The requests of one test, those with a fault of their own, and calls of tools. */
async function requests(browser) {
  const { page, context, faults } = await open(browser, DESK);
  await sandbox('DELETE', 'requests');
  await ask('/pets?limit=1', { 'x-test-id': 'orders.list' });
  await ask('/pets?limit=2', { 'x-test-id': 'orders.create' });
  await ask('/pets?limit=3', { prefer: 'code=503, retry-after=soon' });
  await call('listPets', { limit: 4 });
  await visit(page, 'requests');
  await claim('a header and its value select requests, also those that come later', async () => {
    await until('all have come', async () => (await rows(page).count()) === 4);
    await page.locator('#requests').getByLabel('Header').fill('X-Test-Id: orders.create');
    await until('one is left', async () => (await rows(page).count()) === 1);
    await rows(page).filter({ hasText: '/v1/pets?limit=2' }).waitFor();
    for (const limit of [5, 6]) await ask(`/pets?limit=${limit}`, { 'x-test-id': limit === 5 ? 'orders.list' : 'orders.create' });
    await rows(page).filter({ hasText: '/v1/pets?limit=6' }).waitFor();
    assert.equal(await rows(page).count(), 2);
    assert.match(await page.locator('#har').getAttribute('href'), /requests\.har\?header=x-test-id%3Aorders\.create$/);
    assert.match(page.url(), /header=X-Test-Id/);
    await page.getByRole('link', { name: 'Report' }).click();
    await page.locator('#report').getByLabel('Header').fill('x-test-id:orders.list');
    await page.locator('#report-body').getByText('2 requests', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Requests' }).click();
    await page.locator('#requests').getByLabel('Header').fill('');
    await until('all are back', async () => (await rows(page).count()) === 6);
  });
  await claim('the reference opens in another tab, and the console stays as it is', async () => {
    await rows(page).filter({ hasText: '/v1/pets?limit=2' }).click();
    await page.locator('#detail-title').filter({ hasText: 'limit=2' }).waitFor();
    const address = page.url();
    for (const [name, place] of [['Operation in the reference', '/docs#/animals/listPets'], ['API reference', '/docs']]) {
      const [reference] = await Promise.all([context.waitForEvent('page'), page.getByRole('link', { name }).click()]);
      await reference.waitForURL(told.origin + place);
      await reference.close();
    }
    assert.equal(page.url(), address);
    assert.ok(await page.locator('#detail-title').filter({ hasText: 'limit=2' }).isVisible());
  });
  await claim('a fault that a request asked for, and a call of a tool, say so', async () => {
    await rows(page).filter({ hasText: '/v1/pets?limit=3' }).filter({ hasText: 'prefer' }).click();
    await page.locator('#detail .facts-list').getByText('Fault by Prefer').waitFor();
    await page.locator('#detail .facts-list').getByText('503 unavailable', { exact: true }).waitFor();
    await rows(page).filter({ hasText: '/v1/pets?limit=4 (tool listPets)' }).click();
    await page.locator('#detail .facts-list').getByText('listPets, message 7, client agent/1').waitFor();
    await page.getByRole('button', { name: 'Plan a fault' }).click();
    await page.getByRole('button', { name: 'Add the rule' }).click();
    await page.getByRole('row', { name: /GET \/pets.*calls of tools \(MCP\)/ }).waitFor();
    assert.deepEqual((await planned())[0], { via: 'mcp', method: 'GET', route: '/pets', first: 1, status: 503, code: 'unavailable', retryAfter: 1 });
    const failed = await (await call('listPets', {})).json();
    assert.equal(failed.result.structuredContent.code, 'unavailable');
  });
  assert.deepEqual(without(faults), []);
  await context.close();
}

/** The shop that a reset restores. */
async function baseline(browser) {
  const { page, context, faults } = await open(browser, DESK);
  const mark = page.locator('#bar-baseline');
  const names = async () => (await (await ask('/pets')).json()).map(({ name }) => name);
  const load = async (name, text) => {
    await page.getByLabel('File of up to 16 MiB').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    await page.getByRole('button', { name: 'Load the file' }).click();
  };
  const shop = [
    '{"category":{"name":"Newts","id":1}}', '{"pet":{"name":"Nia","categoryId":1,"status":"available","id":7}}',
    '{"inventoryItem":{"petId":7,"quantity":1,"status":"available"}}', '',
  ].join('\n');
  await visit(page, 'reset');
  await claim('a file becomes the shop that a reset restores, and a faulty one changes nothing', async () => {
    await page.locator('#baseline-state', { hasText: 'that of the start' }).waitFor();
    assert.ok(!(await mark.isVisible()));
    await load('shop.ndjson', shop);
    await message(page, 'A reset restores the file: 1 category, 1 pet, 0 orders.');
    await page.locator('#reset-what', { hasText: 'the one that a tester has set' }).waitFor();
    await load('broken.ndjson', `${shop}{"pet":{"name":"Nia"}}\n`);
    await page.locator('#messages .message.failed', { hasText: 'line 4' }).waitFor();
    assert.equal((await names()).length, 5, 'the present shop does not change');
    await page.getByRole('button', { name: 'Reset the sandbox' }).click();
    await message(page, 'The sandbox was reset');
    assert.deepEqual(await names(), ['Nia']);
    assert.deepEqual(await axe(page), []);
  });
  await claim('a mark in the bar leads to the baseline, which is saved, downloaded, and that of the start again', async () => {
    await visit(page, 'clock');
    await mark.click();
    await page.locator('#baseline-title').waitFor();
    await fetch(`${told.origin}/v1/categories`, { method: 'POST', headers: { ...json, 'x-api-key': told.key }, body: '{"name":"Toads"}' });
    await page.getByRole('button', { name: 'Save the present shop' }).click();
    await message(page, 'A reset restores the present shop: 2 categories, 1 pet, 0 orders.');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download the baseline' }).click()]);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n').map(JSON.parse);
    assert.ok(['Newts', 'Toads', 'Nia'].every((name) => lines.some(({ category, pet }) => (category ?? pet)?.name === name)), JSON.stringify(lines));
    await page.getByRole('button', { name: 'Back to the one of the start' }).click();
    await until('nothing is set', async () => !(await mark.isVisible()));
    await sandbox('POST', 'reset');
    assert.equal((await names()).length, 5);
  });
  assert.deepEqual(without(faults, '400 (Bad Request)'), []);
  await context.close();
}

await withBrowser(async (browser) => {
  await rules(browser);
  await quotaHeaders(browser);
  await requests(browser);
  await baseline(browser);
  await claim('on a phone the marks of all kinds and the forms are not wider than the screen', async () => {
    await sandbox('PUT', 'faults', { faults: [{
      key: 'pet_4f', header: { name: 'x-test-id', value: 'a-long-name-of-a-test-that-has-no-place-to-break-it' }, via: 'mcp', skip: 2, status: 503, retryAfter: 'soon',
    }] });
    await sandbox('PUT', 'quota-headers', { form: 'x-ratelimit-delta' });
    await sandbox('PUT', 'quota-headers', { form: 'none', key: 'pet_4f' });
    await sandbox('POST', 'clock', { advance: '36h' });
    await sandbox('POST', 'baseline');
    const { page, context } = await open(browser, { viewport: { width: 390, height: 740 }, isMobile: true, hasTouch: true });
    for (const panel of ['faults', 'keys', 'requests', 'report', 'reset']) {
      await visit(page, panel);
      for (const mark of ['faults', 'shift', 'quotas', 'baseline']) await page.locator(`#bar-${mark}`).waitFor();
      if (panel === 'faults') await page.locator('#faults-rows tr').first().waitFor();
      const wide = await page.evaluate(() => [...document.querySelectorAll('html, .bar, main, .panel:not([hidden])')]
        .filter((element) => element.scrollWidth > element.clientWidth).map((element) => `${element.localName} ${element.scrollWidth}`));
      assert.deepEqual(wide, [], panel);
      assert.deepEqual(await axe(page), [], panel);
      await shot(page, `console-scopes-390-${panel}`, { fullPage: true });
    }
    await context.close();
  });
});
