import type { Lines, DocumentRows } from "../contract/copies.js";
import { StoreError } from "../contract/store.js";
import { faultOfValue } from "./column-values.js";
import { textsIn } from "./line-texts.js";
import {
  BACKUP_VERSION,
  type Column,
  copied,
  type Row,
  type Table,
  TABLES,
  type Value,
} from "./tables.js";
import type { CopiedRows } from "./world-rows.js";

// A world in a document: one JSON object. The first line has its version, and the second one the
// world. Then there is, for each table, a list of its rows: an object on each line, with the
// values that a backup has. A column with JSON has its value. `world_id` is left out.

const FORMAT = "foyer.world";

const WORLD = '"world":';

/** The first version with rows. */
const FIRST = 4;

/** The columns whose values a document has. */
const columnsIn = (table: Table): Column[] =>
  table.columns.filter(({ of }) => of !== "worlds");

/**
 * The lines of a document.
 * @param parts every table of the document, also if it has no rows.
 */
export async function* linesOf(
  parts: AsyncIterable<CopiedRows> | Iterable<CopiedRows>,
): AsyncGenerator<string> {
  // The end of a line follows from the next one.
  let last = JSON.stringify({ format: FORMAT, version: BACKUP_VERSION });
  last = last.slice(0, -1);
  let name: string | undefined;
  let write = writer(TABLES[0]!);
  for await (const { table, rows } of parts) {
    if (table.name === "worlds") {
      for (const row of rows) {
        yield `${last},`;
        last = WORLD + writer(table)(row);
      }
      continue;
    }
    if (table.name !== name) {
      if (name !== undefined) {
        yield last;
        last = "]";
      }
      yield `${last},`;
      name = table.name;
      write = writer(table);
      last = `"${name}":[`;
    }
    for (const row of rows) {
      yield last.endsWith("[") ? last : `${last},`;
      last = write(row);
    }
  }
  yield last;
  if (name !== undefined) yield "]";
  yield "}";
}

/** Makes the function that gives the JSON of a row. */
function writer(table: Table): (row: Row) => string {
  const places = columnsIn(table).map((column) => ({
    at: table.columns.indexOf(column),
    name: JSON.stringify(column.name),
    isJson: column.json !== undefined,
  }));
  return (row) => {
    const entries = places.map(({ at, name, isJson }) => {
      const value = row[at]!;
      const text = isJson && value !== null ? oneLine(value) : undefined;
      return `${name}:${text ?? JSON.stringify(value)}`;
    });
    return `{${entries.join()}}`;
  };
}

const oneLine = (json: Value): string => {
  const text = String(json);
  return text.includes("\n") ? JSON.stringify(JSON.parse(text)) : text;
};

/** What the rows of a table are called in a document. */
export const placeIn = ({ name }: Table): string =>
  name === "worlds" ? "world" : name;

/**
 * The lines of a document that something has laid out in another way.
 * @throws {StoreError} `unfit`.
 */
export function relaid(document: Readonly<Record<string, unknown>>): string[] {
  const { format, version, world, ...tables } = document;
  const head = JSON.stringify({ format, version });
  const lines = [
    `${head.slice(0, -1)},`,
    `"world":${JSON.stringify(world ?? null)},`,
  ];
  const places = TABLES.map(({ name }) => name);
  const ordered = Object.entries(tables).sort(
    ([one], [other]) => places.indexOf(one) - places.indexOf(other),
  );
  for (const [name, rows] of ordered) {
    if (!Array.isArray(rows)) {
      throw new StoreError("unfit", `${name}: Must be a list.`);
    }
    lines.push(`${JSON.stringify(name)}:[`);
    for (const row of rows) lines.push(`${JSON.stringify(row)},`);
    lines.push("],");
  }
  return [...lines, "}"];
}

/** Whether a document has rows. Older ones have no newer version than 1. */
export const isOfRows = (
  document: unknown,
): document is Readonly<Record<string, unknown>> =>
  typeof document === "object" &&
  document !== null &&
  "format" in document &&
  document.format === FORMAT &&
  "version" in document &&
  Number(document.version) >= FIRST;

