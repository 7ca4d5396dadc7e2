import { parentPort, workerData } from "node:worker_threads";
import { remainsErasure } from "../chat/chat-remains.js";
import type { Connection } from "../engine/connection.js";
import { openForWriting } from "../engine/database.js";
import {
  claimMark,
  type Mark,
  markErasure,
  marksIn,
  removeMark,
} from "./erasure-marks.js";
import type { Round } from "./maintenance.js";
import { emptyLog, type ErasedTable, rewriteTable } from "./scrub.js";

// The thread that removes erased bytes from the files of the database. Writers of all processes
// wait while it holds the lock, so it holds it for some milliseconds, or while nothing is written.
// When a write of this process comes meanwhile, long work is undone and waits for another such moment.

/** How long it waits for a lock or a reader, in milliseconds. */
const LOCK_TIMEOUT_MS = 50;

/** How many events of deleted channels one transaction erases. It takes some milliseconds. */
const SLICE = 1000;

/** The least pause between two slices, in milliseconds, for other writes. */
const SHORTEST_PAUSE_MS = 10;

/** The pauses before it tries again: at first, and at most. */
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 10_000;

/** A table with more rows than this is rewritten only while nothing is written. */
const MANY_ROWS = 5000;

/** After how long without a write nothing is being written, in milliseconds. */
const IDLE_MS = 3000;

/** How often it looks whether something was written. */
const LOOK_MS = 500;

/** After how long a large table is rewritten whatever is written. */
const MUST_MS = 20 * 3_600_000;

/** After how long without work the thread ends, in milliseconds. */
const REST_MS = 20_000;

/** How long an ending thread erases events, in milliseconds. */
const LAST_SLICES_MS = 2000;

/** How many events must be over before their table is rewritten without them. */
const MANY_EVENTS = 10_000;

/** A write waits for long work. */
class Interrupted extends Error {}

/** The SQL function that throws it. */
const GO_ON = "go_on()";

class Maintainer {
  readonly #db: Connection;
  readonly #dataDir: string;
  readonly #eraseRemains: (limit: number) => boolean;
  readonly #compaction: () => boolean;
  /** The tables that were rewritten for marks that still wait for the log to be emptied. */
  readonly #rewritten = new Map<string, Set<ErasedTable>>();
  /** Whether events were erased since it was looked whether their table is to be rewritten. */
  #mayCompact = true;
  /** Whether that is to be done. */
  #compacts = false;
  #version: unknown;
  #writtenAt = 0;

  constructor(dataDir: string, waiting: Int32Array) {
    this.#dataDir = dataDir;
    const lockTimeout = LOCK_TIMEOUT_MS;
    const db = openForWriting(dataDir, { upgrade: false, lockTimeout });
    // With them, emptying the table of users would remove the owners of files.
    db.pragma("foreign_keys = OFF");
    db.function("go_on", { deterministic: false }, () => {
      if (Atomics.load(waiting, 0) > 0) throw new Interrupted();
      return 1;
    });
    this.#db = db;
    const erase = remainsErasure(db);
    const run = db.transaction((limit: number) => {
      const hasErased = erase(limit);
      if (hasErased) markErasure(dataDir, []);
      return hasErased;
    });
    this.#eraseRemains = (limit) => run.immediate(limit);
    this.#compaction = compaction(db);
  }

