import type { InvitationState } from "../../schemas/plain/invitations.js";
import type { Author } from "./author.js";
import type { PageSelection } from "./selections.js";

// Part of db/contract/store.ts: invitations. `Store` documents the rules for every method.

/** What decides whether the tokens of an invitation are valid, and what they grant. */
export interface InvitationStanding {
  readonly id: string;
  /** The `uid` of the person's tokens. */
  readonly uid: string;
  readonly role: string;
  /** When the invitation ends: some time after the event, at `expires_at`, or never. */
  readonly ends: "event" | "time" | "never";
  /** In milliseconds since 1970; null unless `ends` is `time`. */
  readonly expires_at: number | null;
  /** The time of the first login, in milliseconds since 1970. */
  readonly used_at: number | null;
  /** In milliseconds since 1970. */
  readonly revoked_at: number | null;
  /** The serials of the current link, of the current recovery link, and of sessions. */
  readonly link: number;
  readonly recovery: number;
  readonly session: number;
}

/** A person who was invited. Times are in milliseconds since 1970. */
export interface InvitationRecord extends InvitationStanding {
  /** Increases with each invitation that is created. */
  readonly number: number;
  /** Empty for none. */
  readonly name: string;
  readonly email: string | null;
  /** The language of the mails to the person, as a tag such as `de`; null for the event's. */
  readonly language: string | null;
  readonly created_at: number;
  /** The person's last visit; null if the person has not visited. */
  readonly last_seen_at: number | null;
  /** The id of the person's user; null until the person is a user of the world. */
  readonly user_id: string | null;
  /** Increases with each change, but not with the first login. */
  readonly revision: number;
}

/** A new invitation. */
export interface InvitationInput {
  name?: string | undefined;
  email?: string | null | undefined;
  language?: string | null | undefined;
  role: string;
  /** The `uid` of the person's tokens; random by default. */
  uid?: string | undefined;
  /**
   * In milliseconds since 1970; null for never. By default, invitations of people who run the event
   * never end, and all others end with the event.
   */
  expires_at?: number | null | undefined;
}

/** The fields to replace. */
export interface InvitationUpdate extends Partial<Omit<InvitationInput, "uid">> {
  /** Revoking ends all links and sessions for good; restoring the invitation does not bring them back. */
  revoked?: boolean | undefined;
}

export interface InvitationSelection extends PageSelection {
  /** Text that the name or the e-mail address contains, ignoring case. */
  q?: string | undefined;
  role?: string | undefined;
  state?: InvitationState | undefined;
  /** In milliseconds since 1970. */
  now: number;
}

/** A kind of token that names an invitation. Each kind has a serial of its own. */
export type InvitationTokenKind = "link" | "recovery" | "session";

/** The invitation that a token names. */
export interface InvitationName {
  readonly id: string;
  readonly kind: InvitationTokenKind;
  readonly serial: number;
}

export interface InvitationStore {
  /** Returns a page, oldest first. */
  list(
    worldId: string,
    selection: InvitationSelection,
  ): Promise<{ count: number; invitations: InvitationRecord[] }>;
  get(worldId: string, id: string): Promise<InvitationRecord | undefined>;
  /** Returns the existing invitations among the given ids, oldest first. */
  getMany(worldId: string, ids: readonly string[]): Promise<InvitationRecord[]>;
  /**
   * Returns the standing of the invitation's tokens. Cached, because every request by the invited
   * person reads it.
   */
  standing(worldId: string, id: string): Promise<InvitationStanding | undefined>;
  /** Returns the invitations with an e-mail address, ignoring case, oldest first. */
  byEmail(worldId: string, email: string): Promise<InvitationRecord[]>;
  /** Returns the invitation of the person with a `uid`. */
  byUser(worldId: string, uid: string): Promise<InvitationRecord | undefined>;
  /** Returns the given uids that have an invitation. */
  takenUids(worldId: string, uids: readonly string[]): Promise<string[]>;
  /**
   * Creates all of these invitations, or none.
   * @throws {StoreError} `absent`, `taken` on `uid`, or `quota` on `invitations`.
   */
  create(
    worldId: string,
    drafts: readonly InvitationInput[],
    by?: Author,
  ): Promise<InvitationRecord[]>;
  /**
   * Changes an invitation. A changed role also changes the traits of the person's user.
   * @param revisions change the invitation only if it has one of these revisions; any by default.
   * @throws {StoreError} `absent` or `changed`.
   */
  update(
    worldId: string,
    id: string,
    changes: InvitationUpdate,
    revisions?: readonly number[],
    by?: Author,
  ): Promise<InvitationRecord>;
  /** Deletes an invitation, with the same checks as {@link update}. All of its tokens end. */
  remove(worldId: string, id: string, revisions?: readonly number[], by?: Author): Promise<void>;
  /**
   * Ends the current tokens of a kind, so that a new token of this kind can be signed.
   * @param revisions as in {@link update}.
   * @throws {StoreError} `absent`, `changed`, or `denied` if the invitation is revoked.
   */
  renew(
    worldId: string,
    id: string,
    kind: InvitationTokenKind,
    revisions?: readonly number[],
    by?: Author,
  ): Promise<InvitationRecord>;
  /** Records the first login. Later calls change nothing. */
  touch(worldId: string, id: string, now: number, by?: Author): Promise<void>;
}
