// The server as a child process: start, first line, end.

import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cannotStart, endedAtOnce, type Refusal } from './binary.js';
import { PetstoreError, PetstoreStopped, SandboxError } from './errors.js';

/** The lines of the log in an error message. */
const LOG_LINES = 20;

/** The time for a stop in order, which is more than the server's own time limits. */
const STOP_MS = 15_000;

/** The time in which a server that closed its connections is seen to end. */
const ENDING_MS = 500;

/** The times that a folder is tried to be removed: on Windows a virus scanner may have opened a file in it. */
export const REMOVALS = 5;

/** The pause between two looks at the connection to the test runner. */
const RUNNER_MS = 500;

/** The time limit of a command. */
const COMMAND_MS = 30_000;

/** The line that the server prints once it accepts requests. */
export interface Ready {
  readonly url: string;
  readonly sandbox: string;
  readonly key: string;
  readonly pid: number;
  readonly version: string;
}

const READY = ['url', 'sandbox', 'key', 'pid', 'version'] as const;

// Kept, because tests may replace the global functions by a fake clock.
const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;

/** The environment without settings of a petstore, which would change the server of the tests. */
export function environment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PETSTORE_')));
}

/** Returns whether an error is the system's refusal to start a program. */
function isRefusal(error: unknown): error is Refusal {
  return error instanceof Error && String((error as NodeJS.ErrnoException).syscall).startsWith('spawn');
}

/** A running server in a temporary folder. It ends when its standard input is closed, so also if Node is killed. The folder is
 * removed, except after a failure, so that its log can be read. */
