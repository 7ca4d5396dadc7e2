import type { Faults } from "../../schemas/errors.js";
import type {
  Session,
  SessionChanges,
  SessionDraft,
  Speaker,
  SpeakerChanges,
  SpeakerDraft,
  Warning,
} from "../../schemas/program/program.js";
import type { RunRequest } from "../../schemas/plain/stage/run.js";
import type { Room } from "../../schemas/rooms.js";
import type { GivenEntry } from "../log/draft.js";
import type { SessionRow, SpeakerRow } from "../rules/program-rows.js";
import type { Author } from "./author.js";
import type { FileDigest, Versioned, Visitor } from "./selections.js";

/**
 * A part of a program whose changes are tracked separately: a room by its id, the sessions without
 * a room, or the speakers whom no session names.
 */
export type ProgramScope = string;
export const NO_ROOM: ProgramScope = "";
export const UNNAMED: ProgramScope = "speakers";

/** Stamps for the last changes in a scope. Each stamp is random, so no value ever recurs. */
export interface ScopeStamps {
  /** Changes whenever a publicly visible session or its speakers change. */
  readonly shown: string;
  /** Changes whenever any session or speaker changes, including drafts. */
  readonly all: string;
}

/**
 * A frozen, consistent snapshot of a world's whole program. `rules/program-views.ts` decides who
 * may see which parts.
 */
export interface Program {
  /** Sorted by start, then by title and id. Sessions without a start are last. */
  readonly sessions: readonly Versioned<Session>[];
  /** Sorted by name, then by id. */
  readonly speakers: readonly Versioned<Speaker>[];
  readonly places: ReadonlyMap<ProgramScope, ScopeStamps>;
  /** The number of changes to each session and speaker, by id. */
  readonly revisions: ReadonlyMap<string, number>;
  /** Changes whenever the event's dates change, or the rules that decide who sees which parts of the program. */
  readonly settings: string;
  /** Changes whenever any part of the program changes. */
  readonly stamp: string;
}

/** The empty program, for a world whose program has never been written. */
export const NO_PROGRAM: Program = Object.freeze({
  sessions: Object.freeze([]),
  speakers: Object.freeze([]),
  places: new Map<ProgramScope, ScopeStamps>(),
  revisions: new Map<string, number>(),
  settings: "",
  stamp: "",
});

/** A write rejected because of invalid values. The faults are listed by field. */
export interface RejectedWrite {
  readonly faults: Faults;
  /**
   * `taken` if another session or speaker already has one of the values; `quota` if the program
   * would be too large.
   */
  readonly problem?: "taken" | "quota" | undefined;
}

/** A session after a write, with warnings for the write's author. */
export interface SessionWritten {
  readonly session: Versioned<Session>;
  /** The overlapping sessions in the same room, at most 50. */
  readonly warnings: readonly Warning[];
}

/** A favorite whose session has moved, and the session's former place. */
export interface MovedFavorite {
  readonly session: string;
  /** In milliseconds since 1970. */
  readonly starts_at: number;
  readonly room_id: string | null;
}

/** The users and uploads to which the speakers in a document refer. */
export interface ImportReferences {
  /** User ids. */
  readonly users: readonly string[];
  /** URLs of uploads. */
  readonly pictures: readonly string[];
}

/** A room that an import creates. */
export interface NewRoom {
  readonly id: string;
  readonly name: string;
  readonly module_config?: Room["module_config"];
  readonly permission_config?: Room["permission_config"];
}

/** The changes that an import makes, as planned by `rules/import-changes.ts`. */
export interface ImportChanges {
  /** The state on which the plan is based. The import fails if that state has changed. */
  readonly basis: ImportReferences & {
    /** See {@link Program.stamp}. */
    readonly stamp: string;
    /** A digest of the world's rooms. */
    readonly rooms: string;
  };
  readonly rooms: readonly NewRoom[];
  readonly speakers: readonly SpeakerRow[];
  readonly sessions: readonly SessionRow[];
  /** Session ids. */
  readonly deleted: readonly string[];
  /** The ids of sessions and speakers whose hand-made changes the import replaces. */
  readonly followed: readonly string[];
  /** The scopes that change. The flag is whether readers without `program.update` see the change. */
  readonly places: readonly (readonly [ProgramScope, boolean])[];
  readonly entries: readonly GivenEntry[];
}

/** A file that is recorded along with an import. */
export interface ImportedFile {
  /** The uploader. */
  readonly visitor: Visitor;
  readonly digest: FileDigest;
  /** Maximum total size of the world's files, in bytes. */
  readonly quota: number;
}

