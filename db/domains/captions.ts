import type { Scheduled } from "../../schemas/plain/program.js";
import { MAX_HELD, nowAndNext } from "../../schemas/plain/program.js";
import { CAPTION, SPOKEN_MS } from "../../schemas/plain/stage/captions.js";
import { StoreError } from "../contract/store.js";
import { expectActive, expectRoom, FIND_PLACE, type RoomAndUser } from "../rules/preconditions.js";
import { type SessionRow, SESSION_COLUMNS, sessionIn } from "../rules/program-rows.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

/** A line of captions to store. */
export interface CaptionInput {
  /** In canonical form. */
  readonly lang: string;
  readonly text: string;
  /**
   * Whether the line is final. A line that is not final is replaced by the next line in its
   * language.
   */
  readonly final: boolean;
  /** When it was spoken, in milliseconds since 1970. */
  readonly at: number;
  /** Defaults to the session that was current in the room. */
  readonly session?: string | undefined;
}

/** A final line, as stored. */
export interface StoredCaption {
  /** Increases with each line of a world. */
  readonly number: number;
  readonly room: string;
  readonly session: string | null;
  readonly lang: string;
  readonly text: string;
  readonly at: number;
}

/** Selects final lines of a room. */
export interface CaptionSelection {
  readonly lang?: string | undefined;
  readonly session?: string | undefined;
  /** Only lines that were spoken after this time, in milliseconds since 1970. */
  readonly after?: number | undefined;
  /** The time and the number of the line after which the page starts. */
  readonly from?: readonly [at: number, number: number] | undefined;
  readonly offset?: number;
  readonly limit: number;
}

/** The current captions in one language. */
export interface SpokenNow {
  /** The most recent final line and its number; null if there is none. */
  readonly last: string | null;
  readonly number: number | null;
  /** The unfinished line; empty if there is none. */
  readonly text: string;
}

const COLUMNS = `number, room_id AS room, session_id AS session, lang, content AS text,
  spoken_at AS at`;

const GET = `SELECT ${COLUMNS} FROM captions WHERE world_id = $1 AND number = $2`;

/** `$3` to `$5` select lines, if they are not null. */
const SELECTED = `FROM captions WHERE world_id = $1 AND room_id = $2
  AND (CAST($3 AS TEXT) IS NULL OR lang = $3) AND (CAST($4 AS TEXT) IS NULL OR session_id = $4)
  AND (CAST($5 AS BIGINT) IS NULL OR spoken_at > $5)`;

const COUNT = `SELECT count(*) ${SELECTED}`;

const LIST = `SELECT ${COLUMNS} ${SELECTED} AND spoken_at >= $6 AND (spoken_at > $6 OR number > $7)
  ORDER BY spoken_at, number LIMIT $8 OFFSET $9`;

const KEPT = `SELECT lang FROM captions WHERE world_id = $1 AND room_id = $2
  AND (CAST($3 AS TEXT) IS NULL OR session_id = $3)
  GROUP BY lang ORDER BY count(*) DESC, lang LIMIT ${CAPTION.languages}`;

const NOW = `SELECT n.content AS text, c.number, c.content AS last FROM caption_languages AS n
  LEFT JOIN captions AS c ON c.world_id = $1 AND c.number = (SELECT max(l.number)
    FROM captions AS l WHERE l.world_id = $1 AND l.room_id = $2 AND l.lang = $3)
  WHERE n.world_id = $1 AND n.room_id = $2 AND n.lang = $3 AND n.heard_at > $4`;

const LANGUAGES = `SELECT lang, heard_at AS at FROM caption_languages
  WHERE world_id = $1 AND room_id = $2 AND heard_at > $3 ORDER BY lang`;

/** A language that is no longer spoken frees its place. */
const FORGET =
  "DELETE FROM caption_languages WHERE world_id = $1 AND room_id = $2 AND heard_at <= $3";

const KNOWN = "SELECT lang FROM caption_languages WHERE world_id = $1 AND room_id = $2";

const OF_ROOM =
  "SELECT id FROM program_sessions WHERE world_id = $1 AND room_id = $2 AND id = ANY ($3)";

/** Selects the sessions that may be current between two times. */
const ON = `SELECT ${SESSION_COLUMNS} FROM program_sessions
  WHERE world_id = $1 AND room_id = $2 AND state = 'public' AND starts_at <= $4 AND ends_at > $3
  ORDER BY starts_at, id`;

const ADD = `INSERT INTO captions (world_id, room_id, session_id, lang, content, spoken_at, user_id)
  VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING number`;

const HEARD = `INSERT INTO caption_languages (world_id, room_id, lang, content, heard_at)
  VALUES ($1, $2, $3, $4, $5) ON CONFLICT (world_id, room_id, lang)
  DO UPDATE SET content = excluded.content, heard_at = excluded.heard_at`;

/** Maximum number of lines that one slice of the retention job removes. */
const SLICE = 500;

const EXPIRED = `SELECT number FROM captions WHERE world_id = $1 AND spoken_at < $2
  ORDER BY spoken_at LIMIT ${SLICE}`;

const REMOVE = "DELETE FROM captions WHERE world_id = $1 AND number = ANY ($2)";

const FADED = `UPDATE caption_languages SET content = ''
  WHERE world_id = $1 AND heard_at < $2 AND content <> ''`;

const selected = (world: string, room: string, { lang, session, after }: CaptionSelection) => [
  world,
  room,
  lang ?? null,
  session ?? null,
  after ?? null,
];

