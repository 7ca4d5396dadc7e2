/** An anonymous invite link to a room. */
export interface Invite {
  readonly token: string;
  readonly room: string;
  /** Expiry time, in milliseconds since 1970. */
  readonly ends: number;
  /** Represents the token in a short URL: see `schemas/plain/links.ts`. */
  readonly code: string;
}

/** An invite, found by its code among all worlds. */
export interface CodedInvite extends Invite {
  readonly world: string;
}
