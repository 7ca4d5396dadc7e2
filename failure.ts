/** Something could not be done for a reason that the operator can act on. The message is one line. */
export class Failure extends Error {}
