// The package as installed, with node's test runner: node --test petstore.test.mjs
import assert from 'node:assert';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Petstore, PetstoreError, sharedPetstore, version } from 'petstore-server';

const OPTIONS = { demo: 10, settings: { 'free-minute': 3 } };
// Attempts to see the end of a process or a line of its log, with a pause of 50 ms.
const TRIES = 200;

let shop;
beforeEach(async () => {
  shop = await sharedPetstore(OPTIONS);
});

/** Sends a request as a client would, and returns the status. */
async function status(path = '/pets', { key = shop.key, method = 'GET', body } = {}) {
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
  const response = await fetch(shop.url + path, { method, headers, body: body && JSON.stringify(body) });
  await response.arrayBuffer();
  return response.status;
}

async function statuses(count, options) {
  const all = [];
  for (let n = 0; n < count; n++) all.push(await status('/pets', options));
  return all;
}

test('a reset restores the shop and keeps the keys', async () => {
  const key = await shop.newKey({ plan: 'pro' });
  assert.equal(await status('/pets/1', { method: 'DELETE' }), 204);
  assert.equal(await status('/pets/1', { key }), 404);
  await shop.reset();
  assert.equal(await status('/pets/1', { key }), 200);
});

test('a quota ends and the clock renews it', async () => {
  await shop.clock.freeze();
  const key = await shop.newKey();
  assert.deepEqual(await statuses(4, { key }), [200, 200, 200, 429]);
  const begin = (await shop.clock.now()).getTime();
  assert.equal((await shop.clock.advance('2m')).getTime(), begin + 120_000);
  assert.equal(await status('/pets', { key }), 200);
  assert.equal((await shop.clock.advance(1500)).getTime(), begin + 121_500);
  const late = new Date('2030-12-06T00:00:00Z');
  assert.deepEqual(await shop.clock.set(late), late);
  assert.equal(await status('/pets/1'), 410);
  await shop.clock.run();
  await shop.clock.restore();
  assert(Math.abs((await shop.clock.now()) - Date.now()) < 60_000);
});

test('planned failures act and are counted', async () => {
  await shop.faults.plan({ route: '/pets', first: 2, status: 503 }, { seed: 7 });
  assert.deepEqual(await statuses(3), [503, 503, 200]);
  assert.deepEqual((await shop.faults.planned()).map(({ calls, acted }) => [calls, acted]), [[3, 2]]);
  await shop.faults.plan([{ method: 'POST', first: 1, when: 'after', drop: true }]);
  const newts = { method: 'POST', body: { name: 'Newts', description: 'x' } };
  await assert.rejects(status('/categories', newts), TypeError);
  assert.equal(await status('/categories', newts), 409);
  await shop.faults.clear();
  assert.deepEqual(await shop.faults.planned(), []);
});

test('a refusal has the words of the server', async () => {
  await assert.rejects(shop.clock.advance('soon'), { name: 'SandboxError', status: 400, message: /400 .*advance/ });
  await assert.rejects(shop.newKey({ plan: 'golden' }), { name: 'SandboxError', message: /petstore keys create: .*golden/s });
});

test('the requests of the client are in the journal', async () => {
  const key = await shop.newKey({ plan: 'pro' });
  assert.equal(await status('/pets?limit=2', { key }), 200);
  assert.equal(await status('/pets', { key, method: 'POST', body: { name: '' } }), 400);
  const [first, second] = await shop.requests({ count: 2, wait: 5, key });
  assert.deepEqual([first.method, first.route, first.target], ['GET', '/pets', '/v1/pets?limit=2']);
  assert.equal(second.answer.status, 400);
  assert.deepEqual((await shop.requests({ status: '4xx', key })).map(({ method }) => method), ['POST']);
  assert.deepEqual(await shop.requests({ method: ['PUT', 'DELETE'] }), []);
  const expected = /expected 3 requests within 1 s, 2 came: GET .* 200, POST .* 400/;
  await assert.rejects(shop.requests({ count: 3, wait: 1, key }), { name: 'NotEnoughRequests', message: expected });
  await shop.clearRequests();
  assert.deepEqual(await shop.requests(), []);
});

test('the report judges the client', async () => {
  await shop.clock.freeze();
  const key = await shop.newKey();
  await statuses(5, { key });
  const report = await shop.report({ key });
  assert.equal(report.verdict, 'broken', JSON.stringify(report));
  assert.deepEqual(report.clients.map(({ keyPrefix }) => keyPrefix), [key.slice(0, 12)]);
});

