import { TABLES } from "../../copies/tables.js";
import { removeChannelsOfWorld } from "../chat/chat-erasing.js";
import type { DomainLog, Sql } from "../domain.js";

// A world counts as deleted once its row in `worlds` is gone. The deleting process then removes the
// world's other rows in slices. The world's id stays taken until the last slice. If the process is
// killed, the maintenance job of another process continues the removal, as it does for an
// unfinished import.

/** Time without a slice after which another process removes the rows, in milliseconds. */
const ABANDONED_MS = 60_000;

/**
 * The tables from which rows are removed, ordered so that no remaining row references a removed
 * row. The log is kept, and chat events are erased later, by channel.
 */
const REMOVED = TABLES.filter(
  ({ name, columns }) =>
    columns.some((column) => column.name === "world_id") &&
    !/^(log|log_heads|chat_(events|edits|reactions))$/.test(name),
).toReversed();

/** The tables that may still contain old bytes from a removed world. Chat events are overwritten later. */
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

/** Records that a process is working on a hidden world. @returns whether the hidden world exists. */
export const touchHidden = async (sql: Sql, world: string): Promise<boolean> =>
  (await sql.run(`${TOUCH} AND touched IS NOT NULL`, [world, Date.now()])) > 0;

/** Begins to remove a world. @returns whether the world existed. */
export async function hideWorld(sql: Sql, world: string): Promise<boolean> {
  const isThere = (await sql.run("DELETE FROM worlds WHERE id = $1", [world])) > 0;
  if (isThere) await sql.run(TOUCH, [world, Date.now()]);
  return isThere;
}

/**
 * Deletes some of a hidden world's rows.
 * @param rows the maximum number of rows to delete across all tables.
 * @returns whether nothing is left, not even the world's id.
 */
export async function removeSlice(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  rows: number,
): Promise<boolean> {
  // Another process may have finished the removal, and the world may since have been re-created.
  if (!(await touchHidden(sql, world))) return true;
  return removeRows(sql, log, world, rows);
}

/** Like {@link removeSlice}, for an abandoned world that {@link findAbandoned} returned. */
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

/** Returns the id of a hidden world on which no process has worked for {@link ABANDONED_MS}. */
export const findAbandoned = (sql: Sql): Promise<string | undefined> =>
  sql.value(`SELECT id FROM world_ids WHERE ${ABANDONED} ORDER BY touched LIMIT 1`, [cutoff()]);

/** Returns the time of the last work on the longest-abandoned world, in milliseconds since 1970. */
export const abandonedSince = async (sql: Sql): Promise<number | undefined> =>
  (await sql.value<number | null>(`SELECT min(touched) FROM world_ids WHERE ${ABANDONED}`, [
    cutoff(),
  ])) ?? undefined;