  /**
   * Does what can be done now.
   * @param isLast whether nothing follows: then it does not wait for an idle moment.
   * @returns after how many milliseconds there is more to do; undefined if there is nothing.
   */
  work(isLast = false): number | undefined {
    const started = performance.now();
    if (this.#eraseRemains(SLICE)) {
      this.#mayCompact = true;
      return Math.max(SHORTEST_PAUSE_MS, performance.now() - started);
    }
    const isPostponed = this.#rewrite();
    const marks = marksIn(this.#dataDir);
    if (marks.some((mark) => this.#isReady(mark))) this.#emptyLog();
    if (isLast) return undefined;
    const isIdle = this.#isIdle();
    if (this.#mayCompact) {
      this.#mayCompact = false;
      this.#compacts = this.#compaction();
    }
    if (this.#compacts && isIdle) {
      this.#compacts = !this.#finishes(() => this.#compact());
    }
    return isPostponed || this.#compacts ? LOOK_MS : undefined;
  }

  close(): void {
    this.#db.close();
  }

  /** Rewrites the tables that marks name. @returns whether some have to wait. */
  #rewrite(): boolean {
    let isPostponed = false;
    const marks = marksIn(this.#dataDir);
    const named = new Set(marks.flatMap(({ tables }) => tables));
    for (const table of named) {
      const due = marks.filter(
        ({ name, tables }) =>
          tables.includes(table) && !this.#rewritten.get(name)?.has(table),
      );
      if (due.length === 0) continue;
      const since = Math.min(...due.map((mark) => mark.since));
      const isShort = Date.now() - since > MUST_MS || !this.#isLarge(table);
      const isDone =
        (isShort || this.#isIdle()) &&
        this.#finishes(() =>
          this.#rewriteFor(table, due, isShort ? undefined : GO_ON),
        );
      if (!isDone) isPostponed = true;
    }
    return isPostponed;
  }

  #rewriteFor(table: ErasedTable, due: readonly Mark[], goOn?: string): void {
    rewriteTable(this.#db, table, undefined, goOn);
    for (const mark of due) {
      const { name } = claimMark(this.#dataDir, mark);
      const tables = this.#rewritten.get(name) ?? new Set();
      this.#rewritten.set(name, tables.add(table));
    }
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

  /** Whether nothing of a mark is left but the log. */
  #isReady({ name, tables }: Mark): boolean {
    const rewritten = this.#rewritten.get(name);
    return tables.every((table) => rewritten?.has(table));
  }

  /** Empties the log, and removes the marks of what has left the files with it. @throws if something reads it. */
  #emptyLog(): void {
    const claimed = this.#db
      .transaction(() =>
        marksIn(this.#dataDir)
          .filter((mark) => this.#isReady(mark))
          .map((mark) => claimMark(this.#dataDir, mark)),
      )
      .immediate();
    if (!emptyLog(this.#db)) {
      throw new Error("something reads an earlier state of the database");
    }
    for (const mark of claimed) {
      removeMark(this.#dataDir, mark);
      this.#rewritten.delete(mark.name);
      this.#mayCompact = true;
    }
  }

  #isLarge(table: ErasedTable): boolean {
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

  #compact(): void {
    // Another process may just have done it.
    if (!this.#compaction()) return;
    rewriteTable(this.#db, "chat_events", "gone = 0", GO_ON);
  }
}

/**
 * @returns a function that says whether most of the table of events is erased events. To rewrite it
 *   takes 1.5 to 4 seconds for a million.
 */
function compaction(db: Connection): () => boolean {
  const count = (sql: string) => db.prepare<[], number>(sql).pluck();
  // These two read indexes only. Numbers have no gaps until events are removed.
  const countLeft = count("SELECT count(*) FROM chat_events WHERE gone = 0");
  const span = count(
    "SELECT coalesce(max(rowid) - min(rowid) + 1, 0) FROM chat_events",
  );
  const countAll = count("SELECT count(*) FROM chat_events");
  const isWorthIt = (all: number, left: number) =>
    all - left >= MANY_EVENTS && all - left > left;
  return () => {
    const left = countLeft.get()!;
    return isWorthIt(span.get()!, left) && isWorthIt(countAll.get()!, left);
  };
}

const port = parentPort!;
const { dataDir, waiting } = workerData as {
  dataDir: string;
  waiting: Int32Array;
};
const maintainer = new Maintainer(dataDir, waiting);
let retry = FIRST_RETRY_MS;
let timer: NodeJS.Timeout;
const report = (round: Round) => port.postMessage(round);

port.on("message", (message: "look" | "close") => {
  clearTimeout(timer);
  if (message === "look") return look();
  try {
    const deadline = performance.now() + LAST_SLICES_MS;
    while (maintainer.work(true) !== undefined && performance.now() < deadline);
  } catch (error) {
    report({ failed: (error as Error).message });
  }
  end();
});

function look(): void {
  try {
    const pause = maintainer.work();
    retry = FIRST_RETRY_MS;
    timer = setTimeout(pause === undefined ? end : look, pause ?? REST_MS);
    report({});
  } catch (error) {
    report({ failed: (error as Error).message });
    timer = setTimeout(look, retry);
    retry = Math.min(2 * retry, LONGEST_RETRY_MS);
  }
}

function end(): void {
  maintainer.close();
  port.close();
}

look();
