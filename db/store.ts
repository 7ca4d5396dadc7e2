import type { WorldCopy } from "../schemas/documents.js";
import type {
  Room,
  RoomChanges,
  RoomDraft,
  RoomOrdering,
} from "../schemas/rooms.js";
import type { User, UserName } from "../schemas/users.js";
import type { World, WorldChanges } from "../schemas/worlds.js";

/**
 * A record and the version it was read in. The version changes with every
 * change that a reader sees, and is computed from the values that a reader sees:
 * equal versions mean equal values, on every server and every engine. It is the
 * only identity there is; the same record read twice may be two objects. Values
 * are frozen, as readers share them.
 */
export interface Versioned<T> {
  readonly value: T;
  readonly version: string;
}

/** Which part of all worlds is asked for. */
export interface WorldSelection {
  /** Only worlds whose id comes after this one. */
  after?: string;
  limit: number;
}

/** Which page of a list somebody asks for. */
export interface PageSelection {
  /** From 1. */
  page: number;
  pageSize: number;
}

/** Which page of the rooms of a world somebody asks for. */
export interface RoomSelection extends PageSelection {
  /** The traits of the caller: rooms whose `room.view` refuses them are left out. */
  traits: ReadonlySet<string>;
  ordering: RoomOrdering;
  /** Only rooms with a module of this type. */
  type?: string | undefined;
  /** Only rooms whose name or description holds this, in whatever case. */
  search?: string | undefined;
}

export interface RoomPage {
  /** The number of rooms on all pages. */
  readonly count: number;
  readonly rooms: readonly Room[];
}

/** Somebody who uploads: by the `uid` of a token, or as a guest by a client ID. */
export interface Uploader {
  tokenId?: string | undefined;
  clientId?: string | undefined;
  traits: ReadonlySet<string>;
  profile?: Record<string, unknown> | undefined;
}

/** What is kept of somebody who uploaded. */
export interface UserRecord extends Omit<User, "last_seen"> {
  /** When it last uploaded, in milliseconds since 1970. */
  last_seen: number;
}

export interface UserPage {
  /** The number of users on all pages. */
  count: number;
  users: UserRecord[];
}

/** What is recorded of an uploaded file; its bytes lie elsewhere. */
export interface FileRecord {
  /** The name of its bytes. */
  key: string;
  /** In bytes. */
  size: number;
  /** The checksum of its bytes, in hexadecimal. */
  sha256: string;
}

/** A file of a world. */
export interface StoredFile extends FileRecord {
  /** Names it in its world; it is a part of its key. */
  id: string;
  /** Its MIME type. */
  type: string;
  /** Who uploaded it; null once that user is erased. */
  userId: string | null;
  /** In milliseconds since 1970. */
  uploadedAt: number;
}

export interface FilePage {
  /** The number of files on all pages. */
  count: number;
  files: StoredFile[];
}

/** Why the store did not do what it was asked. */
export type StoreProblem =
  /** What was to be changed is not there. */
  | "absent"
  /** It is there, but no longer in a version that the caller named. */
  | "changed"
  /** An id or a domain belongs to another; `field` says which. */
  | "taken"
  /** Another process holds the lock for too long; try again soon. */
  | "busy"
  /** The files of the world would be larger than they may be. */
  | "quota"
  /** The disk failed at the wrong moment: it may have been done all the same. */
  | "doubtful"
  /** What was asked for is too large to be read at once. */
  | "large"
  /** The disk is full. */
  | "full"
  /** The store cannot be used: damaged, of a newer version, or closed. */
  | "unusable";

/** The only error the store throws on purpose. Anything else is a fault of its own. */
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
  /** Without those that were erased. */
  users: number;
  /** What all uploaded files have together. */
  fileBytes: number;
  /** What the records take on the disk. */
  databaseBytes: number;
}

/**
 * Everything the service keeps. Each method is one atomic operation. It may
 * reject with a {@link StoreError} `busy` or `unusable`, a write also with `full`
 * or `doubtful`.
 *
 * A read sees every write of this store that has resolved, and every write of
 * other processes that was committed before the present turn of the event loop.
 * Reads of one turn may share one state.
 *
 * A write is durable once it resolves. An engine may run a write more than once
 * before it commits, so what a write does must touch nothing but the database.
 */
export interface Store {
  readonly worlds: WorldStore;
  readonly rooms: RoomStore;
  readonly users: UserStore;
  readonly files: FileRecords;
  /** How much there is. */
  counts(): Promise<Counts>;
  /** Finishes the writes under way, then closes the database. */
  close(): Promise<void>;
}

