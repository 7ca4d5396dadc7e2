import type { WorldCopy } from "../../schemas/documents/world-document.js";
import type { PermissionConfig } from "../../schemas/plain/permissions.js";
import type { Room, RoomChanges, RoomDraft, RoomOrdering } from "../../schemas/rooms.js";
import type { User, UserName, UserOrdering } from "../../schemas/users.js";
import type { World, WorldChanges } from "../../schemas/worlds.js";
import type { LogStore } from "../log/entries.js";
import type { Announcement, AnnouncementDraft } from "./announcement-store.js";
import type { AttendanceStore } from "./attendance-store.js";
import type { AuditStore } from "./audit-store.js";
import type { Author } from "./author.js";
import type { ChatStore } from "./chat-store.js";
import type { InviteStore } from "./invite-store.js";
import type { PollStore } from "./poll-store.js";
import type { ProgramLinkStore, ProgramStore } from "./program-store.js";
import type { PushStore } from "./push-store.js";
import type { QuestionStore } from "./question-store.js";
import type {
  FileDigest,
  Lines,
  ListPlace,
  PageSelection,
  RowCounts,
  Versioned,
  Visitor,
} from "./selections.js";
import type { WebhookStore } from "./webhook-store.js";

// An engine is written from this file and tested by
// test/contract/db/store-contract/. `Store` has the rules for every method.

export type { FileDigest, ListPlace, PageSelection, Versioned, Visitor };

export interface WorldSelection {
  /** Only worlds whose id comes after this one. */
  after?: string;
  limit: number;
}

export interface UserSelection extends PageSelection {
  /** By default, the first created come first. A minus sign reverses everything. */
  ordering?: UserOrdering | undefined;
}

export interface RoomSelection extends PageSelection {
  /** The traits of the caller. Rooms whose `room.view` refuses them are left out. */
  traits: ReadonlySet<string>;
  /**
   * A minus sign reverses the named field only. Ties are broken by the other one of
   * `sorting_priority` and `name`, ascending, and then by `id`.
   */
  ordering: RoomOrdering;
  /** Only rooms with a module of exactly this type; any room if empty. */
  type?: string | undefined;
  /**
   * Only rooms whose name or description contains this; any room if empty. Case
   * is ignored as `text.toLowerCase().toUpperCase()` does, on both sides.
   */
  search?: string | undefined;
  /** Aborts when the client no longer waits for the list. */
  signal?: AbortSignal | undefined;
}

/** The fields of a room that only the live layer shows, not REST. */
export interface RoomExtras {
  /** The address of an image; null by default, like all that may be null. */
  picture: string | null;
  import_id: string | null;
  /** 0 by default. */
  pretalx_id: number;
  /** Whether everybody who enters the world joins the room. */
  force_join: boolean;
  /** The schedule data of the present session. */
  schedule_data: Record<string, unknown> | null;
}

/** A room with its extras. They are no part of the JSON of its record, and a part of its revision. */
export interface RoomValue extends Room {
  readonly extras: Readonly<RoomExtras>;
  /** The JSON of large fields, as in a {@link UserRecord}. */
  readonly stored: {
    readonly module_config: string;
    readonly permission_config: string;
    readonly schedule_data: string;
  };
}

/** The fields of a room to replace. Omitted extras stay. */
export interface RoomUpdate extends Omit<RoomChanges, keyof RoomExtras> {
  extras?: Partial<RoomExtras> | undefined;
}

/** A page of rooms; the JSON of its record covers only `rooms`. */
export interface RoomPage {
  readonly count: number;
  readonly rooms: readonly Room[];
}

/** A moderator's decision about a user; empty for none. */
export type ModerationState = "" | "silenced" | "banned";

/**
 * A user of a world, frozen. `traits` are in the order of the token. The tombstone of
 * an erased user keeps the id, with everything else at its default.
 */