export class ServerProcess {
  readonly #binary: string;
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #watch: NodeJS.Timeout | undefined;
  #wasStopped = false;
  #wasRefused = false;
  readonly #cleanUp = (): void => {
    if (this.#hasFailed()) return;
    // Windows removes no folder in which a program runs. The end of Node would end the server a little later.
    if (process.platform === 'win32') this.#child.kill();
    try {
      rmSync(this.#folder, { recursive: true, force: true, maxRetries: REMOVALS });
    } catch {
      // A folder for temporary files that is left does not make tests fail.
    }
  };

  private constructor(binary: string, folder: string, child: ChildProcess) {
    this.#binary = binary;
    this.#folder = folder;
    this.#child = child;
    this.#ended = new Promise((resolve) => child.once('close', () => resolve()));
    process.once('exit', this.#cleanUp);
    // A runner that is killed may leave its workers, as vitest does. A worker notices it by its lost connection. A timer,
    // because a listener for the event would keep this process from ending.
    if (process.connected) this.#watch = setInterval(() => process.connected || this.#end(), RUNNER_MS).unref();
  }

  /** Asks the server to stop. */
  #end(): void {
    clearInterval(this.#watch);
    this.#child.stdin?.destroy();
  }

  /** Starts a server, and waits for its first line. */
  static async start(binary: string, args: readonly string[], startMs: number): Promise<[ServerProcess, Ready]> {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    const server = new ServerProcess(binary, folder, ServerProcess.#spawn(binary, args, folder));
    try {
      const line = await server.#firstLine(startMs);
      server.#release();
      return [server, server.#readyOf(line)];
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  static #spawn(binary: string, args: readonly string[], folder: string): ChildProcess {
    const log = openSync(join(folder, 'log'), 'w');
    try {
      return spawn(binary, args, { cwd: folder, env: environment(), stdio: ['pipe', 'pipe', log], windowsHide: true });
    } catch (error) {
      // Some refusals of the system come as an exception, and others as an event.
      rmSync(folder, { recursive: true, force: true, maxRetries: REMOVALS });
      throw cannotStart(binary, error as Refusal, folder);
    } finally {
      closeSync(log);
    }
  }

  #readyOf(line: string): Ready {
    try {
      const ready = JSON.parse(line) as Ready;
      if (READY.every((name) => ready[name] !== undefined)) return ready;
    } catch {
      // The line is named below.
    }
    this.#child.kill('SIGKILL');
    throw this.#stopped(`${this.#binary} is no petstore of this version: its first line is ${JSON.stringify(line)}`);
  }

  #firstLine(startMs: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#child.kill('SIGKILL');
        reject(this.#stopped(`the petstore did not start within ${startMs} ms`));
      };
      const timer = setTimeout(late, startMs);
      let text = '';
      this.#child.stdout?.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (text.includes('\n')) {
          clearTimeout(timer);
          resolve(text);
        }
      });
      this.#child.once('error', (error) => {
        clearTimeout(timer);
        reject(cannotStart(this.#binary, error, this.#folder));
      });
      this.#child.once('close', () => {
        clearTimeout(timer);
        const wrong = endedAtOnce(this.#binary);
        this.#wasRefused = wrong !== undefined;
        reject(wrong ?? this.#stopped('the petstore did not start'));
      });
    });
  }

  /** Lets Node end without a call of `stop`: its end closes the server's standard input. */
  #release(): void {
    this.#child.unref();
    // Bun's pipes have no `unref`, and do not keep it from ending.
    for (const pipe of [this.#child.stdin, this.#child.stdout]) (pipe as Partial<Socket> | null)?.unref?.();
    // The server may end before it has read the end of its input.
    this.#child.stdin?.on('error', () => {});
  }

  /** Runs a command of the binary in the server's folder. Returns what it printed. */
  command(...args: readonly string[]): Promise<string> {
    const call = ['petstore', ...args.slice(0, 2)].join(' ');
    return new Promise<string>((resolve, reject) => {
      const options = { cwd: this.#folder, env: environment(), timeout: COMMAND_MS, windowsHide: true };
      execFile(this.#binary, args, options, (error, stdout, stderr) => {
        if (!error) resolve(stdout.trim());
        else reject(isRefusal(error) ? error : this.errorOf(call, stderr.trim() || error.message));
      });
    }).catch((error: unknown) => {
      if (this.#wasStopped) throw this.errorOf(call, '');
      throw isRefusal(error) ? cannotStart(this.#binary, error, this.#folder) : error;
    });
  }

  /** The error of a failed request: its cause, or the end of the server, which Node may see a little later. */
  async errorOfRequest(call: string, message: string): Promise<PetstoreError> {
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.#ended, new Promise((resolve) => (timer = setTimeout(resolve, ENDING_MS)))]);
    clearTimeout(timer);
    return this.errorOf(call, message);
  }

  /** The error of a failed command: that of the server, or its end. */
  errorOf(call: string, message: string): PetstoreError {
    if (this.#wasStopped) return new PetstoreStopped(`${call}: the petstore was stopped by this program`);
    return this.#hasEnded() ? this.#stopped(`${call}: the petstore has ended`) : new SandboxError(call, null, message);
  }

  /** Returns whether the server was started, and ended in another way than in order. */
  #hasFailed(): boolean {
    return this.#child.pid !== undefined && !this.#wasRefused && this.#hasEnded() && this.#child.exitCode !== 0;
  }

  #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** An error with the exit code, and with the path and the end of the log. */
  #stopped(message: string): PetstoreStopped {
    const code = this.#child.exitCode ?? this.#child.signalCode;
    const path = join(this.#folder, 'log');
    let log = '';
    try {
      log = readFileSync(path, 'utf8').trim();
    } catch {
      // The folder was removed by `stop`.
    }
    const lines = log.split('\n').slice(-LOG_LINES).join('\n');
    const state = lines ? `ends with:\n${lines}` : 'is empty';
    return new PetstoreStopped(`${message}${code === null ? '' : ` (exit code ${code})`}; its log, ${path}, ${state}`);
  }

  /** Closes the standard input of the server, and waits until it has ended. Removes its folder, unless it failed. */
  async stop(): Promise<void> {
    this.#wasStopped = true;
    this.#child.ref();
    this.#end();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    // A child that could not be started has no process, and no end.
    if (this.#child.pid !== undefined) await this.#ended;
    clearTimeout(timer);
    process.removeListener('exit', this.#cleanUp);
    this.#cleanUp();
  }
}
