// The journal of the requests that the server received.

import { NotEnoughRequests, SandboxError } from './errors.js';
import { Message, type SentMessage } from './messages.js';
import type { Query, Sandbox } from './sandbox.js';

/** `sent`, `streaming`, `dropped` by a planned failure, or `gone` if the client closed the connection. */
export type Outcome = 'sent' | 'streaming' | 'dropped' | 'gone';

interface SentAnswer extends SentMessage {
  readonly at: string;
  readonly outcome: Outcome;
  readonly status: number | null;
  readonly code: string | null;
}

interface SentRequest extends SentMessage {
  readonly id: string;
  readonly sequence: number;
  readonly at: string;
  readonly uptimeMs: number;
  readonly durationMs: number | null;
  readonly client: string;
  readonly connection: number;
  readonly protocol: string;
  readonly account: number | null;
  readonly keyPrefix: string | null;
  readonly method: string;
  readonly target: string;
  readonly route: string | null;
  readonly answer: SentAnswer | null;
  readonly quota: Quota | null;
  readonly fault: string | null;
  readonly hints: readonly string[];
}

/** The values of the quota headers. */
export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
  readonly resource: string;
}

/** A response, as the server sent it. */
export class Answer extends Message {
  readonly at: Date;
  readonly outcome: Outcome;
  readonly status: number | null;
  /** The code of an error. */
  readonly code: string | null;

  /** @internal */
  constructor(sent: SentAnswer) {
    super(sent);
    this.at = new Date(sent.at);
    this.outcome = sent.outcome;
    this.status = sent.status;
    this.code = sent.code;
  }
}

/** A request, as the server received it. Credentials are cut to their prefix. */
export class ReceivedRequest extends Message {
  readonly id: string;
  /** The number of the request, from 1, since the last reset. */
  readonly sequence: number;
  /** The time by the server's clock. */
  readonly at: Date;
  /** The time since the start of the server, by the machine's clock. */
  readonly uptimeMs: number;
  readonly durationMs: number | null;
  readonly client: string;
  readonly connection: number;
  readonly protocol: string;
  readonly account: number | null;
  readonly keyPrefix: string | null;
  readonly method: string;
  /** The path and the query, as they were received. */
  readonly target: string;
  /** The path as written in the contract, such as `/pets/{petId}`. */
  readonly route: string | null;
  /** Null while the request is in progress. */
  readonly answer: Answer | null;
  readonly quota: Quota | null;
  /** The planned failure that acted on the request. */
  readonly fault: string | null;
  /** The rules of the report that name the request. */
  readonly hints: readonly string[];

  /** @internal */
  constructor(sent: SentRequest) {
    super(sent);
    this.id = sent.id;
    this.sequence = sent.sequence;
    this.at = new Date(sent.at);
    this.uptimeMs = sent.uptimeMs;
    this.durationMs = sent.durationMs;
    this.client = sent.client;
    this.connection = sent.connection;
    this.protocol = sent.protocol;
    this.account = sent.account;
    this.keyPrefix = sent.keyPrefix;
    this.method = sent.method;
    this.target = sent.target;
    this.route = sent.route;
    this.answer = sent.answer && new Answer(sent.answer);
    this.quota = sent.quota;
    this.fault = sent.fault;
    this.hints = sent.hints;
  }

  /** The path of the target, without the query. */
  get path(): string {
    return this.target.split('?', 1)[0] ?? '';
  }

  /** The parameters of the query, decoded. */
  get query(): URLSearchParams {
    return new URLSearchParams(this.target.slice(this.path.length));
  }

  /** The status of the answer; null while there is none, and for a connection that was closed without one. */
  get status(): number | null {
    return this.answer?.status ?? null;
  }

  /** The code of the answer, if it is an error. */
  get code(): string | null {
    return this.answer?.code ?? null;
  }

  /** One line: number, time, method, target, and the answer. */
  toString(): string {
    return `#${this.sequence} ${this.at.toISOString().slice(11, 23)} ${brief(this)}`;
  }
}

/** The requests that match. */
export interface RequestFilter {
  /** The least number of requests. The call returns as soon as that many have been answered, and fails with
   * `NotEnoughRequests` if they have not within `wait` seconds. */
  count?: number;
  /** The whole seconds to wait for `count` requests; 5 unless given, at most 30. */
  wait?: number;
  method?: string | readonly string[];
  /** The path of the contract, such as `/pets/{petId}`. */
  route?: string;
  /** Statuses, such as `404` or `4xx`. */
  status?: string | number | readonly string[];
  /** The key of the requests. */
  key?: string;
  /** A part of the target. */
  target?: string;
  /** A hint of the report. */
  hint?: string;
  /** Only requests behind this `sequence`. */
  after?: number;
  limit?: number;
}

/** The characters of a key by which the server names it in journal and report. */
const PREFIX_LENGTH = 12;

/** Cuts a key to its prefix. */
export function prefix(key: string | undefined): string | undefined {
  return key?.slice(0, PREFIX_LENGTH);
}

/** Reads the requests that match; with `header` only those that have it, as `name:value`. */
export async function read(sandbox: Sandbox, filter: RequestFilter, header?: string): Promise<ReceivedRequest[]> {
  const { count, wait = 5, key, ...rest } = filter;
  const query: Query = { ...rest, key: prefix(key), header, count, wait: count === undefined ? undefined : wait };
  const sent = (await sandbox.call('GET', '/requests', { query, wait })) as SentRequest[];
  const found = sent.map((one) => new ReceivedRequest(one));
  if (count !== undefined && found.length < count) {
    const came = found.map(brief).join(', ') || 'none';
    throw new NotEnoughRequests(`expected ${count} requests within ${wait} s, ${found.length} came: ${came}`, found);
  }
  return found;
}

/** One line about a request, which the server may no longer keep. */
export async function line(sandbox: Sandbox, id: string, sequence: number): Promise<string> {
  try {
    const sent = await sandbox.call('GET', `/requests/${encodeURIComponent(id)}`, { query: { sequence } });
    return String(new ReceivedRequest(sent as SentRequest));
  } catch (error) {
    if (error instanceof SandboxError && error.status === 404) return `#${sequence} ${id}, which the server no longer keeps`;
    throw error;
  }
}

/** The requests of a failed test in lines, with the bodies of errors. */
export function describe(requests: readonly ReceivedRequest[]): string {
  const lines = requests.flatMap((request) => [
    `${request}${request.fault ? `; planned failure: ${request.fault}` : ''}`,
    ...(request.code === null ? [] : [`    ${request.answer?.text}`]),
  ]);
  return lines.join('\n') || 'it has received none';
}

function brief({ method, target, answer }: ReceivedRequest): string {
  const result = answer ? [answer.status, answer.code, answer.outcome === 'sent' ? null : answer.outcome] : ['in progress'];
  return [method, target, ...result.filter((word) => word !== null && word !== '')].join(' ');
}
