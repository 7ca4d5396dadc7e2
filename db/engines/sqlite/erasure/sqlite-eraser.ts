import type { Database as Connection } from "better-sqlite3";
import type { DomainLog, Sql } from "../../../domains/domain.js";
import {
  type Eraser,
  eraseSlice,
  oldestErasure,
  type Round,
  type Urgency,
  WAL,
} from "../../../erasure/erasure-job.js";
import { openForWriting } from "../engine/sqlite-database.js";
import { sqlOn } from "../engine/sqlite-sql.js";
import { checkpoint, emptyIndex, isErasable, rewriteTable } from "./scrub.js";

// Writers in all processes wait while the eraser holds the write lock. The eraser therefore holds
// it only for a few milliseconds, or while nothing is being written. If this process starts a write
// during long-running work, the work is rolled back and retried once nothing is being written.

/** How long the eraser waits for the write lock, in milliseconds. */
const LOCK_TIMEOUT_MS = 50;

/** Maximum number of rows that one transaction removes from an abandoned world. Takes a few milliseconds. */
const ROWS = 200;

/** Number of rows above which a table is rewritten only while nothing is being written. */
const MANY_ROWS = 5000;

/** Time without writes after which the database counts as idle, in milliseconds. */
const IDLE_MS = 3000;

/** Pause before the eraser checks again whether the database is idle. */
const LOOK_MS = 500;

/** Age of an erasure at which a large table is rewritten even while data is being written. */
const MUST_MS = 20 * 3_600_000;

/** Minimum number of erased events before `chat_events` is rewritten without them. */
const MANY_EVENTS = 10_000;

/** Thrown to interrupt long-running work when a write is pending. */
class Interrupted extends Error {}

/** The SQL function that throws {@link Interrupted}. */
const GO_ON = "go_on()";

/** Removes erased bytes from the database files, on a separate connection. */
export class SqliteEraser {
  readonly #db: Connection;
  readonly #sql: Sql;
  readonly #isWorthCompacting: () => boolean;
  readonly #marks: ReturnType<typeof marksOf>;
  /** Whether `chat_events` is worth compacting; undefined if this must be checked again. */
  #compacts: boolean | undefined;
  #version: unknown;
  #writtenAt = 0;

  /** @param waiting the number of this process's pending writes, in memory shared between threads. */
  constructor(dataDir: string, waiting?: Int32Array) {
    const db = openForWriting(dataDir, { upgrade: false, lockTimeout: LOCK_TIMEOUT_MS });
    // With foreign keys, emptying the `users` table would remove the owners of files.
    db.pragma("foreign_keys = OFF");
    db.function("go_on", { deterministic: false }, () => {
      if (waiting && Atomics.load(waiting, 0) > 0) throw new Interrupted();
      return 1;
    });
    this.#db = db;
    this.#marks = marksOf(db);
    this.#sql = sqlOn(db);
    this.#isWorthCompacting = compaction(db);
  }

  oldest(): Promise<number | undefined> {
    return oldestErasure(this.#sql);
  }

  /** Only microtasks run until the promise resolves. */
  async run(urgency: Urgency): Promise<Round> {
    const slice = await eraseSlice(this.#sql, ROWS, (_world, work) =>
      this.#inTransaction((log) => work(this.#sql, log)),
    );
    if (slice) return slice;
    const done: string[] = [];
    let isPostponed = false;
    for (const { subject, since } of this.#marks.tables()) {
      const isDue = urgency === "now" || Date.now() - since > MUST_MS || !this.#isLarge(subject);
      const isDone = (isDue || this.#isIdle()) && this.#rewrite(subject, isDue ? undefined : GO_ON);
      if (isDone) done.push(`rewrote ${subject}`);
      else isPostponed = true;
    }
    const last = this.#marks.last();
    if (last !== null) {
      if (!checkpoint(this.#db)) {
        throw new Error("something reads an earlier state of the database");
      }
      this.#marks.remove(last);
      this.#compacts = undefined;
      done.push("emptied the write-ahead log");
    }
    if (urgency !== "idle") return { pause: undefined, done };
    this.#compacts ??= this.#isWorthCompacting();
    if (this.#compacts && this.#isIdle() && this.#compact()) {
      this.#compacts = false;
      done.push("rewrote chat_events");
    }
    if (this.#compacts) isPostponed = true;
    return { pause: isPostponed ? LOOK_MS : undefined, done };
  }

  /** Runs a slice of work in a transaction, and records what the slice erases. */
  async #inTransaction<T>(work: (log: Pick<DomainLog, "erased">) => Promise<T>): Promise<T> {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const subjects = new Set<string>();
      const result = await work({
        erased: (...tables) => {
          for (const subject of [WAL, ...tables.filter(isErasable)]) subjects.add(subject);
        },
      });
      for (const subject of subjects) this.#marks.add(subject, Date.now());
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.#db.close();
  }

  /** @returns false if a write interrupted the work. */
  #rewrite(table: string, goOn?: string): boolean {
    return this.#finishes(() => {
      if (table === "chat_words") emptyIndex(this.#db);
      else rewriteTable(this.#db, table, undefined, goOn);
      this.#marks.rewritten(table);
    });
  }

  #compact(): boolean {
    return this.#finishes(() => {
      // Another process may have just compacted the table.
      if (!this.#isWorthCompacting()) return;
      rewriteTable(this.#db, "chat_events", "gone = 0", GO_ON);
    });
  }

  /** Runs work in a transaction. @returns false if a write interrupted the work. */
  #finishes(work: () => void): boolean {
    try {
      this.#db.transaction(work).immediate();
      return true;
    } catch (error) {
      if (error instanceof Interrupted) return false;
      throw error;
    }
  }

