/// <reference lib="esnext.disposable" preserve="true" />

import { resolve, sep } from 'node:path';
import * as baseline from './baseline.js';
import type { BaselineCounts, ShopRecord } from './baseline.js';
import { findBinary } from './binary.js';
import { Clock } from './clock.js';
import { PetstoreError } from './errors.js';
import { Faults } from './faults.js';
import { Observed } from './observed.js';
import { ServerProcess, type Ready } from './process.js';
import { Sandbox } from './sandbox.js';
import { Scope, type ScopeOptions } from './scope.js';
import { settle, Sink, type Settled } from './sinks.js';

export interface PetstoreOptions {
  /** The number of pets at the start and after each reset, always the same ones; without it the shop is empty. */
  demo?: number;
  /** A file with the shop at the start and after each reset, instead of `demo`: the lines of `petstore import`. */
  shop?: string;
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

const OWN = ['db', 'listen', 'sandbox', 'demo', 'sandbox-shop', 'end-with-stdin', 'ready-json'];

/** A server in memory, on a free port of this machine. It ends with `stop`, with `await using`, or with this process, even
 * if this process is killed. It does not keep this process from ending. */
export class Petstore extends Observed {
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
    const sandbox = new Sandbox(ready.sandbox, process);
    super(sandbox, ready.url);
    this.url = ready.url;
    this.key = ready.key;
    this.sandboxUrl = ready.sandbox;
    this.version = ready.version;
    this.pid = ready.pid;
    this.#process = process;
    this.#sandbox = sandbox;
    this.clock = new Clock(this.#sandbox);
    this.faults = new Faults(this.#sandbox);
  }

  /** Starts a server. */
  static async start(options: PetstoreOptions = {}): Promise<Petstore> {
    const { demo, shop, binary = findBinary(), startMs = 10_000 } = options;
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
    // The server starts in another folder.
    if (shop !== undefined) args.push(`--sandbox-shop=${resolve(shop)}`);
    // A name without a folder is looked up in the `PATH`.
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

  /** Restores the shop of the baseline, quotas, and an empty plan of failures. Keys stay valid, and the clock goes on. */
  async reset(): Promise<void> {
    await this.#sandbox.call('POST', '/reset');
  }

  /** The records of the shop that a reset restores: categories, then pets, then orders. */
  baseline(): Promise<ShopRecord[]> {
    return baseline.records(this.#sandbox);
  }

  /** Sets the shop that a reset restores: all of it, or nothing if a line is wrong. `shop` is a file with the lines of `petstore import`,
   * or records such as `{ category: { name: 'Dogs', id: 1 } }`. The present shop stays until a reset. The baseline stays over resets, so
   * also for later tests on this server. */
  putBaseline(shop: string | readonly ShopRecord[]): Promise<BaselineCounts> {
    return baseline.put(this.#sandbox, shop);
  }

  /** Makes the shop as it is now the one that a reset restores, also for later tests on this server. */
  saveBaseline(): Promise<BaselineCounts> {
    return baseline.save(this.#sandbox);
  }

  /** Lets a reset restore the shop of the start again. */
  dropBaseline(): Promise<void> {
    return baseline.drop(this.#sandbox);
  }

  /** Creates a key, by default of a new account on the Free plan. */
  newKey(key: NewKey = {}): Promise<string> {
    const flags = Object.entries(key).filter(([, value]) => value !== undefined);
    return this.#process.command('keys', 'create', '--db=memory', '--quiet', ...flags.map(([name, value]) => `--${name}=${value}`));
  }

  /** Deletes the requests that the server received so far. A reset does it, too. */
  async clearRequests(): Promise<void> {
    await this.#sandbox.call('DELETE', '/requests');
  }

  /** The part of this petstore that belongs to one test: with a header for its client, and with failures, requests and a report of the
   * requests that have it. Tests that run side by side then share one server. `name` is the value of the header, such as
   * `orders.create`. */
  scope(name: string, options: ScopeOptions = {}): Scope {
    return new Scope(this.#sandbox, name, options);
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
