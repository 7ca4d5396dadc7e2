import type { Statement } from "better-sqlite3";
import type { Author } from "../../../contract/author.js";
import {
  type AnyDomain,
  type BoundAll,
  boundWrites,
  type DomainLog,
  type EngineWrites,
} from "../../../domains/domain.js";
import { domains, type DomainWrite } from "../../../domains/index.js";
import type { Reading, Sql } from "../../../domains/sql.js";
import type { Connection } from "./connection.js";

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

/** Prepares each text once. */
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

/** A parameter as SQLite takes it. */
function bound(value: unknown): unknown {
  if (typeof value === "boolean") return Number(value);
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

/** Runs the writes of domains. */
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
