/** An error that is thrown on purpose, often, and never logged: a stack trace would dominate its cost. */
export class Stackless extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}
