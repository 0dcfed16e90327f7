// The server's binary, which is in a package of the same version for each platform. It is never searched for elsewhere.

import { createHash } from 'node:crypto';
import { closeSync, constants, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { PetstoreNotAvailable } from './errors.js';

/** The part of the manifest that this module reads. */
interface Manifest {
  readonly version: string;
  /** The SHA-256 of the binary for each platform, in hexadecimal digits. */
  readonly binaries: Readonly<Record<string, string>>;
}

const manifest = require('../package.json') as Manifest;

/** The version of this package, which is that of the server. */
export const version: string = manifest.version;

const platform = `${process.platform}-${process.arch}`;

/** The name of the binary in its package. */
const program = process.platform === 'win32' ? 'petstore.exe' : 'petstore';

/** The bytes of a binary that are read at once. */
const CHUNK_BYTES = 1 << 20;

/** The path of the binary once it was found and checked, which is once in a process. */
let checked: string | undefined;

/** Returns the path of the binary, whose digest is the one that this package names. */
export function findBinary(): string {
  return (checked ??= check());
}

function check(): string {
  const expected = manifest.binaries[platform];
  if (expected === undefined) throw notAvailable('no package has it');
  const name = `@petstore-server/${platform}`;
  let found: string;
  let path: string;
  try {
    // Read and not required: a package can have another file in place of its manifest, which would be executed.
    found = (JSON.parse(readFileSync(require.resolve(`${name}/package.json`), 'utf8')) as { version: string }).version;
    path = require.resolve(`${name}/bin/${program}`);
  } catch {
    throw notInstalled(name);
  }
  if (found !== version) {
    throw new PetstoreNotAvailable(
      `petstore-server ${version} needs version ${version} of the package ${name}, and ${found} is installed: ${install(name)}`,
    );
  }
  const digest = sha256(path);
  if (digest !== expected) {
    throw new PetstoreNotAvailable(
      `${path} is not the binary of petstore-server ${version}, and is not executed: its SHA-256 is ${digest} instead of ` +
        `${expected}. Install the two files of one build: ${install(name)}`,
    );
  }
  return path;
}

function sha256(path: string): string {
  const hash = createHash('sha256');
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const file = openSync(path, 'r');
  try {
    for (let read; (read = readSync(file, chunk)) > 0; ) hash.update(chunk.subarray(0, read));
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

/** The errors of a start in words, by their codes. */
const REASONS: Readonly<Record<string, string>> = {
  E2BIG: 'argument list too long',
  EACCES: 'permission denied',
  EMFILE: 'too many open files',
  ENFILE: 'too many open files in the system',
  ENOENT: 'no such file or directory',
  ENOEXEC: 'exec format error',
  ENOMEM: 'not enough memory',
};

/** An error of a start, without the types of Node, which a program need not have. */
export type Refusal = Error & { readonly code?: string | undefined };

/** The error for a binary that the system does not start in this folder, with the system's reason and a way out. */
export function cannotStart(binary: string, error: Refusal, folder = '.'): PetstoreNotAvailable {
  const code = error.code ?? '';
  const reason = REASONS[code] ? `${REASONS[code]} (${code})` : error.message;
  if (code === 'ENOENT') {
    if (!mode(folder)) return new PetstoreNotAvailable(`${binary} cannot be started: its folder ${folder} was removed`);
    // A file that is not found although it exists names a loader or an interpreter that this system lacks.
    if (isAbsolute(binary) && mode(binary)) return wrongFormat(binary, `${reason}; its loader or interpreter is missing`);
  }
  // Bun tells it, and Node has a shell execute such a file.
  const wrong = code === 'ENOEXEC' ? endedAtOnce(binary) : undefined;
  return wrong ?? new PetstoreNotAvailable(`${binary} cannot be started: ${reason}${wayOut(binary, code)}`);
}

/** The error for a binary that ended at once, if it is none for this platform. The system refuses such a file, and then Node has
 * a shell execute it; the log has only the shell's view of it. Some systems run programs for another processor. */
export function endedAtOnce(binary: string): PetstoreNotAvailable | undefined {
  const format = formatOf(binary);
  if (format === undefined || format === platform) return undefined;
  return wrongFormat(binary, `exec format error; it is ${format === '' ? `no program of ${SYSTEMS[process.platform] ?? process.platform}` : `made for ${format}`}`);
}

/** The error for a binary that this platform does not run. */
function wrongFormat(binary: string, reason: string): PetstoreNotAvailable {
  if (binary === checked) return notAvailable(`${binary}: ${reason}`);
  return new PetstoreNotAvailable(`${binary} cannot be started: ${reason}; this is ${platform}`);
}

/** The advice for a refusal that a tester can mend; empty for another one. */
function wayOut(binary: string, code: string): string {
  switch (code) {
    case 'EACCES':
    case 'EPERM': {
      // Windows has no permission of this kind.
      if (process.platform === 'win32') return '; a policy or a virus scanner may forbid it';
      const bits = mode(binary);
      if (bits === undefined) return '; its folder cannot be read';
      if ((bits & constants.S_IFMT) === constants.S_IFDIR) return '; it is a folder';
      return bits & 0o111
        ? '; its folder is mounted noexec, or this user may not execute it: install it into another folder'
        : `; it has no permission to be executed: chmod +x ${quoted(binary)}, or install the package again`;
    }
    case 'E2BIG': {
      const size = Object.entries(process.env).reduce((sum, [name, value]) => sum + Buffer.byteLength(`${name}=${value}`), 0);
      return `; the environment has ${size} bytes: remove large variables`;
    }
    case 'ENOEXEC':
      return '; the file is damaged or incomplete: install it again';
    case 'EMFILE':
    case 'ENFILE':
      return '; close files, or raise `ulimit -n`';
    default:
      return '';
  }
}

/** A text as a word of a shell: bare if no character in it means something else there. */
function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The mode of a file or a folder; undefined if there is none that this user sees. */
function mode(path: string): number | undefined {
  try {
    return statSync(path).mode;
  } catch {
    return undefined;
  }
}

/** The systems, as people name them. */
const SYSTEMS: Readonly<Record<string, string>> = { darwin: 'macOS', linux: 'Linux', win32: 'Windows' };

/** The processors in the headers of ELF, of Mach-O and of Windows, by the names that Node has for them. */
const LINUX: Readonly<Record<number, string>> = { 62: 'x64', 183: 'arm64' };
const MACOS: Readonly<Record<number, string>> = { 0x01000007: 'x64', 0x0100000c: 'arm64' };
const WINDOWS: Readonly<Record<number, string>> = { 0x8664: 'x64', 0xaa64: 'arm64' };

/** The bytes of a file in which its header is. */
const HEADER_BYTES = 4096;

/** The platform in the header of a file; empty if it is no program for a known processor; undefined for a script and for a file
 * that cannot be read. */
function formatOf(path: string): string | undefined {
  const header = Buffer.alloc(HEADER_BYTES);
  try {
    const file = openSync(path, 'r');
    try {
      readSync(file, header);
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
  const begin = header.toString('latin1', 0, 6);
  if (begin.startsWith('#!')) return undefined;
  const windows = Math.min(header.readUInt32LE(60), HEADER_BYTES - 6);
  for (const [system, magic, processor] of [
    ['linux', '\x7fELF\x02\x01', LINUX[header.readUInt16LE(18)]],
    ['darwin', '\xcf\xfa\xed\xfe', MACOS[header.readUInt32LE(4)]],
    ['win32', 'MZ', WINDOWS[header.readUInt16LE(windows + 4)]],
  ] as const) {
    if (begin.startsWith(magic) && processor !== undefined) return `${system}-${processor}`;
  }
  return '';
}

/** The command that installs this package and the one with the binary. */
function install(name: string): string {
  const file = name.replace('@', '').replace('/', '-');
  return `npm install --save-dev ./petstore-server-${version}.tgz ./${file}-${version}.tgz`;
}

/** The error for an installation that lacks the package with the binary. */
function notInstalled(name: string): PetstoreNotAvailable {
  return new PetstoreNotAvailable(
    `petstore-server ${version} needs the package ${name}, which is not installed. Install both: ${install(name)}`,
  );
}

/** The error for a platform on which the binary cannot run, with other ways to a server. */
function notAvailable(why: string): PetstoreNotAvailable {
  return new PetstoreNotAvailable(
    `petstore-server ${version} has no server for ${platform} (${why}). It has one for ` +
      `${Object.keys(manifest.binaries).join(' and ')}. Other ways: in a checkout of Petstore's source, build a container image ` +
      '(bash app/package/image petstore) and publish its port, or build the binary with Rust (cargo install --locked --path ' +
      'app/cli) and pass it as Petstore.start({ binary })',
  );
}
