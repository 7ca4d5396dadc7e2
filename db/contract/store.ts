import type { WorldCopy } from "../../schemas/documents/world-document.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { Room, RoomChanges, RoomDraft, RoomOrdering } from "../../schemas/rooms.js";
import type { User, UserName, UserOrdering } from "../../schemas/users.js";
import type { World, WorldChanges } from "../../schemas/worlds.js";
import type { LogStore } from "../log/entries.js";
import type { Announcement, AnnouncementInput } from "./announcement-store.js";
import type { AttendanceStore } from "./attendance-store.js";
import type { AuditStore } from "./audit-store.js";
import type { Author } from "./author.js";
import type { CallStore } from "./call-store.js";
import type { ChatStore } from "./chat-store.js";
import type { InvitationStore } from "./invitation-store.js";
import type { PollStore } from "./poll-store.js";
import type { ProgramLinkStore, ProgramStore } from "./program-store.js";
import type { PushStore } from "./push-store.js";
import type { QuestionStore } from "./question-store.js";
import type {
  FileDigest,
  LineSource,
  ListPosition,
  PageSelection,
  RowCounts,
  Versioned,
  Visitor,
} from "./selections.js";
import type { WebhookStore } from "./webhook-store.js";

// The contract that every engine implements, tested by test/contract/db/store-contract/. `Store`
// documents the rules for every method.

export type { FileDigest, ListPosition, PageSelection, Versioned, Visitor };

export interface WorldSelection {
  /** Selects only worlds whose id sorts after this id. */
  after?: string;
  limit: number;
}

export interface UserSelection extends PageSelection {
  /** The default order is by creation time, oldest first. A minus sign reverses the whole order, including ties. */
  ordering?: UserOrdering | undefined;
}

export interface RoomSelection extends PageSelection {
  /** The caller's traits. Rooms whose `room.view` rejects them are omitted. */
  traits: ReadonlySet<string>;
  /**
   * A minus sign reverses only the named field, `sorting_priority` or `name`. Ties are broken by
   * the other of these two fields, ascending, and then by `id`.
   */
  ordering: RoomOrdering;
  /** Selects only rooms with a module of exactly this type; any room if empty. */
  type?: string | undefined;
  /**
   * Selects only rooms whose name or description contains this text; any room if empty. Ignores
   * case by applying `text.toLowerCase().toUpperCase()` to both sides.
   */
  search?: string | undefined;
  /** Aborts when the client no longer waits for the list. */
  signal?: AbortSignal | undefined;
}

/** The fields of a room that the live layer exposes but REST does not. */
export interface RoomExtras {
  /** The URL of an image. Like every nullable field, null by default. */
  picture: string | null;
  import_id: string | null;
  /** 0 by default. */
  pretalx_id: number;
  /** Whether everyone who enters the world joins the room. */
  force_join: boolean;
  /** The current session's schedule data. */
  schedule_data: Record<string, unknown> | null;
}

/** A room with its extras. The extras count toward the room's revision but are not part of the room's JSON. */
export interface RoomValue extends Room {
  readonly extras: Readonly<RoomExtras>;
  /** The stored JSON of large fields, as in {@link UserRecord.stored}. */
  readonly stored: {
    readonly module_config: string;
    readonly permission_config: string;
    readonly schedule_data: string;
  };
}

/** The fields to replace in a room. Omitted extras are unchanged. */
export interface RoomUpdate extends Omit<RoomChanges, keyof RoomExtras> {
  extras?: Partial<RoomExtras> | undefined;
}

/** A page of rooms. The JSON of the versioned page covers only `rooms`. */
export interface RoomPage {
  readonly count: number;
  readonly rooms: readonly Room[];
}

/**
 * A moderator's decision about a user; empty if there is no decision.
 *
 * A ban withholds every permission (`isWithheld` in schemas/plain/permissions.ts), refuses the
 * user's logins (live/people/login.ts), ends the user's open connections (live/socket/endings.ts),
 * and hides the user and the user's direct channels from all other users ({@link isGone}). The
 * user's messages stay. A silenced user keeps the permissions to read. A new guest who waits for a
 * moderator's approval is kept out like a banned user.
 */
export type ModerationState = "" | "silenced" | "banned" | "waiting";

