// Requests to the server's sandbox.

import { request } from 'node:http';
import { SandboxError } from './errors.js';
import type { ServerProcess } from './process.js';

/** The time limit of a call, in addition to the time for which the server is asked to wait. */
const CALL_MS = 10_000;

export type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>;

interface Call {
  readonly body?: unknown;
  readonly query?: Query;
  /** The seconds for which the server is asked to wait. */
  readonly wait?: number;
}

interface Exchange {
  /** The body, with its type. */
  readonly text?: string | Uint8Array | undefined;
  readonly type?: string;
  readonly query?: Query;
  readonly wait?: number;
}

/** The requests below `/sandbox`, each on a connection of its own. They do not use `fetch`, which tests may replace. */
export class Sandbox {
  constructor(
    readonly url: string,
    private readonly process: ServerProcess,
  ) {}

  /** Sends a request. Returns the JSON of the response; null if it has no body. */
  async call(method: string, path: string, { body, ...rest }: Call = {}): Promise<unknown> {
    const text = await this.exchange(method, path, { ...rest, text: body === undefined ? undefined : JSON.stringify(body) });
    return text ? JSON.parse(text) : null;
  }

  /** Sends a request with a body of a type; JSON unless given. Returns the body of the response. */
  async exchange(method: string, path: string, { text, type = 'application/json', query = {}, wait = 0 }: Exchange = {}): Promise<string> {
    const url = new URL(this.url + path);
    for (const [name, value] of Object.entries(query)) {
      for (const one of [value ?? []].flat()) url.searchParams.append(name, String(one));
    }
    const call = `${method} ${url.pathname}${url.search}`;
    const [status, answer] = await this.#send(method, url, text, type, wait).catch(async (error: Error) => {
      throw await this.process.errorOfRequest(call, error.message);
    });
    if (status >= 300) throw refused(call, status, answer);
    return answer;
  }

  #send(method: string, url: URL, sent: string | Uint8Array | undefined, type: string, wait: number): Promise<[number, string]> {
    const headers = sent === undefined ? {} : { 'Content-Type': type, 'Content-Length': Buffer.byteLength(sent) };
    return new Promise((resolve, reject) => {
      const options = { method, headers, agent: false as const, timeout: CALL_MS + wait * 1000 };
      const sending = request(url, options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve([response.statusCode ?? 0, text]));
        response.on('error', reject);
      });
      sending.on('timeout', () => sending.destroy(new Error('no response in time')));
      sending.on('error', reject);
      sending.end(sent);
    });
  }
}

/** The error of a response, with the message of the server. */
function refused(call: string, status: number, text: string): SandboxError {
  try {
    const body = JSON.parse(text);
    return new SandboxError(call, status, `${status} ${body.code}: ${body.message}`, body);
  } catch {
    return new SandboxError(call, status, `${status} ${text}`.trim());
  }
}
