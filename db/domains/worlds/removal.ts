import { TABLES } from "../../copies/tables.js";
import { removeChannelsOfWorld } from "../chat/chat-erasing.js";
import type { DomainLog, Sql } from "../domain.js";

// A world that is deleted is gone with its row in `worlds`. Its other rows are removed in slices,
// by the process that deletes it. Until the last one its id is taken. If that process is killed, the
// maintenance job of another one continues, as it does with an import that was not finished.

/** After how long without a slice another process removes the rows, in milliseconds. */
const ABANDONED_MS = 60_000;

/**
 * The tables whose rows are removed, so that none refers to a row that is gone. The log stays, and
 * chat events are erased later, by their channels.
 */
const REMOVED = TABLES.filter(
  ({ name, columns }) =>
    columns.some((column) => column.name === "world_id") &&
    !/^(log|log_heads|chat_(events|edits|reactions))$/.test(name),
).toReversed();

/** The tables with what a world leaves. Its chat events are emptied later. */
const ERASED = TABLES.map(({ name }) => name).filter(
  (name) => !/^(world_ids|sequences|log_heads|chat_(events|edits|reactions))$/.test(name),
);

const removals = REMOVED.map(({ name, key }) => ({
  name,
  text: `DELETE FROM ${name} WHERE (${key.join()}) IN (
    SELECT ${key.join()} FROM ${name} WHERE world_id = $1 LIMIT CAST($2 AS BIGINT))`,
}));

const TOUCH = "UPDATE world_ids SET touched = $2 WHERE id = $1";

const ABANDONED = "touched < CAST($1 AS BIGINT)";

const cutoff = () => Date.now() - ABANDONED_MS;

/** Records that a process is working on a hidden world. @returns whether the world exists. */
export const touchHidden = async (sql: Sql, world: string): Promise<boolean> =>
  (await sql.run(`${TOUCH} AND touched IS NOT NULL`, [world, Date.now()])) > 0;

/** Begins to remove a world. @returns whether there is one. */
export async function hideWorld(sql: Sql, world: string): Promise<boolean> {
  const isThere = (await sql.run("DELETE FROM worlds WHERE id = $1", [world])) > 0;
  if (isThere) await sql.run(TOUCH, [world, Date.now()]);
  return isThere;
}

/**
 * Deletes some rows of a hidden world.
 * @param rows how many, over all tables.
 * @returns whether nothing is left, not even its id.
 */
export async function removeSlice(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  rows: number,
): Promise<boolean> {
  // Another process may have finished, and a third one may have created the world again.
  if (!(await touchHidden(sql, world))) return true;
  return removeRows(sql, log, world, rows);
}

/** The same for a world that was abandoned, which {@link findAbandoned} has found. */
export async function removeAbandoned(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  rows: number,
): Promise<void> {
  const still = `SELECT 1 FROM world_ids WHERE ${ABANDONED} AND id = $2`;
  if (await sql.one(still, [cutoff(), world])) await removeRows(sql, log, world, rows);
}

async function removeRows(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  rows: number,
): Promise<boolean> {
  let left = rows;
  for (const { name, text } of removals) {
    left -=
      name === "chat_channels"
        ? await removeChannelsOfWorld(sql, log, world, left)
        : await sql.run(text, [world, left]);
    if (left <= 0) return false;
  }
  await sql.run("DELETE FROM world_ids WHERE id = $1", [world]);
  log.erased(...ERASED);
  return true;
}

/** Finds a hidden world on which no process has worked for a while. */
export const findAbandoned = (sql: Sql): Promise<string | undefined> =>
  sql.value(`SELECT id FROM world_ids WHERE ${ABANDONED} ORDER BY touched LIMIT 1`, [cutoff()]);

/** Since when there has been one, in milliseconds since 1970. */
export const abandonedSince = async (sql: Sql): Promise<number | undefined> =>
  (await sql.value<number | null>(`SELECT min(touched) FROM world_ids WHERE ${ABANDONED}`, [
    cutoff(),
  ])) ?? undefined;
