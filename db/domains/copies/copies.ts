import { StoreError } from "../../contract/store.js";
import { takenAs, worldIn } from "../../copies/copied-rows.js";
import { countedBy, type Row, TABLES, type Value } from "../../copies/tables.js";
import type { OwnRoomRow } from "../../rules/room-rows.js";
import type { WorldRow } from "../../rules/rows.js";
import { foldedInvitation } from "../../rules/invitation-rows.js";
import { derivedOf } from "../../rules/user-rows.js";
import { domain, type DomainLog, type Inserted, type Reading, type Sql } from "../domain.js";
import { insertRooms } from "../rooms/rooms.js";
import { removeSlice, touchHidden } from "../worlds/removal.js";
import { claimWorld, expectFreeWorld, showWorld } from "../worlds/worlds.js";

const copyReads = (sql: Reading) => ({
  /** @throws {StoreError} `taken` on `id` or `domain`. */
  expectFree: (world: string, itsDomain: string): Promise<void> =>
    expectFreeWorld(sql, world, itsDomain),

  /** Rejects ids that rows in another world already have. @throws {StoreError} `taken`. */
  expectFreeIds: (_world: string, table: string, ids: readonly string[]): Promise<void> =>
    expectFreeIds(sql, table, ids),
});

async function expectFreeIds(sql: Sql, table: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const found = await sql.value<string>(`SELECT id FROM ${table} WHERE id = ANY ($1)`, [ids]);
  if (found !== undefined) throw takenAs(table, found);
}

/** Initial values of derived columns, by table. Rows that are loaded later update these values. */
const DERIVED = new Map(
  TABLES.map(({ name, columns }) => [
    name,
    Object.fromEntries(
      columns.flatMap((column) =>
        column.derived === undefined ? [] : [[column.name, column.derived]],
      ),
    ),
  ]),
);

/** The tables whose ids are unique across all worlds. */
const ALONE = new Set(
  TABLES.filter(({ unique }) => unique.some((columns) => columns.join() === "id")).map(
    ({ name }) => name,
  ),
);

/** The tables whose rows other tables reference by number. */
const COUNTED = new Set(
  TABLES.flatMap(({ columns }) => columns.map(countedBy)).filter(
    (name) => name !== undefined && name !== "chat_events",
  ),
);

/** Vote counts that are derived from other rows. */
const TALLIES: Readonly<Record<string, { column: string; text: string }>> = {
  question_votes: {
    column: "question",
    text: "UPDATE questions SET score = score + $3 WHERE world_id = $1 AND number = $2",
  },
  poll_votes: {
    column: "option",
    text: "UPDATE poll_options SET votes = votes + $3 WHERE world_id = $1 AND number = $2",
  },
};

const LAST_EVENT = "SELECT max(id) FROM chat_events WHERE world_id = $1";

const FILE_BYTES = `UPDATE worlds SET file_bytes = (SELECT coalesce(sum(size), 0) FROM files
  WHERE world_id = $1) WHERE id = $1`;

const SHOWN = "UPDATE world_ids SET touched = NULL WHERE id = $1 AND touched IS NOT NULL";

const copyWrites = (sql: Sql, log: DomainLog) => ({
  /**
   * Claims the id of a world that stays hidden until {@link show}.
   * @returns the number before the world's first event. An abandoned import may have left events
   * whose numbers the log never assigned.
   * @throws {StoreError} `taken` on `id` or `domain`.
   */
  async stage(world: string, row: WorldRow): Promise<number> {
    await claimWorld(sql, row);
    const last = await sql.value<number | null>(LAST_EVENT, [world]);
    return Math.max(log.next(world) - 1, last ?? 0);
  },

  /**
   * Loads a table's rows into a hidden world.
   * @param columns the names of the rows' columns.
   * @returns the numbers assigned to the rows, if other tables reference them.
   * @throws {StoreError} `taken`.
   */
  async load(
    world: string,
    table: string,
    columns: readonly string[],
    rows: readonly Row[],
  ): Promise<readonly number[]> {
    if (!(await touchHidden(sql, world))) throw abandoned(world);
    if (rows.length === 0) return [];
    const named = rows.map((row): Record<string, Value> =>
      Object.fromEntries(columns.map((name, i) => [name, row[i]!])),
    );
    if (ALONE.has(table)) {
      await expectFreeIds(
        sql,
        table,
        named.map(({ id }) => id as string),
      );
    }
    const isCounted = COUNTED.has(table);
    const last = isCounted ? await sql.value<number | null>(lastOf(table), [world]) : 0;
    try {
      await (table === "rooms"
        ? insertRooms(sql, world, named as unknown as OwnRoomRow[])
        : insertRows(sql, table, named));
    } catch (error) {
      // The world is new, so the error can only be a conflict between two rows in the document.
      const { code = "" } = error as { code?: string };
      if (!/^(SQLITE_CONSTRAINT|23)/.test(code)) throw error;
      throw takenAs(table, undefined);
    }
    const tally = TALLIES[table];
    if (tally) await addVotes(sql, world, tally, named);
    return isCounted ? sql.column<number>(numbersOf(table), [world, last ?? 0]) : [];
  },

  /**
   * Makes a world visible once all of its rows are loaded.
   * @param last the id of the world's last event.
   * @throws {StoreError} `taken` on `domain`.
   */
  async show(world: string, row: WorldRow, last: number): Promise<WorldRow> {
    if ((await sql.run(SHOWN, [world])) === 0) throw abandoned(world);
    const shown = await showWorld(sql, worldIn(row));
    await sql.run(FILE_BYTES, [world]);
    log.skip(world, last + 1 - log.next(world));
    log.appendToAll(world, { type: "world.created" });
    return shown;
  },

  /** Removes some of a hidden world's rows. @returns whether nothing is left. */
  drop: (world: string, rows: number): Promise<boolean> => removeSlice(sql, log, world, rows),
});

/** Returns the error for an import that stalled for a minute, so that the maintenance job removed the loaded rows. */
const abandoned = (world: string): StoreError =>
  new StoreError("busy", `The import of the world ${world} was interrupted. Try again.`);

const lastOf = (table: string) => `SELECT max(number) FROM ${table} WHERE world_id = $1`;

const numbersOf = (table: string) =>
  `SELECT number FROM ${table} WHERE world_id = $1 AND number > $2 ORDER BY number`;

async function insertRows(
  sql: Sql,
  table: string,
  rows: readonly Record<string, Value>[],
): Promise<void> {
  const noContent = sql.engine === "sqlite" ? new Uint8Array() : null;
  const derived = DERIVED.get(table);
  const whole = rows.map((row): Inserted => {
    if (table === "users") return { ...row, ...derivedOf(row.profile as string | null) };
    if (table === "invitations") return { ...row, ...foldedInvitation(row) };
    if (table === "chat_events") return { ...row, content: row.content ?? noContent };
    return { ...row, ...derived };
  });
  await sql.insert(table, whole);
}

async function addVotes(
  sql: Sql,
  world: string,
  { column, text }: { column: string; text: string },
  rows: readonly Record<string, Value>[],
): Promise<void> {
  for (const [number, votes] of countsOf(rows.map((row) => row[column]))) {
    await sql.run(text, [world, number, votes]);
  }
}

function countsOf<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** The domain that loads copies of worlds into the tables. */
export const copies = domain({
  reads: copyReads,
  writes: copyWrites,
  parameters: { stage: 2, load: 4, show: 3, drop: 2 },
  // Only one write at a time may claim a world's id or domain.
  exclusive: { stage: () => true, show: () => true },
});
