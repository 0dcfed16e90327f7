// The requests that the server received, and the report about the clients: of all clients, or of one scope.

import { proving, Report, type ClientReport, type Verdict } from './report.js';
import { describe, line, prefix, read, type ReceivedRequest, type RequestFilter } from './requests.js';
import type { Sandbox } from './sandbox.js';

/** The clients whose requests the server received. */
export abstract class Observed {
  readonly #sandbox: Sandbox;
  readonly #origin: string;
  readonly #header: string | undefined;

  /** `origin` names the petstore or the scope; with `header` there are only the requests that have it, as `name:value`.
   * @internal */
  constructor(sandbox: Sandbox, origin: string, header?: string) {
    this.#sandbox = sandbox;
    this.#origin = origin;
    this.#header = header;
  }

  /** The requests that the server received, oldest first. */
  requests(filter: RequestFilter = {}): Promise<ReceivedRequest[]> {
    return read(this.#sandbox, filter, this.#header);
  }

  /** The report about the behaviour of the client; for one key, or for all of them. */
  async report({ key }: { key?: string } = {}): Promise<Report> {
    const sent = await this.#sandbox.call('GET', '/report', { query: { key: prefix(key), header: this.#header } });
    const { verdict, clients } = sent as { verdict: Verdict; clients: ClientReport[] };
    const lines = new Map<number, string>();
    for (const { sequence, id } of proving(clients)) lines.set(sequence, await line(this.#sandbox, id, sequence));
    return new Report({ verdict, clients }, lines);
  }

  /** The last requests in lines, with the bodies of errors, for the report of a failed test; 20 of them unless given. */
  async lastRequests({ limit = 20 }: { limit?: number } = {}): Promise<string> {
    return `Last requests of ${this.#origin}\n${describe(await this.requests({ limit }))}`;
  }
}
