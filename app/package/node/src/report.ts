// The report about the behaviour of clients.

import { RulesBroken } from './errors.js';

/** The findings of a rule that an error shows. */
export const EVIDENCE = 3;

/** The verdict about a rule, a client or all of them; `untested` if a rule applied to no request, `none` without requests. */
export type Verdict = 'broken' | 'hint' | 'kept' | 'untested' | 'none';

/** The rules by their names. */
export type RuleName =
  | 'waits'
  | 'backs-off'
  | 'spares-its-quota'
  | 'retries-safely'
  | 'gives-up'
  | 'revalidates'
  | 'guards-changes'
  | 'follows-pages'
  | 'heeds-deprecation'
  | 'one-credential'
  | 'keeps-connections';

/** A fault or a hint, with the requests that prove it. */
export interface Finding {
  readonly severity: 'breach' | 'hint';
  readonly reason: string;
  /** The advice: what the client should have done, with the header that told it; absent from a server that is older than this member. */
  readonly advice?: string;
  readonly requests: readonly { readonly sequence: number; readonly id: string }[];
}

/** A rule, and how the client kept it. */
export interface JudgedRule {
  readonly name: RuleName;
  readonly summary: string;
  /** The document that states the rule. */
  readonly source: string;
  readonly verdict: Verdict;
  /** The cases in which the rule applied. */
  readonly cases: number;
  readonly found: number;
  readonly findings: readonly Finding[];
}

/** The behaviour of one client. */
export interface ClientReport {
  readonly keyPrefix: string | null;
  readonly requests: number;
  readonly verdict: Verdict;
  readonly rules: readonly JudgedRule[];
}

/** The report about the behaviour of all clients, with the requests that prove it. */
export class Report {
  /** `broken` if a rule was broken. */
  readonly verdict: Verdict;
  readonly clients: readonly ClientReport[];
  readonly #lines: ReadonlyMap<number, string>;

  /** @internal */
  constructor(sent: { verdict: Verdict; clients: readonly ClientReport[] }, lines: ReadonlyMap<number, string>) {
    this.verdict = sent.verdict;
    this.clients = sent.clients;
    this.#lines = lines;
  }

  /** `true` if a client broke a rule. */
  get isBroken(): boolean {
    return this.verdict === 'broken';
  }

  /** The verdicts about a rule, one for each client. */
  rules(name: RuleName): JudgedRule[] {
    return this.clients.flatMap(({ rules }) => rules.filter((rule) => rule.name === name));
  }

  /** Throws `RulesBroken`, with the requests that prove it, if a client broke a rule. Rules named in `tested`, such as `waits`,
   * must also have applied to a request. */
  assertKept(...tested: readonly RuleName[]): void {
    const [client] = this.clients;
    const unknown = tested.find((name) => client && this.rules(name).length === 0);
    if (client && unknown) {
      throw new TypeError(`there is no rule ${unknown}; the rules are ${client.rules.map(({ name }) => name).join(', ')}`);
    }
    const untested = tested.filter((name) => this.rules(name).every(({ verdict }) => verdict === 'untested'));
    const lines = [
      ...this.clients.flatMap((one) => this.#evidence(one)),
      ...untested.map((name) => `${name} is untested: no request met what the rule is about; plan the failure that the client has to meet`),
    ];
    if (lines.length > 0) throw new RulesBroken(['the client does not keep the rules', ...lines].join('\n'), this);
  }

  #evidence({ keyPrefix, rules }: ClientReport): string[] {
    const who = keyPrefix ? `the client with the key ${keyPrefix}…` : 'the client without a key';
    return rules.filter(({ verdict }) => verdict === 'broken').flatMap((rule) => {
      const breaches = provable(rule);
      return [
        `${rule.name} is broken by ${who}: a client ${rule.summary}`,
        ...breaches.slice(0, EVIDENCE).flatMap(({ reason, advice, requests }, place) => [
          `  ${reason}`,
          ...(advice && advice !== breaches[place - 1]?.advice ? [`  advice: ${advice}`] : []),
          ...requests.map(({ sequence }) => `    ${this.#lines.get(sequence) ?? `#${sequence}`}`),
        ]),
        ...(breaches.length > EVIDENCE ? [`  and ${breaches.length - EVIDENCE} more`] : []),
      ];
    });
  }

  /** The findings, one a line. */
  toString(): string {
    return this.clients
      .flatMap(({ keyPrefix, requests, verdict, rules }) => [
        `${keyPrefix ?? 'no key'}: ${requests} requests, ${verdict}`,
        ...rules.flatMap(({ name, findings }) => findings.map(({ reason }) => `  ${name}: ${reason}`)),
      ])
      .join('\n');
  }
}

/** The findings that break a rule. */
export function provable({ findings }: JudgedRule): Finding[] {
  return findings.filter(({ severity }) => severity === 'breach');
}

/** The requests that an error of this report would show: at most a few of each rule. */
export function proving(clients: readonly ClientReport[]): { sequence: number; id: string }[] {
  const rules = clients.flatMap((client) => client.rules.filter(({ verdict }) => verdict === 'broken'));
  const requests = rules.flatMap((rule) => provable(rule).slice(0, EVIDENCE).flatMap((finding) => finding.requests));
  return [...new Map(requests.map((one) => [one.sequence, one])).values()];
}