/** Whether a moderation state keeps a user out of the world. */
export const isKeptOut = (state: string): boolean => state === "banned" || state === "waiting";

/** Whether a user is kept out, erased or unknown. Such a user has no connection and is invisible to all other users. */
export const isGone = (user: UserRecord | undefined): boolean =>
  !user || user.deleted || isKeptOut(user.moderation_state);

/** A moderator's decision about a user. Times are in milliseconds since 1970. */
export interface Moderation {
  readonly state: Exclude<ModerationState, "waiting">;
  /** When a silence ends by itself; never if undefined. */
  readonly until?: number | undefined;
  /** Until when a ban also keeps out new guests from the user's last network. */
  readonly networkUntil?: number | undefined;
}

/**
 * A frozen user in a world. `traits` are in the token's order. The tombstone of an erased user
 * keeps the id, with all other fields at their defaults.
 */
export interface UserRecord extends Readonly<Omit<User, "last_seen">> {
  /** A guest's client ID, which is a credential; null for other users. */
  readonly client_id: string | null;
  /** The time at which the user last entered or uploaded, in milliseconds since 1970. */
  readonly last_seen: number;
  readonly moderation_state: ModerationState;
  /** When a silence ends by itself, in milliseconds since 1970; null if it does not. */
  readonly moderated_until: number | null;
  /** State stored by the user's clients; `{}` by default. */
  readonly client_state: Record<string, unknown>;
  readonly pretalx_id: string | null;
  /** In milliseconds since 1970; null before the first login. */
  readonly last_login: number | null;
  /** Whether the record is a tombstone. */
  readonly deleted: boolean;
  /**
   * The stored JSON of large fields, which can be sent without parsing. The property is not
   * enumerable, so copies of the record lack it.
   */
  readonly stored: {
    readonly profile: string | null;
    readonly client_state: string;
  };
}

/** A user in an administrator's list, without large fields. */
export interface UserListing extends Omit<UserRecord, "client_state" | "deleted"> {
  /** When the user was created, in milliseconds since 1970. */
  readonly created: number;
}

export interface UserPage {
  count: number;
  users: UserListing[];
}

/** The fields to replace in a user, each as a whole. */
export interface UserUpdate {
  profile?: Record<string, unknown> | undefined;
  client_state?: Record<string, unknown> | undefined;
  pretalx_id?: string | null | undefined;
}

/** A person whose name looks like another name. */
export interface LookAlike {
  /** The user's id; undefined for an invited person. */
  readonly id: string | undefined;
  /** The `uid` of the person's tokens; null for a guest. */
  readonly uid: string | null;
  readonly traits: readonly string[];
}

/** The guests who wait for approval. */
export interface WaitingGuests {
  readonly count: number;
  readonly guests: readonly UserListing[];
}

export type UserKind = "person" | "kiosk" | "anonymous";

export interface UserSearch extends PageSelection {
  /**
   * Selects only users whose `profile.display_name` contains this text; any user if empty. Ignores
   * case as in {@link RoomSelection.search}.
   */
  term?: string | undefined;
  /** The names of `profile.fields` in which to look for the term as well. */
  fields?: readonly string[] | undefined;
  /** Selects only users with at least one of these traits; an empty list matches no user. */
  traits?: readonly string[] | undefined;
  /** Whether to include banned users, and guests who wait for approval. */
  banned?: boolean | undefined;
  /** Whether to include only users with a non-empty display name. */
  named?: boolean | undefined;
  /** Defaults to `person`. */
  kind?: UserKind | undefined;
}

export interface FoundUsers {
  count: number;
  users: UserRecord[];
}

/** The record of an uploaded file. The file's bytes are in the `FileStore`. */
export interface FileRecord extends FileDigest {
  /** Identifies the file in its world. Derived from the key (`fileIdOf`). */
  id: string;
  /** The file's MIME type. Derived from the key (`mimeTypeOf`). */
  type: string;
  /** The uploader's id; null once that user has been erased. */
  userId: string | null;
  /** In milliseconds since 1970. */
  uploadedAt: number;
  /** Increases with each file that is recorded. */
  number: number;
}

export interface FilePage {
  count: number;
  files: FileRecord[];
}

