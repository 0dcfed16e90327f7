// The report of an exam.

import { ExamFailed } from './errors.js';
import { MessageHeaders } from './messages.js';
import { EVIDENCE, provable, type JudgedRule, type RuleName, type Verdict } from './report.js';
import type { Outcome } from './requests.js';

interface SentExamRequest {
  readonly sequence: number;
  readonly id: string;
  readonly at: string;
  readonly method: string;
  readonly target: string;
  readonly route: string | null;
  readonly headers: readonly (readonly [string, string])[];
  readonly answer: { readonly outcome: Outcome; readonly status: number | null; readonly code: string | null } | null;
  readonly fault: string | null;
  readonly hints: readonly string[];
}

interface SentExamScenario {
  readonly name: string;
  readonly title: string;
  readonly proves: readonly RuleName[];
  readonly mustPass: boolean;
  readonly end: { readonly how: string; readonly code?: number };
  readonly output: string;
  readonly verdict: Verdict;
  readonly durationMs: number;
  readonly rules: readonly JudgedRule[];
  readonly requests: readonly SentExamRequest[];
}

/** The report in the JSON of the command. */
export interface SentExam {
  readonly version: string;
  readonly scenarios: readonly SentExamScenario[];
}

/** A request of the client in a scenario, without its body. */
export class ExamRequest {
  /** The number in the order of arrival, from 1 in each scenario. */
  readonly sequence: number;
  readonly id: string;
  /** The time by the clock of the exam's petstore. */
  readonly at: Date;
  readonly method: string;
  readonly target: string;
  readonly route: string | null;
  readonly headers: MessageHeaders;
  /** The status of the answer; null if the connection was closed without one. */
  readonly status: number | null;
  readonly code: string | null;
  /** Null without an answer. */
  readonly outcome: Outcome | null;
  /** The planned failure that acted on the request. */
  readonly fault: string | null;
  /** The rules that the request did not follow. */
  readonly hints: readonly string[];

  /** @internal */
  constructor(sent: SentExamRequest) {
    this.sequence = sent.sequence;
    this.id = sent.id;
    this.at = new Date(sent.at);
    this.method = sent.method;
    this.target = sent.target;
    this.route = sent.route;
    this.headers = new MessageHeaders(sent.headers);
    this.status = sent.answer?.status ?? null;
    this.code = sent.answer?.code ?? null;
    this.outcome = sent.answer?.outcome ?? null;
    this.fault = sent.fault;
    this.hints = sent.hints;
  }

  /** One line: number, time, method, target, and the answer. */
  toString(): string {
    const result = [this.status, this.code, this.outcome === 'sent' ? null : (this.outcome ?? 'in progress')].filter((word) => word !== null);
    return [`#${this.sequence}`, this.at.toISOString().slice(11, 23), this.method, this.target, ...result].join(' ');
  }
}

/** The behaviour of the client in one scenario. */
export class ExamScenario {
  readonly name: string;
  readonly title: string;
  /** The rules that the scenario is made to prove. */
  readonly proves: readonly RuleName[];
  /** The client has to succeed in this scenario. */
  readonly mustPass: boolean;
  /** The client threw no error. */
  readonly passed: boolean;
  /** The error of the client, with its stack. */
  readonly output: string;
  /** `broken` if a rule was broken, then `hint`, `kept` and `untested`. */
  readonly verdict: Verdict;
  readonly durationMs: number;
  readonly rules: readonly JudgedRule[];
  readonly requests: readonly ExamRequest[];

  /** @internal */
  constructor(sent: SentExamScenario) {
    this.name = sent.name;
    this.title = sent.title;
    this.proves = sent.proves;
    this.mustPass = sent.mustPass;
    this.passed = sent.end.how === 'exited' && sent.end.code === 0;
    this.output = sent.output;
    this.verdict = sent.verdict;
    this.durationMs = sent.durationMs;
    this.rules = sent.rules;
    this.requests = sent.requests.map((one) => new ExamRequest(one));
  }

  /** The verdict about a rule. */
  rule(name: RuleName): JudgedRule {
    const found = this.rules.find((rule) => rule.name === name);
    if (!found) throw new TypeError(`there is no rule ${name}; the rules are ${this.rules.map((rule) => rule.name).join(', ')}`);
    return found;
  }

  /** Lines about the rules that were broken, about a failure in a scenario in which the client has to succeed, and about a client that
   * sent nothing. */
  faults(): string[] {
    const [first = 'it told no reason'] = this.output.split('\n');
    return [
      ...(this.mustPass && !this.passed ? ['the client failed, and has to succeed in this scenario', `  ${first}`] : []),
      ...(this.requests.length === 0 ? ['no request arrived; does the client use the URL and the key that it gets?'] : []),
      ...this.rules.filter(({ verdict }) => verdict === 'broken').flatMap((rule) => [`${rule.name} is broken: a client ${rule.summary}`, ...this.#evidence(rule)]),
    ];
  }

  #evidence(rule: JudgedRule): string[] {
    const known = new Map(this.requests.map((one) => [one.sequence, one]));
    const findings = provable(rule).slice(0, EVIDENCE);
    return findings.flatMap(({ reason, advice, requests }, place) => [
      `  ${reason}`,
      ...(advice && advice !== findings[place - 1]?.advice ? [`  advice: ${advice}`] : []),
      ...requests.map(({ sequence, id }) => `    ${known.get(sequence) ?? `#${sequence} ${id}`}`),
    ]);
  }
}

/** The report of an exam. As text it has a line for each scenario. */
export class ExamReport {
  /** The version of the server. */
  readonly version: string;
  readonly scenarios: readonly ExamScenario[];

  /** @internal */
  constructor(sent: SentExam) {
    this.version = sent.version;
    this.scenarios = sent.scenarios.map((one) => new ExamScenario(one));
  }

  /** `true` if the client broke a rule in a scenario. */
  get isBroken(): boolean {
    return this.scenarios.some(({ verdict }) => verdict === 'broken');
  }

  /** The scenario with this name. */
  scenario(name: string): ExamScenario {
    const found = this.scenarios.find((one) => one.name === name);
    if (!found) throw new TypeError(`there is no scenario ${name} in this exam; it has ${this.#names()}`);
    return found;
  }

  /** Throws `ExamFailed`, with the requests that prove it, if the client broke a rule in a scenario, or failed where it has to succeed.
   * Rules named in `tested`, such as `waits`, must also have applied to a request. */
  assertKept(...tested: readonly RuleName[]): void {
    const untested = tested.filter((name) => this.scenarios.every((scenario) => scenario.rule(name).verdict === 'untested'));
    const lines = [
      ...this.scenarios.flatMap((scenario) => scenario.faults().map((line) => `${scenario.name}: ${line}`)),
      ...untested.map((name) => `${name} is untested: no request met what the rule is about in ${this.#names()}`),
    ];
    if (lines.length > 0) throw new ExamFailed(['the client does not pass the exam', ...lines].join('\n'), this);
  }

  #names(): string {
    return this.scenarios.map(({ name }) => name).join(', ');
  }

  toString(): string {
    const width = Math.max(0, ...this.scenarios.map(({ name }) => name.length));
    const line = ({ name, verdict, requests, passed }: ExamScenario) =>
      `${name.padEnd(width)}  ${verdict.padEnd(8)}  ${requests.length} requests, ${passed ? 'succeeded' : 'failed'}`;
    return this.scenarios.map(line).join('\n');
  }
}
