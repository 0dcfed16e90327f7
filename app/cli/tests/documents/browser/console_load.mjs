// The console while the sandbox answers many requests a second: the page stays responsive, its memory is bounded, and it says
// how many requests it does not show.

import assert from 'node:assert/strict';
import net from 'node:net';
import { claim, open, told, until, withBrowser } from './browser.mjs';

/** The offered load, and its duration. */
const RATE = Number(told.rate);
const SECONDS = Number(told.seconds);

/** The number of requests that a connection sends before it reads their answers. */
const BATCH = 100;
const BATCH_MS = 10;

/** Milliseconds for which the page may not react. A person notices a longer time. */
const BUSY_MAX_MS = 500;

/** Bytes by which the page may grow, once its list is full. */
const GROWTH_MAX = 32 * 1024 * 1024;

/** Sends pipelined requests at the rate, or as fast as they are answered. Returns their number and the time in seconds. */
async function load() {
  const { hostname, port } = new URL(told.origin);
  const count = Math.max(1, Math.ceil((RATE * BATCH_MS) / 1000 / BATCH));
  const begun = performance.now();
  const end = begun + SECONDS * 1000;
  const perTurn = Math.ceil((RATE * BATCH_MS) / 1000 / count);
  const request = `GET /v1/pets/1 HTTP/1.1\r\nhost: localhost\r\nx-api-key: ${told.key}\r\n\r\n`.repeat(perTurn);
  const connections = Array.from({ length: count }, async () => {
    const socket = net.connect(Number(port), hostname);
    await new Promise((resolve) => socket.once('connect', resolve));
    let sent = 0;
    let next = performance.now();
    while (performance.now() < end) {
      await exchange(socket, request, perTurn);
      sent += perTurn;
      next += BATCH_MS;
      const pause = next - performance.now();
      if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    }
    socket.destroy();
    return sent;
  });
  const sent = (await Promise.all(connections)).reduce((sum, one) => sum + one, 0);
  return { sent, seconds: (performance.now() - begun) / 1000 };
}

/** Sends requests, and waits for as many answers. */
function exchange(socket, text, count) {
  return new Promise((resolve, reject) => {
    let left = count;
    let tail = '';
    const take = (chunk) => {
      const seen = tail + chunk.toString('latin1');
      left -= seen.split('HTTP/1.1 ').length - 1;
      tail = seen.slice(-8);
      if (left > 0) return;
      socket.off('data', take).off('error', reject);
      resolve();
    };
    socket.on('data', take);
    socket.once('error', reject);
    socket.write(text);
  });
}

/** The size of the page's memory without what is no longer used. */
async function heap(session) {
  await session.send('HeapProfiler.collectGarbage');
  return (await session.send('Runtime.getHeapUsage')).usedSize;
}

/** The numbers in the note above the list: requests that are shown, skipped by the stream, and removed from the list. */
const counted = (page) => page.locator('#counted').textContent().then((text) => {
  const number = (pattern) => Number((pattern.exec(text)?.[1] ?? '0').replaceAll(',', ''));
  return { shown: number(/^([\d,]+) request/), skipped: number(/([\d,]+) skipped/), removed: number(/([\d,]+) older removed/), text };
});

await withBrowser(async (browser) => {
  await fetch(`${told.origin}/sandbox/requests`, { method: 'DELETE' });
  const { page, context, faults } = await open(browser);
  await page.addInitScript(() => {
    window.busy = [];
    new PerformanceObserver((list) => window.busy.push(...list.getEntries().map((entry) => entry.duration)))
      .observe({ type: 'longtask', buffered: true });
  });
  await page.goto(`${told.origin}/sandbox`);
  await until('the stream is open', async () => (await page.locator('#live').textContent()) === 'Live');
  const session = await context.newCDPSession(page);
  let total = 0;
  await claim('the list is filled', async () => {
    total += (await load()).sent;
    await until(`${total} have come`, async () => (await all(page)) === total);
  });
  const before = await heap(session);
  await page.evaluate(() => { window.busy = []; });
  const delays = [];
  await claim(`at ${RATE} requests a second the page reacts`, async () => {
    const running = load();
    let isOver = false;
    running.finally(() => { isOver = true; });
    while (!isOver) {
      // A round trip through the page's own thread, as a press of a key has it.
      const asked = performance.now();
      await page.evaluate(() => new Promise((resolve) => { setTimeout(resolve, 0); }));
      delays.push(performance.now() - asked);
      await new Promise((resolve) => { setTimeout(resolve, 50); });
    }
    const { sent, seconds } = await running;
    total += sent;
    const rate = Math.round(sent / seconds);
    const busy = await page.evaluate(() => window.busy);
    const longest = Math.max(0, ...busy);
    const share = busy.reduce((sum, one) => sum + one, 0) / (seconds * 1000);
    delays.sort((one, other) => one - other);
    console.log(`${rate} requests a second for ${seconds.toFixed(1)} s; long tasks: ${busy.length}, the longest ${longest} ms, `
      + `${(share * 100).toFixed(1)}% of the time; reaction: median ${delays[delays.length >> 1].toFixed(1)} ms, longest ${delays.at(-1).toFixed(1)} ms`);
    assert.ok(rate >= Number(told.rateMin), `the load was ${rate} a second only`);
    assert.ok(longest < BUSY_MAX_MS, `the page was busy for ${longest} ms`);
    assert.ok(delays[Math.floor(delays.length * 0.9)] < BUSY_MAX_MS, delays.join());
  });
  await claim('each request is shown, or counted as skipped or removed', async () => {
    await until(`${total} are accounted for`, async () => (await all(page)) === total);
    const { shown, text } = await counted(page);
    console.log(text);
    assert.ok(shown > 0 && shown <= 6000, text);
    assert.ok((await page.locator('#list [role=option]').count()) < 60, 'few rows exist');
  });
  await claim('a request that the journal no longer keeps is no error', async () => {
    await page.locator('#list').press('End');
    await page.getByText('The journal no longer keeps this request').waitFor();
  });
  await claim('the memory of the page is bounded', async () => {
    const growth = (await heap(session)) - before;
    console.log(`growth ${Math.round(growth / 1024)} KiB, from ${Math.round(before / 1024)} KiB`);
    assert.ok(growth < GROWTH_MAX, `${growth} bytes`);
  });
  assert.deepEqual(faults, []);
  await context.close();
});

async function all(page) {
  const { shown, skipped, removed } = await counted(page);
  return shown + skipped + removed;
}
