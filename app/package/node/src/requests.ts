// The journal of the requests that the server received.

import { NotEnoughRequests } from './errors.js';
import type { Query, Sandbox } from './sandbox.js';

/** A response, as the server sent it. */
export interface Answer {
  at: string;
  /** `sent`, `streaming`, `dropped` by a planned failure, or `gone` if the client closed the connection. */
  outcome: string;
  status: number | null;
  /** The code of an error. */
  code: string | null;
  headers: [string, string][];
  body: string | null;
  bodyEncoding: 'base64' | null;
  bodyBytes: number;
}

/** A request, as the server received it. Credentials are cut to their prefix. */
export interface ReceivedRequest {
  id: string;
  sequence: number;
  /** The time by the server's clock. */
  at: string;
  /** The time since the start of the server, by the machine's clock. */
  uptimeMs: number;
  durationMs: number | null;
  client: string;
  connection: number;
  protocol: string;
  account: number | null;
  keyPrefix: string | null;
  method: string;
  target: string;
  /** The path as written in the contract, such as `/pets/{petId}`. */
  route: string | null;
  /** Names and values, in the order in which they came. */
  headers: [string, string][];
  body: string | null;
  bodyEncoding: 'base64' | null;
  bodyBytes: number;
  /** Null while the request is in progress. */
  answer: Answer | null;
  quota: { limit: number; remaining: number; reset: number; resource: string } | null;
  fault: string | null;
  hints: string[];
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

/** Reads the requests that match. */
export async function read(sandbox: Sandbox, filter: RequestFilter): Promise<ReceivedRequest[]> {
  const { count, wait = 5, key, ...rest } = filter;
  const query: Query = { ...rest, key: prefix(key), count, wait: count === undefined ? undefined : wait };
  const found = (await sandbox.call('GET', '/requests', { query, wait })) as ReceivedRequest[];
  if (count !== undefined && found.length < count) {
    const came = found.map(brief).join(', ') || 'none';
    throw new NotEnoughRequests(`expected ${count} requests within ${wait} s, ${found.length} came: ${came}`, found);
  }
  return found;
}

function brief({ method, target, answer }: ReceivedRequest): string {
  return `${method} ${target} ${answer ? answer.status : 'in progress'}`;
}
