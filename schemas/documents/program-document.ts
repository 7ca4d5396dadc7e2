import { createHash } from "node:crypto";
import type { Session, SessionChanges, Speaker } from "../program/program.js";
import type { RoomTemplate } from "../plain/templates.js";
import { UUID } from "../plain/texts.js";

// A program as described by a document, in Foyer's terms regardless of the document's format. Only
// Foyer's own JSON includes a world's ids. `db/rules/program-import.ts` compares the document with
// a world's program.

/** Maximum number of sessions, and of speakers, in one document. */
export const MAX_ENTRIES = 5000;

/** Maximum number of problems listed in a response. */
export const MAX_PROBLEMS = 1000;

/** Maximum length of an `import_id`, in characters. */
const MAX_IMPORT_ID = 200;

/** A position in a document: a line number from 1, or a path such as `sessions.3`. */
export interface SourcePosition {
  line?: number;
  path?: string;
}

/** A problem with a part of a document. The part was left out, or is ambiguous. */
export interface ImportProblem {
  line?: number;
  /** The session's title in the document. */
  session?: string;
  message: string;
}

/** The session fields that a document may contain. Times are in UTC with milliseconds. */
export type SessionFields = Omit<
  Session,
  "id" | "room_id" | "speaker_ids" | "import_id" | "overrun"
> &
  Pick<SessionChanges, "overrun">;

/** The speaker fields that a document may contain. */
export type SpeakerFields = Omit<Speaker, "id" | "import_id">;

/** A session in a document. Fields that the format lacks are undefined, and an import leaves them unchanged. */
export interface DocumentSession {
  fields: Partial<SessionFields> & { title: string };
  /** The session's id in a world. Only Foyer's own JSON includes this id. */
  id?: string;
  /** The source's name for the session, used to match sessions. */
  import_id: string;
  /**
   * The session's room, by name or id; null if the session has no room, and undefined if the
   * document does not specify the room.
   */
  room?: { name: string } | { id: string } | null;
  /** Each speaker's `key`, in order; undefined if the format has no speakers. */
  speakers?: string[];
  position: SourcePosition;
}

/** A speaker in a document. */
export interface DocumentSpeaker {
  fields: Partial<SpeakerFields> & { name: string };
  /** The key by which the document's sessions refer to the speaker. */
  key: string;
  /** The speaker's id in a world. Only Foyer's own JSON includes this id. */
  id?: string;
  /** The source's name for the speaker, used to match speakers. */
  import_id: string;
  /**
   * How to match the speaker if the `import_id` alone is not enough. "name": the source has no ids,
   * so a speaker also matches by name if the name is unique in the world. "id and name": the
   * source's ids are plain numbers, so an id matches only together with the same name.
   */
  known_by?: "name" | "id and name";
  /** The `import_id`s that earlier imports may have used, if the speaker is known by id and name. */
  import_ids?: readonly string[];
  position: SourcePosition;
}

/** A completely parsed document. */
export interface ProgramDocument {
  sessions: DocumentSession[];
  speakers: DocumentSpeaker[];
  /** The problems found by the parser: parts that the parser left out or had to interpret. */
  problems: ImportProblem[];
  /** Whether the format represents programs exactly. Only Foyer's own JSON does. */
  isExact?: true;
  /** Whether the format has only one, untitled link per session, as calendars do. */
  hasOneLink?: true;
  /** The number of problems that are not in `problems`. */
  unlisted?: number;
}

/**
 * How an import treats rooms that exist only in the document and imported sessions that exist only
 * in the world, and whether the import changes anything.
 */
export interface ImportOptions {
  /** Create rooms that the document names and the world lacks. */
  createRooms?: boolean;
  /** Delete imported sessions that are no longer in the document. */
  removeMissing?: boolean;
  /** Change nothing, but return the changes that the import would make. */
  dryRun?: boolean;
  /** Return what changes, record by record. */
  lists?: boolean;
  /** Keep manual edits since the last import, except in the records listed in `choices`. */
  keepEdits?: boolean;
  choices?: ImportChoices | undefined;
}

/** What an organizer decided about a document. */
export interface ImportChoices {
  /** What a room of the document is: a room of the world, a new one, or null for none. */
  rooms?: readonly {
    name: string;
    room_id?: string | null;
    template?: RoomTemplate;
    /** The id of a room whose modules and rules the new one gets. */
    like?: string;
    /** The name of another missing room, of which this is a spelling. */
    same_as?: string;
  }[];
  /** Who a speaker of the document is. */
  speakers?: readonly { name: string; speaker_id: string }[];
  /** The sessions and speakers whose hand-made changes are replaced. */
  replace?: readonly string[];
}

/** A field that an import changes. Rooms and speakers are named, and long texts are cut. */
export interface ImportedField {
  field: string;
  before: unknown;
  after: unknown;
  /** Set if the field has been edited manually since the last import. */
  edited?: true;
  /** Set if the import keeps the manual edit. */
  kept?: true;
}

interface ImportedRecord {
  change: "created" | "updated" | "deleted" | "kept";
  /** The id of a record of the world. */
  id?: string;
  line?: number;
  fields: ImportedField[];
}

/** What an import changes, record by record. */
export interface ImportLists {
  sessions: (ImportedRecord & { title: string })[];
  /** New speakers have the speakers of the world whose names are near. */
  speakers: (ImportedRecord & { name: string; near: { id: string; name: string }[] })[];
  /** The rooms of the document that the world lacks, with the number of their sessions. */
  rooms: { name: string; sessions: number; near: { id: string; name: string }[] }[];
}

/** The effects of an import or a dry run. `rooms_created` counts rooms; all other numbers count sessions. */
export interface ImportResult {
  created: number;
  updated: number;
  unchanged: number;
  deleted: number;
  rooms_created: number;
  problems: ImportProblem[];
  changes?: ImportLists;
}

/** Limits an `import_id` to the maximum length, by replacing a longer id with a hash. */
export const importId = (source: string): string =>
  [...source].length > MAX_IMPORT_ID
    ? `sha256:${createHash("sha256").update(source).digest("hex")}`
    : source;

/** Returns the `import_id` for a session to which the source assigns no id: the session's start and title. */
export const importIdByStart = (title: string, startsAt?: string | null) =>
  importId(startsAt ? `${startsAt} ${title}` : title);

/** Normalizes a name, so that variants of the same room's or person's name are equal. */
export const nameKey = (name: string): string =>
  name.trim().normalize("NFC").toLowerCase().replace(/\s+/gu, " ");

/** The namespace for {@link guidOf}: a random UUID. */
const NAMESPACE = Buffer.from("7d1f0b5a3c864e0f9a6b52c8e41d7f93", "hex");

const IS_UUID = new RegExp(`^${UUID}$`);

/**
 * Returns the UUID of a session or speaker for exports: the `import_id` if it is a UUID, or else a
 * UUID derived from the `import_id` (RFC 9562, version 5). Without an `import_id`, returns the id.
 */
export function guidOf({ id, import_id }: { id: string; import_id: string | null }): string {
  if (import_id === null) return id;
  const known = import_id.toLowerCase();
  if (IS_UUID.test(known)) return known;
  const bytes = createHash("sha1").update(NAMESPACE).update(import_id).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