export interface UserRecord extends Readonly<Omit<User, "last_seen">> {
  /** The client ID of a guest, which is a credential; null for others. */
  readonly client_id: string | null;
  /** When the user last entered or uploaded, in milliseconds since 1970. */
  readonly last_seen: number;
  readonly moderation_state: ModerationState;
  /** The state that the user's clients store; `{}` by default. */
  readonly client_state: Record<string, unknown>;
  readonly pretalx_id: string | null;
  /** In milliseconds since 1970; null before the first login. */
  readonly last_login: number | null;
  /** Whether it is a tombstone. */
  readonly deleted: boolean;
  /**
   * The stored JSON of large fields, to be sent without a parse. Not enumerable:
   * copies of the record do not have it.
   */
  readonly stored: {
    readonly profile: string | null;
    readonly client_state: string;
  };
}

/** A user in a list for administrators, without large fields. */
export interface ListedUser extends Omit<UserRecord, "client_state" | "deleted"> {
  /** When the user was made, in milliseconds since 1970. */
  readonly created: number;
}

export interface UserPage {
  count: number;
  users: ListedUser[];
}

/** The fields of a user to replace, each as a whole. */
export interface UserChanges {
  profile?: Record<string, unknown> | undefined;
  client_state?: Record<string, unknown> | undefined;
  pretalx_id?: string | null | undefined;
}

export type UserKind = "person" | "kiosk" | "anonymous";

export interface UserSearch extends PageSelection {
  /**
   * Only users whose `profile.display_name` contains this; any user if empty. Case
   * is ignored as in {@link RoomSelection.search}.
   */
  term?: string | undefined;
  /** The names in `profile.fields` whose texts may contain the term instead. */
  fields?: readonly string[] | undefined;
  /** Only users with at least one of these traits, so no user if it is empty. */
  traits?: readonly string[] | undefined;
  /** Whether banned users are included. */
  banned?: boolean | undefined;
  /** Only users with a display name that is not empty. */
  named?: boolean | undefined;
  /** People by default. */
  kind?: UserKind | undefined;
}

export interface FoundUsers {
  count: number;
  users: UserRecord[];
}

/** The record of an uploaded file. Its bytes are in the `FileStore`. */
export interface FileRecord extends FileDigest {
  /** Names the file in its world. It follows from the key (`fileIdOf`). */
  id: string;
  /** Its MIME type. It follows from the key (`mimeTypeOf`). */
  type: string;
  /** The id of the uploader; null once that user is erased. */
  userId: string | null;
  /** In milliseconds since 1970. */
  uploadedAt: number;
  /** Counts up. */
  number: number;
}

export interface FilePage {
  count: number;
  files: FileRecord[];
}

/** Why the store refused an operation. */
export type StoreProblem =
  /** The record to change, or its world, does not exist; `field` is one of `world`, `room`, `user`, `file`, `announcement`, `event`, `question`, `poll`, `option`, `session` or `speaker`. */
  | "absent"
  /** The record exists, but not in a version that the caller named. */
  | "changed"
  /** Another record has the same value; `field` names it, such as `id`, `domain`, `name` or `rooms`. */
  | "taken"
  /** Another process held the lock for too long, or too many reads wait; try again soon. */
  | "busy"
  /** The user is banned or silenced, or may not do this in a channel; or the poll does not take this vote (`field` is `poll`). */
  | "denied"
  /** The files of the world would exceed their quota, a user blocks too many others (`field` is `blocks`), an event has too many reactions (`reactions`), a poll too many options (`options`), or a user too many favorites (`favorites`). */
  | "quota"
  /** The commit failed in a way that leaves open whether it happened. */
  | "doubtful"
  /** The answer would be too large to read at once; a smaller page may do. */
  | "large"
  /** A document that is imported has a fault; the message names its line. */
  | "unfit"
  /** The disk is full. */
  | "full"
  /** The store cannot be used: damaged, of a newer version, unreachable, or closed. */
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