test('one process has one shared server', async () => {
  assert.equal(await sharedPetstore(OPTIONS), shop);
  await assert.rejects(sharedPetstore({ demo: 3 }), /the same options/);
});

test('a server that cannot start says why', async () => {
  const wrong = Petstore.start({ settings: { 'free-minute': 'many' } });
  await assert.rejects(wrong, { name: 'PetstoreStopped', message: /exit code 2\); its log, .*, ends with:\n.*free-minute.*expected/s });
  await wrong.catch(removeLog);
  await assert.rejects(Petstore.start({ settings: { listen: '127.0.0.1:8080' } }), PetstoreError);
});

/** Removes the folder of the log that an error names. */
function removeLog(error) {
  const log = error.message.split('its log, ')[1].split(', ')[0];
  assert(existsSync(log), error.message);
  rmSync(dirname(log), { recursive: true });
}

test('a start without an address has a time limit', async () => {
  const late = /did not start within 300 ms.*; its log, .*, ends with:\nwaiting for a disk$/;
  const unlike = /is no petstore of this version: its first line is "hello\\n".*; its log, .*, ends with:\nwaiting for a disk$/;
  for (const [lines, message] of [['', late], ['printf half', late], ['echo hello', unlike]]) {
    const binary = join(mkdtempSync(join(tmpdir(), 'petstore-start-')), 'petstore');
    writeFileSync(binary, `#!/bin/sh\necho waiting for a disk >&2\n${lines}\nexec sleep 600\n`, { mode: 0o755 });
    const begin = performance.now();
    const failed = await Petstore.start({ binary, startMs: 300 }).catch((error) => error);
    assert.equal(failed.name, 'PetstoreStopped');
    assert.match(failed.message, message);
    assert(performance.now() - begin < 10_000);
    removeLog(failed);
    rmSync(dirname(binary), { recursive: true });
  }
});

test('settings of the environment do not reach the server', async () => {
  process.env.PETSTORE_FREE_MINUTE = 'many';
  try {
    const other = await Petstore.start();
    assert.equal(other.version, version);
    await other.stop();
  } finally {
    delete process.env.PETSTORE_FREE_MINUTE;
  }
});

function isRunning(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}

async function hasEnded(pid) {
  for (let n = 0; n < TRIES && isRunning(pid); n++) await pause(50);
  return !isRunning(pid);
}

test('a server that was killed is named with its exit code', async () => {
  const killed = await Petstore.start();
  const log = readlinkSync(`/proc/${killed.pid}/fd/2`);
  for (let n = 0; n < TRIES && !readFileSync(log, 'utf8').includes('serving'); n++) await pause(50);
  process.kill(killed.pid, 'SIGKILL');
  const failed = await killed.reset().catch((error) => error);
  assert.equal(failed.name, 'PetstoreStopped');
  assert.match(failed.message, /has ended \(exit code SIGKILL\); its log, .*serving http:\/\/127/s);
  await killed.stop();
  removeLog(failed);
});

test('a call after the stop says so', async () => {
  const stopped = await Petstore.start();
  await stopped.stop();
  for (const call of [() => stopped.reset(), () => stopped.newKey()]) {
    await assert.rejects(call, { name: 'PetstoreStopped', message: /: the petstore was stopped by this program$/ });
  }
});

test('a worker that outlives its runner leaves no server', async () => {
  // The worker never ends by itself, like one of a vitest that was killed.
  const worker = "import { Petstore } from 'petstore-server'; const shop = await Petstore.start(); process.send(shop.pid); setInterval(() => {}, 1000)";
  const child = spawn(process.execPath, ['--input-type=module', '-e', worker], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  try {
    const [pid] = await once(child, 'message');
    assert(isRunning(pid));
    child.disconnect();
    assert(await hasEnded(pid), `${pid} still runs`);
    assert(isRunning(child.pid));
  } finally {
    child.kill('SIGKILL');
  }
});

test('workers and detached programs do not keep the server of a killed test run', async () => {
  // Each holds what a process inherits: a program that was started, a worker of Node, and one of a cluster.
  const begin = "import cluster from 'node:cluster'; import { fork, spawn } from 'node:child_process'; import { Petstore } from 'petstore-server';" +
    "const shop = await Petstore.start(); const quiet = { detached: true, stdio: 'ignore' };" +
    "cluster.setupPrimary({ exec: 'idle.mjs', execArgv: [], silent: true });" +
    "const idle = [spawn('sleep', ['60'], quiet), fork('idle.mjs', { ...quiet, execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }), cluster.fork().process];" +
    'console.log([shop.pid, ...idle.map(({ pid }) => pid)].join()); setInterval(() => {}, 1000)';
  writeFileSync('idle.mjs', "process.on('disconnect', () => {}); setInterval(() => {}, 1000)\n");
  const run = spawn(process.execPath, ['--input-type=module', '-e', begin], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: run.stdout }), 'line');
  const [server, ...idle] = line.split(',').map(Number);
  run.kill('SIGKILL');
  try {
    assert(await hasEnded(server), `${server} still runs`);
    assert.deepEqual(idle.slice(0, 2).map(isRunning), [true, true]);
  } finally {
    for (const pid of idle.filter(isRunning)) process.kill(pid, 'SIGKILL');
  }
});

