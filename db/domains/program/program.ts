import { randomBytes } from "node:crypto";
import { MAX_FAVORITES } from "../../../schemas/plain/program.js";
import type { Author } from "../../contract/author.js";
import type { ImportChanges, ImportedFile, ProgramStore } from "../../contract/program-store.js";
import { StoreError } from "../../contract/store.js";
import { roomsDigest } from "../../rules/import-changes.js";
import { absent, changed } from "../../rules/preconditions.js";
import { sessionOf, speakerOf } from "../../rules/program-rows.js";
import { type Bound, domain, type DomainLog, type Sql } from "../domain.js";
import { fileWrites } from "../files.js";
import { addRooms } from "../rooms/rooms.js";
import { SlicedWork } from "../slices.js";
import { isWorld, knownReferences, programReads, roomsOf, STAMP } from "./program-reads.js";
import { sessionWrites, type StoredSession } from "./sessions.js";
import { speakerWrites } from "./speakers.js";
import { Changes, forgetEdits, removeSessions, storeSessions, storeSpeakers } from "./stamps.js";

const USER = `SELECT 1 FROM users WHERE world_id = $1 AND id = $2
  AND (token_id IS NOT NULL OR client_id IS NOT NULL)`;
const SESSION = "SELECT 1 FROM program_sessions WHERE world_id = $1 AND id = $2";
const COUNT = "SELECT COUNT(*) FROM program_favorites WHERE world_id = $1 AND user_id = $2";
const ADD = `INSERT INTO program_favorites (world_id, user_id, session_id) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING`;
const REMOVE =
  "DELETE FROM program_favorites WHERE world_id = $1 AND user_id = $2 AND session_id = $3";

const favoriteWrites = (sql: Sql, log: DomainLog) => ({
  async favor(world: string, user: string, session: string, on: boolean): Promise<void> {
    if ((await sql.value(USER, [world, user])) === undefined) {
      throw absent("user");
    }
    if ((await sql.value(SESSION, [world, session])) === undefined) {
      throw absent("session");
    }
    const changed = await sql.run(on ? ADD : REMOVE, [world, user, session]);
    if (changed === 0) return;
    const count = (await sql.value<number>(COUNT, [world, user]))!;
    if (on && count > MAX_FAVORITES) {
      throw new StoreError("quota", "The user has too many favorites.", "favorites");
    }
    log.appendOf(world, user, { type: "program.favored", user });
  },
});

/**
 * Maximum number of records that one write imports: 2,000 sessions with as many speakers. On
 * SQLite, writes to other worlds must wait for this write.
 */
const MAX_AT_ONCE = 4000;

const importWrites = (sql: Sql, log: DomainLog) => ({
  async import(
    world: string,
    changes: ImportChanges,
    hosts: readonly string[],
    file?: ImportedFile,
  ): Promise<Pick<ImportChanges["basis"], "stamp" | "rooms">> {
    if (!(await isWorld(sql, world))) throw absent("world");
    if (!(await isAsPlanned(sql, world, changes.basis, hosts))) throw changed();
    if (file) {
      const { visitor, digest, quota } = file;
      await fileWrites(sql, log).add(world, visitor, digest, quota);
    }
    await addRooms(sql, log, world, changes.rooms);
    await storeSpeakers(sql, world, changes.speakers);
    await storeSessions(sql, world, changes.sessions);
    const written = new Set([...changes.speakers, ...changes.sessions].map(({ id }) => id));
    const followed = changes.followed.filter((id) => written.has(id));
    await forgetEdits(sql, world, followed);
    await removeSessions(sql, log, world, changes.deleted);
    const stamp = await new Changes(changes.places).store(sql, world);
    for (const entry of changes.entries) log.append(world, entry);
    return { stamp, rooms: roomsDigest(await roomsOf(sql, world)) };
  },
});

type ImportWrite = (
  ...args: [...Parameters<ReturnType<typeof importWrites>["import"]>, by?: Author]
) => ReturnType<ReturnType<typeof importWrites>["import"]>;

/**
 * Writes an import, in slices if it is very large: first speakers, then sessions, then deletions.
 * The program is consistent after each slice. A slice is written only if no other write has changed
 * the program since the previous slice. After a crash, importing the document again writes the
 * remaining slices.
 */
async function importInSlices(
  write: ImportWrite,
  world: string,
  changes: ImportChanges,
  hosts: readonly string[],
  file: ImportedFile | undefined,
  by: Author | undefined,
): Promise<void> {
  const work = new SlicedWork();
  const { speakers, sessions, deleted, entries } = changes;
  if (entries.length <= MAX_AT_ONCE + 1) {
    await write(world, changes, hosts, file, by);
    return;
  }
  let { basis } = changes;
  // `entries` contains one entry per record, in the same order as the records, followed by an entry
  // for the import itself.
  let from = 0;
  do {
    const to = from + work.rows + 1 < entries.length ? from + work.rows : entries.length;
    const within = <T>(all: readonly T[], before: number): readonly T[] =>
      all.slice(Math.max(0, from - before), Math.max(0, to - before));
    const slice: ImportChanges = {
      basis,
      rooms: from === 0 ? changes.rooms : [],
      speakers: within(speakers, 0),
      sessions: within(sessions, speakers.length),
      deleted: within(deleted, speakers.length + sessions.length),
      followed: changes.followed,
      places: changes.places,
      entries: entries.slice(from, to),
    };
    const fileOfSlice = from === 0 ? file : undefined;
    const next = await work.slice(() => write(world, slice, hosts, fileOfSlice, by));
    basis = { ...basis, ...next };
    from = to;
  } while (from < entries.length);
}