/** How much a store holds, for its operator. It is cheap to ask for, however much that is. */
export interface Counts {
  worlds: number;
  rooms: number;
  /** Without erased users. */
  users: number;
  /** The size of all uploaded files, as recorded. */
  fileBytes: number;
  /** The size of the database on its disk, with its log. */
  databaseBytes: number;
  /** How long something erased has been in the database's files, in seconds; 0 if nothing is. */
  erasureAge: number;
}

/**
 * Everything the service keeps, except the bytes of files.
 *
 * **Atomicity.** Each method is one atomic operation: a method that fails changes
 * nothing, and all values that a method returns are of one moment.
 *
 * **Errors.** Beside its own errors, any method may reject with
 * a {@link StoreError} `busy` or `unusable`, and a write with `full` or `doubtful`.
 * Where a write has several reasons to fail, it reports the first of `absent`,
 * `denied`, `changed`, `taken` (`id` before `domain` before `rooms` before `users`
 * before `announcements` before `chat` before `questions` before `polls`) and `quota`.
 *
 * **Reads** see every write of this store that has resolved, and every write of
 * other processes that was committed a second ago. On the embedded engine they see
 * all writes that were committed before the present turn of the event loop, and reads of
 * one turn may share one state. No engine answers with an older state: an engine that
 * cannot tell whether a cached value is current reads again, or rejects with `unusable`.
 * A write always decides on the committed state. A read of a world that does not exist
 * gives undefined, 0, or an empty list, and never fails for that.
 *
 * **Writes** are durable once they resolve. An engine may run a write more than
 * once before it commits, so a write touches nothing but the database. A write
 * that leaves all values of a world or a room as they are keeps its version.
 *
 * **Log.** Each write appends an entry to the log of its world in the same transaction
 * (`db/log/entries.ts`), even a write that changes no value, so that its command still
 * causes a push. A user who enters with the same traits appends none. The
 * parameter `by` names the author; by default, it is the author with which the store was
 * opened.
 *
 * **Values** satisfy the schemas; the store does not validate them.
 * Every string, number and JSON value reads back as it was written. That includes
 * the order of the names in an object, on which versions depend.
 *
 * **Text** is compared and sorted by its code points (the bytes of UTF-8), and
 * never by the rules of a language.
 *
 * **Results** other than frozen ones belong to the caller, who may change them.
 */
export interface Store {
  readonly worlds: WorldStore;
  readonly rooms: RoomStore;
  readonly users: UserStore;
  readonly files: FileRecords;
  readonly announcements: AnnouncementStore;
  readonly attendance: AttendanceStore;
  readonly chat: ChatStore;
  readonly questions: QuestionStore;
  readonly polls: PollStore;
  readonly program: ProgramStore;
  readonly programLinks: ProgramLinkStore;
  readonly invites: InviteStore;
  readonly push: PushStore;
  readonly webhooks: WebhookStore;
  readonly audit: AuditStore;
  readonly log: LogStore;
  counts(): Promise<Counts>;
  /**
   * Finishes the writes under way, then closes the database. Methods that are
   * called later reject with `unusable`. A second call does nothing.
   */
  close(): Promise<void>;
}

/** The fields that {@link WorldStore.configure} replaces. */
export interface WorldSettings extends Pick<WorldChanges, "title" | "permission_config"> {
  config?: Record<string, unknown> | undefined;
}

