// The content security policy of the reference page: injected code does not run, no request goes to another origin,
// and no other page can embed it in a frame.

import assert from 'node:assert/strict';
import http from 'node:http';
import { claim, open, told, until, withBrowser } from './browser.mjs';

const visits = [];
const elsewhere = http.createServer((request, response) => {
  visits.push(request.url);
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(`<!doctype html><title>Elsewhere</title><link rel="icon" href="data:,"><iframe src="${told.origin}/docs">`);
});
await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
const there = `http://127.0.0.1:${elsewhere.address().port}`;

/** What is smuggled in, and the directive that it must meet. */
const MET = {
  'a script': 'script-src-elem inline',
  'a script of theirs': `script-src-elem ${there}`,
  'a handler': 'script-src-attr inline',
  'a text that is run': 'script-src eval',
  'a style': 'style-src-elem inline',
  'a style of theirs': `style-src-elem ${there}`,
  'an attribute of style': 'style-src-attr inline',
  'an image of theirs': `img-src ${there}`,
  'a frame of theirs': `frame-src ${there}`,
  'a request to them': `connect-src ${there}`,
  'a beacon to them': `connect-src ${there}`,
  'a base of theirs': `base-uri ${there}`,
  'a form for them': `form-action ${there}`,
};

/** Smuggles it in. Runs inside the page. */
function smuggle([what, there]) {
  const add = (name, members = {}) => {
    const element = Object.assign(document.createElement(name), members);
    document.body.append(element);
    return element;
  };
  const smuggled = {
    'a script': () => add('script', { textContent: 'window.smuggled = true' }),
    'a script of theirs': () => add('script', { src: `${there}/script` }),
    'a handler': () => add('button').setAttribute('onclick', 'window.smuggled = true'),
    'a text that is run': () => setTimeout('window.smuggled = true'),
    'a style': () => add('style', { textContent: 'body { color: red }' }),
    'a style of theirs': () => add('link', { rel: 'stylesheet', href: `${there}/style` }),
    'an attribute of style': () => add('p').setAttribute('style', 'color: red'),
    'an image of theirs': () => add('img', { src: `${there}/image` }),
    'a frame of theirs': () => add('iframe', { src: `${there}/frame` }),
    'a request to them': () => fetch(`${there}/request`, { mode: 'no-cors' }).catch(() => {}),
    'a beacon to them': () => navigator.sendBeacon(`${there}/beacon`),
    'a base of theirs': () => document.head.append(Object.assign(document.createElement('base'), { href: `${there}/base` })),
    'a form for them': () => add('form', { action: `${there}/form` }).submit(),
  };
  smuggled[what]();
}

try {
  await withBrowser(async (browser) => {
    const { page, faults } = await open(browser);
    await page.goto(`${told.origin}/docs`);
    await page.waitForSelector('.opblock');
    assert.deepEqual(faults, []);
    for (const [what, met] of Object.entries(MET)) {
      await claim(`${what} is kept out`, async () => {
        faults.length = 0;
        await page.evaluate(smuggle, [what, there]);
        await until(`the policy is met: ${met}`, () => faults.some((fault) => fault.startsWith(`policy: ${met}`)));
      });
    }
    await claim('none of it ran, and nobody elsewhere has heard of it', async () => {
      assert.equal(await page.evaluate(() => window.smuggled), undefined);
      assert.deepEqual(visits, []);
    });
    await claim('a page of another origin has it in no frame', async () => {
      const other = await open(browser);
      await other.page.goto(there);
      const [, frame] = other.page.frames();
      assert.equal(frame.url(), 'chrome-error://chromewebdata/');
    });
  });
} finally {
  elsewhere.close();
}
