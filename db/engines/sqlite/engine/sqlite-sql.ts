import { performance } from "node:perf_hooks";
import type { Database as Connection, Statement } from "better-sqlite3";
import type { Author } from "../../../contract/author.js";
import {
  type AnyDomain,
  type BoundAll,
  boundWrites,
  type DomainLog,
  type EngineWrites,
  type Reading,
  type Sql,
} from "../../../domains/domain.js";
import { domains, type DomainWrite } from "../../../domains/index.js";

/** A statement of SQLite, and which parameter each of its places takes. */
interface Prepared {
  readonly statement: Statement<unknown[]>;
  readonly places: readonly number[];
}

/**
 * Makes {@link Sql} of a connection. Each statement answers before the next microtask, so
 * nothing else uses the connection between the statements of an async function.
 * @param within runs a statement.
 */
export function sqlOn(
  db: Connection,
  within: <T>(statement: () => T) => T = (statement) => statement(),
): Sql {
  const prepared = statements(db, (statement) => statement);
  const plucked = statements(db, (statement) => statement.pluck());
  return {
    engine: "sqlite",
    all: async <R>(text: string, params?: readonly unknown[]) =>
      within(() => {
        const { statement, places } = prepared(text);
        return statement.all(...valuesAt(places, params)) as R[];
      }),
    one: async <R>(text: string, params?: readonly unknown[]) =>
      within(() => {
        const { statement, places } = prepared(text);
        return statement.get(...valuesAt(places, params)) as R | undefined;
      }),
    value: async <T>(text: string, params?: readonly unknown[]) =>
      within(() => {
        const { statement, places } = plucked(text);
        return statement.get(...valuesAt(places, params)) as T | undefined;
      }),
    column: async <T>(text: string, params?: readonly unknown[]) =>
      within(() => {
        const { statement, places } = plucked(text);
        return statement.all(...valuesAt(places, params)) as T[];
      }),
    run: async (text, params) =>
      within(() => {
        const { statement, places } = prepared(text);
        return statement.run(...valuesAt(places, params)).changes;
      }),
    insert: async (table, rows, conflict = "") =>
      within(() => {
        const names = Object.keys(rows[0] ?? {});
        if (names.length === 0) return;
        const { statement } = prepared(
          `INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => "?").join()}) ${conflict}`,
        );
        for (const row of rows) statement.run(names.map((name) => row[name]));
      }),
  };
}

function statements(
  db: Connection,
  as: (statement: Statement<unknown[]>) => Statement<unknown[]>,
): (text: string) => Prepared {
  const known = new Map<string, Prepared>();
  return (text) => {
    let found = known.get(text);
    if (!found) {
      const { own, places } = translated(text);
      found = { statement: as(db.prepare(own)), places };
      known.set(text, found);
    }
    return found;
  };
}

/** The text that SQLite takes, which has places without numbers, and the parameter of each. */
function translated(text: string): { own: string; places: number[] } {
  const places: number[] = [];
  const own = text
    .replace(/= ANY ?\(\$(\d+)\)/g, "IN (SELECT value FROM json_each($$$1))")
    // PostgreSQL has digests of long texts in its indexes.
    .replace(/\bfoyer_digest\(([\w.$]+)\)/g, "$1")
    .replace(/\$(\d+)/g, (_, number: string) => {
      places.push(Number(number) - 1);
      return "?";
    });
  return { own, places };
}

const valuesAt = (places: readonly number[], params: readonly unknown[] = []): unknown[] =>
  places.map((place) => bound(params[place]));

function bound(value: unknown): unknown {
  if (typeof value === "boolean") return Number(value);
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

interface DomainWriter {
  runOfDomain(
    write: DomainWrite,
    by: Author | undefined,
    args: readonly unknown[],
  ): Promise<unknown>;
}

/** The methods of all domains. Reads run on the event loop, and writes in the thread. */
export function boundDomains(sql: Reading, writer: DomainWriter): BoundAll<typeof domains> {
  const bind = (name: string, one: AnyDomain) => ({
    ...one.reads(sql),
    ...boundWrites(one, (write, args, by) =>
      writer.runOfDomain(`${name}.${write}` as DomainWrite, by, args),
    ),
  });
  return Object.fromEntries(
    Object.entries(domains).map(([name, one]) => [name, bind(name, one)]),
  ) as unknown as BoundAll<typeof domains>;
}

/** The writes of all domains by their names in the thread. Each runs inside a transaction of its caller. */
export function domainWrites(
  sql: Sql,
  log: DomainLog,
  own: EngineWrites,
): Record<DomainWrite, (...args: never[]) => Promise<unknown>> {
  const named = Object.entries(domains).flatMap(([name, one]: [string, AnyDomain]) =>
    Object.entries(one.writes(sql, log, own) as object).map(([write, run]) => [
      `${name}.${write}`,
      run as unknown,
    ]),
  );
  return Object.fromEntries(named) as ReturnType<typeof domainWrites>;
}

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