const reads = (sql: Reading) => ({
  /** Returns a final line; undefined if it was erased. */
  get: (world: string, number: number): Promise<StoredCaption | undefined> =>
    sql.one<StoredCaption>(GET, [world, number]),

  /** Returns final lines in a room, in the order in which they were spoken. */
  list: (world: string, room: string, selection: CaptionSelection): Promise<StoredCaption[]> => {
    const { from: [at, number] = [-Number.MAX_SAFE_INTEGER, 0], offset = 0, limit } = selection;
    const params = [...selected(world, room, selection), at, number, limit, offset];
    return sql.all<StoredCaption>(LIST, params);
  },

  /** Returns the number of final lines in a room. */
  count: async (world: string, room: string, selection: CaptionSelection): Promise<number> =>
    Number(await sql.value(COUNT, selected(world, room, selection))),

  /**
   * Returns the languages of the final lines of a room, or of a session there, sorted: of very many,
   * those with the most lines.
   */
  kept: async (world: string, room: string, session: string | null): Promise<string[]> =>
    (await sql.column<string>(KEPT, [world, room, session])).sort(),

  /**
   * Returns a room's current captions in a language, or undefined if there was no line within the
   * last minute.
   * @param now in milliseconds since 1970.
   */
  now: (world: string, room: string, lang: string, now: number): Promise<SpokenNow | undefined> =>
    sql.one<SpokenNow>(NOW, [world, room, lang, now - SPOKEN_MS]),

  /**
   * Returns the languages in which a room had a line within the last minute, and the time of the
   * last line in each.
   * @param now in milliseconds since 1970.
   */
  languages: (world: string, room: string, now: number): Promise<{ lang: string; at: number }[]> =>
    sql.all<{ lang: string; at: number }>(LANGUAGES, [world, room, now - SPOKEN_MS]),
});

const writes = (sql: Sql, log: DomainLog) => ({
  /**
   * Adds all of these lines to a room's captions, or none.
   * @param user the id of the user who sent the lines, if a user sent them.
   * @param now the arrival time, in milliseconds since 1970.
   * @throws {StoreError} `absent` on `room` or on `user`; `denied` if the user is banned or
   * silenced, and on `session_id` if a session is not in the
   * room; `quota` on `lang` if too many languages were spoken in the room within a minute.
   */
  async add(
    world: string,
    room: string,
    lines: readonly CaptionInput[],
    user: string | null,
    now: number,
  ): Promise<void> {
    const place = (await sql.one<RoomAndUser>(FIND_PLACE, [world, room, user]))!;
    expectRoom(place);
    if (user !== null) expectActive(place);
    await expectSessions(sql, world, room, lines);
    await sql.run(FORGET, [world, room, now - SPOKEN_MS]);
    const known = new Set(await sql.column<string>(KNOWN, [world, room]));
    // The unfinished line in each language once these lines are applied.
    const unfinished = new Map<string, string>();
    for (const { lang, text, final } of lines) unfinished.set(lang, final ? "" : text);
    for (const lang of unfinished.keys()) known.add(lang);
    if (known.size > CAPTION.languages) {
      throw new StoreError("quota", `At most ${CAPTION.languages} languages a minute.`, "lang");
    }
    const finals = lines.filter(({ final }) => final);
    const sessionAt = await sessionsOn(sql, world, room, finals);
    for (const { lang, text, at, session = sessionAt(at) } of finals) {
      const params = [world, room, session, lang, text, at, user];
      const caption = (await sql.value<number>(ADD, params))!;
      log.append(world, { type: "caption.added", room, lang, caption });
    }
    for (const [lang, text] of unfinished) {
      await sql.run(HEARD, [world, room, lang, text, now]);
    }
    const langs = [...unfinished].flatMap(([lang, text]) => (text ? lang : []));
    if (langs.length > 0) log.append(world, { type: "caption.heard", room, langs });
  },

  /**
   * Removes a slice of the lines that were spoken before a given time, because the chat's retention
   * also applies to captions.
   * @param before in milliseconds since 1970.
   * @returns whether there may be more to remove.
   */
  async expire(world: string, before: number): Promise<boolean> {
    const numbers = await sql.column<number>(EXPIRED, [world, Math.ceil(before)]);
    const removed = numbers.length > 0 ? await sql.run(REMOVE, [world, numbers]) : 0;
    const faded = await sql.run(FADED, [world, Math.ceil(before)]);
    if (removed > 0) log.erased("captions");
    if (faded > 0) log.erased("caption_languages");
    if (removed > 0) log.append(world, { type: "caption.erased" });
    return numbers.length === SLICE;
  },
});

/**
 * Checks the sessions of the lines.
 * @throws {StoreError} `denied` on `session_id`, unless all of these sessions are in the room.
 */
async function expectSessions(
  sql: Sql,
  world: string,
  room: string,
  lines: readonly CaptionInput[],
): Promise<void> {
  const named = [...new Set(lines.flatMap(({ session }) => session ?? []))];
  if (named.length === 0) return;
  const found = await sql.column<string>(OF_ROOM, [world, room, named]);
  if (found.length === named.length) return;
  throw new StoreError("denied", "Must be a session of this room.", "session_id");
}

/** Returns a function that finds the session that was current in a room when a line was spoken. */
async function sessionsOn(
  sql: Sql,
  world: string,
  room: string,
  lines: readonly CaptionInput[],
): Promise<(at: number) => string | null> {
  const times = lines.flatMap(({ at, session }) => (session === undefined ? at : []));
  if (times.length === 0) return () => null;
  const range = [Math.min(...times) - MAX_HELD, Math.max(...times)];
  const rows = await sql.all<SessionRow>(ON, [world, room, ...range]);
  const sessions: Scheduled[] = rows.map(sessionIn);
  return (at) => nowAndNext(sessions, at).now?.id ?? null;
}

/** Creates the captions domain. */
export const captions = domain({ reads, writes, parameters: { add: 5, expire: 2 } });