/** The reason why the store rejected an operation. */
export type StoreProblem =
  /**
   * The record to change, or the world that contains it, does not exist. `field` is one of `world`,
   * `room`, `user`, `file`, `announcement`, `event`, `question`, `poll`, `option`, `passkey`,
   * `session` or `speaker`.
   */
  | "absent"
  /** The record exists, but in none of the versions that the caller named. */
  | "changed"
  /**
   * Another record already has the same value. `field` names the value, such as `id`, `domain`,
   * `name` or `rooms`.
   */
  | "taken"
  /** Another process held the lock for too long, or too many reads are waiting; retry soon. */
  | "busy"
  /**
   * The user is banned or silenced, or may not perform the action in a channel; or the poll does
   * not accept the vote (`field` is `poll`).
   */
  | "denied"
  /**
   * A limit would be exceeded: the quota for the world's files, or the maximum number of a user's
   * blocks (`field` is `blocks`), an event's reactions (`reactions`), a poll's options (`options`),
   * a user's favorites (`favorites`) or passkeys (`passkeys`), a world's webhooks (`webhooks`), or a call's people,
   * invitations to the stage or raised hands (`people`, `stage` or `hands`).
   */
  | "quota"
  /** The commit failed, and it is unknown whether the commit took effect. */
  | "doubtful"
  /** The result is too large for a single read; a smaller page may work. */
  | "large"
  /** An imported document has a fault. The message names the line with the fault. */
  | "unfit"
  /** The disk is full. */
  | "full"
  /** The store cannot be used: it is damaged, unreachable, or closed, or belongs to a newer version of Foyer. */
  | "unusable";

/** The only error that a store throws on purpose. Any other error is a bug. */
export class StoreError extends Error {
  constructor(
    readonly problem: StoreProblem,
    message: string,
    readonly field?: string,
  ) {
    super(message);
    this.name = "StoreError";
  }
}

/** Statistics of a store for its operator. Cheap to compute, regardless of the store's size. */
export interface StoreCounts {
  worlds: number;
  rooms: number;
  /** Excludes erased users. */
  users: number;
  /** The total recorded size of uploaded files. */
  fileBytes: number;
  /** The size of the database on disk, including the database's own log. */
  databaseBytes: number;
  /**
   * The time for which the oldest erased data has remained in the database's files, in seconds; 0
   * if none remains.
   */
  erasureAge: number;
}

/**
 * Everything the service stores, except the bytes of files.
 *
 * **Atomicity.** Each method is one atomic operation: a method that fails changes nothing, and all
 * values returned by a method are from the same moment.
 *
 * **Errors.** In addition to the errors that a method documents, any method may reject with a
 * {@link StoreError} `busy` or `unusable`, and a write with `full` or `doubtful`. If a write fails
 * for several reasons, it reports the first of `absent`, `denied`, `changed`, `taken` (`id` before
 * `domain` before `rooms` before `users` before `announcements` before `chat` before `questions`
 * before `polls`) and `quota`.
 *
 * **Reads** see every write through this store that has resolved, and every write by another
 * process that was committed at least a second ago. On the embedded engine, reads see all writes
 * that were committed before the current turn of the event loop, and reads in one turn may share
 * one state. No engine returns a state that lacks any of these writes: an engine that cannot
 * determine whether a cached value is current reads the value again, or rejects with `unusable`. A
 * write always decides based on the committed state. A read of a world that does not exist returns
 * undefined, 0, or an empty list; the read never fails for that reason.
 *
 * **Writes** are durable once they resolve. An engine may run a write more than once before it
 * commits, so a write must not have effects outside the database. A write that changes no values of
 * a world or a room does not change the record's version either.
 *
 * **Log.** Each write appends an entry to the world's log in the same transaction
 * (`db/log/entries.ts`), even a write that changes no value, so that the command still causes a
 * push. The exception is a user who enters with unchanged traits. The parameter `by` names the
 * author and defaults to the author with which the store was opened.
 *
 * **Values** satisfy the schemas; the store does not validate them. Every string, number and JSON
 * value reads back exactly as written. That includes the order of the names in an object, because
 * versions depend on the order.
 *
 * **Text** is compared and sorted by code points (the bytes of UTF-8), never by the rules of a
 * language.
 *
 * **Results** that are not frozen belong to the caller, who may change them.
 */
