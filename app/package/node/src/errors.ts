import type { ExamReport } from './exam-report.js';
import type { Report } from './report.js';
import type { ReceivedRequest } from './requests.js';
import type { Delivery } from './sinks.js';

/** Any error of this package. */
export class PetstoreError extends Error {
  override name = 'PetstoreError';
}

/** There is no server that this machine starts: the package has none for the platform, or the system refuses the binary. The message
 * has the reason, and a way out. */
export class PetstoreNotAvailable extends PetstoreError {
  override name = 'PetstoreNotAvailable';
}

/** The server could not start, or has ended. The message has the last lines of its log. */
export class PetstoreStopped extends PetstoreError {
  override name = 'PetstoreStopped';
}

/** The server refused a call of the sandbox or of its administration; the message is that of the server. */
export class SandboxError extends PetstoreError {
  override name = 'SandboxError';

  constructor(
    call: string,
    /** The status of the response; null if the call was a command. */
    readonly status: number | null,
    message: string,
    /** The error as the server sent it. */
    readonly body: unknown = null,
  ) {
    super(`${call}: ${message}`);
  }
}

/** Fewer requests came than were expected. */
export class NotEnoughRequests extends PetstoreError {
  override name = 'NotEnoughRequests';

  constructor(
    message: string,
    /** The requests that came. */
    readonly requests: readonly ReceivedRequest[],
  ) {
    super(message);
  }
}

/** Fewer webhooks came to a sink than were expected, or deliveries did not settle. */
export class NotDelivered extends PetstoreError {
  override name = 'NotDelivered';

  constructor(
    message: string,
    /** The requests that came to the sink. */
    readonly deliveries: readonly Delivery[],
  ) {
    super(message);
  }
}

/** The client broke rules of the report, or met no case of a rule. The message has the rules, and the requests that prove it. */
export class RulesBroken extends PetstoreError {
  override name = 'RulesBroken';

  constructor(
    message: string,
    readonly report: Report,
  ) {
    super(message);
  }
}

/** The client broke rules in an exam, or failed where it has to succeed. The message has the scenarios, the rules, and the requests that
 * prove it. */
export class ExamFailed extends PetstoreError {
  override name = 'ExamFailed';

  constructor(
    message: string,
    readonly report: ExamReport,
  ) {
    super(message);
  }
}
