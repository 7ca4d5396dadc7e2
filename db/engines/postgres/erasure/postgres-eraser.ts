import type { DatabaseOptions } from "../../../choice.js";
import {
  type Eraser,
  eraseSlice,
  oldestErasure,
  type Round,
  SHORTEST_PAUSE_MS,
  type Urgency,
} from "../../../erasure/erasure-job.js";
import { Database } from "../engine/postgres-database.js";

/** Maximum number of rows that one transaction removes from an abandoned world. */
const ROWS = 1000;

/** Maximum number of `erasures` rows that one round processes. */
const MANY = 1000;

/** Maximum time between recording an erasure and committing it, in milliseconds. */
const COMMIT_MS = 1000;

/**
 * Words of erased messages remain in the word index until the index is rebuilt, which blocks
 * searches and edits. The index is therefore rebuilt only after a quiet period without erasures, or
 * once the deadline has passed. Both are in milliseconds.
 */
const QUIET_MS = 10_000;
const MUST_MS = 20 * 3_600_000;

const IS_INDEX_DUE = `SELECT coalesce(max(at) < $1 OR min(at) < $2, FALSE) AS due
  FROM erasures WHERE subject = 'chat_words'`;

const HAS_INDEX_MARKS = "SELECT 1 FROM erasures WHERE subject = 'chat_words' LIMIT 1";

/**
 * Selects whether a transaction that began before a given time still holds a snapshot. `VACUUM`
 * cannot remove rows that the snapshot includes.
 */
const READERS = `SELECT EXISTS (
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_xmin IS NOT NULL
    AND pid <> pg_backend_pid() AND xact_start < to_timestamp($1::float8 / 1000)) AS found`;

/** Removes the dead versions of erased rows with `VACUUM`, which does not block writes. */
export class PostgresEraser implements Eraser {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  oldest(): Promise<number | undefined> {
    return oldestErasure(this.#db.sql);
  }

  async run(urgency: Urgency): Promise<Round> {
    const { sql } = this.#db;
    const now = Date.now();
    const isIndexDue =
      urgency === "now" ||
      (await sql.value<boolean>(IS_INDEX_DUE, [now - QUIET_MS, now - MUST_MS]))!;
    const marks = await sql.all<{ number: number; subject: string; at: number }>(
      `SELECT number, subject, at FROM erasures WHERE subject <> 'chat_words' OR $1
       ORDER BY number LIMIT ${MANY}`,
      [isIndexDue],
    );
    // Runs after reading `erasures`: deleting a channel adds a row to `erasures` before the
    // channel's events are erased, so the row may be deleted only once no slice is left. If several
    // processes erase slices concurrently, the world's lock serializes them.
    const slice = await eraseSlice(sql, ROWS, (world, work) => this.#db.write(world, work));
    if (slice) return slice;
    const waits =
      urgency === "idle" && !isIndexDue && (await sql.value(HAS_INDEX_MARKS)) !== undefined;
    const rest = waits ? QUIET_MS : undefined;
    if (marks.length === 0) return { pause: rest, done: [] };
    const last = Math.max(...marks.map(({ at }) => at));
    if (await sql.value<boolean>(READERS, [last + COMMIT_MS])) {
      throw new Error("a transaction reads an earlier state");
    }
    const tables = [...new Set(marks.map(({ subject }) => subject))].sort();
    await this.#db.vacuum(tables);
    if (tables.includes("chat_words")) await this.#db.reindex("chat_words_by_word");
    // Deletes individual numbers rather than a range, because transactions may commit in a
    // different order than the order of their numbers.
    await sql.run("DELETE FROM erasures WHERE number = ANY ($1)", [
      marks.map(({ number }) => number),
    ]);
    const pause = marks.length === MANY ? SHORTEST_PAUSE_MS : rest;
    return { pause, done: [`vacuumed ${tables.join(", ")}`] };
  }

  async close(): Promise<void> {}
}

/**
 * Opens an eraser that runs alongside the nodes. @throws {StoreError} `unusable`, with a one-line
 * message for the operator.
 */
export async function openPostgresEraser(options: DatabaseOptions): Promise<Eraser> {
  const db = await Database.open(options, {
    create: false,
    upgrade: false,
    author: { kind: "command" },
  });
  const eraser = new PostgresEraser(db);
  return {
    oldest: () => eraser.oldest(),
    run: (urgency) => eraser.run(urgency),
    close: () => db.close(),
  };
}