export interface WorldStore {
  get(id: string): Promise<Versioned<World> | undefined>;
  /**
   * The world that a host name stands for: the one with this domain, first with
   * the port and then without it; where there is only one world, that one.
   * @param host as in a Host header, in lower case.
   */
  at(host: string): Promise<Versioned<World> | undefined>;
  /** Worlds in the order of the code points of their ids. */
  list(selection: WorldSelection): Promise<World[]>;
  /** The worlds that have a key with this issuer and audience. */
  issuing(
    issuer: string,
    audience: string,
  ): Promise<readonly Versioned<World>[]>;
  /**
   * Creates a world. Two worlds may share a host name only if the domains of
   * both name different ports.
   * @throws {StoreError} `taken` on `id` or `domain`.
   */
  create(world: World): Promise<Versioned<World>>;
  /**
   * Replaces the named fields; a `config` without `JWT_secrets` keeps the keys.
   * @param versions do it only in one of these versions.
   * @throws {StoreError} `absent`, `changed`, or `taken` on `domain`.
   */
  update(
    id: string,
    changes: WorldChanges,
    versions?: readonly string[],
  ): Promise<Versioned<World>>;
  /**
   * Deletes a world with all that is in it.
   * @returns the keys of its files, whose bytes are nobody's now.
   * @throws {StoreError} `absent`.
   */
  delete(id: string): Promise<string[]>;
  /** The world with all its rooms, in the order of lists, as they were at one moment. */
  export(id: string): Promise<WorldCopy | undefined>;
  /**
   * Makes a world with all its rooms, ids and versions included, or nothing of it.
   * @param dryRun make nothing, but fail where it would.
   * @throws {StoreError} `taken` on `id`, `domain`, or `rooms` for the id of one.
   */
  import(
    copy: WorldCopy,
    options?: { dryRun?: boolean },
  ): Promise<Versioned<World>>;
}

export interface RoomStore {
  get(worldId: string, id: string): Promise<Versioned<Room> | undefined>;
  /**
   * A page of rooms in the order that is asked for: by priority, then by name, or
   * by name, then by priority, and in the end by id. Texts compare by code point.
   * @throws {StoreError} `large` when the page would take more than a few MiB.
   */
  list(worldId: string, selection: RoomSelection): Promise<Versioned<RoomPage>>;
  /** @throws {StoreError} `absent` when the world is not there. */
  create(worldId: string, draft: RoomDraft): Promise<Versioned<Room>>;
  /**
   * Replaces the named fields.
   * @param versions do it only in one of these versions.
   * @throws {StoreError} `absent` or `changed`.
   */
  update(
    worldId: string,
    id: string,
    changes: RoomChanges,
    versions?: readonly string[],
  ): Promise<Versioned<Room>>;
  /**
   * @param versions do it only in one of these versions.
   * @throws {StoreError} `absent` or `changed`.
   */
  delete(
    worldId: string,
    id: string,
    versions?: readonly string[],
  ): Promise<void>;
}

export interface UserStore {
  /**
   * The users of a world that were not erased: the last seen first, then by id.
   * @throws {StoreError} `large` when the page would be.
   */
  list(worldId: string, selection: PageSelection): Promise<UserPage>;
  /**
   * Erases what tells who a user is, from the bytes of the database too. Its
   * files stay, and are nobody's.
   * @throws {StoreError} `absent`.
   */
  erase(worldId: string, name: UserName): Promise<void>;
}

export interface FileRecords {
  /**
   * Records a file whose bytes are in place, and who uploaded it: the first
   * upload makes a user, later ones refresh its traits and when it was last seen.
   * @param quota how many bytes the files of the world may have together.
   * @throws {StoreError} `quota`, or `absent` when the world is not there.
   */
  add(
    worldId: string,
    uploader: Uploader,
    file: FileRecord,
    quota: number,
  ): Promise<void>;
  has(key: string): Promise<boolean>;
  get(worldId: string, id: string): Promise<StoredFile | undefined>;
  /** The files of a world, the newest first. */
  list(worldId: string, selection: PageSelection): Promise<FilePage>;
  /** The keys of all files of a world, as they were at one moment. */
  keys(worldId: string): Promise<string[]>;
  /**
   * Deletes the record of a file, from the bytes of the database too, soon after.
   * @returns the key of the file, whose bytes are nobody's now.
   * @throws {StoreError} `absent`.
   */
  delete(worldId: string, id: string): Promise<string>;
  /** How many bytes the files of a world have together. */
  size(worldId: string): Promise<number>;
}
