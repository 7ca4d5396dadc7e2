/**
 * An error that is thrown deliberately and often, and is never logged. It has no stack trace,
 * because capturing a stack trace would dominate the cost of the error.
 */
export class Stackless extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}
