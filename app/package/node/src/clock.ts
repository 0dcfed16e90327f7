import type { Sandbox } from './sandbox.js';

/** The clock by which quotas, bans, keys and sunsets go. The machine's clock does not change. */
export class Clock {
  readonly #sandbox: Sandbox;

  /** @internal */
  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** The server's time. */
  async now(): Promise<Date> {
    return time(await this.#sandbox.call('GET', '/clock'));
  }

  /** Moves the clock forward, by a time such as `90s`, `2m` or `36h`, or by milliseconds. Returns the new time. */
  advance(by: string | number): Promise<Date> {
    return this.#change({ advance: typeof by === 'number' ? `${Math.trunc(by)}ms` : by });
  }

  /** Sets the clock. */
  set(to: string | Date): Promise<Date> {
    return this.#change({ set: typeof to === 'string' ? to : to.toISOString() });
  }

  /** Stops the clock, so that a test does not cross the end of a minute. Returns the time. */
  freeze(): Promise<Date> {
    return this.#change({ freeze: true });
  }

  /** Lets a stopped clock run. */
  run(): Promise<Date> {
    return this.#change({ freeze: false });
  }

  /** Returns to the machine's clock. */
  async restore(): Promise<void> {
    await this.#sandbox.call('DELETE', '/clock');
  }

  async #change(body: { set?: string; advance?: string; freeze?: boolean }): Promise<Date> {
    return time(await this.#sandbox.call('POST', '/clock', { body }));
  }
}

function time(answer: unknown): Date {
  return new Date((answer as { now: string }).now);
}