/** Whether the state on which an import's plan is based is unchanged. */
async function isAsPlanned(
  sql: Sql,
  world: string,
  basis: ImportChanges["basis"],
  hosts: readonly string[],
): Promise<boolean> {
  const stamp = (await sql.value<string>(STAMP, [world])) ?? "";
  if (stamp !== basis.stamp) return false;
  const rooms = await roomsOf(sql, world);
  if (roomsDigest(rooms) !== basis.rooms) return false;
  const { users, pictures } = await knownReferences(sql, world, basis, hosts);
  return users.length === basis.users.length && pictures.length === basis.pictures.length;
}

/** The program domain: sessions, speakers and favorites. */
export const program = domain({
  reads: programReads,
  writes: (sql: Sql, log: DomainLog) => ({
    ...sessionWrites(sql, log),
    ...speakerWrites(sql, log),
    ...importWrites(sql, log),
    ...favoriteWrites(sql, log),
  }),
  parameters: {
    createSession: 2,
    updateSession: 4,
    deleteSession: 3,
    runSession: 4,
    createSpeaker: 3,
    updateSpeaker: 5,
    deleteSpeaker: 3,
    mergeSpeakers: 4,
    import: 4,
    favor: 4,
  },
});

/**
 * Adapts the program domain to `ProgramStore`. Rows become frozen records here, because records
 * cannot be sent between threads.
 */
export function programStore(bound: Bound<typeof program>): ProgramStore {
  const session = (stored: StoredSession) => ({
    session: sessionOf(stored.row),
    warnings: stored.warnings,
  });
  return {
    get: (world) => bound.get(world),
    rooms: (world) => bound.rooms(world),
    references: (...args) => bound.references(...args),
    favorites: (...args) => bound.favorites(...args),
    edits: (world) => bound.edits(world),
    moved: (...args) => bound.moved(...args),
    async createSession(...args) {
      const stored = await bound.createSession(...args);
      return "faults" in stored ? stored : session(stored);
    },
    async updateSession(...args) {
      const stored = await bound.updateSession(...args);
      return "faults" in stored ? stored : session(stored);
    },
    deleteSession: (...args) => bound.deleteSession(...args),
    runSession: (...args) => bound.runSession(...args),
    async createSpeaker(...args) {
      const row = await bound.createSpeaker(...args);
      return "faults" in row ? row : speakerOf(row);
    },
    async updateSpeaker(...args) {
      const row = await bound.updateSpeaker(...args);
      return "faults" in row ? row : speakerOf(row);
    },
    deleteSpeaker: (...args) => bound.deleteSpeaker(...args),
    mergeSpeakers: async (...args) => speakerOf(await bound.mergeSpeakers(...args)),
    import: (world, changes, hosts, file, by) =>
      importInSlices(bound.import, world, changes, hosts, file, by),
    favor: (...args) => bound.favor(...args),
  };
}

const USER_OF = "SELECT user_id FROM program_links WHERE world_id = $1 AND token = $2";
const TOKEN_OF = "SELECT token FROM program_links WHERE world_id = $1 AND user_id = $2";
const EXISTS = `SELECT 1 FROM users WHERE world_id = $1 AND id = $2
  AND (token_id IS NOT NULL OR client_id IS NOT NULL)`;
const STORE = `INSERT INTO program_links (world_id, user_id, token) VALUES ($1, $2, $3)
  ON CONFLICT (world_id, user_id) DO UPDATE SET token = excluded.token`;

const reads = (sql: Sql) => ({
  user: (world: string, token: string): Promise<string | undefined> =>
    sql.value<string>(USER_OF, [world, token]),
});

const writes = (sql: Sql, log: DomainLog) => ({
  async link(world: string, user: string, renew: boolean): Promise<string> {
    if ((await sql.value(EXISTS, [world, user])) === undefined) {
      throw absent("user");
    }
    const present = await sql.value<string>(TOKEN_OF, [world, user]);
    if (present !== undefined && !renew) return present;
    const token = randomBytes(18).toString("base64url");
    await sql.run(STORE, [world, user, token]);
    log.appendOf(world, user, { type: "program.linked", user });
    return token;
  },
});

/** The domain of the secrets in calendar URLs. */
export const programLinks = domain({ reads, writes, parameters: { link: 3 } });
