// Takes the pictures of the console's panels, light and dark, and writes down the labels that they show.

import fs from 'node:fs';
import { createRequire } from 'node:module';

const [origin] = process.argv.slice(2);
const here = new URL('.', import.meta.url);
const require = createRequire(new URL('../../tests/tools/package.json', here));
const { chromium } = require('playwright-core');

/** The size of the window, the step in which it grows, and the pixels of the picture for one of the page. */
const WIDTH = 1120;
const HEIGHT = 800;
const STEP = 10;
const SCALE = 1.5;

/** The quality of the picture, out of 100. */
const QUALITY = 80;

/** The elements that have labels: those that the page itself names, not the data in it. */
const LABELLED = [
  '.bar nav a', '#docs-link', '#live', '.panel h2', '.panel h4', '.panel label', '.panel button', '.panel a.button', '.list-head span', '.panel dt',
  'th[scope=col], [data-rule] > th',
].join();

/** The labels in view that nothing covers, in the order of the page. */
function labels(selector) {
  const seen = (text) => {
    const range = document.createRange();
    range.selectNodeContents(text);
    const { x, y, width, height } = range.getBoundingClientRect();
    const top = width > 1 && document.elementFromPoint(x + width / 2, y + height / 2);
    return top && (top === text.parentElement || text.parentElement.contains(top));
  };
  const texts = [...document.querySelectorAll(selector)].flatMap(({ childNodes }) => [...childNodes].filter((node) => node.nodeType === Node.TEXT_NODE));
  return [...new Set(texts.filter(seen).map(({ data }) => data.trim()).filter(Boolean))];
}

/** Makes the window as high as parts of the page need to show all that is in them. */
async function fit(page, parts) {
  for (let height = HEIGHT; ; height += STEP) {
    await page.setViewportSize({ width: WIDTH, height });
    const fits = await page.locator(parts).evaluateAll((elements) => elements.every((one) => one.scrollHeight <= one.clientHeight));
    if (fits) return;
    if (height > 2 * HEIGHT) throw new Error(`${parts} do not fit into a window`);
  }
}

async function take(browser, name, query, parts, prepare) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ viewport: { width: WIDTH, height: HEIGHT }, colorScheme });
    await page.goto(`${origin}/sandbox#${name}${query}`);
    await page.locator('#live[data-state=live]').waitFor();
    await prepare(page);
    await page.mouse.move(0, 0);
    await fit(page, parts);
    const session = await page.context().newCDPSession(page);
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY, clip: { x: 0, y: 0, ...page.viewportSize(), scale: SCALE } });
    fs.writeFileSync(new URL(`${name}-${colorScheme}.webp`, here), Buffer.from(data, 'base64'));
    const shown = await page.evaluate(labels, LABELLED);
    fs.writeFileSync(new URL(`${name}.txt`, here), `${shown.join('\n')}\n`);
    await page.close();
  }
}

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
    '--disable-sync',
  ],
});
try {
  await take(browser, 'requests', '?text=orders', '#detail, #list', async (page) => {
    await page.locator('#list .row', { has: page.locator('.status', { hasText: '201' }) }).click();
    await page.locator('#detail-title', { hasText: '201' }).waitFor();
  });
  await take(browser, 'report', '', 'html, main, #report', (page) => page.locator('.is-broken').first().waitFor());
} finally {
  await browser.close();
}
