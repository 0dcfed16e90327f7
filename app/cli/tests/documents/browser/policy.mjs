// The content security policy of a page: injected code does not run, texts do not become markup, no request goes to
// another origin, and no other page can embed it in a frame. `told.page` is a key of `PAGES`.

import assert from 'node:assert/strict';
import http from 'node:http';
import { claim, open, told, until, withBrowser } from './browser.mjs';

const visits = [];
const elsewhere = http.createServer((request, response) => {
  visits.push(request.url);
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(`<!doctype html><title>Elsewhere</title><link rel="icon" href="data:,"><iframe src="${told.origin}${path}">`);
});
await new Promise((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
const there = `http://127.0.0.1:${elsewhere.address().port}`;

/** The pages: path, an element that is shown when the page is complete, and the directive that must stop each attack. */
const PAGES = {
  reference: {
    path: '/docs',
    complete: '.opblock',
    scripts: {
      'a script': 'script-src-elem inline',
      'the address of a script': `script-src-elem ${there}`,
      'a handler': 'script-src-attr inline',
      'a text that is run': 'script-src eval',
    },
  },
  console: {
    path: '/sandbox',
    complete: '#first-steps:not([hidden])',
    scripts: {
      'a script': 'require-trusted-types-for',
      'the address of a script': 'require-trusted-types-for',
      'markup': 'require-trusted-types-for',
      'a document': 'require-trusted-types-for',
      'a policy for trusted types': 'trusted-types',
      'a handler': 'require-trusted-types-for',
      'a text that is run': 'require-trusted-types-for',
      'an image in the address': 'img-src data',
    },
  },
};
const { path, complete, scripts } = PAGES[told.page];

/** Each attack on this page, and the directive that must stop it. */
const STOPPED = {
  ...scripts,
  'a style': 'style-src-elem inline',
  'a style of another origin': `style-src-elem ${there}`,
  'an attribute of style': 'style-src-attr inline',
  'an image of another origin': `img-src ${there}`,
  'a frame of another origin': `frame-src ${there}`,
  'a request to another origin': `connect-src ${there}`,
  'a beacon to another origin': `connect-src ${there}`,
  'a base of another origin': `base-uri ${there}`,
  'a form for another origin': `form-action ${there}`,
};

/** Makes an attack. Runs inside the page. */
function attack([name, there]) {
  const add = (tag, members = {}) => {
    const element = Object.assign(document.createElement(tag), members);
    document.body.append(element);
    return element;
  };
  const attacks = {
    'a script': () => add('script', { textContent: 'window.smuggled = true' }),
    'the address of a script': () => add('script', { src: `${there}/script` }),
    'markup': () => { add('p').innerHTML = '<img src=x onerror="window.smuggled = true">'; },
    'a document': () => document.write('<script>window.smuggled = true</script>'),
    'a policy for trusted types': () => window.trustedTypes.createPolicy('default', { createHTML: (text) => text }),
    'a handler': () => { const button = add('button'); button.setAttribute('onclick', 'window.smuggled = true'); },
    'a text that is run': () => setTimeout('window.smuggled = true'),
    'a style': () => add('style', { textContent: 'body { color: red }' }),
    'a style of another origin': () => add('link', { rel: 'stylesheet', href: `${there}/style` }),
    'an attribute of style': () => add('p').setAttribute('style', 'color: red'),
    'an image of another origin': () => add('img', { src: `${there}/image` }),
    'an image in the address': () => add('img', { src: 'data:image/gif;base64,R0lGODlhAQABAAAAACw=' }),
    'a frame of another origin': () => add('iframe', { src: `${there}/frame` }),
    'a request to another origin': () => fetch(`${there}/request`, { mode: 'no-cors' }).catch(() => {}),
    'a beacon to another origin': () => navigator.sendBeacon(`${there}/beacon`),
    'a base of another origin': () => document.head.append(Object.assign(document.createElement('base'), { href: `${there}/base` })),
    'a form for another origin': () => add('form', { action: `${there}/form` }).submit(),
  };
  try {
    attacks[name]();
  } catch {
    // Trusted types stop some attacks by an exception. The report of the violation is checked.
  }
}

try {
  await withBrowser(async (browser) => {
    const { page, faults } = await open(browser);
    await page.goto(`${told.origin}${path}`);
    await page.waitForSelector(complete);
    assert.deepEqual(faults, []);
    for (const [name, directive] of Object.entries(STOPPED)) {
      await claim(`${name} is stopped`, async () => {
        faults.length = 0;
        await page.evaluate(attack, [name, there]);
        await until(`the policy stops it: ${directive}; ${faults.join('; ')}`, () =>
          faults.some((fault) => fault.startsWith(`policy: ${directive}`)));
      });
    }
    await claim('no attack had an effect, and no request went to the other origin', async () => {
      assert.equal(await page.evaluate(() => window.smuggled), undefined);
      assert.deepEqual(visits, []);
    });
    await claim('a page of another origin cannot have it in a frame', async () => {
      const other = await open(browser);
      await other.page.goto(there);
      const [, frame] = other.page.frames();
      assert.equal(frame.url(), 'chrome-error://chromewebdata/');
    });
  });
} finally {
  elsewhere.close();
}