export interface Store {
  readonly worlds: WorldStore;
  readonly rooms: RoomStore;
  readonly users: UserStore;
  readonly files: FileRecords;
  readonly announcements: AnnouncementStore;
  readonly attendance: AttendanceStore;
  readonly calls: CallStore;
  readonly chat: ChatStore;
  readonly invitations: InvitationStore;
  readonly questions: QuestionStore;
  readonly polls: PollStore;
  readonly program: ProgramStore;
  readonly programLinks: ProgramLinkStore;
  readonly push: PushStore;
  readonly webhooks: WebhookStore;
  readonly audit: AuditStore;
  readonly log: LogStore;
  counts(): Promise<StoreCounts>;
  /**
   * Finishes the writes in flight, then closes the database. Methods called afterward reject with
   * `unusable`. A second call is a no-op.
   */
  close(): Promise<void>;
}

/** The fields that {@link WorldStore.configure} replaces. */
export interface WorldSettingsUpdate extends Pick<WorldChanges, "title" | "permission_config"> {
  config?: Record<string, unknown> | undefined;
}

export interface WorldStore {
  get(id: string): Promise<Versioned<World> | undefined>;
  /**
   * Returns the world for a host name: the world with exactly this domain, or else the world whose
   * domain is the host name without its port, or else the only world, if the store has just one.
   * @param host the value of a Host header, in lowercase, with or without a port.
   */
  at(host: string): Promise<Versioned<World> | undefined>;
  /** Returns frozen worlds, ordered by the code points of their ids. */
  list(selection: WorldSelection): Promise<World[]>;
  /**
   * Returns the worlds that accept tokens with exactly this issuer and audience, in any order.
   * Considers both the worlds' keys (`JWT_secrets`) and the worlds' token issuers (`JWT_issuers`).
   */
  issuing(issuer: string, audience: string): Promise<readonly Versioned<World>[]>;
  /**
   * Creates a world. Two worlds may share a host name only if both domains include a port and the
   * ports differ.
   * @throws {StoreError} `taken` on `id` or `domain`.
   */
  create(world: World, by?: Author): Promise<Versioned<World>>;
  /**
   * Replaces the named fields, each as a whole. A `config` without `JWT_secrets`, `JWT_issuers` or
   * `oidc` keeps the current values of these properties and moves them to its start. An `id` must
   * equal the current id.
   * @param versions change the world only if it has one of these versions; an empty list never
   * matches, and an omitted list always does.
   * @throws {StoreError} `absent`, `changed`, or `taken` on `domain`.
   */
  update(
    id: string,
    changes: WorldChanges,
    versions?: readonly string[],
    by?: Author,
  ): Promise<Versioned<World>>;
  /**
   * Replaces the named fields, but within `config` only the named keys. Existing keys keep their
   * positions; new keys are added at the end. Token secrets and token issuers never change.
   * @param versions see {@link WorldStore.update}.
   * @throws {StoreError} `absent` or `changed`.
   */
  configure(
    id: string,
    changes: WorldSettingsUpdate,
    versions?: readonly string[],
    by?: Author,
  ): Promise<Versioned<World>>;
  /**
   * Deletes a world along with its rooms, users and file records. Soon afterward, the messages and
   * the data that identifies users and files are also overwritten in the database's storage.
   * @param noted the keys that the world's files may have; any by default.
   * @returns the keys of the world's files, in any order. No record names these keys anymore.
   * @throws {StoreError} `absent`, or `changed` if the world has a file that is not in `noted`.
   */
  delete(id: string, noted?: readonly string[], by?: Author): Promise<string[]>;
  /**
   * Returns the lines of a document with a consistent snapshot of the world: its rows, including
   * the keys and all users, but excluding webhooks, the log and the audit.
   * @param options.history include the chat, with direct channels and the ids of erased users.
   * @param options.files selects the files whose records to include, by key; none by default.
   * @throws {StoreError} `absent`.
   */
  export(
    id: string,
    options?: { history?: boolean; files?: (key: string) => boolean },
  ): AsyncIterable<string>;
  /**
   * Creates a world with the settings, rooms, users, announcements, questions, polls and program of
   * another world, but with new ids, and without anything that users did.
   * @param world the new world's id, names and keys.
   * @throws {StoreError} `absent`, or `taken` on `id` or `domain`.
   */
  clone(id: string, world: World, by?: Author): Promise<Versioned<World>>;
  /**
   * Creates a world along with its contents, keeping ids and revisions. Chat events are renumbered
   * in the same order, and read marks are adjusted to the new numbers.
   * @param document the lines of an export, or a document in an old format. In an old format, a
   * missing revision is 1, and a closed or archived poll without results uses the counts of its
   * ballots.
   * @param options.dryRun create nothing, but fail where the import would fail.
   * @param options.files whether a file's bytes are stored, or will be. Lines with any other file
   * are rejected.
   * @returns the world, and the number of rows in each table of the document.
   * @throws {StoreError} `unfit`, or `taken` on `id`, on `domain`, or on `rooms`, `users`,
   * `announcements`, `chat` (direct channels), `questions` or `polls` (including options) if any
   * world already uses one of the ids, or if two users in the document have the same name.
   */
  import(
    document: WorldCopy | LineSource,
    options?: { dryRun?: boolean; files?: (file: FileDigest) => boolean },
    by?: Author,
  ): Promise<{ world: Versioned<World>; rows: RowCounts }>;
}

