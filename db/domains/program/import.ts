import type { Author } from "../../contract/author.js";
import type { ImportChanges, ImportedFile } from "../../contract/program.js";
import { roomsDigest } from "../../rules/import-changes.js";
import { absent, changed } from "../../rules/preconditions.js";
import type { DomainLog } from "../domain.js";
import { fileWrites } from "../files.js";
import { addRooms } from "../rooms/rooms.js";
import { SlicedWork } from "../slices.js";
import type { Sql } from "../sql.js";
import { isWorld, knownReferences, roomsOf } from "./context.js";
import { STAMP } from "./reads.js";
import { removeSessions, storeSessions, storeSpeakers } from "./rows.js";
import { Changes } from "./stamps.js";

/**
 * How many records one write imports: 2,000 sessions with as many speakers. On SQLite, writes of
 * other worlds wait for it.
 */
const MAX_AT_ONCE = 4000;

/** The write of an import. */
export const importWrites = (sql: Sql, log: DomainLog) => ({
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
    await removeSessions(sql, world, changes.deleted);
    const stamp = await new Changes(changes.places).store(sql, world);
    for (const entry of changes.entries) log.append(world, entry);
    return { stamp, rooms: roomsDigest(await roomsOf(sql, world)) };
  },
});

/** The bound write of an import. */
type ImportWrite = (
  ...args: [...Parameters<ReturnType<typeof importWrites>["import"]>, by?: Author]
) => ReturnType<ReturnType<typeof importWrites>["import"]>;

/**
 * Writes an import: at once, or in slices if it is very large: speakers, then sessions, then what is
 * deleted. The program is consistent after each slice. A slice is written only if no other write has changed
 * the program since the previous one. After a crash, importing the document again writes the rest.
 */
export async function importInSlices(
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
  // There is an entry for each record, in the same order, and last one for the import.
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
      places: changes.places,
      entries: entries.slice(from, to),
    };
    const fileOfSlice = from === 0 ? file : undefined;
    const next = await work.slice(() => write(world, slice, hosts, fileOfSlice, by));
    basis = { ...basis, ...next };
    from = to;
  } while (from < entries.length);
}

/** Whether a world is still as an import was planned. */
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