export interface WorldStore {
  get(id: string): Promise<Versioned<World> | undefined>;
  /**
   * The world that a host name stands for: the one with exactly this domain, or else the one with
   * this domain without the port, or else the only world of the store if it has only one.
   * @param host as in a Host header, in lower case, with or without a port.
   */
  at(host: string): Promise<Versioned<World> | undefined>;
  /** Worlds in the order of the code points of their ids. They are frozen. */
  list(selection: WorldSelection): Promise<World[]>;
  /** The worlds that have a key or another issuer with exactly this name and audience, in any order. */
  issuing(issuer: string, audience: string): Promise<readonly Versioned<World>[]>;
  /**
   * Creates a world. Two worlds may share a host name only if the domains of
   * both name different ports.
   * @throws {StoreError} `taken` on `id` or `domain`.
   */
  create(world: World, by?: Author): Promise<Versioned<World>>;
  /**
   * Replaces the named fields as a whole. A `config` without `JWT_secrets`, `JWT_issuers` or
   * `oidc` keeps the present ones, which then come first in it. An `id` must be the present one.
   * @param versions change the world only if it is in one of these versions; an
   *   empty list never matches, and without a list any version does.
   * @throws {StoreError} `absent`, `changed`, or `taken` on `domain`.
   */
  update(
    id: string,
    changes: WorldChanges,
    versions?: readonly string[],
    by?: Author,
  ): Promise<Versioned<World>>;
  /**
   * Replaces the named fields, and of `config` only the named keys. They keep their
   * places; new keys come last. The keys and issuers of tokens always stay as they are.
   * @param versions see {@link WorldStore.update}.
   * @throws {StoreError} `absent` or `changed`.
   */
  configure(
    id: string,
    changes: WorldSettings,
    versions?: readonly string[],
    by?: Author,
  ): Promise<Versioned<World>>;
  /**
   * Deletes a world with its rooms, users and file records. Soon after, the data that identifies
   * its users and files, and its messages, are also overwritten in the storage of the database.
   * @param noted the keys that its files may have; any by default.
   * @returns the keys of its files, in any order. No record names them any more.
   * @throws {StoreError} `absent`, or `changed` if it has a file that is not noted.
   */
  delete(id: string, noted?: readonly string[], by?: Author): Promise<string[]>;
  /**
   * The lines of a document with the world as it is at one moment: its rows, with the keys
   * and all users, but without webhooks, the log and the audit.
   * @param options.history include the chat, with direct channels and the ids of erased users.
   * @param options.files include the records of the files whose keys it says yes to; none by default.
   * @throws {StoreError} `absent`.
   */
  export(
    id: string,
    options?: { history?: boolean; files?: (key: string) => boolean },
  ): AsyncIterable<string>;
  /**
   * Creates a world with its settings, rooms, users, announcements, questions, polls and
   * program as another has them, but with new ids, and without all that users did.
   * @param world its id, names and keys.
   * @throws {StoreError} `absent`, or `taken` on `id` or `domain`.
   */
  clone(id: string, world: World, by?: Author): Promise<Versioned<World>>;
  /**
   * Creates a world with its contents, ids and revisions included. Events of chat get the
   * next numbers, in the same order, and marks follow them.
   * @param document the lines of an export, or an older document: there, a
   *   missing revision is 1, and a closed or archived poll without results gets the counts of its ballots.
   * @param options.dryRun create nothing, but fail where the import would fail.
   * @param options.files whether the bytes of a file are in place, or will be. Lines with
   *   other files are refused.
   * @returns also how many rows of each table the document has.
   * @throws {StoreError} `unfit`, or `taken` on `id`, on `domain`, or on `rooms`, `users`,
   *   `announcements`, `chat` (its direct channels), `questions` or `polls` (also
   *   their options) if any world has one with the id of one of them, or if two users
   *   of the document have the same name.
   */
  import(
    document: WorldCopy | Lines,
    options?: { dryRun?: boolean; files?: (file: FileDigest) => boolean },
    by?: Author,
  ): Promise<{ world: Versioned<World>; rows: RowCounts }>;
}

/**
 * The rooms of worlds. A room without a `domain` of its own shows the world's, so its
 * version changes with the world's domain.
 */
