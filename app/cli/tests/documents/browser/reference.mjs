// The reference page: reading, searching and trying, by mouse and by keyboard, on a desktop and a phone.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { DESK, PHONE, axe, claim, open, shot, told, until, withBrowser } from './browser.mjs';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

const contract = await (await fetch(`${told.origin}/openapi.json`)).json();
const operations = Object.entries(contract.paths).flatMap(([at, item]) =>
  METHODS.filter((method) => item[method]).map((method) => ({ at, method, ...item[method] })));
const named = (operationId) => operations.find((operation) => operation.operationId === operationId);

const block = (page, { tags, operationId }) => page.locator(`#operations-${tags[0]}-${operationId}`);
const control = (page, operation) => block(page, operation).locator('.opblock-summary-control');
const isOpen = async (page, operation) => (await control(page, operation).getAttribute('aria-expanded')) === 'true';
const showTop = (part) => part.evaluate((element) => element.scrollIntoView({ block: 'start' }));
const shown = (page) => page.locator('.opblock').count();

async function visit(page, fragment = '') {
  await page.goto(`${told.origin}/docs${fragment}`);
  await page.waitForSelector('.opblock');
  assert.equal(await shown(page), operations.length, 'every operation is shown');
}

async function authorize(page) {
  await page.getByRole('button', { name: 'Authorize', exact: true }).first().click();
  const dialog = page.locator('.dialog-ux');
  await dialog.locator('input').first().fill(told.key);
  await dialog.locator('.auth-btn-wrapper button[type="submit"]').first().click();
  await dialog.getByText('Logout').first().waitFor();
  return dialog;
}

/** Runs a program with a key in its environment. Returns what it prints. */
const printed = (program, args, input) =>
  execFileSync(program, args, { input, encoding: 'utf8', env: { ...process.env, PETSTORE_KEY: told.key } });

/** The programs that run the samples, by language. */
const RUNNERS = {
  curl: (text) => printed('sh', ['-c', `${text} -sS`]),
  Python: (text) => printed('python3', ['-'], text),
  JavaScript: (text) => printed('node', ['--input-type=module', '-'], text),
};

/** Sends an operation through its console, and reads what the console shows. */
async function send(page, operation, body) {
  const at = block(page, operation);
  if (!(await isOpen(page, operation))) await control(page, operation).click();
  const tryIt = at.locator('.try-out__btn');
  if ((await tryIt.innerText()) === 'Try it out') await tryIt.click();
  if (body) await at.locator('textarea').fill(body);
  const live = at.locator('.live-responses-table');
  if ((await live.count()) > 0) {
    // Otherwise the earlier answer would be read instead of the next one.
    await at.locator('.btn-clear').click();
    await live.waitFor({ state: 'detached' });
  }
  await at.locator('.btn.execute').click();
  await live.waitFor();
  return {
    status: Number((await live.locator('.response .response-col_status').innerText()).trim()),
    headers: await live.locator('h5:has-text("Response headers") + pre').innerText(),
    body: await live.locator('.highlight-code pre').first().innerText(),
  };
}

function noFault(faults, requests) {
  assert.deepEqual(faults, []);
  assert.ok(requests.length > 0, 'nothing was watched');
}

