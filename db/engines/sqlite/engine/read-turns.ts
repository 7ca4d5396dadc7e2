import { performance } from "node:perf_hooks";
import type { Connection } from "./connection.js";

/** How often the event loop has polled its sockets (`uv_metrics_info`). */
const polls = (): number => performance.nodeTiming.uvMetricsInfo.loopCount;

/**
 * The reads of one connection. Every read calls {@link enter} first.
 *
 * All reads within one turn of the event loop see one state of the database. The
 * first read begins a transaction, which ends with the turn. So the statements
 * of one read are consistent, and SQLite looks into shared memory once in a turn
 * instead of once for each statement. Reads see writes of other processes from the
 * next turn on, and writes of this process after {@link refresh}.
 *
 * A turn begins when the event loop polls its sockets, and not with its timers: a request
 * that arrives after a timer has read may come from a client to which another process has
 * confirmed a write in between.
 *
 * `PRAGMA data_version` changes with every commit of another connection. The
 * connection of these reads never writes, so an unchanged number means an unchanged
 * database.
 *
 * A database in memory has one connection, which writes in turns of its own. Reads need no
 * transaction, and the number is that of all changes.
 */
export class ReadTurns {
  readonly #db: Connection;
  readonly #begin;
  readonly #version;
  readonly #commit;
  readonly #rollBack;
  #seen = -1;
  #reading = false;
  /** The turn in which the transaction began. */
  #turn = -1;
  #ending = false;

  constructor(db: Connection) {
    this.#db = db;
    this.#begin = db.prepare("BEGIN");
    const version = db.memory ? "SELECT total_changes()" : "PRAGMA data_version";
    this.#version = db.prepare<[], number>(version).pluck();
    this.#commit = db.prepare("COMMIT");
    this.#rollBack = db.prepare("ROLLBACK");
  }

  /** The number of the state that the reads of this turn see. */
  get seen(): number {
    return this.#seen;
  }

  /** Makes the next read see everything that is committed by now. */
  refresh(): void {
    this.#reading = false;
    if (this.#db.memory || !this.#db.open || !this.#db.inTransaction) return;
    try {
      this.#commit.run();
    } catch {
      // On a damaged database, even ending a read can fail. Nothing was written, so
      // nothing is lost, and the next read reports the damage.
      if (this.#db.inTransaction) this.#rollBack.run();
    }
  }

  /** Makes all reads until the end of this turn see one state. */
  enter(): void {
    if (this.#db.memory) return this.#look();
    const turn = polls();
    if (this.#reading) {
      if (turn === this.#turn) return;
      this.refresh();
    }
    this.#turn = turn;
    this.#begin.run();
    try {
      this.#look();
    } catch (error) {
      this.refresh();
      throw error;
    }
    this.#reading = true;
    if (this.#ending) return;
    this.#ending = true;
    setImmediate(this.#endTurn);
  }

  #look(): void {
    this.#seen = this.#version.get()!;
  }

  readonly #endTurn = (): void => {
    this.#ending = false;
    this.refresh();
  };
}
