import { createHash } from "node:crypto";
import type { Session, Speaker } from "../program/program.js";
import { UUID } from "../plain/texts.js";

// A program as a document describes it: in Foyer's words, whatever its format was, but without
// the ids of a world. `db/rules/program-import.ts` compares it with the program of a world.

/** The most sessions, and the most speakers, of one document. */
export const MAX_ENTRIES = 5000;

/** The most problems that an answer lists. */
export const MAX_PROBLEMS = 1000;

/** The longest `import_id`, in characters. */
const MAX_IMPORT_ID = 200;

/** Where something is in a document: a line from 1, or a path such as `sessions.3`. */
export interface Position {
  line?: number;
  path?: string;
}

/** Something in a document that was left out or read in one of several ways. */
export interface ImportProblem {
  line?: number;
  /** The title of the session in the document. */
  session?: string;
  message: string;
}

/** The fields of a session that a document may have. Times are in UTC with milliseconds. */
export type SessionFields = Omit<Session, "id" | "room_id" | "speaker_ids" | "import_id">;

/** The fields of a speaker that a document may have. */
export type SpeakerFields = Omit<Speaker, "id" | "import_id">;

/**
 * A session of a document. A field that its format does not have is undefined, and an import
 * leaves it as it is in the world.
 */
export interface DocumentSession {
  fields: Partial<SessionFields> & { title: string };
  /** Its id in a world. Only Foyer's own JSON has it. */
  id?: string;
  /** What the source calls it. Sessions are matched by it. */
  import_id: string;
  /** Its room by name, by id, or none; undefined if the document does not say. */
  room?: { name: string } | { id: string } | null;
  /** The `key` of each speaker, in order; undefined if the format has no speakers. */
  speakers?: string[];
  position: Position;
}

/** A speaker of a document. */
export interface DocumentSpeaker {
  fields: Partial<SpeakerFields> & { name: string };
  /** How sessions of the document refer to it. */
  key: string;
  /** Its id in a world. Only Foyer's own JSON has it. */
  id?: string;
  /** What the source calls it. Speakers are matched by it. */
  import_id: string;
  /**
   * How an entry of the world is found beside by `import_id`: by its name if only one has it, as the
   * source calls it nothing else; or only with this name, as the source's id is a number.
   */
  known_by?: "name" | "id and name";
  /** What an earlier import may have called it, if it is known by id and name. */
  import_ids?: readonly string[];
  position: Position;
}

/** A document that was read whole. */
export interface ProgramDocument {
  sessions: DocumentSession[];
  speakers: DocumentSpeaker[];
  /** What the parser left out or had to decide. */
  problems: ImportProblem[];
  /** Whether its format says exactly what a program has. Only Foyer's own JSON does. */
  isExact?: true;
  /** Whether its format has one link for a session, without a title, as calendars have. */
  hasOneLink?: true;
  /** How many more problems there are. */
  unlisted?: number;
}

/** How an import treats what only one of document and world has. */
export interface ImportOptions {
  /** Make the rooms that the document names and the world lacks. */
  createRooms?: boolean;
  /** Delete imported sessions that the document no longer has. */
  removeMissing?: boolean;
  /** Change nothing, and answer what would happen. */
  dryRun?: boolean;
}

/** What an import did, or would do. The numbers count sessions and rooms. */
export interface ImportResult {
  created: number;
  updated: number;
  unchanged: number;
  deleted: number;
  rooms_created: number;
  problems: ImportProblem[];
}

/** An `import_id` that fits: one that is too long becomes a hash of itself. */
export const importId = (source: string): string =>
  [...source].length > MAX_IMPORT_ID
    ? `sha256:${createHash("sha256").update(source).digest("hex")}`
    : source;

/** The `import_id` of a session that its source gives no name: its title and its start. */
export const importIdByStart = (title: string, startsAt?: string | null) =>
  importId(startsAt ? `${startsAt} ${title}` : title);

/** What is equal of names that mean the same room or person. */
export const nameKey = (name: string): string =>
  name.trim().normalize("NFC").toLowerCase().replace(/\s+/gu, " ");

/** The namespace of {@link guidOf}: a random UUID. */
const NAMESPACE = Buffer.from("7d1f0b5a3c864e0f9a6b52c8e41d7f93", "hex");

const IS_UUID = new RegExp(`^${UUID}$`);

/**
 * The UUID of a session or a speaker in exports: its `import_id`, or one made from that (RFC 9562,
 * version 5), or its id if it was made by hand.
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
