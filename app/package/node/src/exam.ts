// The exam of a client: a function of the test works in one scenario after the other, and is judged.

import { resolve, sep } from 'node:path';
import { findBinary } from './binary.js';
import { ExamProcess } from './exam-process.js';
import type { ExamReport } from './exam-report.js';
import type { Petstore } from './petstore.js';

/** The petstore of one scenario, as the client under test gets it. */
export interface ExamShop {
  /** The name, such as `busy`; with the form of the quota headers if there are several, such as `dialects/draft-7`. */
  readonly scenario: string;
  /** The base of the contract, such as `http://127.0.0.1:41237/v1`. */
  readonly url: string;
  /** The API key of this scenario. */
  readonly key: string;
  /** The base of the sandbox. */
  readonly sandboxUrl: string;
}

export interface ExamOptions {
  /** Names of built-in scenarios such as `lost-answers`, and files that end with `.toml`; all that are built in unless given. */
  scenarios?: string | readonly string[];
  /** A file with the shop, instead of a hundred demonstration pets: the lines of `petstore import`. */
  shop?: string;
  /** A running petstore, which is reset before each scenario, instead of one that the exam starts. */
  on?: Petstore;
  /** Another binary than that of this package: a path, or a name in the `PATH`. */
  binary?: string;
}

/** Lets a client work in each scenario, and returns how it behaved. `client` lets the client under test do its work with the URL and the
 * key that it gets; an error that it throws is a part of the report. */
export async function exam(client: (shop: ExamShop) => unknown, options: ExamOptions = {}): Promise<ExamReport> {
  const { scenarios = [], shop, on, binary = findBinary() } = options;
  // The exam starts in another folder.
  const args = [scenarios].flat().map((one) => `--scenario=${isFile(one) ? resolve(one) : one}`);
  if (shop !== undefined) args.push(`--sandbox-shop=${resolve(shop)}`);
  if (on) args.push(`--url=${on.url}`);
  const process = ExamProcess.start(binary.includes(sep) ? resolve(binary) : binary, args);
  try {
    for (let step = await process.nextStep(); step; step = await process.nextStep()) {
      const { scenario, url, key, sandbox } = step;
      const [passed, output] = await ended(client, { scenario, url, key, sandboxUrl: sandbox });
      process.endStep(passed, output);
    }
    return await process.report();
  } finally {
    await process.stop();
  }
}

async function ended(client: (shop: ExamShop) => unknown, shop: ExamShop): Promise<[boolean, string]> {
  try {
    await client(shop);
    return [true, ''];
  } catch (error) {
    return [false, error instanceof Error ? (error.stack ?? String(error)) : String(error)];
  }
}

function isFile(scenario: string): boolean {
  return scenario.endsWith('.toml') || scenario.includes('/') || scenario.includes(sep);
}
