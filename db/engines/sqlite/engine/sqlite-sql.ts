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

/** An SQLite statement, and the parameter index for each of its placeholders. */
interface Prepared {
  readonly statement: Statement<unknown[]>;
  readonly places: readonly number[];
}

/**
 * Creates an {@link Sql} for a connection. Each statement completes before the next microtask, so
 * no other code uses the connection between the statements of an async function.
 * @param within wraps the execution of a statement.
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

/**
 * Translates a statement for SQLite. @returns the statement with unnumbered placeholders, and each
 * placeholder's parameter index.
 */
function translated(text: string): { own: string; places: number[] } {
  const places: number[] = [];
  const own = text
    .replace(/= ANY ?\(\$(\d+)\)/g, "IN (SELECT value FROM json_each($$$1))")
    // Only PostgreSQL needs digests, because its indexes limit the length of strings.
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

/** Binds the methods of all domains. Reads run on the event loop, and writes in the writer thread. */
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

/** Returns the writes of all domains, by qualified name. Each write runs inside its caller's transaction. */
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

/** Returns how many times the event loop has polled its sockets (`uv_metrics_info`). */
const polls = (): number => performance.nodeTiming.uvMetricsInfo.loopCount;

/**
 * Groups the reads of one connection into turns. Every read must call {@link enter} first.
 *
 * All reads within one turn of the event loop see one state of the database. The first read begins
 * a transaction, which ends with the turn. The statements of one read are therefore consistent, and
 * SQLite accesses shared memory once per turn instead of once per statement. Reads see writes by
 * other processes from the next turn on, and writes by this process after {@link refresh}.
 *
 * A turn begins when the event loop polls its sockets, rather than with its timers: a request that
 * arrives after a read in a timer may come from a client that has already seen another process
 * confirm a write.
 *
 * `PRAGMA data_version` changes with every commit by another connection. The connection used here
 * never writes, so an unchanged number means an unchanged database.
 *
 * An in-memory database has a single connection, which also writes, in separate turns. Its reads
 * need no transaction, and the number counts all of its changes.
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

  /** The number of the database state that reads in this turn see. */
  get seen(): number {
    return this.#seen;
  }

  /** Makes the next read see everything committed so far. */
  refresh(): void {
    this.#reading = false;
    if (this.#db.memory || !this.#db.open || !this.#db.inTransaction) return;
    try {
      this.#commit.run();
    } catch {
      // On a damaged database, even ending a read can fail. Nothing was written, so nothing is
      // lost, and the next read reports the damage.
      if (this.#db.inTransaction) this.#rollBack.run();
    }
  }

  /** Makes all reads until the end of this turn see the same state. */
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