/**
 * Stores the rooms in worlds. A room without its own `domain` uses the world's domain, so the
 * room's version changes with the world's domain.
 */
export interface RoomStore {
  /** Returns the room with an id, or undefined if the room is not in this world. */
  get(worldId: string, id: string): Promise<Versioned<RoomValue> | undefined>;
  /**
   * Returns the rooms that the caller may see, in the requested order: by priority and then name,
   * or by name and then priority, with ties broken by id. Strings are compared by code point. The
   * version covers the content of the page.
   * @throws {StoreError} `large` when the page would exceed a few MiB.
   */
  list(worldId: string, selection: RoomSelection): Promise<Versioned<RoomPage>>;
  /**
   * Returns a page of all rooms, regardless of permissions, ordered by priority, name and id. The
   * result is not limited in size, so request at most a few hundred rooms.
   */
  all(worldId: string, selection: PageSelection): Promise<Versioned<RoomValue>[]>;
  /**
   * Creates a room with a new UUID as its id, unique in the store. Omitted fields have the defaults
   * that the interface specifies.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  create(worldId: string, draft: RoomDraft, by?: Author): Promise<Versioned<RoomValue>>;
  /**
   * Creates a room after all existing rooms: its priority is the highest priority plus one
   * (possibly 0), up to the maximum priority.
   * @throws {StoreError} `absent` when the world does not exist, or `taken` on `name` if the world
   * already has a room with this name. Case is ignored as in {@link RoomSelection.search}.
   */
  open(worldId: string, draft: RoomDraft, by?: Author): Promise<Versioned<RoomValue>>;
  /**
   * Replaces the named fields, each as a whole. A `domain` of null removes the room's own domain.
   * An `id` must equal the current id.
   * @param versions see {@link WorldStore.update}.
   * @throws {StoreError} `absent` or `changed`.
   */
  update(
    worldId: string,
    id: string,
    changes: RoomUpdate,
    versions?: readonly string[],
    by?: Author,
  ): Promise<Versioned<RoomValue>>;
  /** Sets a room's `schedule_data`. @throws {StoreError} `absent`. */
  schedule(
    worldId: string,
    id: string,
    data: Record<string, unknown> | null,
    by?: Author,
  ): Promise<Versioned<RoomValue>>;
  /**
   * Numbers the priorities of all rooms from 1: first the named rooms in the given order, then all
   * other rooms in their current order. Unknown ids are skipped.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  reorder(worldId: string, ids: readonly string[], by?: Author): Promise<void>;
  /**
   * Deletes a room along with its chat, polls and questions. Soon afterward, every byte of the
   * questions is also overwritten in the database's storage.
   * @param versions see {@link WorldStore.update}.
   * @returns the rules that the room had.
   * @throws {StoreError} `absent` or `changed`.
   */
  delete(
    worldId: string,
    id: string,
    versions?: readonly string[],
    by?: Author,
  ): Promise<PermissionConfig>;
}