/** Whether a document has the lines of {@link linesOf}, by its beginning. */
export const isLaidInLines = (text: string): boolean =>
  /^\{"format":"foyer\.world","version":\d+,\r?\n/.test(text);

/** The error about a line of a document. @param line from 1. */
export const unfit = (line: number, fault: string): StoreError =>
  new StoreError("unfit", `Line ${line}: ${fault}`);

/** Some rows of a document, which follow each other. */
export interface LinesOfRows extends CopiedRows {
  /** The line of the first row. */
  readonly line: number;
}

/** Some rows, as they are read. */
interface ReadRows extends LinesOfRows {
  /** About how many characters their lines have. */
  readonly size: number;
}

/**
 * Looks at a line before its row is read.
 * @returns what is wrong with it.
 */
export type Look = (text: string, entry: object) => string | undefined;

/** How many rows come at once at most, and about how many characters. */
const ROWS = 2000;
const CHARACTERS = 2 * 1024 * 1024;

/** The rows of a document, read now or before. @throws {StoreError} as {@link rowsIn}. */
export function* partsIn(
  document: Lines | DocumentRows,
): Generator<LinesOfRows> {
  if ("lines" in document || "file" in document) {
    yield* rowsIn(document);
    return;
  }
  for (const { table: name, ...part } of document) {
    yield { ...part, table: copied(TABLES.find((one) => one.name === name)!) };
  }
}

/** The id of the world in a document. @throws {StoreError} `unfit`. */
export function worldIn(lines: Lines): string {
  const texts = textsIn(lines);
  try {
    return headIn(texts).rows[0]![0] as string;
  } finally {
    texts.return();
  }
}

/**
 * The rows of a document in its order, and every table that it names. Each row is one of its
 * table: each value has the kind of its column.
 * @throws {StoreError} `unfit`, with the number of a line.
 */
export function* rowsIn(lines: Lines, look?: Look): Generator<ReadRows> {
  const texts = textsIn(lines);
  const head = headIn(texts, look);
  yield head;
  const world = head.rows[0]![0] as string;
  let line = 2;
  let place: "table" | "row" | "end" = "table";
  let table = head.table;
  let read = reader(table, world);
  let rows: Row[] = [];
  let size = 0;
  for (const whole of texts) {
    line++;
    const text = whole.trimEnd().replace(/,$/, "");
    if (place === "end") {
      if (text !== "") throw unfit(line, "follows the end.");
    } else if (place === "table") {
      if (text === "}") {
        place = "end";
        continue;
      }
      table = tableIn(text, table, line);
      read = reader(table, world);
      place = "row";
      if (text.endsWith("]")) place = "table";
      yield { table, rows: [], line, size: 0 };
    } else {
      const isOver = text === "]";
      if (
        rows.length > 0 &&
        (isOver || rows.length === ROWS || size > CHARACTERS)
      ) {
        yield { table, rows, line: line - rows.length, size };
        rows = [];
        size = 0;
      }
      if (isOver) place = "table";
      else {
        rows.push(read(text, line, look));
        size += text.length;
      }
    }
  }
  if (place !== "end")
    throw unfit(line + 1, 'is missing: the last one is "}".');
}

function headIn(texts: Generator<string, void>, look?: Look): ReadRows {
  const first = next(texts);
  const entry = entryIn(`${first.trimEnd().replace(/,$/, "")}}`, 1);
  const { format, version } = entry as Record<string, unknown>;
  if (format !== FORMAT) throw unfit(1, "is not the head of a world.");
  if (!Number.isSafeInteger(version) || (version as number) < FIRST) {
    throw unfit(1, "has no version of a world in lines.");
  }
  if ((version as number) > BACKUP_VERSION) {
    const most = `Must be at most ${BACKUP_VERSION}: use a newer Foyer.`;
    throw unfit(1, `version: ${most}`);
  }
  const second = next(texts);
  if (!second.startsWith(WORLD)) throw unfit(2, "must have the world.");
  const text = second.slice(WORLD.length).trimEnd().replace(/,$/, "");
  const table = copied(TABLES.find(({ name }) => name === "worlds")!);
  const row = reader(table, "")(text, 2, look);
  return { table, rows: [row], line: 2, size: text.length };
}

const next = (texts: Generator<string, void>): string =>
  texts.next().value ?? "";

function entryIn(text: string, line: number): object {
  let entry: unknown;
  try {
    entry = JSON.parse(text);
  } catch {
    throw unfit(line, "is not JSON.");
  }
  if (typeof entry === "object" && entry !== null && !Array.isArray(entry)) {
    return entry;
  }
  throw unfit(line, "is no row: it must be an object.");
}

/** The table that a line begins. @param last the table before it. */
function tableIn(text: string, last: Table, line: number): Table {
  const name = /^"([a-z_]+)":\[\]?$/.exec(text)?.[1];
  const at = TABLES.findIndex((one) => one.name === name);
  if (at === -1 || TABLES[at]!.copies === "none") {
    throw unfit(line, "begins no table of a world.");
  }
  if (TABLES.findIndex((one) => one.name === last.name) >= at) {
    throw unfit(line, `The table ${name} comes too late.`);
  }
  return copied(TABLES[at]!);
}

/** Makes the function that reads a row of a table. */
function reader(
  table: Table,
  world: string,
): (text: string, line: number, look?: Look) => Row {
  const known = new Set(columnsIn(table).map(({ name }) => name));
  const place = placeIn(table);
  return (text, line, look) => {
    const entry = entryIn(text, line) as Readonly<Record<string, unknown>>;
    const seen = look?.(text, entry);
    if (seen !== undefined) throw unfit(line, `${place}.${seen}`);
    const odd = Object.keys(entry).find((name) => !known.has(name));
    if (odd !== undefined) {
      const named = JSON.stringify(odd.slice(0, 100));
      throw unfit(line, `${place}: ${named} is no column of it.`);
    }
    return table.columns.map((column) => {
      const { name, of, formerly } = column;
      if (of === "worlds") return world;
      // A document of an older Foyer lacks newer columns.
      const value = Object.hasOwn(entry, name) ? entry[name] : formerly;
      const fault =
        value === undefined
          ? "This field is required."
          : faultOfValue(column, value);
      if (fault) throw unfit(line, `${place}.${name}: ${fault}`);
      return column.json && value !== null
        ? JSON.stringify(value)
        : (value as Value);
    });
  };
}
