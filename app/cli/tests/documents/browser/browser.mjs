// Chromium, and the checks of every script.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** The facts that `browser.rs` tells a script: the folder of the tools, and where things are. */
export const told = JSON.parse(process.argv[2]);

const require = createRequire(path.join(told.tools, 'package.json'));
const { chromium } = require('playwright-core');
const axeSource = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** How long anything may take. A busy machine is slow, a broken page never comes. */
const PATIENCE = 60_000;

export const DESK = { viewport: { width: 1280, height: 900 } };
export const PHONE = { viewport: { width: 375, height: 740 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };

/** Opens a browser, and closes it whatever becomes of the script. */
export async function withBrowser(use) {
  const browser = await chromium.launch({
    executablePath: told.chromium,
    args: [
      // A name of another machine that leads to this one, as with a sandbox that others may reach.
      '--host-resolver-rules=MAP pets.test 127.0.0.1', '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync',
    ],
  });
  try {
    await use(browser);
  } finally {
    await browser.close();
  }
}

/**
 * A page that writes down what it should not do: errors on the console, exceptions, requests to other origins,
 * violations of its policy.
 */
export async function open(browser, options = DESK, origin = told.origin) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const faults = [];
  const requests = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
  page.on('requestfailed', async (request) => {
    // Chromium ends a HEAD by an abort once it has the whole answer, because that has a length and no body.
    if (request.method() === 'HEAD' && (await request.response())?.ok()) return;
    faults.push(`failed: ${request.url()} ${request.failure()?.errorText}`);
  });
  page.on('request', (request) => {
    requests.push(request);
    if (!request.url().startsWith(`${origin}/`)) faults.push(`another origin: ${request.url()}`);
  });
  await page.exposeFunction('violated', (directive, what) => faults.push(`policy: ${directive} ${what}`));
  await page.addInitScript(() =>
    addEventListener('securitypolicyviolation', (event) => window.violated(event.violatedDirective, event.blockedURI)));
  return { page, context, faults, requests };
}

/** One claim, by its name, so that a failure says what no longer holds. */
export async function claim(name, prove) {
  const begun = performance.now();
  try {
    await prove();
  } catch (error) {
    error.message = `${name}: ${error.message}`;
    throw error;
  }
  console.log(`ok: ${name} (${Math.round(performance.now() - begun)} ms)`);
}

/** Returns the faults that axe-core finds, by all of its rules, in the page or in a part of it. */
export async function axe(page, part = 'html') {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate((at) => window.axe.run(at, { resultTypes: ['violations'] }), part);
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map((node) => ({ id, impact, at: node.target.join(' '), why: node.any[0]?.message ?? node.failureSummary })));
}

/**
 * A picture for people to look at. It claims nothing: Chromium has been seen to wait for ever for a frame of a page
 * that had shown all that was asked of it, so a picture is asked for twice, and said to be missing.
 */
export async function shot(page, name, options) {
  for (const attempt of [1, 2]) {
    try {
      await page.screenshot({ path: path.join(told.screenshots, `${name}.png`), timeout: PATIENCE / 6, ...options });
      return;
    } catch (error) {
      if (error.name !== 'TimeoutError') throw error;
      console.log(`NO PICTURE: ${name}, attempt ${attempt}: ${error.message}`);
    }
  }
}

/** Waits until something holds. */
export async function until(what, holds) {
  const end = Date.now() + PATIENCE;
  while (!(await holds())) {
    assert.ok(Date.now() < end, `waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
