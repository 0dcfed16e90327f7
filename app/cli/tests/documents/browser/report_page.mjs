// The report as a page: its picture and its links, by mouse and by keyboard, in light and dark, in grey and on a phone.

import assert from 'node:assert/strict';
import { axe, claim, open, shot, told, until, withBrowser } from './browser.mjs';

const LOOKS = {
  light: { viewport: { width: 1400, height: 1000 }, colorScheme: 'light' },
  dark: { viewport: { width: 1400, height: 1000 }, colorScheme: 'dark' },
  'phone-light': { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2, colorScheme: 'light' },
  'phone-dark': { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2, colorScheme: 'dark' },
};

const json = { 'content-type': 'application/json' };
const sandbox = async (method, path, body) => {
  const response = await fetch(`${told.origin}/sandbox/${path}`, { method, headers: json, body: body && JSON.stringify(body) });
  assert.ok(response.ok, await response.clone().text());
  return response.status === 204 ? null : response.json();
};
const send = async (path, options = {}) => {
  const headers = { 'x-api-key': told.key, ...json, ...options.headers };
  await fetch(`${told.origin}/v1${path}`, { ...options, headers }).then((response) => response.text()).catch(() => {});
};
const visit = async (page, from = 'report') => {
  await page.goto(`${told.origin}/sandbox/${from}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
};

/** A client that waits once, does not wait twice, repeats an order without a key, and asks again after a day. */
async function work() {
  await sandbox('PUT', 'faults', { faults: [
    { method: 'GET', route: '/pets', first: 3, status: 503, retryAfter: 3 },
    { method: 'POST', route: '/store/orders', first: 1, drop: true },
    { route: '/inventory/{petId}', first: 1, status: 429, retryAfter: 'soon' },
  ] });
  for (const path of ['/categories', '/pets/1', '/pets']) await send(path);
  await sandbox('POST', 'clock', { advance: '3s' });
  for (const path of ['/pets', '/pets', '/pets?name=<b>']) await send(path);
  await sandbox('POST', 'clock', { advance: '4s' });
  for (let time = 0; time < 2; time += 1) await send('/store/orders', { method: 'POST', body: '{"petId": 3}' });
  for (const path of ['/pets/999', '/inventory/1', '/pets/1']) await send(path);
  await Promise.all(Array.from({ length: 40 }, () => send('/categories/1')));
  await sandbox('POST', 'clock', { advance: '26h' });
  await send('/pets/1', { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body: '{"name":"Luna"}' });
  await fetch(`${told.origin}/v1/pets`).then((response) => response.text());
}

await withBrowser(async (browser) => {
  await claim('without requests there is a page, too', async () => {
    const { page, context, faults } = await open(browser);
    await visit(page);
    assert.match(await page.getByRole('heading', { level: 1 }).textContent(), /No request arrived/);
    assert.deepEqual(await axe(page), []);
    assert.deepEqual(faults, []);
    await context.close();
  });
  await work();
  for (const [name, options] of Object.entries(LOOKS)) {
    await claim(`${name}: the page is accessible and fits`, async () => {
      const { page, context, faults } = await open(browser, options);
      await visit(page);
      assert.deepEqual(await axe(page), []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'nothing is wider than the screen');
      await shot(page, `report-${name}`, { fullPage: true });
      assert.deepEqual(faults, []);
      await context.close();
    });
  }
  await claim('the marks of answers differ without colours', async () => {
    const { page, context } = await open(browser, LOOKS.light);
    await visit(page);
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setEmulatedVisionDeficiency', { type: 'achromatopsia' });
    await shot(page, 'report-grey', { fullPage: true });
    const shapes = await page.locator('.shapes .mark').evaluateAll((marks) => marks.map((mark) => mark.children[1].outerHTML + mark.textContent));
    assert.equal(new Set(shapes).size, shapes.length);
    await context.close();
  });
  await claim('a finding leads to its requests, and each of them back to it', async () => {
    const { page, context } = await open(browser, LOOKS.light);
    await visit(page);
    const finding = page.locator('[id$="-waits-1"]').first();
    await finding.getByRole('link').last().click();
    const row = page.locator('tr:target');
    await row.waitFor();
    assert.ok(await row.evaluate((one) => { const { top, bottom } = one.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; }), 'it is in view');
    await row.getByRole('link', { name: 'breach: waits' }).click();
    await page.locator('li:target').waitFor();
    assert.equal(await page.locator('li:target').getAttribute('id'), await finding.getAttribute('id'));
    await context.close();
  });
  await claim('the keyboard reaches the marks with findings, and screen readers get their names', async () => {
    const { page, context } = await open(browser, LOOKS.light);
    await visit(page);
    const marks = page.locator('.time a:not([tabindex])');
    await marks.first().focus();
    assert.match(await page.evaluate(() => document.activeElement.querySelector('title').textContent), /^Request \d+: [A-Z]+ \/v1\/\S+: \d+; (breach|hint): /);
    await page.keyboard.press('Enter');
    await page.locator('li:target').waitFor();
    await page.getByRole('link', { name: /^Request \d+ \(×\d+ in a row\): GET \/v1\/categories\/1: 200/ }).first().waitFor();
    await context.close();
  });
  await claim('waits, cuts of time and planned failures are in the picture and the table', async () => {
    const { page, context } = await open(browser, LOOKS.light);
    await visit(page);
    await page.locator('.time rect.wait').first().waitFor();
    await page.locator('.time .tick', { hasText: '(26 h)' }).waitFor();
    await page.getByRole('table', { name: /^Requests of Key/ }).getByText('planned: ').first().waitFor();
    await context.close();
  });
  await claim('the console opens the page, also of one key', async () => {
    const { page, context } = await open(browser, LOOKS.light);
    await page.goto(`${told.origin}/sandbox#report`);
    const link = page.getByRole('link', { name: 'Open as a page' });
    await page.locator('.is-broken').first().waitFor();
    await page.locator('#report-key').selectOption(told.key.slice(0, 12));
    await until('the link names the key', async () => (await link.getAttribute('href')).includes('?key='));
    await link.click();
    await page.getByRole('heading', { level: 2, name: `Key ${told.key.slice(0, 12)}` }).waitFor();
    assert.equal(await page.locator('.client').count(), 1);
    await context.close();
  });
});
