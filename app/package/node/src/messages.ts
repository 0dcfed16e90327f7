// Headers and bodies of requests and answers.

import { PetstoreError } from './errors.js';

/** The headers of a message. Names have no case. */
export class MessageHeaders {
  constructor(
    /** Names and values, in the order in which they came. */
    readonly pairs: readonly (readonly [string, string])[],
  ) {}

  /** The value of a name; the values of a name that occurs several times are joined by `, `. */
  get(name: string): string | undefined {
    const values = this.all(name);
    return values.length > 0 ? values.join(', ') : undefined;
  }

  /** The values of a name, each on its own. */
  all(name: string): string[] {
    return this.pairs.filter(([other]) => other.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.all(name).length > 0;
  }

  /** The headers as an object, with the names in lower case. */
  toJSON(): Record<string, string> {
    return Object.fromEntries(this.pairs.map(([name]) => [name.toLowerCase(), this.get(name) ?? '']));
  }
}

/** The members of a message in the server's JSON. */
export interface SentMessage {
  readonly headers?: readonly (readonly [string, string])[] | null;
  readonly body?: string | null;
  readonly bodyEncoding?: 'base64' | null;
  readonly bodyBytes?: number;
}

/** A message as the server kept it: headers, and the beginning of the body. */
export class Message {
  readonly headers: MessageHeaders;
  /** The bytes that the server kept; empty without a body. */
  readonly body: Uint8Array;
  /** The length of the whole body. */
  readonly bodyBytes: number;

  /** @internal */
  constructor(sent: SentMessage) {
    this.headers = new MessageHeaders(sent.headers ?? []);
    this.body = Buffer.from(sent.body ?? '', sent.bodyEncoding === 'base64' ? 'base64' : 'utf8');
    this.bodyBytes = sent.bodyBytes ?? this.body.length;
  }

  /** The body as text. */
  get text(): string {
    return Buffer.from(this.body).toString('utf8');
  }

  /** The body, read as JSON; of the type that the test expects. */
  json<Body = unknown>(): Body {
    if (this.bodyBytes > this.body.length) {
      throw new PetstoreError(
        `of ${this.bodyBytes} bytes of the body the server kept ${this.body.length}: raise the setting sandbox-journal-body`,
      );
    }
    try {
      return JSON.parse(this.text) as Body;
    } catch (error) {
      throw new PetstoreError(`the body is no JSON (${(error as Error).message}): ${JSON.stringify(this.text.slice(0, 200))}`);
    }
  }
}
