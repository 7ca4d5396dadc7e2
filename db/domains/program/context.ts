import type { ImportReferences } from "../../contract/program.js";
import { uploadKey } from "../../rules/file-rows.js";
import { sizeFaults } from "../../rules/program-checks.js";
import type { Faults } from "../../../schemas/errors.js";
import type { Speaker } from "../../../schemas/program/program.js";
import type { Sql } from "../sql.js";

// What sessions and speakers refer to, as it is inside a transaction.

const ROOMS = "SELECT id, name FROM rooms WHERE world_id = $1 ORDER BY sorting_priority, name, id";
const WORLD = "SELECT 1 FROM worlds WHERE id = $1";
const ROOM = "SELECT id FROM rooms WHERE world_id = $1 AND id = $2";
const IDS = "SELECT id FROM program_speakers WHERE world_id = $1 AND id = ANY ($2)";
// Tombstones have neither name.
const USERS = `SELECT id FROM users WHERE world_id = $1 AND id = ANY ($2)
  AND (token_id IS NOT NULL OR client_id IS NOT NULL)`;
const FILES = "SELECT key FROM files WHERE world_id = $1 AND key = ANY ($2)";
const SESSION_SIZE = `SELECT COUNT(*) AS number, COALESCE(SUM(LENGTH(title) + LENGTH(detail)), 0) AS characters
  FROM program_sessions WHERE world_id = $1`;
const SPEAKER_SIZE = `SELECT COUNT(*) AS number, COALESCE(SUM(LENGTH(name) + LENGTH(detail)), 0) AS characters
  FROM program_speakers WHERE world_id = $1`;

export const isWorld = async (sql: Sql, world: string): Promise<boolean> =>
  (await sql.value(WORLD, [world])) !== undefined;

/** Whether a room is in a world. No room is in every world. */
export const isRoom = async (sql: Sql, world: string, id: string | null): Promise<boolean> =>
  id === null || (await sql.value(ROOM, [world, id])) !== undefined;

/** The ids and names of all rooms of a world in their order. */
export const roomsOf = (
  sql: Pick<Sql, "all">,
  world: string,
): Promise<{ id: string; name: string }[]> => sql.all<{ id: string; name: string }>(ROOMS, [world]);

/** The ids among some that speakers of a world have. */
export const knownSpeakers = async (
  sql: Sql,
  world: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> =>
  new Set(ids.length === 0 ? [] : await sql.column<string>(IDS, [world, [...ids]]));

/** What some speakers refer to. */
export interface SpeakerReferences {
  readonly isUser: (id: string) => boolean;
  readonly isUpload: (url: string) => boolean;
}

/**
 * Looks up what some speakers refer to.
 * @param hosts under which the uploads of the world have addresses.
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

/** The users and uploads of a world among some. */
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

/** What a write adds to a program. */
export interface Growth {
  readonly sessions?: number;
  readonly speakers?: number;
  /** Of titles, names and details. */
  readonly characters: number;
}

/** Whether the program of a world would become too large. */
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