export interface RoomStore {
  /** The room with an id, if it is in this world. */
  get(worldId: string, id: string): Promise<Versioned<RoomValue> | undefined>;
  /**
   * The rooms that the caller may see, in the requested order: by priority, then by
   * name, or by name, then by priority, and last by id. Texts compare by code point.
   * The version covers the content of the page.
   * @throws {StoreError} `large` when the page would take more than a few MiB.
   */
  list(worldId: string, selection: RoomSelection): Promise<Versioned<RoomPage>>;
  /**
   * A page of all rooms, without regard to rights, by priority, name and id. It is not
   * bounded by size, so ask for at most a few hundred rooms.
   */
  all(worldId: string, selection: PageSelection): Promise<Versioned<RoomValue>[]>;
  /**
   * Creates a room with a new UUID as its id, unique in the store. Fields that are
   * not given get the defaults of the interface.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  create(worldId: string, draft: RoomDraft, by?: Author): Promise<Versioned<RoomValue>>;
  /**
   * Creates a room behind all others: its priority is one more than the highest,
   * which may be 0, as long as a priority can be.
   * @throws {StoreError} `absent` when the world does not exist, or `taken` on
   *   `name` if the world has a room of this name. Case is ignored as in
   *   {@link RoomSelection.search}.
   */
  open(worldId: string, draft: RoomDraft, by?: Author): Promise<Versioned<RoomValue>>;
  /**
   * Replaces the named fields as a whole. A `domain` of null removes the room's
   * own. An `id` must be the present one.
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
  /** Sets the `schedule_data` of a room. @throws {StoreError} `absent`. */
  schedule(
    worldId: string,
    id: string,
    data: Record<string, unknown> | null,
    by?: Author,
  ): Promise<Versioned<RoomValue>>;
  /**
   * Numbers the priorities of all rooms from 1: the named rooms come first, in this order, and the
   * others follow in their present one. Ids that no room of the world has are skipped.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  reorder(worldId: string, ids: readonly string[], by?: Author): Promise<void>;
  /**
   * Deletes a room with its chat, its polls, and every byte of its questions, soon after.
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
   * Lets a person into a world. The first entry creates a user, with a new UUID as its id; later
   * ones refresh its traits and `last_seen`, never its profile. The log gets an entry if others may
   * see a difference: other traits, or a user who was inactive. The audit notes a new screen. A
   * banned user stays as it is, and is still returned. If several processes get the first entry at
   * the same time, one creates the user. An erased user is not found again: the same name then
   * creates a new one.
   * @returns the present user.
   * @throws {StoreError} `absent` if the world does not exist.
   */
  enter(worldId: string, visitor: Visitor, by?: Author): Promise<UserRecord>;
  /** The user with an id, if it is in this world; also a tombstone. */
  get(worldId: string, id: string): Promise<UserRecord | undefined>;
  /** The user that {@link enter} would refresh; undefined if it would create one. */
  find(
    worldId: string,
    name: Pick<Visitor, "tokenId" | "clientId">,
  ): Promise<UserRecord | undefined>;
  /**
   * The users with some ids, in any order, tombstones included. Ids that no user
   * of the world has are left out.
   * @param ids at most a few hundred.
   */
  getMany(worldId: string, ids: readonly string[]): Promise<UserRecord[]>;
  /**
   * The users with some ids in pretalx, in any order. Several users may have one.
   * @param ids at most a few hundred.
   */
  byPretalx(worldId: string, ids: readonly string[]): Promise<UserRecord[]>;
  /**
   * A page of the users that match, without tombstones: by display name,
   * with the same case, and then by id.
   * @param signal aborts when the client no longer waits for the answer.
   * @throws {StoreError} `busy` when too many searches wait, or if it is aborted
   *   before its turn; `large` as in {@link list}.
   */
  search(worldId: string, search: UserSearch, signal?: AbortSignal): Promise<FoundUsers>;
  /** Replaces the named fields. @throws {StoreError} `absent`, also if the user is erased. */
  update(worldId: string, id: string, changes: UserChanges, by?: Author): Promise<UserRecord>;
  /**
   * Decides about a user. A banned user who is silenced stays banned.
   * @throws {StoreError} `absent`, also if the user is erased.
   */
  moderate(worldId: string, id: string, state: ModerationState, by?: Author): Promise<UserRecord>;
  /**
   * The same about the person whose tokens have a `uid`. It creates the user of a person who
   * has not come yet, without traits.
   * @throws {StoreError} `absent` if the world does not exist.
   */
  moderateNamed(
    worldId: string,
    tokenId: string,
    state: ModerationState,
    by?: Author,
  ): Promise<UserRecord>;
  /**
   * Notes that one user blocks another, if it is not noted yet.
   * @throws {StoreError} `absent`, also if one of them is erased; `quota` on
   *   `blocks` if the user blocks a thousand others already.
   */
  block(worldId: string, id: string, other: string, by?: Author): Promise<void>;
  /** Ends a block, if there is one. @throws {StoreError} `absent` as {@link block}. */
  unblock(worldId: string, id: string, other: string, by?: Author): Promise<void>;
  /**
   * The users that a user blocks, in the order of {@link search}: only the first if
   * their profiles take more than a MiB together.
   */
  blocked(worldId: string, id: string): Promise<UserRecord[]>;
  /**
   * The people of a world, without erased ones. Users of the same millisecond are in the order
   * of their ids.
   * @throws {StoreError} `large` when the page would take more than a few MiB. A
   *   page with one user is never refused.
   */
  list(worldId: string, selection: UserSelection): Promise<UserPage>;
  /**
   * Erases a user but for its tombstone: its names, its profile, its traits, all
   * other fields, and the blocks by it and of it. They are also overwritten in the
   * storage of the database, and in its log as soon as no reader holds it. The files
   * and the questions of the user stay, without an owner, and so do the votes.
   * @param name exactly one of the id and the `uid`.
   * @returns the id of the user.
   * @throws {StoreError} `absent`, also if the user is erased already.
   */
  erase(worldId: string, name: UserName, by?: Author): Promise<string>;
}

