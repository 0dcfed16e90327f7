// The page of a sandbox: its note is accessible, and its commands reach the sandbox.

import assert from 'node:assert/strict';
import { DESK, PHONE, axe, claim, open, shot, told, withBrowser } from './browser.mjs';
import { proxy } from './proxy.mjs';

const PREFIX = '/behind/a/proxy';
const outside = await proxy(told.origin, PREFIX);

/** The addresses that the note's commands ask. */
async function addresses(page) {
  const commands = await page.locator('#sandbox pre').allTextContents();
  assert.equal(commands.length, 6, commands.join('\n'));
  return new Set(commands.map((command) => / '(http.*)\/sandbox\/\w+'$/.exec(command)[1]));
}

try {
  await withBrowser(async (browser) => {
    for (const [name, options] of Object.entries({
      light: { ...DESK, colorScheme: 'light' },
      dark: { ...DESK, colorScheme: 'dark' },
      phone: { ...PHONE, colorScheme: 'light' },
    })) {
      await claim(`${name}: the note stands above the contract, fits, and keeps nobody out`, async () => {
        const { page, context, faults } = await open(browser, options);
        await page.goto(`${told.origin}/docs`);
        await page.waitForSelector('.opblock');
        const note = page.getByRole('complementary', { name: 'A sandbox for tests' });
        const command = note.locator('pre').first();
        assert.ok(!(await command.isVisible()), 'the contract is not pushed away');
        await shot(page, `sandbox-${name}`);
        await note.locator('summary').focus();
        await page.keyboard.press('Enter');
        await command.waitFor();
        const [above, below] = [await note.boundingBox(), await page.locator('#page').boundingBox()];
        assert.ok(above.y + above.height <= below.y, 'it covers nothing');
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - screen.width);
        assert.ok(wide <= 0, `it is ${wide} px too wide`);
        const barriers = (await axe(page, '#sandbox')).filter(({ impact }) => ['serious', 'critical'].includes(impact));
        assert.deepEqual(barriers, []);
        await shot(page, `sandbox-${name}-open`);
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
    for (const [name, origin, prefix, expected] of [
      ['read where it is', told.origin, '', told.origin],
      ['read through a proxy', outside.origin, PREFIX, `${outside.origin}${PREFIX}`],
      ['read beside a listener for operators', told.apart, '', told.ops],
    ]) {
      await claim(`${name}: the note names the address of the sandbox`, async () => {
        const { page, context, faults } = await open(browser, DESK, origin);
        await page.goto(`${origin}${prefix}/docs`);
        await page.waitForSelector('.opblock');
        assert.deepEqual(await addresses(page), new Set([expected]));
        assert.equal((await fetch(`${expected}/sandbox/reset`, { method: 'POST' })).status, 204);
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
    for (const [name, origin, prefix] of [['where it is', told.origin, ''], ['through a proxy', outside.origin, PREFIX]]) {
      await claim(`read ${name}: a button makes a key, and inserts it into the console and the commands`, async () => {
        const { page, context, faults } = await open(browser, DESK, origin);
        await page.goto(`${origin}${prefix}/docs`);
        const first = page.locator('.guide-section').first();
        const maker = first.getByRole('button', { name: 'Make a key and insert it' });
        await maker.waitFor();
        assert.ok(!(await first.innerText()).includes('Ask the operator'));
        await maker.click();
        await page.locator('.btn.authorize.locked').waitFor();
        await first.getByRole('status').filter({ hasText: 'is inserted' }).waitFor();
        const key = /PETSTORE_KEY=(pet_\w{40,})$/m.exec(await first.locator('pre').innerText())[1];
        const pets = await fetch(`${told.origin}/v1/pets`, { headers: { authorization: `Bearer ${key}` } });
        assert.equal(pets.status, 200);
        assert.deepEqual((await axe(page, '.guide')).filter(({ impact }) => ['serious', 'critical'].includes(impact)), []);
        assert.deepEqual(faults, []);
        await context.close();
      });
    }
    await claim('beside a listener for operators no key can be made from the page, which says who has one', async () => {
      const { page, context } = await open(browser, DESK, told.apart);
      await page.goto(`${told.apart}/docs`);
      await page.locator('.guide-section', { hasText: 'Ask the operator' }).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Make a key and insert it' }).count(), 0);
      await context.close();
    });
  });
} finally {
  outside.close();
}
