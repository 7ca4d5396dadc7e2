import { Cache } from "../../cache.js";
import { type ImportReferences, NO_PROGRAM, type Program } from "../../contract/program.js";
import {
  SESSION_COLUMNS,
  sessionOf,
  type SessionRow,
  SPEAKER_COLUMNS,
  speakerOf,
  type SpeakerRow,
} from "../../rules/program-rows.js";
import type { Reading, Sql } from "../sql.js";
import { knownReferences, roomsOf } from "./context.js";

export const STAMP = "SELECT stamp FROM programs WHERE world_id = $1";

const PROGRAM = "SELECT stamp, settings FROM programs WHERE world_id = $1";

const PLACES =
  "SELECT place, shown, changed FROM program_places WHERE world_id = $1 ORDER BY place";

export const SESSIONS = `SELECT ${SESSION_COLUMNS} FROM program_sessions WHERE world_id = $1
  ORDER BY starts_at IS NULL, starts_at, title, id`;

export const SPEAKERS = `SELECT ${SPEAKER_COLUMNS} FROM program_speakers WHERE world_id = $1
  ORDER BY name, id`;

const FAVORITES = `SELECT session_id FROM program_favorites
  WHERE world_id = $1 AND user_id = $2 ORDER BY number`;

/** How much of programs is kept, in characters. The largest program takes a half. */
const KEPT = 64 * 1024 * 1024;

/** A program as it was read. */
interface Known {
  readonly stamp: string;
  readonly program: Program;
  readonly size: number;
}

/** The reads of programs. A program that was read stays in memory until its stamp changes. */
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
      // A crowd that opens a program reads it once.
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

    favorites: (world: string, user: string): Promise<string[]> =>
      sql.column<string>(FAVORITES, [world, user]),
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
    // The first revision is 1.
    revisions: new Map([...sessions, ...speakers].map(({ id, revision }) => [id, revision - 1])),
    settings: found.settings,
    stamp: found.stamp,
  });
  return { stamp: found.stamp, program, size };
}
