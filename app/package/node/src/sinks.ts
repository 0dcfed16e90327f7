// Sinks, which receive webhooks in the sandbox itself.

import { NotDelivered } from './errors.js';
import { Message, type SentMessage } from './messages.js';
import type { Sandbox } from './sandbox.js';

/** An answer of a sink. The names are those of the server. */
export interface SinkAnswer {
  /** The number of requests that get this answer before the next one follows; without it all further ones. */
  first?: number;
  /** The time before the answer, such as `50ms`. */
  delay?: string;
  status?: number;
  /** The value of `Location`. */
  redirect?: string;
  /** The value of `Retry-After`. */
  retryAfter?: number | string;
  /** The length of the body. */
  bytes?: number;
  /** The connection closes without an answer. */
  drop?: boolean;
  /** The answer does not come. */
  hang?: boolean;
}

/** `unknown` if there is no secret to check it with. */
export type Signature = 'valid' | 'invalid' | 'stale' | 'unsigned' | 'unknown';

interface SentDelivery extends SentMessage {
  readonly sequence: number;
  readonly at: string;
  readonly signature: Signature;
  readonly why?: string | null;
  readonly duplicate: boolean;
  readonly status: number | null;
}

/** A request that a sink received. */
export class Delivery extends Message {
  /** The number of the request in its sink, from 1. */
  readonly sequence: number;
  /** The time by the server's clock. */
  readonly at: Date;
  readonly signature: Signature;
  /** The reason, unless the signature is valid. */
  readonly why: string | null;
  /** An earlier request had the same `webhook-id`. */
  readonly duplicate: boolean;
  /** The status of the answer; null if there was none. */
  readonly status: number | null;

  /** @internal */
  constructor(sent: SentDelivery) {
    super(sent);
    this.sequence = sent.sequence;
    this.at = new Date(sent.at);
    this.signature = sent.signature;
    this.why = sent.why ?? null;
    this.duplicate = sent.duplicate;
    this.status = sent.status;
  }

  toString(): string {
    const id = this.headers.get('webhook-id') ?? 'without webhook-id';
    return `#${this.sequence} ${id} ${this.signature}${this.duplicate ? ' duplicate' : ''} ${this.status}`;
  }
}

/** A receiver of webhooks. It exists as soon as it gets a request; a reset deletes it. */
export class Sink {
  readonly #sandbox: Sandbox;
  readonly #path: string;
  /** The URL for a webhook. */
  readonly url: string;

  /** @internal */
  constructor(
    sandbox: Sandbox,
    readonly name: string,
  ) {
    this.#sandbox = sandbox;
    this.#path = `/sinks/${encodeURIComponent(name)}`;
    this.url = sandbox.url + this.#path;
  }

  /** Sets the answers, one after the other; 204 after the last one. `secret` checks the signatures; without it the secrets of the
   * webhooks with this URL do. */
  async answer(answers: SinkAnswer | readonly SinkAnswer[], { secret }: { secret?: string } = {}): Promise<void> {
    const list = [answers].flat();
    await this.#sandbox.call('PUT', this.#path, { body: { ...(list.length > 0 ? { answers: list } : {}), secret } });
  }

  /** The requests behind this `sequence`, oldest first. */
  async deliveries({ after = 0 }: { after?: number } = {}): Promise<Delivery[]> {
    return ((await this.#sandbox.call('GET', this.#path, { query: { after } })) as SentDelivery[]).map((one) => new Delivery(one));
  }

  /** The requests behind the sequence `after`, as soon as there are `count` of them (1 unless given). Throws `NotDelivered` if they
   * have not come within `seconds`; 10 unless given, at most 30. */
  async wait({ count = 1, seconds = 10, after = 0 }: { count?: number; seconds?: number; after?: number } = {}): Promise<Delivery[]> {
    const query = { after, count, wait: seconds };
    const sent = (await this.#sandbox.call('GET', this.#path, { query, wait: seconds })) as SentDelivery[];
    const found = sent.map((one) => new Delivery(one));
    if (found.length < count) {
      const came = found.map((one) => `\n  ${one}`).join('') || ' none';
      throw new NotDelivered(`expected ${count} requests in the sink ${this.name} within ${seconds} s, ${found.length} came:${came}`, found);
    }
    return found;
  }

  /** Forgets the sink with its requests and its answers. */
  async delete(): Promise<void> {
    await this.#sandbox.call('DELETE', this.#path);
  }
}

/** A delivery whose next attempt is not due yet. */
export interface OpenDelivery {
  readonly webhookId: string;
  readonly eventId: string;
  readonly attempts: number;
  /** The time to which a test sets the clock for the next attempt. */
  readonly nextAttemptAt: Date | null;
}

/** The deliveries that are left when no attempt is due. */
export interface Settled {
  readonly count: number;
  /** The first hundred. */
  readonly left: readonly OpenDelivery[];
}

/** Waits until no attempt is due or in flight. */
export async function settle(sandbox: Sandbox, seconds: number): Promise<Settled> {
  interface Sent {
    settled: boolean;
    count: number;
    left: (Omit<OpenDelivery, 'nextAttemptAt'> & { nextAttemptAt?: string | null })[];
  }
  const sent = (await sandbox.call('POST', '/webhooks/settle', { query: { within: seconds }, wait: seconds })) as Sent;
  const left = sent.left.map(({ nextAttemptAt, ...one }) => ({ ...one, nextAttemptAt: nextAttemptAt ? new Date(nextAttemptAt) : null }));
  if (!sent.settled) {
    const lines = left.map(({ webhookId, eventId, attempts }) => `\n  ${webhookId} ${eventId} after ${attempts} attempts`).join('');
    throw new NotDelivered(`attempts are still due or in flight after ${seconds} s; ${sent.count} deliveries are left:${lines}`, []);
  }
  return { count: sent.count, left };
}
