import type { ImportChanges, ImportedFile } from "../../contract/program.js";
import { roomsDigest } from "../../rules/import-changes.js";
import { absent, changed } from "../../rules/preconditions.js";
import type { DomainLog, EngineWrites } from "../domain.js";
import { fileWrites } from "../files.js";
import type { Sql } from "../sql.js";
import { isWorld, knownReferences, roomsOf } from "./context.js";
import { STAMP } from "./reads.js";
import { removeSessions, storeSessions, storeSpeakers } from "./rows.js";
import { addRooms } from "./rooms.js";
import { Changes } from "./stamps.js";

/** The write of an import. */
export const importWrites = (sql: Sql, log: DomainLog, own: EngineWrites) => ({
  async import(
    world: string,
    changes: ImportChanges,
    hosts: readonly string[],
    file?: ImportedFile,
  ): Promise<void> {
    if (!(await isWorld(sql, world))) throw absent("world");
    if (!(await isAsPlanned(sql, world, changes.basis, hosts))) throw changed();
    if (file) {
      const { visitor, digest, quota } = file;
      await fileWrites(sql, log, own).add(world, visitor, digest, quota);
    }
    await addRooms(sql, log, world, changes.rooms);
    await storeSpeakers(sql, world, changes.speakers);
    await storeSessions(sql, world, changes.sessions);
    await removeSessions(sql, world, changes.deleted);
    await new Changes(changes.places).store(sql, world);
    for (const entry of changes.entries) log.append(world, entry);
  },
});

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
  return (
    users.length === basis.users.length &&
    pictures.length === basis.pictures.length
  );
}
