// The command `petstore exam` as a child process, which judges the steps of its parent.

import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { cannotStart, type Refusal } from './binary.js';
import { PetstoreError } from './errors.js';
import { ExamReport, type SentExam } from './exam-report.js';
import { environment, REMOVALS } from './process.js';

/** The last characters of a client's output that are sent: the command reads lines of 64 KiB, and JSON takes six bytes for some. */
const OUTPUT_LENGTH = 8_000;

/** The time in which the command ends after its last step. */
const END_MS = 30_000;

// Kept, because tests may replace the global functions by a fake clock.
const { setTimeout, clearTimeout } = globalThis;

/** The petstore of one scenario, as the command prints it. */
export interface Step {
  readonly scenario: string;
  readonly url: string;
  readonly key: string;
  readonly sandbox: string;
}

/** A running exam, in a temporary folder. It ends when its standard input is closed, so also if Node is killed. */
export class ExamProcess {
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;
  readonly #ended: Promise<void>;
  #refusal: Error | undefined;

  private constructor(binary: string, folder: string, child: ChildProcess) {
    this.#folder = folder;
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('close', () => resolve());
      child.once('error', (error) => {
        this.#refusal = cannotStart(binary, error, folder);
        resolve();
      });
    });
    // The exam may end before it has read a line.
    child.stdin?.on('error', () => {});
    if (!child.stdout) throw new PetstoreError('the exam has no standard output');
    this.#reader = createInterface({ input: child.stdout });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  static start(binary: string, args: readonly string[]): ExamProcess {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-exam-'));
    const log = openSync(join(folder, 'log'), 'w');
    try {
      const all = ['exam', '--steps', `--report=${join(folder, 'report.json')}`, ...args];
      return new ExamProcess(binary, folder, spawn(binary, all, { cwd: folder, env: environment(), stdio: ['pipe', 'pipe', log], windowsHide: true }));
    } catch (error) {
      rmSync(folder, { recursive: true, force: true, maxRetries: REMOVALS });
      throw cannotStart(binary, error as Refusal, folder);
    } finally {
      closeSync(log);
    }
  }

  /** Returns the petstore of the next scenario; undefined after the last one. */
  async nextStep(): Promise<Step | undefined> {
    const { done, value } = await this.#lines.next();
    if (done) return undefined;
    try {
      return JSON.parse(value) as Step;
    } catch {
      throw new PetstoreError(`the exam printed ${JSON.stringify(value)}, which is no step`);
    }
  }

  /** Tells that the client is done. */
  endStep(passed: boolean, output: string): void {
    // Half of a surrogate pair, which the cut may leave, is no text in UTF-8: the command would refuse its line.
    const sent = Buffer.from(output.slice(-OUTPUT_LENGTH)).toString();
    this.#child.stdin?.write(`${JSON.stringify({ passed, output: sent })}\n`);
  }

  /** The report, once all steps have ended. */
  async report(): Promise<ExamReport> {
    await this.#end();
    if (this.#refusal) throw this.#refusal;
    const path = join(this.#folder, 'report.json');
    if (!existsSync(path)) {
      const log = readFileSync(join(this.#folder, 'log'), 'utf8').trim();
      throw new PetstoreError(`petstore exam ended with exit code ${this.#child.exitCode ?? this.#child.signalCode}: ${log}`);
    }
    return new ExamReport(JSON.parse(readFileSync(path, 'utf8')) as SentExam);
  }

  /** Ends the exam, and removes its folder. */
  async stop(): Promise<void> {
    this.#reader.close();
    this.#child.stdin?.destroy();
    await this.#end();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: REMOVALS });
  }

  async #end(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), END_MS);
    await this.#ended;
    clearTimeout(timer);
  }
}
