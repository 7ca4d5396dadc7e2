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

/** How many rows of an abandoned world one transaction removes. */
const ROWS = 1000;

/** How many rows of `erasures` one round is for. */
const MANY = 1000;

/** How long a write takes to commit after it has noted an erasure, in milliseconds, at most. */
const COMMIT_MS = 1000;

/**
 * The words of erased messages stay in the index of words until it is made anew, and searches and
 * edits wait for that: so nothing was erased for a while, in milliseconds, or it must be.
 */
const QUIET_MS = 10_000;
const MUST_MS = 20 * 3_600_000;

const IS_INDEX_DUE = `SELECT coalesce(max(at) < $1 OR min(at) < $2, FALSE) AS due
  FROM erasures WHERE subject = 'chat_words'`;

const HAS_INDEX_MARKS = "SELECT 1 FROM erasures WHERE subject = 'chat_words' LIMIT 1";

/** Whether another transaction sees the state of a time: then dead rows of that time have to stay. */
const READERS = `SELECT EXISTS (
  SELECT FROM pg_stat_activity WHERE datname = current_database() AND backend_xmin IS NOT NULL
    AND pid <> pg_backend_pid() AND xact_start < to_timestamp($1::float8 / 1000)) AS found`;

/** Removes the dead versions of erased rows by `VACUUM`, which no write waits for. */
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
    // The slice comes after the marks: a mark of its own may only go when its events are erased.
    // If several processes do this, the lock of the world gives each slice to one of them.
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
    // Transactions may commit in another order than they have numbered their marks.
    await sql.run("DELETE FROM erasures WHERE number = ANY ($1)", [
      marks.map(({ number }) => number),
    ]);
    const pause = marks.length === MANY ? SHORTEST_PAUSE_MS : rest;
    return { pause, done: [`vacuumed ${tables.join(", ")}`] };
  }

  async close(): Promise<void> {}
}

/** Does the work beside the nodes. @throws {StoreError} `unusable` with one line for the operator. */
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