export interface UserStore {
  /**
   * Lets a person into a world. The first entry creates a user with a new UUID as its id; later
   * entries refresh the user's traits and `last_seen`, but never the profile. Appends to the log if
   * other users may see a difference: changed traits, or a user who was inactive. The audit records
   * the creation of a kiosk. A banned user is not refreshed, but still returned. If several
   * processes handle the first entry concurrently, only one creates the user. An erased user is
   * never found: entering under the same name then creates a new user.
   * @returns the current user.
   * @throws {StoreError} `absent` if the world does not exist; `denied` on `network` for a new
   * guest from a network that a ban keeps out.
   */
  enter(worldId: string, visitor: Visitor, by?: Author): Promise<UserRecord>;
  /** Returns the user with an id, or undefined if the user is not in this world. The user may be a tombstone. */
  get(worldId: string, id: string): Promise<UserRecord | undefined>;
  /** Returns the user whom {@link enter} would refresh, or undefined if it would create a user. */
  find(
    worldId: string,
    name: Pick<Visitor, "tokenId" | "clientId">,
  ): Promise<UserRecord | undefined>;
  /**
   * Returns the users with the given ids, in any order, including tombstones. Ids that match no
   * user in the world are omitted.
   * @param ids at most a few hundred.
   */
  getMany(worldId: string, ids: readonly string[]): Promise<UserRecord[]>;
  /**
   * Returns the users with the given pretalx ids, in any order. Several users may share a pretalx
   * id.
   * @param ids at most a few hundred.
   */
  byPretalx(worldId: string, ids: readonly string[]): Promise<UserRecord[]>;
  /**
   * Returns a page of the matching users, excluding tombstones, ordered by display name (ignoring
   * case as in {@link RoomSelection.search}) and then by id.
   * @param signal aborts when the client no longer waits for the result.
   * @throws {StoreError} `busy` when too many searches are waiting, or if the search is aborted
   * before it runs; `large` as in {@link list}.
   */
  search(worldId: string, search: UserSearch, signal?: AbortSignal): Promise<FoundUsers>;
  /** Replaces the named fields. @throws {StoreError} `absent`, including when the user is erased. */
  update(worldId: string, id: string, changes: UserUpdate, by?: Author): Promise<UserRecord>;
  /**
   * Sets a user's moderation state: bans, silences, or reactivates the user. A user who is kept out and is silenced stays out. Reactivating
   * a user also readmits the network that the user's ban kept out.
   * @throws {StoreError} `absent`, including when the user is erased.
   */
  moderate(
    worldId: string,
    id: string,
    decision: Moderation["state"] | Moderation,
    by?: Author,
  ): Promise<UserRecord>;
  /**
   * Answers a guest who waits for approval: admits the guest, or bans them. Changes nothing for
   * any other user, so that the first answer counts.
   * @param quietUntil until when an admitted guest may only read, in milliseconds since 1970.
   * @throws {StoreError} `absent`, including when the user is erased.
   */
  answer(
    worldId: string,
    id: string,
    admits: boolean,
    quietUntil?: number,
    by?: Author,
  ): Promise<UserRecord>;
  /**
   * Returns the guests who wait for approval and have a name, the longest waiting first.
   * @param since excludes guests whose last login attempt was earlier, in milliseconds since 1970.
   */
  waiting(worldId: string, since: number, limit: number): Promise<WaitingGuests>;
  /**
   * Ends the silences, and forgets the networks kept out, whose time is over.
   * @param now in milliseconds since 1970.
   */
  endModeration(worldId: string, now: number, by?: Author): Promise<void>;
  /**
   * Returns when the next silence ends, or the next network is readmitted, in milliseconds since
   * 1970; undefined if none will.
   */
  nextModerationEnd(worldId: string): Promise<number | undefined>;
  /** Until when a user's ban keeps out new guests from the user's network; undefined if it does not. */
  networkBan(worldId: string, id: string): Promise<number | undefined>;
  /**
   * Returns the users, and the people invited with a role, whose name looks like a name.
   * @param shape the name in the form of `nameShapeOf`, not empty.
   * @param roles the roles whose invitations count.
   */
  lookAlikes(worldId: string, shape: string, roles: readonly string[]): Promise<LookAlike[]>;
  /**
   * Like {@link moderate}, for the person whose tokens have this `uid`. If that person has never
   * entered, creates a user without traits.
   * @throws {StoreError} `absent` if the world does not exist.
   */
  moderateNamed(
    worldId: string,
    tokenId: string,
    decision: Moderation["state"] | Moderation,
    by?: Author,
  ): Promise<UserRecord>;
  /**
   * Makes one user block another. Idempotent.
   * @throws {StoreError} `absent`, including when one of the two users is erased; `quota` on
   * `blocks` if the user already blocks a thousand users.
   */
  block(worldId: string, id: string, other: string, by?: Author): Promise<void>;
  /** Removes a block, if there is one. @throws {StoreError} `absent` as in {@link block}. */
  unblock(worldId: string, id: string, other: string, by?: Author): Promise<void>;
  /**
   * Returns the users whom a user blocks, in the order of {@link search}. If their profiles exceed
   * a MiB in total, returns only the first users.
   */
  blocked(worldId: string, id: string): Promise<UserRecord[]>;
  /**
   * Returns the people in a world, excluding erased users. Users created in the same millisecond
   * are ordered by id.
   * @throws {StoreError} `large` when the page would exceed a few MiB. A page with a single user is
   * never rejected.
   */
  list(worldId: string, selection: UserSelection): Promise<UserPage>;
  /**
   * Erases a user except for a tombstone: names, profile, traits, all other fields, and all blocks
   * between this user and other users. The erased data is also overwritten in the database's
   * storage, and in the database's own log as soon as no reader holds that log. The user's files
   * and questions remain without an owner, and the user's votes remain too.
   * @param name either the id or the `uid`.
   * @returns the user's id.
   * @throws {StoreError} `absent`, including when the user is already erased.
   */
  erase(worldId: string, name: UserName, by?: Author): Promise<string>;
}