test('a thread that is terminated leaves no server', async () => {
  const code = "const { parentPort } = require('node:worker_threads'); require('petstore-server').Petstore.start().then((shop) => parentPort.postMessage(shop.pid)); setInterval(() => {}, 1000)";
  const thread = new Worker(code, { eval: true });
  const [pid] = await once(thread, 'message');
  await thread.terminate();
  assert(await hasEnded(pid), `${pid} still runs`);
});

test('a program in CommonJS has the same classes', () => {
  const required = createRequire(import.meta.url)('petstore-server');
  assert.equal(required.Petstore, Petstore);
  assert.equal(required.PetstoreError, PetstoreError);
});

test('a forked program ends although a server runs', async () => {
  const program = "import { Petstore } from 'petstore-server'; const shop = await Petstore.start(); process.send(shop.pid)";
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('a killed or finished test run leaves no server', async () => {
  const begin = "import { Petstore } from 'petstore-server'; const shop = await Petstore.start(); console.log(shop.pid);";
  for (const [end, signal] of [['setInterval(() => {}, 1000)', 'SIGKILL'], ['', null]]) {
    const run = spawn(process.execPath, ['--input-type=module', '-e', begin + end], { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => run.on('exit', (code, by) => resolve(by ?? code)));
    let pid;
    for await (const line of createInterface({ input: run.stdout })) {
      pid = Number(line);
      if (signal) run.kill(signal);
    }
    assert.equal(await ended, signal ?? 0);
    assert(await hasEnded(pid), `${pid} still runs after ${signal ?? 'the end'}`);
  }
});

test('the binary is the one of the package, and not of the PATH', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-path-'));
  writeFileSync(join(folder, 'petstore'), '#!/bin/sh\nexit 1\n');
  chmodSync(join(folder, 'petstore'), 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` };
  const code = "import { Petstore } from 'petstore-server'; await using shop = await Petstore.start(); console.log(shop.version)";
  const plain = code.replace('await using', 'const');
  assert.equal(execFileSync(process.execPath, ['--input-type=module', '-e', plain], { env, encoding: 'utf8' }), `${version}\n`);
});

test('npx runs the binary, passes its exit code and stops it in order', async () => {
  const told = execFileSync('npx', ['petstore-server', '--version'], { encoding: 'utf8' });
  assert(told.startsWith(`petstore ${version} (`), told);
  assert.equal(spawnSync('npx', ['petstore-server', 'no-such-command']).status, 2);
  const server = spawn('node_modules/.bin/petstore', ['--db=memory', '--sandbox', '--listen=127.0.0.1:0', '--ready-json'], {
    cwd: process.cwd(), stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise((resolve) => server.on('exit', resolve));
  for await (const line of createInterface({ input: server.stdout })) {
    const { url, key } = JSON.parse(line);
    assert.equal((await fetch(`${url}/pets`, { headers: { 'X-API-Key': key } })).status, 200);
    server.kill('SIGTERM');
  }
  assert.equal(await ended, 0);
});

test('a start takes less than a tenth of a second', async () => {
  const times = [];
  for (let n = 0; n < 10; n++) {
    const begin = performance.now();
    const started = await Petstore.start({ demo: 100 });
    times.push(performance.now() - begin);
    await started.stop();
  }
  assert(Math.min(...times) < 100, String(times));
});

test('a hundred resets take less than two seconds', async () => {
  const begin = performance.now();
  for (let n = 0; n < 100; n++) await sharedPetstore(OPTIONS);
  assert(performance.now() - begin < 2000);
});
