/** An error that the operator can act on. The message is one line. */
export class Failure extends Error {}
