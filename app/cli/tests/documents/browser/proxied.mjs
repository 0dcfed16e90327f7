// The page under another base path, and behind a proxy that strips a prefix.

import assert from 'node:assert/strict';
import { claim, open, told, withBrowser } from './browser.mjs';
import { proxy } from './proxy.mjs';

const PREFIX = '/behind/a/proxy';
const outside = await proxy(told.origin, PREFIX);

try {
  await withBrowser(async (browser) => {
    for (const [name, origin, prefix] of [['another base path', told.origin, ''], ['a proxy', outside.origin, PREFIX]]) {
      await claim(`${name}: the page is drawn, and its console finds the service`, async () => {
        const { page, context, faults } = await open(browser, {}, origin);
        await page.goto(`${origin}${prefix}/docs`);
        const steps = await page.locator('.guide-section', { hasText: 'First steps' }).locator('pre').innerText();
        assert.ok(steps.includes(`export PETSTORE_URL=${origin}${prefix}${told.base}\n`), steps);
        const rateLimit = page.locator('#operations-account-getRateLimit');
        await rateLimit.locator('.opblock-summary-control').click();
        await rateLimit.locator('.try-out__btn').click();
        const [answer] = await Promise.all([
          page.waitForResponse((response) => response.url().endsWith('/rate-limit')),
          rateLimit.locator('.btn.execute').click(),
        ]);
        assert.equal(answer.url(), `${origin}${prefix}${told.base}/rate-limit`);
        assert.equal((await answer.json()).code, 'missing_api_key');
        assert.deepEqual(faults.filter((fault) => !fault.includes('401 (Unauthorized)')), []);
        await context.close();
      });
    }
  });
} finally {
  outside.close();
}
