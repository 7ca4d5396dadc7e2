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
  /** With the columns that copies have. */
  readonly table: Table;
  readonly rows: readonly Row[];
}

/** The numbers of the rows of a table, in ascending order. */
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

  /** How many are not greater than a number: the place of the last one of them, from 1. */
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

  /** The place of a number, from 1; 0 if it is missing. */
  of(value: number): number {
    const place = this.until(value);
    return this.#values[place - 1] === value ? place : 0;
  }
}

/** The names of the tables that have a column with numbers of their rows in another table. */
const COUNTED = new Set(TABLES.flatMap(({ columns }) => columns.map(countedBy)));

const EVENTS = TABLES.find(({ name }) => name === "chat_events")!;

/**
 * The rows of a world as every engine copies them, and each table, also if it has no rows. Their counters begin with 1 and have no
 * gaps, and references follow them. So the rows do not change while the world moves.
 * @param copies the tables that are copied.
 * @param files which files are copied, by their keys.
 * @throws {StoreError} `absent`.
 */
export async function* worldRows(
  source: TableSource,
  world: string,
  copies: readonly Copies[],
  files: (key: string) => boolean = () => true,
): AsyncGenerator<CopiedRows> {
  const places = new Map<string, Numbers>();
  const withChat = copies.includes("history");
  if (withChat) places.set("chat_events", await eventsIn(source, world));
  for (const one of TABLES) {
    if (!copies.includes(one.copies)) continue;
    const table = copied(one);
    const rewrite = rewriter(table, places);
    let isMissing = table.name === "worlds";
    yield { table, rows: [] };
    for await (const batch of source.rows(table, world)) {
      isMissing &&= batch.length === 0;
      // Only chat refers to erased users.
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

/** Whether a row of a user is not the rest of an erased one. */
const isKnown = (row: Row): boolean => NAMES.some((at) => row[at] !== null);

/** Adds rows to counts, without erased users. */
export function countRows(counts: Record<string, number>, { table, rows }: CopiedRows): void {
  const counted = table.name === "users" ? rows.filter(isKnown) : rows;
  counts[table.name] = (counts[table.name] ?? 0) + counted.length;
}

/** The events of chat, without the edits of messages that are gone. */
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

/** Makes the function that gives a row its numbers; undefined for a row of an event that is gone. */
function rewriter(table: Table, places: Map<string, Numbers>): (row: Row) => Row[] | undefined {
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
    if (counter !== -1) {
      const number = row[counter] as number;
      if (isKept) own.add(number);
      else if (COUNTED.has(name) && own.of(number) === 0) return undefined;
      copy[counter] = ++count;
    }
    for (const { at, numbers, isMark } of references) {
      const number = row[at] as number | null;
      if (number === null) continue;
      const place = isMark ? numbers.until(number) : numbers.of(number);
      if (place === 0 && !isMark) {
        if (columns[at]!.of === "log") return undefined;
        throw new Failure(
          `a row of ${name} refers to a row of ${columns[at]!.of} that does not exist`,
        );
      }
      copy[at] = place;
    }
    return [copy];
  };
}

// Rows of a document that the store creates as it creates others, with all that follows from them.

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

/** What a row of a table is, and the field that refusals name. */
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
 * The error about a row of a document that another has in its place.
 * @param id of the row; undefined if only some row of the table is known to be in conflict.
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
