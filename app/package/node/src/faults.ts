import type { Sandbox } from './sandbox.js';

/** A header of the calls that a rule matches. */
export interface FaultHeader {
  name: string;
  value: string;
}

/** A rule: the calls that it matches, and what happens to them. The names are those of the server;
 * docs/sandbox.md in its source describes them. */
export interface Fault {
  /** The method of the calls; without it any. */
  method?: string;
  /** The path as written in the contract, such as `/pets/{petId}`; without it any. */
  route?: string;
  /** The calls with this API key, or with a key that begins so; without it any. */
  key?: string;
  /** The calls with this header; without it any. */
  header?: FaultHeader;
  /** The calls over HTTP, or those of tools over MCP; without it both. */
  via?: 'http' | 'mcp';
  /** The rule lets this many calls pass before the first one that it may act on. */
  skip?: number;
  /** The rule acts on this many calls, from the first one after those that it skips. */
  first?: number;
  /** The rule acts on this percentage of the calls. */
  percent?: number;
  /** The call ends with an error of this status. */
  status?: number;
  /** The call ends with this error of the contract. */
  code?: string;
  /** `Retry-After`: seconds, a text that is sent as it is, null for none, or the distance of a date such as `+3s`. */
  retryAfter?: number | string | null | { date: string };
  /** The connection ends without a response. */
  drop?: boolean;
  /** The call waits this long, such as `200ms`. */
  latency?: string;
  /** The call waits a random time up to this one, in addition. */
  jitter?: string;
  /** `after`: the rule acts on the response, once the change of the call was made. */
  when?: 'before' | 'after';
  /** The fault of the response's body. */
  body?: 'truncate' | 'malformed' | 'slow';
  /** The speed of a slow body. */
  bytesPerSecond?: number;
  /** The window of the account that is used up before the call. */
  exhaust?: 'minute' | 'day';
  /** Each object of the response has an additional member, and an error has an unknown code. */
  grow?: boolean;
}

/** A rule of the plan, and how often it matched and acted. */
export interface PlannedFault extends Fault {
  /** The number of the rule. */
  id: number;
  /** The calls that the rule matched. */
  calls: number;
  /** The calls that it acted on. */
  acted: number;
}

/** The plan of failures. The same calls in the same order fail in the same way on every machine. */
export class Faults {
  readonly #sandbox: Sandbox;

  /** @internal */
  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** Replaces the plan. The first rule that acts on a call decides. */
  async plan(faults: Fault | readonly Fault[], { seed = 0 }: { seed?: number } = {}): Promise<void> {
    await this.#sandbox.call('PUT', '/faults', { body: { seed, faults: [faults].flat() } });
  }

  /** Adds rules behind those of the plan. Returns them with their numbers. */
  async add(faults: Fault | readonly Fault[]): Promise<PlannedFault[]> {
    return rules(await this.#sandbox.call('POST', '/faults', { body: { faults: [faults].flat() } }));
  }

  /** Removes the rule with this number. */
  async remove(id: number): Promise<void> {
    await this.#sandbox.call('DELETE', `/faults/${id}`);
  }

  /** The rules of the plan, with their counts. */
  async planned(): Promise<PlannedFault[]> {
    return rules(await this.#sandbox.call('GET', '/faults'));
  }

  /** Removes the plan. A reset does it, too. */
  async clear(): Promise<void> {
    await this.#sandbox.call('DELETE', '/faults');
  }
}

/** The failures of one scope. They do not depend on the rules of other scopes. */
export class ScopeFaults {
  readonly #sandbox: Sandbox;
  readonly #all: Faults;
  readonly #header: FaultHeader;

  /** @internal */
  constructor(sandbox: Sandbox, header: FaultHeader) {
    this.#sandbox = sandbox;
    this.#all = new Faults(sandbox);
    this.#header = header;
  }

  /** Replaces the rules of this scope. The first rule that acts on a call decides. */
  async plan(faults: Fault | readonly Fault[]): Promise<void> {
    await this.clear();
    await this.add(faults);
  }

  /** Adds rules behind those of this scope. Returns them with their numbers. */
  async add(faults: Fault | readonly Fault[]): Promise<PlannedFault[]> {
    const { name, value } = this.#header;
    const other = [faults].flat().find(({ header }) => header && (header.name !== name || header.value !== value));
    if (other) throw new TypeError(`a rule of this scope is for its own header, ${name}: ${value}, and not for ${JSON.stringify(other.header)}`);
    return this.#all.add([faults].flat().map((fault) => ({ ...fault, header: this.#header })));
  }

  /** The rules of this scope, with their counts. */
  async planned(): Promise<PlannedFault[]> {
    const { name, value } = this.#header;
    return (await this.#all.planned()).filter(({ header }) => header?.name === name.toLowerCase() && header.value === value);
  }

  /** Removes the rules of this scope. */
  async clear(): Promise<void> {
    await this.#sandbox.call('DELETE', '/faults', { query: { header: `${this.#header.name}:${this.#header.value}` } });
  }
}

function rules(answer: unknown): PlannedFault[] {
  return (answer as { faults: PlannedFault[] }).faults;
}
