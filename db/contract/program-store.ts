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
import type { Given } from "../log/draft.js";
import type { SessionRow, SpeakerRow } from "../rules/program-rows.js";
import type { Author } from "./author.js";
import type { FileDigest, Versioned, Visitor } from "./selections.js";

/**
 * The places of a program whose changes count apart: a room by its id, sessions without a
 * room, and the speakers whom no session names.
 */
export type Place = string;
export const NO_ROOM: Place = "";
export const UNNAMED: Place = "speakers";

/** What was last changed at a place. Each stamp is random, so none ever comes back. */
export interface PlaceStamps {
  /** Changes of sessions that everybody may see, and of their speakers. */
  readonly shown: string;
  /** All changes, also of drafts. */
  readonly all: string;
}

/**
 * The whole program of a world at one moment, frozen. Who may see what of it is decided by
 * `rules/program-views.ts`.
 */
export interface Program {
  /** By their start, those without one last, then by title and id. */
  readonly sessions: readonly Versioned<Session>[];
  /** By name, then by id. */
  readonly speakers: readonly Versioned<Speaker>[];
  readonly places: ReadonlyMap<Place, PlaceStamps>;
  /** How often each session and speaker was changed, by its id. */
  readonly revisions: ReadonlyMap<string, number>;
  /** Changes with the rules that say who sees what of the program, and with the dates of the event. */
  readonly settings: string;
  /** Changes with each change of all this. */
  readonly stamp: string;
}

/** The program of a world that has had none. */
export const NO_PROGRAM: Program = Object.freeze({
  sessions: Object.freeze([]),
  speakers: Object.freeze([]),
  places: new Map<Place, PlaceStamps>(),
  revisions: new Map<string, number>(),
  settings: "",
  stamp: "",
});

/** A write that was refused for its values, with what is wrong with them by field. */
export interface Refused {
  readonly faults: Faults;
  /** If it is another session or speaker that has a value, or if the program would be too large. */
  readonly problem?: "taken" | "quota" | undefined;
}

/** A session as it was written, and what its author may want to know. */
export interface SessionWritten {
  readonly session: Versioned<Session>;
  /** Other sessions in its room at the same time, at most 50. */
  readonly warnings: readonly Warning[];
}

/** What the speakers of a document refer to. */
export interface ImportReferences {
  /** Ids. */
  readonly users: readonly string[];
  /** Addresses of uploads. */
  readonly pictures: readonly string[];
}

/** What an import changes, as `rules/import-changes.ts` plans it. */
export interface ImportChanges {
  /** What it was planned from, and must still be so. */
  readonly basis: ImportReferences & {
    /** See {@link Program.stamp}. */
    readonly stamp: string;
    /** A digest of the rooms of the world. */
    readonly rooms: string;
  };
  readonly rooms: readonly { readonly id: string; readonly name: string }[];
  readonly speakers: readonly SpeakerRow[];
  readonly sessions: readonly SessionRow[];
  /** Ids of sessions. */
  readonly deleted: readonly string[];
  /** Where the program changes, and whether readers without `program.update` see it. */
  readonly places: readonly (readonly [Place, boolean])[];
  readonly entries: readonly Given[];
}

/** A file that is recorded with an import. */
export interface ImportedFile {
  /** Who uploaded it. */
  readonly visitor: Visitor;
  readonly digest: FileDigest;
  /** How many bytes the files of the world may have. */
  readonly quota: number;
}

export interface ProgramStore {
  /** The program of a world; an empty one if there is none. */
  get(worldId: string): Promise<Program>;
  /**
   * The favorites of a user, in the order in which they were added: ids of sessions, also of
   * ones that the user may not see now.
   */
  favorites(worldId: string, userId: string): Promise<string[]>;
  /**
   * Creates a session with a new UUID as its id.
   * @throws {StoreError} `absent` when the world does not exist.
   */
  createSession(
    worldId: string,
    draft: SessionDraft,
    by?: Author,
  ): Promise<SessionWritten | Refused>;
  /**
   * Replaces the named fields as a whole. A write that leaves all values keeps the version.
   * @param versions change the session only if it is in one of these versions.
   * @throws {StoreError} `absent` or `changed`.
   */
  updateSession(
    worldId: string,
    id: string,
    changes: SessionChanges,
    versions?: readonly string[],
    by?: Author,
  ): Promise<SessionWritten | Refused>;
  /** @throws {StoreError} `absent` or `changed`. */
  deleteSession(
    worldId: string,
    id: string,
    versions?: readonly string[],
    by?: Author,
  ): Promise<void>;
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
  ): Promise<Versioned<Speaker> | Refused>;
  /** As {@link ProgramStore.updateSession}. */
  updateSpeaker(
    worldId: string,
    id: string,
    changes: SpeakerChanges,
    hosts: readonly string[],
    versions?: readonly string[],
    by?: Author,
  ): Promise<Versioned<Speaker> | Refused>;
  /**
   * Takes the speaker out of all sessions, and deletes it.
   * @throws {StoreError} `absent` or `changed`.
   */
  deleteSpeaker(
    worldId: string,
    id: string,
    versions?: readonly string[],
    by?: Author,
  ): Promise<void>;
  /** The ids and names of all rooms of a world in their order, at one moment. */
  rooms(worldId: string): Promise<{ id: string; name: string }[]>;
  /**
   * The users and uploads of a world among those that a document names.
   * @param hosts under which uploads of the world have addresses, as `URL.host` has them.
   */
  references(
    worldId: string,
    named: ImportReferences,
    hosts: readonly string[],
  ): Promise<ImportReferences>;
  /**
   * Writes what an import changes, and the file that it came in. Appends one entry for each change,
   * and one for the import. An import of more than 4,000 records is several writes, so that
   * writes of other worlds do not wait for all of it. If the
   * program or the rooms change in between, or the process ends, the rest is left out; the same
   * import, planned again, has only this rest to do.
   * @param hosts see {@link ProgramStore.references}.
   * @throws {StoreError} `absent` when the world does not exist; `changed` when it is not as the
   *   import was planned; or as {@link FileStore.add}.
   */
  import(
    worldId: string,
    changes: ImportChanges,
    hosts: readonly string[],
    file?: ImportedFile,
    by?: Author,
  ): Promise<void>;
  /**
   * Adds a session to the favorites of a user, or removes it.
   * @throws {StoreError} `absent` on `user`, or on `session` if there is none; `quota` on
   *   `favorites` if the user has a thousand already.
   */
  favor(
    worldId: string,
    userId: string,
    sessionId: string,
    on: boolean,
    by?: Author,
  ): Promise<void>;
}

/** The secrets in the addresses of calendars, one of each user. */
export interface ProgramLinkStore {
  /** The id of the user whose secret this is. */
  user(worldId: string, token: string): Promise<string | undefined>;
  /**
   * The secret of a user, which is made at the first call.
   * @param renew replace it, so that the former one ends.
   * @throws {StoreError} `absent` when the user does not exist or was erased.
   */
  link(worldId: string, userId: string, renew: boolean, by?: Author): Promise<string>;
}
