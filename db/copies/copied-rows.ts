import type { RoomRecord, WorldCopy } from "../../schemas/documents/world-document.js";
import { Failure } from "../../schemas/plain/failure.js";
import { StoreError } from "../contract/store.js";
import { missingWorld } from "../rules/preconditions.js";
import { ownExtras, type OwnRoomRow, toRoom } from "../rules/room-rows.js";
import { toWorld, type WorldRow } from "../rules/rows.js";
import type { TableSource } from "./dump.js";
import {
  copied,
  type Copies,
  countedBy,
  counterOf,
  type Row,
  type Table,
  TABLES,
  type Value,
} from "./tables.js";

export interface CopiedRows {
  /** The table, with only the columns that copies contain. */
  readonly table: Table;
  readonly rows: readonly Row[];
}

/** The row numbers in a table, in ascending order. */
class Numbers {
  #values = new Float64Array(1024);
  #count = 0;

  add(value: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(2 * this.#count);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value;
  }

  /**
   * Returns the count of numbers up to and including `value`, which is also the position of the
   * last such number, from 1.
   */
  until(value: number): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#values[middle]! <= value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the position of a number, from 1; 0 if the number is missing. */
  of(value: number): number {
    const place = this.until(value);
    return this.#values[place - 1] === value ? place : 0;
  }
}

/** The names of the tables whose rows other tables reference by number. */
const COUNTED = new Set(TABLES.flatMap(({ columns }) => columns.map(countedBy)));

const EVENTS = TABLES.find(({ name }) => name === "chat_events")!;

/**
 * Yields a world's rows in the form that every engine copies. Yields every table, even if it is
 * empty. Counters are renumbered from 1 without gaps, and references are adjusted. Copying a world
 * to another store therefore leaves the rows unchanged.
 * @param copies the kinds of tables to copy.
 * @param files selects the files to copy, by key.
 * @throws {StoreError} `absent`.
 */
export async function* worldRows(
  source: TableSource,
  world: string,
  copies: readonly Copies[],
  files: (key: string) => boolean = () => true,
): AsyncGenerator<CopiedRows> {
  const places = new Map<string, Numbers>();
  const incomplete = new Set<string>();
  const withChat = copies.includes("history");
  if (withChat) places.set("chat_events", await eventsIn(source, world));
  for (const one of TABLES) {
    if (!copies.includes(one.copies)) continue;
    const table = copied(one);
    const rewrite = rewriter(table, places, incomplete);
    let isMissing = table.name === "worlds";
    yield { table, rows: [] };
    for await (const batch of source.rows(table, world)) {
      isMissing &&= batch.length === 0;
      // Only chat rows reference erased users.
      const kept =
        table.name === "users" && !withChat
          ? batch.filter(isKnown)
          : table.name === "files"
            ? batch.filter((row) => files(row[KEY] as string))
            : batch;
      yield { table, rows: kept.flatMap((row) => rewrite(row) ?? []) };
    }
    if (isMissing) throw missingWorld(world);
  }
}

const KEY = TABLES.find(({ name }) => name === "files")!.columns.findIndex(
  ({ name }) => name === "key",
);

const USERS = TABLES.find(({ name }) => name === "users")!;
const NAMES = ["token_id", "client_id"].map((name) =>
  copied(USERS).columns.findIndex((column) => column.name === name),
);

/** Whether a row in the users table is not a tombstone. */
const isKnown = (row: Row): boolean => NAMES.some((at) => row[at] !== null);

/** Adds the number of rows to a table's count, excluding erased users. */
export function countRows(counts: Record<string, number>, { table, rows }: CopiedRows): void {
  const counted = table.name === "users" ? rows.filter(isKnown) : rows;
  counts[table.name] = (counts[table.name] ?? 0) + counted.length;
}

/** Returns the ids of chat events, excluding edits of messages that are gone. */
async function eventsIn(source: TableSource, world: string): Promise<Numbers> {
  const found = new Numbers();
  const columns = EVENTS.columns.filter(({ name }) => name === "id" || name === "replaces");
  for await (const batch of source.rows({ ...EVENTS, columns }, world)) {
    for (const [id, replaces] of batch as [number, number | null][]) {
      if (replaces === null || found.of(replaces) > 0) found.add(id);
    }
  }
  return found;
}

/**
 * Creates a function that renumbers a row. The function returns undefined if the row belongs to an
 * event that is gone, or to a row that was left out because of that.
 * @param incomplete the names of the tables of which rows were left out.
 */
function rewriter(
  table: Table,
  places: Map<string, Numbers>,
  incomplete: Set<string>,
): (row: Row) => Row[] | undefined {
  const { name, columns } = table;
  const counter = columns.findIndex((column) => column.name === counterOf(table));
  const isKept = COUNTED.has(name) && !places.has(name);
  const own = places.get(name) ?? new Numbers();
  if (isKept) places.set(name, own);
  let count = 0;
  const references = columns.flatMap((column, at) => {
    const numbers = places.get(countedBy(column) ?? "");
    return numbers && at !== counter ? [{ at, numbers, isMark: column.isMark ?? false }] : [];
  });
  return (row) => {
    const copy: Value[] = [...row];
    const number = counter === -1 ? 0 : (row[counter] as number);
    if (counter !== -1 && !isKept && COUNTED.has(name) && own.of(number) === 0) return undefined;
    for (const { at, numbers, isMark } of references) {
      const number = row[at] as number | null;
      if (number === null) continue;
      const place = isMark ? numbers.until(number) : numbers.of(number);
      if (place === 0 && !isMark) {
        const { of } = columns[at]!;
        if (of === "log" || incomplete.has(of!)) {
          incomplete.add(name);
          return undefined;
        }
        throw new Failure(`a row of ${name} refers to a row of ${of} that does not exist`);
      }
      copy[at] = place;
    }
    if (counter !== -1) {
      if (isKept) own.add(number);
      copy[counter] = ++count;
    }
    return [copy];
  };
}

// Convert a document's rows to the form in which the API validates them.

export const worldIn = (row: WorldRow): WorldCopy["world"] => ({
  ...toWorld(row),
  revision: row.revision,
});

export function roomIn(row: object): RoomRecord {
  const { domain, ...rest } = row as OwnRoomRow;
  return {
    ...toRoom({ ...rest, domain: domain ?? "" }),
    domain: domain ?? undefined,
    ...ownExtras(rest.extras),
    revision: rest.revision,
  };
}

/** For each table, the field that errors name, and a description of a row. */
const KINDS: Readonly<Record<string, readonly [field: string, kind: string]>> = {
  rooms: ["rooms", "a room"],
  users: ["users", "a user, or its name,"],
  announcements: ["announcements", "an announcement"],
  chat_channels: ["chat", "a channel"],
  questions: ["questions", "a question"],
  polls: ["polls", "a poll"],
  poll_options: ["polls", "an option"],
};

/**
 * Returns the error for a document's row that conflicts with another row.
 * @param id the row's id; undefined if it is unknown which row of the table conflicts.
 */
export function takenAs(table: string, id: string | undefined): StoreError {
  const [field, kind] = KINDS[table] ?? [table, `a row of ${table}`];
  return new StoreError(
    "taken",
    id === undefined
      ? `Two rows of ${table} are the same, or have the same name.`
      : `The id ${id} of ${kind} is taken.`,
    field,
  );
}