await withBrowser(async (browser) => {
  const { page, context, faults, requests } = await open(browser, { ...DESK, colorScheme: 'light' });
  await visit(page);

  await claim('it has no note of a sandbox, which it is none', async () => {
    assert.equal(await page.locator('#sandbox, aside').count(), 0);
    assert.equal(await page.getByRole('button', { name: 'Make a key and insert it' }).count(), 0);
    assert.ok((await page.locator('.guide-section').first().innerText()).includes('Ask the operator'));
  });

  await claim('the markers of the contract are badges', async () => {
    for (const operation of operations) {
      const expected = [];
      if (operation['x-stability']) expected.push(operation['x-stability']);
      if (operation.deprecated) expected.push('deprecated', 'ends 5 December 2030', `use ${operation['x-deprecated-successor']}`);
      assert.deepEqual(await block(page, operation).locator('.badge').allInnerTexts(), expected, operation.operationId);
    }
    const stabilities = new Set(operations.map((operation) => operation['x-stability']));
    assert.ok(stabilities.has('beta') && stabilities.has('experimental'), 'the contract has both');
    assert.equal(await page.locator('time[datetime="2030-12-05"]').count(), 1);
    const opacity = await block(page, named('getPet')).evaluate((element) => getComputedStyle(element).opacity);
    assert.equal(opacity, '1', 'what is deprecated can be read');
  });

  await claim('a console is wherever the contract does not hide it', async () => {
    const hidden = [];
    for (const operation of operations) {
      await control(page, operation).click();
      await block(page, operation).locator('.responses-wrapper').waitFor();
      const consoles = await block(page, operation).locator('.try-out__btn').count();
      assert.equal(consoles, operation['x-hideTryItPanel'] ? 0 : 1, operation.operationId);
      if (consoles === 0) hidden.push(operation.operationId);
      await control(page, operation).click();
    }
    assert.deepEqual(hidden, ['listOrders', 'streamEvents']);
  });

  await claim('first steps show the address that the page came from, and a button copies them', async () => {
    const steps = page.locator('.guide-section', { hasText: 'First steps' });
    const text = await steps.locator('pre').innerText();
    assert.ok(text.includes(`export PETSTORE_URL=${told.origin}/v1\n`), text);
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: told.origin });
    await steps.getByRole('button', { name: 'Copy' }).click();
    await steps.getByRole('button', { name: 'Copied' }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
    // As from another machine, over http.
    await page.evaluate(() => {
      Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });
      document.addEventListener('copy', () => { window.copied = document.getSelection().toString() || document.activeElement.value; });
    });
    await steps.getByRole('button', { name: 'Copy', exact: true }).click();
    await until('it is copied', () => page.evaluate(() => window.copied !== undefined));
    assert.equal(await page.evaluate(() => window.copied), text);
  });

  await claim('an opened operation shows its success, folds the others, and asks for no choice that there is none of', async () => {
    for (const operation of operations) {
      await control(page, operation).click();
      const at = block(page, operation);
      await at.locator('.responses-wrapper').waitFor();
      const sample = await at.getByRole('region', { name: 'Sample' }).locator('pre').innerText();
      assert.ok(sample.startsWith('curl ') && sample.includes(`'${told.origin}/v1/`) && !sample.includes('{') === !operation.requestBody, sample);
      assert.ok(!sample.includes('undefined'), sample);
      const codes = async (selector) => {
        const rows = await at.locator(`.responses-inner > table tr.response${selector}`).all();
        return Promise.all(rows.map((row) => row.getAttribute('data-code')));
      };
      const expected = Object.keys(operation.responses);
      assert.deepEqual(await codes(':not(.folded-answer)'), expected.filter((code) => code.startsWith('2')), operation.operationId);
      assert.deepEqual((await codes('.folded-answer')).sort(), expected.filter((code) => !code.startsWith('2')).sort());
      assert.equal(await at.locator('.response-col_links:visible').count(), 0, 'no column of links');
      for (const select of await at.locator('select.content-type:visible').all()) {
        assert.ok((await select.locator('option').count()) > 1, `${operation.operationId}: a choice of one`);
      }
      await control(page, operation).click();
    }
    const patch = named('updatePet');
    await control(page, patch).click();
    assert.equal(await block(page, patch).locator('select.content-type:visible').count(), 0, 'no choice of one media type');
    const refused = block(page, patch).getByRole('button', { name: /^404/ });
    assert.equal(await refused.getAttribute('aria-expanded'), 'false');
    await refused.press('Enter');
    await block(page, patch).locator('tr.response[data-code="404"] .response-col_description').waitFor();
    await control(page, patch).click();
  });

  await claim('no gap is between code and the punctuation behind it', async () => {
    await page.locator('.guide-section').evaluateAll((all) => all.forEach((one) => { one.open = true; }));
    const gaps = await page.locator('.info code').evaluateAll((all) => all.flatMap((code) => {
      const next = code.nextSibling;
      if (next?.nodeType !== Node.TEXT_NODE || !/^[.,;:)]/.test(next.data)) return [];
      const range = document.createRange();
      range.setStart(next, 0);
      range.setEnd(next, 1);
      const [mark, last] = [range.getBoundingClientRect(), [...code.getClientRects()].at(-1)];
      const letters = document.createRange();
      letters.selectNodeContents(code);
      const end = [...letters.getClientRects()].at(-1).right;
      // On another line there is no gap.
      return mark.top > last.bottom ? [] : [mark.left - end];
    }));
    assert.ok(gaps.length > 10, `${gaps.length} places`);
    assert.ok(gaps.every((gap) => gap < 1), `${Math.max(...gaps)} px`);
  });

  await claim('the search finds by path, method, summary and operationId', async () => {
    const find = page.getByLabel('Find an operation');
    for (const [phrase, expected] of [
      ['createPet', ['createPet']],
      ['ADJUST', ['adjustInventory']],
      ['/rate-limit', ['getRateLimit']],
      ['delete /categories', ['deleteCategory']],
      [named('placeOrder').summary, ['placeOrder']],
      ['nothing like this', []],
    ]) {
      await find.fill(phrase);
      await until(`“${phrase}” is found`, async () => (await shown(page)) === expected.length);
      for (const operationId of expected) assert.ok(await block(page, named(operationId)).isVisible(), phrase);
      const status = await page.locator('.find [role="status"]').innerText();
      assert.match(status, expected.length === 0 ? /^No operation/ : /^1 operation$/);
    }
    await find.fill('');
    await until('everything is shown again', async () => (await shown(page)) === operations.length);
  });

  await claim('a list beside the page leads to every operation, and follows the search', async () => {
    const list = page.getByRole('navigation', { name: 'Operations' });
    const names = async () => (await list.getByRole('link').allInnerTexts()).map((text) => text.split(/\s+/).at(-1));
    assert.deepEqual((await names()).sort(), operations.map(({ operationId }) => operationId).sort());
    const find = page.getByLabel('Find an operation');
    await find.fill('createPet');
    await until('the list is as short', async () => (await names()).join() === 'createPet');
    await find.fill('');
    await until('the list is whole again', async () => (await names()).length === operations.length);
    const { tags, operationId } = named('getRateLimit');
    await list.getByRole('link', { name: operationId }).click();
    const at = block(page, named('getRateLimit'));
    await at.locator('.opblock-body').waitFor();
    await until('it is in view', () => at.evaluate((element) => {
      const { top } = element.getBoundingClientRect();
      return top >= -5 && top < innerHeight;
    }));
    await until('it has the focus', () => control(page, named('getRateLimit')).evaluate((element) => element === document.activeElement));
    assert.equal(new URL(page.url()).hash, `#/${tags[0]}/${operationId}`);
    await control(page, named('getRateLimit')).click();
  });

  await claim('the samples run as they are shown, in three languages', async () => {
    for (const [operation, status, expected] of [[named('listPets'), 200, '"id":'], [named('createPet'), 201, '"name":"Luna"']]) {
      await control(page, operation).click();
      const part = block(page, operation).getByRole('region', { name: 'Sample' });
      for (const [language, run] of Object.entries(RUNNERS)) {
        await part.getByRole('button', { name: language }).click();
        const text = await part.locator('pre').innerText();
        const printed = run(text);
        assert.ok(printed.includes(expected), `${language}: ${printed}\n${text}`);
        if (language !== 'curl') assert.ok(printed.startsWith(`${status} `), printed);
      }
      await part.getByRole('button', { name: 'curl' }).click();
      await control(page, operation).click();
    }
  });

  await claim('without a key the console shows the refusal', async () => {
    const answer = await send(page, named('listPets'));
    assert.equal(answer.status, 401);
    assert.match(answer.body, /missing_api_key/);
  });

  await claim('with a key the console sends real requests, and shows answer and quota', async () => {
    const dialog = await authorize(page);
    await shot(page, 'key-light');
    await dialog.locator('.modal-ux-header button').click();
    // A provoked fault: Chromium logs every 401 on the console.
    assert.deepEqual(faults.splice(0).filter((fault) => !fault.includes('401 (Unauthorized)')), []);

    const listed = await send(page, named('listPets'));
    assert.equal(listed.status, 200);
    assert.ok(JSON.parse(listed.body).length > 0, listed.body);
    const sent = requests.filter((request) => new URL(request.url()).pathname === '/v1/pets').at(-1);
    assert.equal(await sent.headerValue('authorization'), `Bearer ${told.key}`);
    assert.equal(new URL(sent.url()).search, '?limit=20&sort=id', 'defaults alone, and no example of a cursor');

    const body = JSON.stringify({ name: 'Hazel of the browser', categoryId: 1 });
    const created = await send(page, named('createPet'), body);
    assert.equal(created.status, 201);
    const pet = JSON.parse(created.body);
    assert.equal(pet.name, 'Hazel of the browser');
    for (const header of ['limit', 'remaining', 'reset', 'resource']) {
      assert.match(listed.headers, new RegExp(`x-ratelimit-${header}: \\w+`), `listPets: ${header}`);
      assert.match(created.headers, new RegExp(`x-ratelimit-${header}: \\w+`), `createPet: ${header}`);
    }
    assert.match(created.headers, new RegExp(`location: /v1/pets/${pet.id}`));

    const read = await fetch(`${told.origin}/v1/pets?id=${pet.id}`, { headers: { authorization: `Bearer ${told.key}` } });
    assert.deepEqual(await read.json(), [pet], 'it is there for others too');
    await showTop(block(page, named('createPet')).locator('.responses-wrapper'));
    await shot(page, 'console-light');
  });

  await claim('nothing is kept in the browser, and the key goes with the page', async () => {
    const kept = () => page.evaluate(async () => ({
      local: { ...localStorage }, session: { ...sessionStorage }, cookie: document.cookie, name: window.name,
      databases: (await indexedDB.databases()).length, caches: await caches.keys(),
      workers: (await navigator.serviceWorker.getRegistrations()).length,
    }));
    const nothing = { local: {}, session: {}, cookie: '', name: '', databases: 0, caches: [], workers: 0 };
    assert.deepEqual(await kept(), nothing);
    await page.reload();
    await page.waitForSelector('.opblock');
    assert.deepEqual(await kept(), nothing);
    assert.deepEqual(await context.cookies(), []);
    assert.equal(await page.locator('.btn.authorize.locked').count(), 0);
  });

  await claim('by keyboard alone an operation is reached, opened and tried', async () => {
    await visit(page);
    const listPets = named('listPets');
    const reach = async (wanted) => {
      for (let step = 0; step < 60; step += 1) {
        await page.keyboard.press('Tab');
        if (await wanted.evaluate((element) => element === document.activeElement)) return;
      }
      assert.fail('sixty tabs do not reach it');
    };
    await reach(control(page, listPets));
    const outline = await control(page, listPets).evaluate((element) => getComputedStyle(element).outlineStyle);
    assert.equal(outline, 'solid', 'where the focus is can be seen');
    await page.keyboard.press('Enter');
    await until('the operation is open', () => isOpen(page, listPets));
    await reach(block(page, listPets).locator('.try-out__btn'));
    await page.keyboard.press('Enter');
    await reach(block(page, listPets).locator('.btn.execute'));
    const authorize = page.getByRole('button', { name: 'Authorize', exact: true }).first();
    await authorize.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'API key' });
    await until('the key can be typed', () => dialog.locator('input').first().evaluate((input) => input === document.activeElement));
    await page.keyboard.type(told.key);
    await page.keyboard.press('Enter');
    await dialog.getByText('Logout').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await until('the focus is back', () => authorize.evaluate((button) => button === document.activeElement));
  });

  await claim('the link of the deprecated operation opens it', async () => {
    const answer = await fetch(`${told.origin}/v1/pets/1`, { headers: { authorization: `Bearer ${told.key}` } });
    const target = /<([^>]+)>; rel="deprecation"/.exec(answer.headers.get('link'))[1];
    const other = await open(browser);
    await other.page.goto(new URL(target, told.origin).href);
    const getPet = block(other.page, named('getPet'));
    await getPet.locator('.opblock-body').waitFor();
    await until('it is in view', () => getPet.evaluate((element) => {
      const { top } = element.getBoundingClientRect();
      return top >= -5 && top < innerHeight / 2;
    }));
    await shot(other.page, 'deprecated-light');
    noFault(other.faults, other.requests);
    await other.context.close();
  });

  await claim('nothing was amiss meanwhile', () => noFault(faults, requests));
  await context.close();

  // There are no exceptions: faults of Swagger UI are corrected from outside.
  const barriers = new Set();
  for (const [name, options] of Object.entries({
    light: { ...DESK, colorScheme: 'light' },
    dark: { ...DESK, colorScheme: 'dark' },
    phone: { ...PHONE, colorScheme: 'light' },
  })) {
    await claim(`${name}: it fits the screen, whatever is open`, async () => {
      const { page, context, faults, requests } = await open(browser, options);
      const check = async (state) => {
        const { scroll, width } = await page.evaluate(() =>
          ({ scroll: document.documentElement.scrollWidth, width: screen.width }));
        assert.ok(scroll <= width, `${state}: it is ${scroll} px wide on a screen of ${width}`);
        for (const { id, impact, at, why } of await axe(page)) {
          if (['serious', 'critical'].includes(impact)) barriers.add(`${name}, ${state}: ${impact} ${id} at ${at}: ${why}`);
        }
      };
      await visit(page);
      await shot(page, name);
      await check('as it opens');
      const isPhone = name === 'phone';
      assert.equal(await page.getByRole('navigation', { name: 'Operations' }).isVisible(), !isPhone, 'the list is where there is room');
      if (isPhone) {
        const field = async () => page.getByLabel('Find an operation').boundingBox();
        assert.ok((await field()).width > PHONE.viewport.width * 0.8, 'the search is as wide as the screen');
        await showTop(page.locator('.opblock').last());
        const { y } = await field();
        assert.ok(y >= 0 && y < 100, 'the search stays at the top');
        await page.evaluate(() => scrollTo(0, 0));
      }
      const dark = await page.evaluate(() => document.documentElement.classList.contains('dark-mode'));
      assert.equal(dark, name.includes('dark'));
      await authorize(page);
      await shot(page, `${name}-key`);
      await check('the key');
      await page.locator('.dialog-ux .modal-ux-header button').click();
      for (const operation of [named('getPet'), named('listOrders')]) await control(page, operation).click();
      await send(page, named('listPets'));
      await send(page, named('createPet'), JSON.stringify({ name: 'Fiver', categoryId: 1 }));
      await control(page, named('updatePet')).click();
      assert.equal(await page.locator('.response-col_links:visible').count(), 0, 'no column of links');
      for (const words of await page.locator('.opblock-section-request-body h4, .one-media-type code').all()) {
        const { height } = await words.boundingBox();
        assert.ok(height < 50, `${await words.innerText()} is ${height} px high`);
      }
      await block(page, named('updatePet')).locator('.opblock-section-request-body').scrollIntoViewIfNeeded();
      await shot(page, `${name}-request-body`);
      await showTop(block(page, named('createPet')));
      await shot(page, `${name}-console`);
      await showTop(block(page, named('createPet')).locator('.live-responses-table'));
      await shot(page, `${name}-answer`);
      await page.locator('.models-control').click();
      await page.locator('.guide-section, .folded-headers').evaluateAll((all) => {
        for (const one of all.slice(0, 20)) one.open = true;
      });
      await check('opened');
      await shot(page, `${name}-whole`, { fullPage: true });
      noFault(faults, requests);
      await context.close();
    });
  }
  await claim('axe-core finds nothing serious and nothing critical', () => assert.deepEqual([...barriers], []));

  await claim('light turns to dark while the page is open', async () => {
    const { page, context } = await open(browser, { ...DESK, colorScheme: 'light' });
    await visit(page);
    const isDark = () => page.evaluate(() => document.documentElement.classList.contains('dark-mode'));
    assert.equal(await isDark(), false);
    await page.emulateMedia({ colorScheme: 'dark' });
    await until('it is dark', isDark);
    await context.close();
  });
});
