#!/usr/bin/env node
// The command `petstore`, which is the server's binary.

import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { cannotStart, endedAtOnce, findBinary, type Refusal } from './binary.js';

/** The signals that end a program. Windows makes them of Ctrl-C, Ctrl-Break and the end of the console. */
const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', ...(process.platform === 'win32' ? (['SIGBREAK'] as const) : [])];

function fail(error: unknown): never {
  process.stderr.write(`petstore: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

function start(binary: string): ChildProcess {
  try {
    return spawn(binary, process.argv.slice(2), { stdio: 'inherit' });
  } catch (error) {
    throw cannotStart(binary, error as Refusal);
  }
}

function run(binary: string): void {
  const server = start(binary);
  // This process ends when the server has ended, so that a shell or a supervisor waits for the stop in order.
  // On Windows the console tells the server, too, and a signal from here would end it at once.
  const own = process.platform === 'win32';
  for (const signal of SIGNALS) process.on(signal, () => own || server.kill(signal));
  server.on('error', (error) => fail(cannotStart(binary, error)));
  server.on('exit', (code, signal) => {
    const wrong = code ? endedAtOnce(binary) : undefined;
    if (wrong) fail(wrong);
    process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0));
  });
}

try {
  run(findBinary());
} catch (error) {
  fail(error);
}
