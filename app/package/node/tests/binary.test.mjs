// The search for the binary, its check and its start, on copies of the installed packages: node --test binary.test.mjs
import assert from 'node:assert';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Petstore } from 'petstore-server';

const PLATFORM = `${process.platform}-${process.arch}`;
const BINARY = `@petstore-server/${PLATFORM}`;
const OTHER_WAYS = /Other ways: in a checkout .*app\/package\/image.*cargo install/;

const root = mkdtempSync(join(tmpdir(), 'petstore-binary-'));
after(() => rmSync(root, { recursive: true }));
let installations = 0;

/** Copies the packages with another binary, whose digest the main package then names. */
function installed({ content, mode = 0o755, digest = true, names = ['petstore-server', BINARY] } = {}) {
  const folder = join(root, String(installations++));
  for (const name of names) cpSync(realpathSync(join('node_modules', name)), join(folder, 'node_modules', name), { recursive: true });
  const path = join(realpathSync(folder), 'node_modules', BINARY, 'bin', 'petstore');
  if (content) {
    writeFileSync(path, content);
    chmodSync(path, mode);
  }
  if (content && digest) edit(folder, 'petstore-server', { binaries: { [PLATFORM]: createHash('sha256').update(content).digest('hex') } });
  return { folder, path };
}

