import { setImmediate } from "node:timers/promises";
import type { Faults } from "../../schemas/errors.js";
import type { InvalidData } from "../../schemas/validate.js";
import type { DocumentRows, LineSource, RowCounts } from "../contract/selections.js";
import type { FileDigest } from "../contract/store.js";
import type { WorldRow } from "../rules/rows.js";
import { countRows, roomIn, worldIn } from "./copied-rows.js";
import { counterOf, type Row, type Table } from "./tables.js";
import { type Look, placeIn, rowsIn, unfit } from "./world-lines.js";

/**
 * Maximum size of a document that is kept in memory to avoid a second read, in characters. The rows
 * are sent to the writer thread in one message, which blocks the current thread for about 30 ms.
 */
const KEPT = 4 * 1024 * 1024;

/**
 * Validates a whole document before a transaction begins: checks the format and the uniqueness
 * constraints, and checks the world and the rooms against the API's rules. Yields to the event loop
 * between parts of the document.
 * @param hasFile whether the document comes with the bytes of a file; no files by default.
 * @returns the number of rows, along with the rows themselves if the document is small.
 * @throws {StoreError} `unfit`, with the number of the faulty line.
 */
export async function checkDocument(
  lines: LineSource,
  hasFile: (file: FileDigest) => boolean = () => false,
): Promise<{ rows: RowCounts; parts: DocumentRows | undefined }> {
  const { recordFaults } = await import("../../schemas/documents/world-document.js");
  const { findLosses } = await import("../../schemas/validate.js");
  const { unstorableIn } = await import("../../schemas/validate.js");
  const counts: Record<string, number> = {};
  const parts: DocumentRows[number][] = [];
  let size = 0;
  const look: Look = (text, entry) => {
    const deep = isDeep(text) ? unstorableIn(entry) : undefined;
    if (deep) return firstOf(deep);
    // If JSON.stringify() reproduces the text, parsing has lost nothing.
    const again = JSON.stringify(entry);
    const faults =
      (UNPAIRED.test(again) ? unstorableIn(entry) : undefined) ??
      (again === text ? undefined : findLosses(text)?.faults);
    return firstOf(faults);
  };
  let twins: ((row: Row) => string | undefined) | undefined;
  let last: Table | undefined;
  for (const part of rowsIn(lines, look)) {
    const { table, rows, line } = part;
    if (table.name !== last?.name) twins = duplicateFinder(table);
    last = table;
    countRows(counts, part);
    size += part.size;
    if (size <= KEPT) parts.push({ table: table.name, rows, line });
    else parts.length = 0;
    for (const [i, row] of rows.entries()) {
      const fault = faultOf({ ...recordFaults, hasFile }, table, row) ?? twins?.(row);
      if (fault !== undefined) {
        throw unfit(line + i, `${placeIn(table)}.${fault}`);
      }
    }
    await setImmediate();
  }
  return { rows: counts, parts: size <= KEPT ? parts : undefined };
}

type Check = (record: unknown) => InvalidData | undefined;

/**
 * Returns a row's first fault. Most of a user's fields are not checked, because clients may have
 * stored anything in them.
 */
function faultOf(
  checks: Readonly<Record<"world" | "room", Check>> & {
    hasFile: (file: FileDigest) => boolean;
  },
  { name, columns }: Table,
  values: Row,
): string | undefined {
  const row: Record<string, unknown> = {};
  for (const [i, column] of columns.entries()) row[column.name] = values[i];
  if (name === "users" && row.token_id !== null && row.client_id !== null) {
    return "token_id: Either this or client_id must be null.";
  }
  if (name === "files") {
    const file = row as unknown as FileDigest & { world_id: string };
    if (!isKeyOf(file.world_id, file.key)) return "key: Is of no file.";
    if (checks.hasFile(file)) return undefined;
    return "key: The document comes without the bytes of this file.";
  }
  const found =
    name === "worlds"
      ? checks.world(worldIn(row as unknown as WorldRow))
      : name === "rooms"
        ? checks.room(roomIn(row))
        : undefined;
  return firstOf(found?.faults);
}

/** Whether `newFileKey` could have created the key for this world. */
const isKeyOf = (world: string, key: string): boolean => {
  const prefix = `pub/${world}/`;
  return key.startsWith(prefix) && FILE_NAME.test(key.slice(prefix.length));
};
const FILE_NAME = /^[\w-]{1,100}\.[\w-]{12}\.[a-z0-9]{1,10}$/;

const firstOf = (faults: Faults | undefined): string | undefined => {
  const [fault] = Object.entries(faults ?? {});
  return fault && `${fault[0]}: ${fault[1].join(" ")}`;
};

/** JSON.stringify() escapes only unpaired surrogates. */
const UNPAIRED = /\\ud[89a-f]/;

/** Whether the text has so many brackets that it may be deeply nested. */
function isDeep(text: string): boolean {
  let count = 0;
  for (const bracket of ["{", "["]) {
    for (let at = -1; (at = text.indexOf(bracket, at + 1)) !== -1;) {
      if (++count > 50) return true;
    }
  }
  return false;
}

/**
 * Creates a function that receives a table's rows one by one, and names the columns in which a row
 * duplicates an earlier row.
 */
export function duplicateFinder(table: Table): (row: Row) => string | undefined {
  const { columns, key, unique } = table;
  const counter = counterOf(table);
  const pin = columns.findIndex(({ name }) => name === "is_pinned");
  const rules = [key, ...unique].flatMap((names) => {
    // Counters have no duplicates, and a document contains only one world.
    const own = names.filter((name) => name !== "world_id");
    if (own.length === 0 || own.includes(counter ?? "")) return [];
    const at = own.map((name) => columns.findIndex((one) => one.name === name));
    return at.includes(-1) ? [] : [{ own, at, seen: new Set<string>() }];
  });
  return (row) => {
    for (const { own, at, seen } of rules) {
      // Only pinned questions and polls must be unique per room.
      if (own.join() === "room_id" && row[pin] !== 1) continue;
      const values = at.map((place) => row[place]!);
      if (values.some((value) => value === null)) continue;
      const text = JSON.stringify(values);
      if (seen.size === seen.add(text).size) {
        return `${own.join(", ")}: May occur only once.`;
      }
    }
    return undefined;
  };
}
