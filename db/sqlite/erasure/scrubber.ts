import type { Connection } from "../engine/connection.js";
import { ErasureMarks } from "./erasure-marks.js";
import {
  emptyLog,
  ERASED_TABLES,
  type ErasedTable,
  rewriteTable,
  withoutForeignKeys,
} from "./scrub.js";

/** How soon the log is emptied when no caller waits for it, in milliseconds. */
const SOON = 1000;

/**
 * While scrubbing the table of files or of questions takes less than this, in
 * milliseconds, every deletion scrubs it. When it takes longer, it runs once for many
 * deletions, after a pause of this many times its duration. With 100,000 files it takes
 * half a second, in which nothing else can be written.
 */
const QUICK_SCRUB = 100;
const PAUSE_FACTOR = 10;

/**
 * The pause before a scrub is tried again, in milliseconds. Another process may have
 * held the log, or the disk may have been full. The pause doubles each time.
 */
const FIRST_RETRY = 100;
const LONGEST_RETRY = 60_000;

/**
 * How long an erasure waits for the other threads of this process, which read for
 * one turn of the event loop or for one search, in milliseconds.
 */
const PATIENCE = 2000;

/**
 * Removes everything that was erased from the files of the database, and tries until it
 * succeeds. None of its methods but `begin` throws: earlier writes do not depend on them.
 */
export class Scrubber {
  readonly #db: Connection;
  readonly #marks: ErasureMarks;
  /** The tables that still have to be scrubbed. The log is emptied after them. */
  readonly #due = new Set<ErasedTable>();
  #retry: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  /** Whether the log had a reader at the last attempt to empty it. A backup may read it for minutes. */
  #held = false;
  /** How long the last rewrite of tables took, in milliseconds. */
  #lastRewrite = 0;

  constructor(db: Connection, dataDir: string) {
    this.#db = db;
    this.#marks = new ErasureMarks(dataDir);
  }

  /** Whether nothing has to be scrubbed. */
  get isAtRest(): boolean {
    return !this.#marks.due && !this.#soon && !this.#retry;
  }

  /**
   * Notes on the disk that erased bytes will have to be scrubbed. Call it before they
   * are erased.
   */
  begin(): void {
    this.#marks.begin();
  }

  /** Finishes the erasures of processes that died. */
  takeOver(): void {
    const { count } = this.#marks;
    succeeds(() => this.#marks.adopt());
    if (this.#marks.count > count) this.scrub(ERASED_TABLES);
  }

  /** Scrubs some tables and the log now. Tables that wait for their scrub go along. */
  scrub(tables: readonly ErasedTable[]): void {
    this.#add(tables);
    this.#try();
  }

  /** The same at once if it is likely to be quick. Otherwise, it waits for others. */
  scrubInTime(tables: readonly ErasedTable[]): void {
    this.#add(tables);
    if (this.#lastRewrite < QUICK_SCRUB) return this.#try();
    const pause = PAUSE_FACTOR * this.#lastRewrite;
    this.#retry ??= setTimeout(() => this.#try(), pause);
  }

  /** Removes erased bytes that are only in the log. Tables that wait for their scrub go on waiting. */
  scrubLog(): void {
    clearTimeout(this.#soon);
    this.#soon = undefined;
    if (this.#due.size === 0) this.#try();
    else this.#emptied();
  }

  /** The same a little later, once for all calls until then. */
  scrubLogSoon(): void {
    this.#soon ??= setTimeout(() => this.scrubLog(), SOON);
  }

  /** Ends. A table that cannot be scrubbed now keeps its mark, and the next process scrubs it. */
  close(): void {
    if (this.#marks.due) this.#try();
    clearTimeout(this.#retry);
    clearTimeout(this.#soon);
  }

  #add(tables: readonly ErasedTable[]): void {
    for (const table of tables) this.#due.add(table);
  }

  /** @param pause after how many milliseconds it is tried again if it fails. */
  #try(pause = FIRST_RETRY): void {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    if (this.#due.size > 0 && succeeds(() => this.#rewrite())) {
      this.#due.clear();
    }
    // Without the tables, the mark has to stay.
    const isScrubbed = this.#due.size === 0 && this.#emptied();
    if (isScrubbed && succeeds(() => this.#marks.end())) return;
    const next = Math.min(2 * pause, LONGEST_RETRY);
    this.#retry = setTimeout(() => this.#try(next), pause);
  }

  #rewrite(): void {
    const started = performance.now();
    const run = this.#db.transaction(() => {
      for (const table of this.#due) rewriteTable(this.#db, table);
    });
    withoutForeignKeys(this.#db, () => run.immediate());
    this.#lastRewrite = performance.now() - started;
  }

  /** Empties the log if it can. It waits only once for the same reader. */
  #emptied(): boolean {
    this.#held = !emptyLog(this.#db, this.#held ? 0 : PATIENCE);
    return !this.#held;
  }
}

/** Whether some work succeeded. */
function succeeds(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
