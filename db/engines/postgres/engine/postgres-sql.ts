import pg from "pg";
import { escapeLiteral } from "pg";
import { TABLES } from "../../../copies/tables.js";
import type { Inserted, Sql } from "../../../domains/domain.js";
import { slices } from "../../../domains/slices.js";

type Run = (query: pg.QueryConfig) => Promise<pg.QueryResult>;

const names = new Map<string, string>();

function nameOf(text: string): string {
  let name = names.get(text);
  if (!name) names.set(text, (name = `foyer_${names.size}`));
  return name;
}

/**
 * Creates an {@link Sql} from a function that runs a statement, either on a fixed connection or on
 * any of the pool's connections. Array parameters are meant for `= ANY($1)` and
 * `unnest($1::text[])`. Each statement is prepared once per connection.
 */
export function sqlOn(run: Run): Sql {
  const query = (text: string, params: readonly unknown[] = []) =>
    run({ name: nameOf(text), text, values: params.map(encoded), types });
  const firstOf = (row: object) => Object.values(row)[0] as unknown;
  return {
    engine: "postgres",
    all: async <R>(text: string, params?: readonly unknown[]) =>
      (await query(text, params)).rows as R[],
    one: async <R>(text: string, params?: readonly unknown[]) =>
      (await query(text, params)).rows[0] as R | undefined,
    async value<T>(text: string, params?: readonly unknown[]) {
      const row = (await query(text, params)).rows[0] as object | undefined;
      return row && (firstOf(row) as T);
    },
    column: async <T>(text: string, params?: readonly unknown[]) =>
      ((await query(text, params)).rows as object[]).map(firstOf) as T[],
    run: async (text, params) => (await query(text, params)).rowCount ?? 0,
    async insert(table, rows, conflict = "") {
      const names = Object.keys(rows[0] ?? {});
      if (names.length === 0) return;
      const text = `${insertionInto(table, names)} ${conflict}`;
      const sizeOf = (row: Inserted) => Object.values(row).join().length;
      for (const slice of slices(rows, sizeOf)) {
        await query(
          text,
          names.map((name) => slice.map((row) => row[name])),
        );
      }
    },
  };
}

function insertionInto(table: string, names: readonly string[]): string {
  const { columns, others } = TABLES.find(({ name }) => name === table)!;
  const all = [...columns, ...others];
  const lists = names.map((name, i) => {
    const { kind } = all.find((column) => column.name === name)!;
    return `$${i + 1}::${kind === "text" ? "text" : "bigint"}[]`;
  });
  return `INSERT INTO ${table} (${names.join()}) SELECT ${names.join()}
    FROM unnest(${lists.join()}) WITH ORDINALITY AS row (${names.join()}, ordinal) ORDER BY ordinal`;
}

// PostgreSQL stores any character except U+0000. The characters U+0000 to U+0005 are therefore
// encoded as two characters each: first U+0001 or U+0002, then U+0003, U+0004 or U+0005. The
// encoding preserves the order of strings. No character can be in both positions, so a string
// contains another string exactly when the encoded form of the first contains the encoded form of
// the second.

const CODES = ["13", "14", "15", "23", "24", "25"].map((digits) =>
  String.fromCharCode(...Array.from(digits, Number)),
);

/** Encodes a string so that PostgreSQL can store it. */
export const encodedText = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replace(/[\0-\x05]/g, (char) => CODES[char.charCodeAt(0)]!);

/** Decodes a stored string. */
export const decodedText = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replace(/[\x01\x02][\x03-\x05]/g, (code) => String.fromCharCode(CODES.indexOf(code)));

function encoded(value: unknown): unknown {
  if (typeof value === "string") return encodedText(value);
  return Array.isArray(value) ? value.map(encoded) : value;
}

/** PostgreSQL type OIDs (see the system table `pg_type`). */
const BIGINT = 20;
const TEXT = 25;
const NUMERIC = 1700;

const parsers = new Map<number, (text: string) => unknown>([
  [BIGINT, Number],
  [NUMERIC, Number],
  [TEXT, decodedText],
]);

const parserOf = pg.types.getTypeParser as (
  type: number,
  format: "text",
) => (text: string) => unknown;

export const types = {
  getTypeParser: (type: number, format: "text") => parsers.get(type) ?? parserOf(type, format),
} as pg.CustomTypesConfig;

// Advisory locks. PostgreSQL manages the locks, and all processes use the same lock numbers. The
// first number identifies a lock's purpose.

/** The first lock number: "Foye" in ASCII. */
const BASE = 0x466f7965;

/** Serializes the writes to one world. */
export const lockOfWorld = (world: string): string =>
  `SELECT pg_advisory_xact_lock(${BASE}, hashtext(${escapeLiteral(encodedText(world))}))`;

/** Serializes the creation and deletion of worlds and changes to their domains. */
export const LOCK_OF_WORLDS = `SELECT pg_advisory_xact_lock(${BASE + 1}, 0)`;

/** Serializes upgrades. */
export const LOCK_OF_UPGRADES = `SELECT pg_advisory_xact_lock(${BASE + 3}, 0)`;

/** The shared lock that each serving node holds as long as the node's connection lasts. */
export const NODES = `${BASE + 4}, 0`;