export interface FileRecords {
  /**
   * Records a file whose bytes are in place, and lets the uploader enter as
   * {@link UserStore.enter} does. If it fails, no user is created or refreshed. The author
   * of its entries is the uploader.
   * @param file its key is new in the store, and names this world.
   * @param quota how many bytes the files of the world may have together, this
   *   one included.
   * @throws {StoreError} `absent` when the world does not exist, `denied` when the
   *   uploader is banned or silenced, or `quota`.
   */
  add(worldId: string, uploader: Visitor, file: FileDigest, quota: number): Promise<void>;
  /** Whether a file of any world has this key. */
  has(key: string): Promise<boolean>;
  /** The file with an id, if it is in this world. */
  get(worldId: string, id: string): Promise<FileRecord | undefined>;
  /**
   * The files of a world: the newest first, and of files of the same millisecond
   * the one that was recorded last.
   */
  list(worldId: string, selection: PageSelection): Promise<FilePage>;
  /** The keys of all files of a world, in any order. */
  keys(worldId: string): Promise<string[]>;
  /**
   * Deletes the record of a file. Its key is also overwritten in the storage of
   * the database, soon after.
   * @returns the key of the file. No record names it any more.
   * @throws {StoreError} `absent`.
   */
  delete(worldId: string, id: string, by?: Author): Promise<string>;
  /** How many bytes the files of a world have together, as recorded. */
  size(worldId: string): Promise<number>;
}

export interface AnnouncementStore {
  /** All announcements of a world, in any state, the oldest first. */
  list(worldId: string): Promise<readonly Announcement[]>;
  /**
   * Creates an announcement with a new UUID as its id.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  create(worldId: string, draft: AnnouncementDraft, by?: Author): Promise<Announcement>;
  /**
   * Replaces the named fields. The state may only change from a draft to active and from
   * active to archived; other changes of it are ignored.
   * @param seen the announcement as it must still be; by default it may be any.
   * @returns the announcement before and after the change.
   * @throws {StoreError} `absent`, or `changed` if it is not as it was seen.
   */
  update(
    worldId: string,
    id: string,
    changes: Partial<AnnouncementDraft>,
    seen?: Announcement,
    by?: Author,
  ): Promise<{ before: Announcement; after: Announcement }>;
}
