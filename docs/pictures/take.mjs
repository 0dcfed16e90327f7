// Takes the pictures of the console's panels and of the page of an exam, light and dark, and writes down the labels that they show.

import fs from 'node:fs';
import { createRequire } from 'node:module';

const [origin, exam] = process.argv.slice(2);
const here = new URL('.', import.meta.url);
const require = createRequire(new URL('../../tests/tools/package.json', here));
const { chromium } = require('playwright-core');

/** The size of the window, the step in which it grows, and the pixels of the picture for one of the page. */
const WIDTH = 1120;
const HEIGHT = 800;
const STEP = 10;
const SCALE = 1.5;

/** The quality of the picture, out of 100. */
const QUALITY = 70;

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

/** The elements of an exam's page that have labels of the page itself. */
const LABELLED_OF_EXAM = 'main > h2, h4, th[scope=col], .rules tbody th, .legend li';

/** Writes a picture of the upper part of a page, and its labels. */
async function save(page, name, colorScheme, height, selector) {
  const session = await page.context().newCDPSession(page);
  const clip = { x: 0, y: 0, width: WIDTH, height, scale: SCALE };
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY, clip });
  fs.writeFileSync(new URL(`${name}-${colorScheme}.webp`, here), Buffer.from(data, 'base64'));
  const shown = await page.evaluate(labels, selector);
  fs.writeFileSync(new URL(`${name}.txt`, here), `${shown.join('\n')}\n`);
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
    await save(page, name, colorScheme, page.viewportSize().height, LABELLED);
    await page.close();
  }
}

/** Takes the page of an exam down to the third finding about the first rule of the first scenario. */
async function takeExam(browser) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ viewport: { width: WIDTH, height: 2 * HEIGHT }, colorScheme });
    await page.goto(new URL(exam, 'file://').href);
    const { y, height } = await page.locator('.rules tbody tr').first().locator('li').nth(2).boundingBox();
    const end = Math.ceil(y + height);
    await page.setViewportSize({ width: WIDTH, height: end });
    await save(page, 'exam', colorScheme, end, LABELLED_OF_EXAM);
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
  await takeExam(browser);
  await take(browser, 'report', '', 'html, main, #report', (page) => page.locator('.is-broken').first().waitFor());
} finally {
  await browser.close();
}