function edit(folder, name, members) {
  const file = join(folder, 'node_modules', name, 'package.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...members }));
}

/** Starts a petstore there, and returns the error's name and message. */
function refusal(folder, before = '') {
  const code = `${before}; const { Petstore } = require('petstore-server'); Petstore.start().then((shop) => shop.stop(), ({ name, message }) => console.log(name, message))`;
  return execFileSync(process.execPath, ['-e', code], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

/** The beginning of a program of Linux for this processor. */
function elf(processor) {
  const header = Buffer.alloc(64);
  header.write('\x7fELF\x02\x01\x01', 'latin1');
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(processor, 18);
  return header;
}

/** The beginning of a program of macOS for this processor. */
function machO(processor) {
  const header = Buffer.alloc(64);
  header.write('\xcf\xfa\xed\xfe', 'latin1');
  header.writeUInt32LE(processor, 4);
  return header;
}

/** The beginning of a program of Windows for this processor. */
function windows(processor) {
  const header = Buffer.alloc(128);
  header.write('MZ', 'latin1');
  header.writeUInt32LE(64, 60);
  header.write('PE', 64, 'latin1');
  header.writeUInt16LE(processor, 68);
  return header;
}

test('another binary than that of the build is not executed', () => {
  const mark = join(root, 'executed');
  const { folder, path } = installed({ content: `#!/bin/sh\ntouch ${mark}\n`, digest: false });
  const said = refusal(folder);
  assert.match(said, /^PetstoreNotAvailable .* is not the binary of petstore-server .*, and is not executed: its SHA-256 is \w{64} instead of \w{64}\./);
  assert(said.includes(path), said);
  const command = spawnSync(process.execPath, ['node_modules/petstore-server/dist/cli.js', '--version'], { cwd: folder, encoding: 'utf8' });
  assert.equal(command.status, 1);
  assert.match(command.stderr, /^petstore: .* is not executed/);
  assert(!existsSync(mark));
});

test('nothing in the package with the binary is executed before its digest is checked', () => {
  const { folder } = installed();
  const mark = join(root, 'required');
  const other = join(folder, 'node_modules', BINARY);
  writeFileSync(join(other, 'other.js'), `require('node:fs').writeFileSync(${JSON.stringify(mark)}, ''); module.exports = { version: '1.0.0' };`);
  edit(folder, BINARY, { main: './other.js', exports: { '.': './other.js', './package.json': './other.js', './bin/petstore': './bin/petstore' } });
  assert.match(refusal(folder), /^PetstoreNotAvailable /);
  assert(!existsSync(mark));
});

test('no binary of a registry is installed or executed', async () => {
  // A registry in which a stranger has published the package with the binary.
  const version = JSON.parse(readFileSync('node_modules/petstore-server/package.json', 'utf8')).version;
  const stranger = join(root, 'stranger');
  mkdirSync(join(stranger, 'bin'), { recursive: true });
  writeFileSync(join(stranger, 'bin', 'petstore'), '#!/bin/sh\n', { mode: 0o755 });
  writeFileSync(join(stranger, 'package.json'), JSON.stringify({ name: BINARY, version }));
  const packed = readFileSync(join(root, execFileSync('npm', ['pack', stranger, '--silent'], { cwd: root, encoding: 'utf8' }).trim()));
  const asked = [];
  const registry = createServer(({ url }, response) => {
    asked.push(url);
    const dist = { tarball: `${address}/packed.tgz`, integrity: `sha512-${createHash('sha512').update(packed).digest('base64')}` };
    response.end(url === '/packed.tgz' ? packed : JSON.stringify({ name: BINARY, 'dist-tags': { latest: version }, versions: { [version]: { name: BINARY, version, dist } } }));
  });
  await once(registry.listen(0, '127.0.0.1'), 'listening');
  const address = `http://127.0.0.1:${registry.address().port}`;
  for (const names of [['petstore-server'], ['petstore-server', BINARY]]) {
    const folder = mkdtempSync(join(root, 'project-'));
    writeFileSync(join(folder, 'package.json'), '{"private": true}');
    const options = ['--no-audit', '--no-fund', '--install-links', '--cache', join(root, 'cache'), '--registry', address];
    const npm = spawn('npm', ['install', ...options, ...names.map((name) => realpathSync(join('node_modules', name)))], {
      cwd: folder, stdio: ['ignore', 'ignore', 'inherit'],
    });
    assert.deepEqual(await once(npm, 'exit'), [0, null]);
    if (names.length === 1) {
      assert.match(refusal(folder), /needs the package @petstore-server\/\S+, which is not installed\. Install both: npm install --save-dev \.\/petstore-server-[\d.]+\.tgz \.\/petstore-server-linux-\w+-[\d.]+\.tgz$/);
      assert(!asked.includes('/packed.tgz'), asked.join());
      asked.length = 0;
    } else {
      assert.equal(refusal(folder), '');
      assert.deepEqual(asked, []);
    }
  }
  registry.close();
});

test('the packages are of one version', () => {
  const { folder } = installed();
  edit(folder, BINARY, { version: '0.9.0' });
  assert.match(refusal(folder), /needs version \S+ of the package @petstore-server\/\S+, and 0\.9\.0 is installed: npm install/);
});

test('another platform gets the other ways', () => {
  const said = refusal('.', "Object.defineProperty(process, 'arch', { value: 'sparc' })");
  assert.match(said, /^PetstoreNotAvailable petstore-server \S+ has no server for linux-sparc \(no package has it\)\. It has one for linux-\w+\./);
  assert.match(said, OTHER_WAYS);
});

test('a wrong format names the platform', async () => {
  const other = process.arch === 'x64' ? 183 : 62;
  for (const [content, reason] of [
    ['no program', /exec format error; it is no program of Linux/],
    [elf(243), /exec format error; it is no program of Linux/],
    [elf(other), /exec format error; it is made for linux-(x64|arm64)/],
    [machO(0x0100000c), /exec format error; it is made for darwin-arm64/],
    [windows(0x8664), /exec format error; it is made for win32-x64/],
    ['#!/no/loader\n', /no such file or directory \(ENOENT\); its loader or interpreter is missing/],
  ]) {
    const { folder, path } = installed({ content });
    const said = refusal(folder);
    assert(said.startsWith('PetstoreNotAvailable petstore-server') && said.includes(`has no server for ${PLATFORM} (${path}: `), said);
    assert.match(said, reason);
    assert.match(said, OTHER_WAYS);
    const command = spawnSync(process.execPath, ['node_modules/petstore-server/dist/cli.js'], { cwd: folder, encoding: 'utf8' });
    assert.equal(command.status, 1);
    assert.match(command.stderr, reason);
    const given = await Petstore.start({ binary: path }).catch((error) => error);
    assert(given.message.startsWith(`${path} cannot be started: `) && given.message.endsWith(`; this is ${PLATFORM}`), given.message);
    assert.match(given.message, reason);
  }
});

test('a format that the runtime refuses is named', async () => {
  const { cannotStart } = await import(pathToFileURL(join(realpathSync('node_modules/petstore-server'), 'dist', 'binary.js')));
  const refused = Object.assign(new Error('ENOEXEC: unknown error, posix_spawn'), { code: 'ENOEXEC' });
  for (const [content, reason] of [
    ['no program', /: exec format error; it is no program of Linux; this is linux-/],
    [elf(process.arch === 'x64' ? 183 : 62), /: exec format error; it is made for linux-(x64|arm64); this is linux-/],
    [elf(process.arch === 'x64' ? 62 : 183), /: exec format error \(ENOEXEC\); the file is damaged or incomplete: install it again$/],
  ]) {
    assert.match(cannotStart(installed({ content }).path, refused).message, reason);
  }
});

test('a lost permission is named', () => {
  const { folder, path } = installed({ content: '#!/bin/sh\n', mode: 0o644 });
  const expected = `${path} cannot be started: permission denied (EACCES); it has no permission to be executed: chmod +x ${path}, `;
  assert(refusal(folder).startsWith(`PetstoreNotAvailable ${expected}`));
  const command = spawnSync(process.execPath, ['node_modules/petstore-server/dist/cli.js'], { cwd: folder, encoding: 'utf8' });
  assert.equal(command.status, 1);
  assert(command.stderr.startsWith(`petstore: ${expected}`), command.stderr);
});

test('a command in an error has the path as one word, and a folder is named', async () => {
  const folder = mkdtempSync(join(root, "it's a "));
  const binary = join(folder, 'petstore');
  writeFileSync(binary, '#!/bin/sh\nexit 3\n', { mode: 0o644 });
  const message = await Petstore.start({ binary }).catch((error) => error.message);
  execFileSync('sh', ['-c', /: (chmod .*), or install/.exec(message)[1]]);
  await assert.rejects(Petstore.start({ binary }), { name: 'PetstoreStopped', message: /did not start \(exit code 3\)/ });
  await assert.rejects(Petstore.start({ binary: folder }), { message: `${folder} cannot be started: permission denied (EACCES); it is a folder` });
});

test('a binary has a relative path or a name', async () => {
  const { path } = installed();
  const [folder, search] = [process.cwd(), process.env.PATH];
  process.chdir(dirname(path));
  try {
    await (await Petstore.start({ binary: './petstore' })).stop();
    process.env.PATH = dirname(path);
    await (await Petstore.start({ binary: 'petstore' })).stop();
  } finally {
    process.chdir(folder);
    process.env.PATH = search;
  }
});

test('a large environment is named, also by a command', async () => {
  const shop = await Petstore.start();
  for (let n = 0; n < 40; n++) process.env[`LARGE_${n}`] = 'x'.repeat(120_000);
  try {
    const large = { name: 'PetstoreNotAvailable', message: /cannot be started: argument list too long \(E2BIG\); the environment has 4\d{6} bytes/ };
    await assert.rejects(Petstore.start(), large);
    await assert.rejects(shop.newKey(), large);
  } finally {
    for (let n = 0; n < 40; n++) delete process.env[`LARGE_${n}`];
  }
  await shop.stop();
});

test('a lack of files is named', () => {
  const code = "const { openSync } = require('node:fs'); const { Petstore } = require('petstore-server'); require('node:child_process');" +
    "Petstore.start().then((shop) => shop.stop()).then(() => { try { for (;;) openSync('/dev/null'); } catch {} require('node:fs').closeSync(40);" +
    'return Petstore.start(); }).catch(({ name, message }) => process.stdout.write(`${name} ${message}`))';
  const said = execFileSync('sh', ['-c', `ulimit -n 64; exec "$0" -e "$1"`, process.execPath, code], { encoding: 'utf8' });
  assert.match(said, /^PetstoreNotAvailable .* cannot be started: too many open files \(EMFILE\); close files/);
});

test('a folder that was removed is named', async () => {
  const shop = await Petstore.start();
  rmSync(realpathSync(`/proc/${shop.pid}/cwd`), { recursive: true });
  await assert.rejects(shop.newKey(), { name: 'PetstoreNotAvailable', message: /cannot be started: its folder .*petstore-\w+ was removed$/ });
  await shop.stop();
});

test('a refused start leaves no folder', async () => {
  const temporary = mkdtempSync(join(root, 'tmp-'));
  const { path } = installed({ content: 'no program' });
  const own = process.env.TMPDIR;
  process.env.TMPDIR = temporary;
  try {
    for (const binary of [path, '/no-such-binary']) await assert.rejects(Petstore.start({ binary }), { name: 'PetstoreNotAvailable' });
    assert.deepEqual(execFileSync('ls', [temporary], { encoding: 'utf8' }), '');
  } finally {
    if (own === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = own;
  }
});
