/// <reference lib="esnext.disposable" preserve="true" />

import { ScopeFaults } from './faults.js';
import { Observed } from './observed.js';
import type { Sandbox } from './sandbox.js';

/** The header that names a test, unless the tester chooses another one. */
const HEADER = 'x-test-id';

/** The values of a header that arrive as they were sent. */
const NAME = /^[!-~]([ -~]*[!-~])?$/;

export interface ScopeOptions {
  /** The name of the header; `x-test-id` unless given. */
  header?: string;
}

/** The requests of one test, which name it in a header, with failures, journal and report for them alone. The failures end with `end`,
 * or with `await using`. */
export class Scope extends Observed {
  /** The header that the client under test sends: `{ 'x-test-id': 'orders.create' }`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly faults: ScopeFaults;

  /** @internal */
  constructor(
    sandbox: Sandbox,
    /** The value of the header. */
    readonly name: string,
    { header = HEADER }: ScopeOptions = {},
  ) {
    if (!NAME.test(name)) {
      throw new TypeError(
        `${JSON.stringify(name)} cannot name a scope, because it is the value of a header: use visible ASCII characters, with spaces only between them`,
      );
    }
    super(sandbox, name, `${header}:${name}`);
    this.headers = { [header]: name };
    this.faults = new ScopeFaults(sandbox, { name: header, value: name });
  }

  /** Removes the failures of this scope. Its requests stay in the journal. */
  end(): Promise<void> {
    return this.faults.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }
}
