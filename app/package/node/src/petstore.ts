/// <reference lib="esnext.disposable" preserve="true" />

import { resolve, sep } from 'node:path';
import { findBinary } from './binary.js';
import { Clock } from './clock.js';
import { PetstoreError } from './errors.js';
import { Faults } from './faults.js';
import { ServerProcess, type Ready } from './process.js';
import { proving, Report, type ClientReport, type Verdict } from './report.js';
import { describe, line, prefix, read, type ReceivedRequest, type RequestFilter } from './requests.js';
import { Sandbox } from './sandbox.js';
import { settle, Sink, type Settled } from './sinks.js';

export interface PetstoreOptions {
  /** The number of pets at the start and after each reset, always the same ones; without it the shop is empty. */
  demo?: number;
  /** Settings of the server, by the names that `petstore settings` lists: `{ 'free-minute': 3 }`. */
  settings?: Readonly<Record<string, string | number | boolean>>;
  /** Another binary than that of this package: a path, or a name in the `PATH`. */
  binary?: string;
  /** The time limit of the start in milliseconds; 10,000 unless given. */
  startMs?: number;
}

export interface NewKey {
  /** The plan of the account; Free unless given, enterprise with the requests a `minute` and a `day`. */
  plan?: 'free' | 'pro' | 'business' | 'enterprise';
  /** The account of the key, which is created if it does not exist; a new one unless given. */
  account?: string;
  /** `read`, `read,write` or `read,write,webhooks`. */
  scopes?: string;
  /** A time such as `30d`, or a date. */
  expires?: string;
  minute?: number;
  day?: number;
}

const OWN = ['db', 'listen', 'sandbox', 'demo', 'end-with-stdin', 'ready-json'];

/** A server in memory, on a free port of this machine. It ends with `stop`, with `await using`, or with this process, even
 * if this process is killed. It does not keep this process from ending. */
export class Petstore {
  /** The base of the contract, such as `http://127.0.0.1:41237/v1`. */
  readonly url: string;
  /** An API key of the Business plan, which survives every reset. */
  readonly key: string;
  /** The base of the sandbox, such as `http://127.0.0.1:41237/sandbox`. */
  readonly sandboxUrl: string;
  /** The version of the server. */
  readonly version: string;
  /** The process of the server. */
  readonly pid: number;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly #process: ServerProcess;
  readonly #sandbox: Sandbox;

  private constructor(process: ServerProcess, ready: Ready) {
    this.url = ready.url;
    this.key = ready.key;
    this.sandboxUrl = ready.sandbox;
    this.version = ready.version;
    this.pid = ready.pid;
    this.#process = process;
    this.#sandbox = new Sandbox(ready.sandbox, process);
    this.clock = new Clock(this.#sandbox);
    this.faults = new Faults(this.#sandbox);
  }

  /** Starts a server. */
  static async start(options: PetstoreOptions = {}): Promise<Petstore> {
    const { demo, binary = findBinary(), startMs = 10_000 } = options;
    const settings: Record<string, string | number | boolean> = { ...options.settings };
    const taken = OWN.filter((name) => name in settings);
    if (taken.length > 0) {
      throw new PetstoreError(`the settings ${taken.join(', ')} are those of the sandbox and cannot be changed`);
    }
    // With TLS the sandbox has a listener without it.
    if ('tls-cert' in settings) settings['ops-listen'] ??= '127.0.0.1:0';
    const flags = Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
    const args = ['--db=memory', '--sandbox', '--listen=127.0.0.1:0', '--end-with-stdin', '--ready-json', ...flags];
    if (demo) args.push(`--demo=${demo}`);
    // The server starts in another folder; a name without a folder is looked up in the `PATH`.
    const program = binary.includes(sep) ? resolve(binary) : binary;
    const [process, ready] = await ServerProcess.start(program, args, startMs);
    return new Petstore(process, ready);
  }

  /** Stops the server in order, and removes its folder, unless the server failed. */
  stop(): Promise<void> {
    return this.#process.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Restores the initial shop, quotas, and an empty plan of failures. Keys stay valid, and the clock goes on. */
  async reset(): Promise<void> {
    await this.#sandbox.call('POST', '/reset');
  }

  /** Creates a key, by default of a new account on the Free plan. */
  newKey(key: NewKey = {}): Promise<string> {
    const flags = Object.entries(key).filter(([, value]) => value !== undefined);
    return this.#process.command('keys', 'create', '--db=memory', '--quiet', ...flags.map(([name, value]) => `--${name}=${value}`));
  }

  /** The requests that the server received, oldest first. */
  requests(filter: RequestFilter = {}): Promise<ReceivedRequest[]> {
    return read(this.#sandbox, filter);
  }

  /** Deletes the requests that the server received so far. A reset does it, too. */
  async clearRequests(): Promise<void> {
    await this.#sandbox.call('DELETE', '/requests');
  }

  /** The report about the behaviour of the client; for one key, or for all of them. */
  async report({ key }: { key?: string } = {}): Promise<Report> {
    const sent = await this.#sandbox.call('GET', '/report', { query: { key: prefix(key) } });
    const { verdict, clients } = sent as { verdict: Verdict; clients: ClientReport[] };
    const lines = new Map<number, string>();
    for (const { sequence, id } of proving(clients)) lines.set(sequence, await line(this.#sandbox, id, sequence));
    return new Report({ verdict, clients }, lines);
  }

  /** A receiver of webhooks in the sandbox. */
  sink(name: string): Sink {
    return new Sink(this.#sandbox, name);
  }

  /** Waits until no attempt to deliver a webhook is due or in flight, so that the sinks have all that the clock permits. Throws
   * `NotDelivered` if it takes longer than `seconds`; 10 unless given, at most 60. */
  settle({ seconds = 10 }: { seconds?: number } = {}): Promise<Settled> {
    return settle(this.#sandbox, seconds);
  }

  /** The last requests in lines, with the bodies of errors, for the report of a failed test; 20 of them unless given. */
  async lastRequests({ limit = 20 }: { limit?: number } = {}): Promise<string> {
    return `Last requests of ${this.url}\n${describe(await this.requests({ limit }))}`;
  }
}

const SHARED = Symbol.for('petstore-server/shared');

/** Returns the server of this process, in its initial state: shop, quotas, planned failures and clock. The first call starts
 * it. Call it before each test: one worker of a parallel test run then has one server. */
export async function sharedPetstore(options: PetstoreOptions = {}): Promise<Petstore> {
  const text = JSON.stringify(options);
  // On the process, because a test runner may load this module several times.
  const global = globalThis as { [SHARED]?: { text: string; started: Promise<Petstore> } };
  const shared = (global[SHARED] ??= { text, started: Petstore.start(options) });
  if (shared.text !== text) {
    throw new PetstoreError(`the shared petstore was started with ${shared.text}: use the same options, or Petstore.start`);
  }
  const shop = await shared.started;
  await shop.clock.restore();
  await shop.reset();
  return shop;
}
