// Addresses of places on the reference page: an operation, and an error, as problem details name it.

import assert from 'node:assert/strict';
import { DESK, PHONE, claim, open, told, until, withBrowser } from './browser.mjs';

await withBrowser(async (browser) => {
  for (const [name, options] of [['desk', DESK], ['phone', PHONE]]) {
    const { page, context, faults } = await open(browser, options);
    const top = (selector) => page.locator(selector).evaluate((element) => element.getBoundingClientRect().top);
    const visit = async (hash) => {
      await page.goto('about:blank');
      await page.goto(`${told.origin}/docs${hash}`);
    };
    await claim(`${name}: the address of an error leads to it, also if it was reloaded`, async () => {
      const refused = await fetch(`${told.origin}/v1/pets`, { headers: { accept: 'application/problem+json' } });
      const { type, code } = await refused.json();
      assert.equal(type, `${told.origin}/docs#errors/${code}`);
      for (const hash of [`#errors/${code}`, `#/errors/${code}`]) {
        await visit(hash);
        const at = `[id="errors/${code}"]`;
        await until('the page is at the error', async () => {
          const place = await top(at);
          return place >= 0 && place < options.viewport.height;
        });
        assert.equal(page.url(), type);
        assert.ok(await page.locator(at).evaluate((element) => element.matches(':target')), 'it is marked');
      }
    });
    await claim(`${name}: the address of an operation leads to it, and the search does not cover it`, async () => {
      await visit('#/orders/placeOrder');
      await page.locator('#operations-orders-placeOrder.is-open').waitFor();
      await until('the page is at the operation', async () => Math.abs(await top('#operations-orders-placeOrder')) < 100);
      const covered = await page.evaluate(() => {
        const { x, y, width, height } = document.querySelector('#operations-orders-placeOrder .opblock-summary').getBoundingClientRect();
        return document.elementFromPoint(x + width / 2, y + height / 2).closest('.find') !== null;
      });
      assert.ok(!covered);
    });
    const without = faults.filter((fault) => !['net::ERR_ABORTED', 'deep link'].some((text) => fault.includes(text)));
    assert.deepEqual(without, []);
    await context.close();
  }
});
