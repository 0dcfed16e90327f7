/** The verdict about a rule, a client or all of them. */
export type Verdict = string;

/** A fault or a hint, with the requests that prove it. */
export interface Finding {
  severity: string;
  reason: string;
  requests: { sequence: number; id: string }[];
}

/** A rule, and how the client kept it. */
export interface JudgedRule {
  name: string;
  summary: string;
  source: string;
  verdict: Verdict;
  /** The cases in which the rule applied. */
  cases: number;
  found: number;
  findings: Finding[];
}

/** The behaviour of one client. */
export interface ClientReport {
  keyPrefix: string | null;
  requests: number;
  verdict: Verdict;
  rules: JudgedRule[];
}

/** The report about the behaviour of all clients. */
export interface Report {
  /** `broken` if a rule was broken. */
  verdict: Verdict;
  clients: ClientReport[];
}