  #isLarge(table: string): boolean {
    // The word index always counts as large: every edit erases words, and the searches that follow
    // would rebuild the index.
    if (table === "chat_words") return true;
    const count = `SELECT count(*) FROM (SELECT 1 FROM ${table} LIMIT ${MANY_ROWS + 1})`;
    return (this.#db.prepare(count).pluck().get() as number) > MANY_ROWS;
  }

  #isIdle(): boolean {
    const now = performance.now();
    // The data version ignores commits on this connection.
    const version = this.#db.pragma("data_version", { simple: true });
    if (version !== this.#version) this.#writtenAt = now;
    this.#version = version;
    return now - this.#writtenAt > IDLE_MS;
  }
}

/** Opens an eraser that works in the caller's thread and is not interrupted by writes. */
export function openSqliteEraser(dataDir: string): Eraser {
  const eraser = new SqliteEraser(dataDir);
  return {
    oldest: async () => eraser.oldest(),
    run: (urgency) => eraser.run(urgency),
    close: async () => eraser.close(),
  };
}

/**
 * Accesses the rows of `erasures`. They are numbered in the order of their commits, because SQLite
 * has one writer at a time.
 */
function marksOf(db: Connection) {
  const add = db.prepare<[string, number]>("INSERT INTO erasures (subject, at) VALUES (?, ?)");
  const selectTables = db.prepare<[], { subject: string; since: number }>(
    `SELECT subject, min(at) AS since FROM erasures WHERE subject <> '${WAL}' GROUP BY subject`,
  );
  const last = db
    .prepare<[], number | null>(`SELECT max(number) FROM erasures WHERE subject = '${WAL}'`)
    .pluck();
  const pass = db.prepare<[string]>(
    `INSERT INTO erasures (subject, at) SELECT '${WAL}', min(at) FROM erasures WHERE subject = ?`,
  );
  const removeTable = db.prepare<[string]>("DELETE FROM erasures WHERE subject = ?");
  // The events in deleted channels are only erased later, in slices.
  const remove = db.prepare<[number]>(
    `DELETE FROM erasures WHERE subject = '${WAL}' AND number <= ?
     AND NOT EXISTS (SELECT 1 FROM chat_remains)`,
  );
  return {
    add: (subject: string, at: number) => void add.run(subject, at),
    tables: () => selectTables.all().filter(({ subject }) => isErasable(subject)),
    last: () => last.get()!,
    /** Records that this transaction rewrote a table. The erased bytes are gone after the next checkpoint. */
    rewritten(table: string) {
      pass.run(table);
      removeTable.run(table);
    },
    remove: (upTo: number) => void remove.run(upTo),
  };
}

/**
 * @returns a function that checks whether most events in `chat_events` are erased. Rewriting the
 * table takes 1.5 to 4 seconds per million events.
 */
function compaction(db: Connection): () => boolean {
  const count = (sql: string) => db.prepare<[], number>(sql).pluck();
  // These two queries only read indexes. Until events are removed, their numbers have no gaps, so
  // the span of the numbers equals the number of events.
  const countLeft = count("SELECT count(*) FROM chat_events WHERE gone = 0");
  const span = count("SELECT coalesce(max(rowid) - min(rowid) + 1, 0) FROM chat_events");
  const countAll = count("SELECT count(*) FROM chat_events");
  const isWorthIt = (all: number, left: number) => all - left >= MANY_EVENTS && all - left > left;
  return () => {
    const left = countLeft.get()!;
    return isWorthIt(span.get()!, left) && isWorthIt(countAll.get()!, left);
  };
}
