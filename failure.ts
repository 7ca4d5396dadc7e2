/** What could not be done for a reason that its user understands: the message is one line that says it. */
export class Failure extends Error {}
