import type { Faults } from "../../../schemas/errors.js";
import type { Speaker } from "../../../schemas/program/program.js";
import { Cache } from "../../cache.js";
import {
  type ImportReferences,
  type MovedFavorite,
  NO_PROGRAM,
  type Program,
} from "../../contract/program-store.js";
import { uploadKey } from "../../rules/file-rows.js";
import { sizeFaults } from "../../rules/program-checks.js";
import {
  SESSION_COLUMNS,
  sessionOf,
  type SessionRow,
  SPEAKER_COLUMNS,
  speakerOf,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import type { Reading, Sql } from "../domain.js";

// These functions read the records that sessions and speakers reference, within a transaction.

const ROOMS = "SELECT id, name FROM rooms WHERE world_id = $1 ORDER BY sorting_priority, name, id";
const WORLD = "SELECT 1 FROM worlds WHERE id = $1";
const ROOM = "SELECT id FROM rooms WHERE world_id = $1 AND id = $2";
const IDS = "SELECT id FROM program_speakers WHERE world_id = $1 AND id = ANY ($2)";
// In a tombstone, both columns are null.
const USERS = `SELECT id FROM users WHERE world_id = $1 AND id = ANY ($2)
  AND (token_id IS NOT NULL OR client_id IS NOT NULL)`;
const FILES = "SELECT key FROM files WHERE world_id = $1 AND key = ANY ($2)";
const SESSION_SIZE = `SELECT COUNT(*) AS number, COALESCE(SUM(LENGTH(title) + LENGTH(detail)), 0) AS characters
  FROM program_sessions WHERE world_id = $1`;
const SPEAKER_SIZE = `SELECT COUNT(*) AS number, COALESCE(SUM(LENGTH(name) + LENGTH(detail)), 0) AS characters
  FROM program_speakers WHERE world_id = $1`;

export const isWorld = async (sql: Sql, world: string): Promise<boolean> =>
  (await sql.value(WORLD, [world])) !== undefined;

/** Whether a room is in a world. Null, which means no room, is valid in every world. */
export const isRoom = async (sql: Sql, world: string, id: string | null): Promise<boolean> =>
  id === null || (await sql.value(ROOM, [world, id])) !== undefined;

/** Returns the ids and names of all rooms in a world, in order. */
export const roomsOf = (
  sql: Pick<Sql, "all">,
  world: string,
): Promise<{ id: string; name: string }[]> => sql.all<{ id: string; name: string }>(ROOMS, [world]);

/** Returns the given ids that belong to speakers in a world. */
export const knownSpeakers = async (
  sql: Sql,
  world: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> =>
  new Set(ids.length === 0 ? [] : await sql.column<string>(IDS, [world, [...ids]]));

interface SpeakerReferences {
  readonly isUser: (id: string) => boolean;
  readonly isUpload: (url: string) => boolean;
}

/**
 * Looks up the users and uploads that speakers reference.
 * @param hosts the hosts that may appear in the URLs of the world's uploads.
 */
export async function referencesOf(
  sql: Sql,
  world: string,
  speakers: readonly Partial<Pick<Speaker, "user_id" | "picture">>[],
  hosts: readonly string[],
): Promise<SpeakerReferences> {
  const users = speakers.flatMap(({ user_id }) => user_id ?? []);
  const keyOf = (url: string) => uploadKey(url, world, hosts);
  const keys = speakers.flatMap(({ picture }) => (picture == null ? [] : (keyOf(picture) ?? [])));
  const known = new Set(users.length === 0 ? [] : await sql.column<string>(USERS, [world, users]));
  const files = new Set(keys.length === 0 ? [] : await sql.column<string>(FILES, [world, keys]));
  return {
    isUser: (id) => known.has(id),
    isUpload(url) {
      const key = keyOf(url);
      return key !== undefined && files.has(key);
    },
  };
}

/** Returns the given users and uploads that exist in a world. */
export async function knownReferences(
  sql: Sql,
  world: string,
  { users, pictures }: ImportReferences,
  hosts: readonly string[],
): Promise<ImportReferences> {
  const { isUser, isUpload } = await referencesOf(
    sql,
    world,
    [...users.map((user_id) => ({ user_id })), ...pictures.map((picture) => ({ picture }))],
    hosts,
  );
  return { users: users.filter(isUser), pictures: pictures.filter(isUpload) };
}

interface Size {
  number: number;
  characters: number;
}

interface Growth {
  readonly sessions?: number;
  readonly speakers?: number;
  /** The number of characters added to titles, names and details. */
  readonly characters: number;
}

/** Returns faults if a world's program would become too large. */
export async function tooLarge(
  sql: Sql,
  world: string,
  growth: Growth,
): Promise<Faults | undefined> {
  if (growth.characters <= 0) return undefined;
  const sessions = (await sql.one<Size>(SESSION_SIZE, [world]))!;
  const speakers = (await sql.one<Size>(SPEAKER_SIZE, [world]))!;
  return sizeFaults({
    sessions: sessions.number + (growth.sessions ?? 0),
    speakers: speakers.number + (growth.speakers ?? 0),
    characters: sessions.characters + speakers.characters + growth.characters,
  });
}

export const STAMP = "SELECT stamp FROM programs WHERE world_id = $1";

const PROGRAM = "SELECT stamp, settings FROM programs WHERE world_id = $1";

const PLACES =
  "SELECT place, shown, changed FROM program_places WHERE world_id = $1 ORDER BY place";

export const SESSIONS = `SELECT ${SESSION_COLUMNS} FROM program_sessions WHERE world_id = $1
  ORDER BY starts_at IS NULL, starts_at, title, id`;

export const SPEAKERS = `SELECT ${SPEAKER_COLUMNS} FROM program_speakers WHERE world_id = $1
  ORDER BY name, id`;

const MOVED = `SELECT session_id AS session, moved_start AS starts_at, moved_room AS room_id
  FROM program_favorites WHERE world_id = $1 AND user_id = $2 AND moved_start IS NOT NULL
  ORDER BY number`;

const EDITS = `SELECT record_id AS id, field FROM program_edits WHERE world_id = $1
  ORDER BY record_id, field`;

const FAVORITES = `SELECT session_id FROM program_favorites
  WHERE world_id = $1 AND user_id = $2 ORDER BY number`;

/** Maximum total size of cached programs, in characters. The largest possible program uses half of this size. */
const KEPT = 64 * 1024 * 1024;

interface Known {
  readonly stamp: string;
  readonly program: Program;
  readonly size: number;
}

/** Creates the program reads. A program stays in memory until its stamp changes. */
export function programReads(sql: Reading) {
  const cache = new Cache<Known>(KEPT);
  const loading = new Map<string, Promise<Known>>();

  async function load(world: string): Promise<Known> {
    const known = await sql.snapshot((sql) => readProgram(sql, world));
    cache.set(world, known, known.size);
    return known;
  }

  return {
    async get(world: string): Promise<Program> {
      const stamp = await sql.value<string>(STAMP, [world]);
      if (stamp === undefined) return NO_PROGRAM;
      const known = cache.get(world);
      if (known?.stamp === stamp) return known.program;
      // Concurrent readers share a single load.
      const key = `${stamp} ${world}`;
      let loaded = loading.get(key);
      if (!loaded) {
        loaded = load(world).finally(() => loading.delete(key));
        loading.set(key, loaded);
      }
      return (await loaded).program;
    },

    rooms: (world: string) => roomsOf(sql, world),

    references: (
      world: string,
      named: ImportReferences,
      hosts: readonly string[],
    ): Promise<ImportReferences> =>
      sql.snapshot((sql) => knownReferences(sql, world, named, hosts)),

    async edits(world: string): Promise<Record<string, string[]>> {
      const edits: Record<string, string[]> = {};
      for (const { id, field } of await sql.all<{ id: string; field: string }>(EDITS, [world])) {
        (edits[id] ??= []).push(field);
      }
      return edits;
    },

    favorites: (world: string, user: string): Promise<string[]> =>
      sql.column<string>(FAVORITES, [world, user]),

    moved: (world: string, user: string): Promise<MovedFavorite[]> =>
      sql.all<MovedFavorite>(MOVED, [world, user]),
  };
}

async function readProgram(sql: Sql, world: string): Promise<Known> {
  const found = await sql.one<{ stamp: string; settings: string }>(PROGRAM, [world]);
  if (!found) return { stamp: "", program: NO_PROGRAM, size: 0 };
  const places = await sql.all<{
    place: string;
    shown: string;
    changed: string;
  }>(PLACES, [world]);
  const sessions = await sql.all<SessionRow>(SESSIONS, [world]);
  const speakers = await sql.all<SpeakerRow>(SPEAKERS, [world]);
  const size = [...sessions, ...speakers].reduce(
    (sum, { detail }) => sum + 500 + detail.length,
    1000,
  );
  const program: Program = Object.freeze({
    sessions: Object.freeze(sessions.map(sessionOf)),
    speakers: Object.freeze(speakers.map(speakerOf)),
    places: new Map(places.map(({ place, shown, changed }) => [place, { shown, all: changed }])),
    // Revisions start from 1, so the number of changes is one less than the revision.
    revisions: new Map([...sessions, ...speakers].map(({ id, revision }) => [id, revision - 1])),
    settings: found.settings,
    stamp: found.stamp,
  });
  return { stamp: found.stamp, program, size };
}
