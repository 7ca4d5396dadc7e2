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
import { checkpoint, emptyIndex, type ErasedTable, isErasedTable, rewriteTable } from "./scrub.js";

// Writers of all processes wait while this holds the lock of writers, so it holds it for some
// milliseconds, or while nothing is written. When a write of this process comes meanwhile, long work
// is undone and waits for another such moment.

/** How long it waits for the lock of writers, in milliseconds. */
const LOCK_TIMEOUT_MS = 50;

/** How many rows of an abandoned world one transaction removes. It takes some milliseconds. */
const ROWS = 200;

/** A table with more rows than this is rewritten only while nothing is written. */
const MANY_ROWS = 5000;

/** After how long without a write nothing is being written, in milliseconds. */
const IDLE_MS = 3000;

/** How often it looks whether something was written. */
const LOOK_MS = 500;

/** After how long a large table is rewritten whatever is written. */
const MUST_MS = 20 * 3_600_000;

/** How many events must be over before their table is rewritten without them. */
const MANY_EVENTS = 10_000;

/** A write waits for long work. */
class Interrupted extends Error {}

/** The SQL function that throws it. */
const GO_ON = "go_on()";

/** Removes erased bytes from the files of a database, on a connection of its own. */
export class SqliteEraser {
  readonly #db: Connection;
  readonly #sql: Sql;
  readonly #isWorthCompacting: () => boolean;
  readonly #marks: ReturnType<typeof marksOf>;
  /** Whether the table of events is worth compacting; undefined if that is to be looked at again. */
  #compacts: boolean | undefined;
  #version: unknown;
  #writtenAt = 0;

  /** @param waiting how many writes of this process wait, in memory that threads share. */
  constructor(dataDir: string, waiting?: Int32Array) {
    const db = openForWriting(dataDir, { upgrade: false, lockTimeout: LOCK_TIMEOUT_MS });
    // With them, emptying the table of users would remove the owners of files.
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

  /** Only microtasks pass until it resolves. */
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

  /** Runs a slice of work that erases. */
  async #inTransaction<T>(work: (log: Pick<DomainLog, "erased">) => Promise<T>): Promise<T> {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const subjects = new Set<string>();
      const result = await work({
        erased: (...tables) => {
          for (const subject of [WAL, ...tables.filter(isErasedTable)]) subjects.add(subject);
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

  /** @returns whether no write has interrupted it. */
  #rewrite(table: ErasedTable, goOn?: string): boolean {
    return this.#finishes(() => {
      if (table === "chat_words") emptyIndex(this.#db);
      else rewriteTable(this.#db, table, undefined, goOn);
      this.#marks.rewritten(table);
    });
  }

  #compact(): boolean {
    return this.#finishes(() => {
      // Another process may just have done it.
      if (!this.#isWorthCompacting()) return;
      rewriteTable(this.#db, "chat_events", "gone = 0", GO_ON);
    });
  }

  /** Runs work in a transaction. @returns whether it was not interrupted. */
  #finishes(work: () => void): boolean {
    try {
      this.#db.transaction(work).immediate();
      return true;
    } catch (error) {
      if (error instanceof Interrupted) return false;
      throw error;
    }
  }

  #isLarge(table: ErasedTable): boolean {
    // Every edit erases something, and the next searches would make the index again and again.
    if (table === "chat_words") return true;
    const count = `SELECT count(*) FROM (SELECT 1 FROM ${table} LIMIT ${MANY_ROWS + 1})`;
    return (this.#db.prepare(count).pluck().get() as number) > MANY_ROWS;
  }

  #isIdle(): boolean {
    const now = performance.now();
    // Commits of this connection do not count.
    const version = this.#db.pragma("data_version", { simple: true });
    if (version !== this.#version) this.#writtenAt = now;
    this.#version = version;
    return now - this.#writtenAt > IDLE_MS;
  }
}

/** Does the work in the thread of the caller, without regard to the writes of other processes. */
export function openSqliteEraser(dataDir: string): Eraser {
  const eraser = new SqliteEraser(dataDir);
  return {
    oldest: async () => eraser.oldest(),
    run: (urgency) => eraser.run(urgency),
    close: async () => eraser.close(),
  };
}

/** The rows of `erasures`. One writer at a time numbers them in the order of their commits. */
function marksOf(db: Connection) {
  const add = db.prepare<[string, number]>("INSERT INTO erasures (subject, at) VALUES (?, ?)");
  const selectTables = db.prepare<[], { subject: ErasedTable; since: number }>(
    `SELECT subject, min(at) AS since FROM erasures WHERE subject <> '${WAL}' GROUP BY subject`,
  );
  const last = db
    .prepare<[], number | null>(`SELECT max(number) FROM erasures WHERE subject = '${WAL}'`)
    .pluck();
  const pass = db.prepare<[string]>(
    `INSERT INTO erasures (subject, at) SELECT '${WAL}', min(at) FROM erasures WHERE subject = ?`,
  );
  const removeTable = db.prepare<[string]>("DELETE FROM erasures WHERE subject = ?");
  // Events of deleted channels are only erased later, in slices.
  const remove = db.prepare<[number]>(
    `DELETE FROM erasures WHERE subject = '${WAL}' AND number <= ?
     AND NOT EXISTS (SELECT 1 FROM chat_remains)`,
  );
  return {
    add: (subject: string, at: number) => void add.run(subject, at),
    tables: () => selectTables.all().filter(({ subject }) => isErasedTable(subject)),
    last: () => last.get()!,
    /** A table was rewritten in this transaction. The log now has what its pages had. */
    rewritten(table: string) {
      pass.run(table);
      removeTable.run(table);
    },
    remove: (upTo: number) => void remove.run(upTo),
  };
}

/**
 * @returns a function that says whether most of the table of events is erased events. To rewrite it
 *   takes 1.5 to 4 seconds for a million.
 */
function compaction(db: Connection): () => boolean {
  const count = (sql: string) => db.prepare<[], number>(sql).pluck();
  // These two read indexes only. Numbers have no gaps until events are removed.
  const countLeft = count("SELECT count(*) FROM chat_events WHERE gone = 0");
  const span = count("SELECT coalesce(max(rowid) - min(rowid) + 1, 0) FROM chat_events");
  const countAll = count("SELECT count(*) FROM chat_events");
  const isWorthIt = (all: number, left: number) => all - left >= MANY_EVENTS && all - left > left;
  return () => {
    const left = countLeft.get()!;
    return isWorthIt(span.get()!, left) && isWorthIt(countAll.get()!, left);
  };
}
