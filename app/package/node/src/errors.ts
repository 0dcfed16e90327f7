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
export class NotEnoughRequests<Request = unknown> extends PetstoreError {
  override name = 'NotEnoughRequests';

  constructor(
    message: string,
    /** The requests that came. */
    readonly requests: readonly Request[],
  ) {
    super(message);
  }
}