export interface ProgramStore {
  /** Returns a world's program, or an empty program if the world has none. */
  get(worldId: string): Promise<Program>;
  /**
   * Returns a user's favorites, in the order in which they were added: session ids, including
   * sessions that the user can no longer see.
   */
  favorites(worldId: string, userId: string): Promise<string[]>;
  /** Returns the favorites of a user that have moved since the user added them, or moved first. */
  moved(worldId: string, userId: string): Promise<MovedFavorite[]>;
  /**
   * Creates a session with a new UUID as its id.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  createSession(
    worldId: string,
    draft: SessionDraft,
    by?: Author,
  ): Promise<SessionWritten | RejectedWrite>;
  /**
   * Replaces the named fields, each as a whole. The version stays the same if no value changes.
   * @param versions change the session only if it has one of these versions.
   * @throws {StoreError} `absent` or `changed`.
   */
  updateSession(
    worldId: string,
    id: string,
    changes: SessionChanges,
    versions?: readonly string[],
    by?: Author,
  ): Promise<SessionWritten | RejectedWrite>;
  /** @throws {StoreError} `absent` or `changed`. */
  deleteSession(
    worldId: string,
    id: string,
    versions?: readonly string[],
    by?: Author,
  ): Promise<void>;
  /**
   * Changes the sessions of a room as a host runs them: see `schemas/plain/stage/run.ts`.
   * @param times the time in milliseconds since 1970, and how long streams continue after a session.
   * @returns the ids of the changed sessions; undefined if the session has not begun, or has long
   * ended, as the action requires.
   * @throws {StoreError} `absent` when the room has no such public session with times.
   */
  runSession(
    worldId: string,
    roomId: string,
    request: RunRequest,
    times: { now: number; overrun: number },
    by?: Author,
  ): Promise<string[] | undefined>;
  /**
   * Creates a speaker with a new UUID as its id.
   * @param hosts see {@link ProgramStore.references}.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  createSpeaker(
    worldId: string,
    draft: SpeakerDraft,
    hosts: readonly string[],
    by?: Author,
  ): Promise<Versioned<Speaker> | RejectedWrite>;
  /** Like {@link ProgramStore.updateSession}. */
  updateSpeaker(
    worldId: string,
    id: string,
    changes: SpeakerChanges,
    hosts: readonly string[],
    versions?: readonly string[],
    by?: Author,
  ): Promise<Versioned<Speaker> | RejectedWrite>;
  /**
   * Deletes a speaker, and removes the speaker from all sessions.
   * @throws {StoreError} `absent` or `changed`.
   */
  deleteSpeaker(
    worldId: string,
    id: string,
    versions?: readonly string[],
    by?: Author,
  ): Promise<void>;
  /**
   * Merges two records of one person: all sessions of the other name this speaker, who gets what
   * this record lacks. Deletes the other.
   * @throws {StoreError} `absent` or `changed`.
   */
  mergeSpeakers(
    worldId: string,
    id: string,
    other: string,
    versions?: readonly string[],
    by?: Author,
  ): Promise<Versioned<Speaker>>;
  /** Returns the manually edited fields of imported sessions and speakers, by id. */
  edits(worldId: string): Promise<Record<string, string[]>>;
  /** Returns the ids and names of a world's rooms in order, from one snapshot. */
  rooms(worldId: string): Promise<{ id: string; name: string }[]>;
  /**
   * Returns which of the users and uploads that a document names exist in a world.
   * @param hosts the hosts that may appear in the URLs of the world's uploads, in the form of
   * `URL.host`.
   */
  references(
    worldId: string,
    named: ImportReferences,
    hosts: readonly string[],
  ): Promise<ImportReferences>;
  /**
   * Writes the changes that an import makes, and records the uploaded file. Appends one entry per
   * change, and one entry for the import. An import of more than 4,000 records is split into
   * several writes, so that writes to other worlds need not wait for the whole import. If the
   * program or the rooms change between two of these writes, or the process ends, the remaining
   * changes are not written; planning the same import again yields only the remaining changes.
   * @param hosts see {@link ProgramStore.references}.
   * @throws {StoreError} `absent` when the world does not exist; `changed` when the state on which
   * the plan is based has changed; otherwise, see {@link FileRecords.add}.
   */
  import(
    worldId: string,
    changes: ImportChanges,
    hosts: readonly string[],
    file?: ImportedFile,
    by?: Author,
  ): Promise<void>;
  /**
   * Adds a session to a user's favorites, or removes the session from them.
   * @throws {StoreError} `absent` on `user`, or on `session` if the session does not exist; `quota`
   * on `favorites` if the user already has a thousand favorites.
   */
  favor(
    worldId: string,
    userId: string,
    sessionId: string,
    on: boolean,
    by?: Author,
  ): Promise<void>;
}

/** Stores the secrets in calendar URLs: one secret per user. */
export interface ProgramLinkStore {
  /** Returns the id of the user who owns a secret. */
  user(worldId: string, token: string): Promise<string | undefined>;
  /**
   * Returns a user's secret. The first call creates the secret.
   * @param renew replace the secret, which invalidates the former secret.
   * @throws {StoreError} `absent` when the user does not exist or was erased.
   */
  link(worldId: string, userId: string, renew: boolean, by?: Author): Promise<string>;
}