export interface FileRecords {
  /**
   * Records a file whose bytes are stored, and lets the uploader enter like {@link
   * UserStore.enter}. On failure, no user is created or refreshed. The uploader is the author of
   * the entries that this write appends.
   * @param file a file whose key is new in the store and names this world.
   * @param quota maximum total size of the world's files, including this file, in bytes.
   * @param preview the picture's preview, whose key is `previewKeyOf(file.key)`. It is recorded and
   * deleted with the file, and never listed.
   * @throws {StoreError} `absent` when the world does not exist, `denied` when the uploader is
   * banned or silenced, or `quota`.
   */
  add(
    worldId: string,
    uploader: Visitor,
    file: FileDigest,
    quota: number,
    preview?: FileDigest,
  ): Promise<void>;
  /** Whether a file in any world has this key. */
  has(key: string): Promise<boolean>;
  /** Returns the file with an id, or undefined if the file is not in this world. */
  get(worldId: string, id: string): Promise<FileRecord | undefined>;
  /**
   * Returns a world's files, newest first. Among files from the same millisecond, the last to be
   * recorded comes first.
   */
  list(worldId: string, selection: PageSelection): Promise<FilePage>;
  /** Returns the keys of all files in a world, including previews, in any order. */
  keys(worldId: string): Promise<string[]>;
  /**
   * Deletes a file's record. Soon afterward, the key is also overwritten in the database's storage.
   * @returns the keys of the file and its preview. No record names these keys anymore.
   * @throws {StoreError} `absent`.
   */
  delete(worldId: string, id: string, by?: Author): Promise<string[]>;
  /** Returns the total recorded size of a world's files, in bytes. */
  size(worldId: string): Promise<number>;
}

export interface AnnouncementStore {
  /** Returns all announcements in a world, in any state, oldest first. */
  list(worldId: string): Promise<readonly Announcement[]>;
  /**
   * Creates an announcement with a new UUID as its id.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  create(worldId: string, draft: AnnouncementInput, by?: Author): Promise<Announcement>;
  /**
   * Replaces the named fields. The state may change only from draft to active, and from active to
   * archived; all other state changes are ignored.
   * @param seen the expected current announcement; any by default.
   * @returns the announcement before and after the change.
   * @throws {StoreError} `absent`, or `changed` if the announcement differs from `seen`.
   */
  update(
    worldId: string,
    id: string,
    changes: Partial<AnnouncementInput>,
    seen?: Announcement,
    by?: Author,
  ): Promise<{ before: Announcement; after: Announcement }>;
}
