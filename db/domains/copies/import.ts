import { setImmediate } from "node:timers/promises";
import type { Author } from "../../contract/author.js";
import type { DocumentRows, LineSource } from "../../contract/selections.js";
import { StoreError } from "../../contract/store.js";
import { duplicateFinder } from "../../copies/check-document.js";
import { takenAs } from "../../copies/copied-rows.js";
import {
  countedBy,
  counterOf,
  type Row,
  type Table,
  TABLES,
  type Value,
} from "../../copies/tables.js";
import { type LinesOfRows, partsIn, unfit } from "../../copies/world-lines.js";
import type { WorldRow } from "../../rules/rows.js";
import type { Bound } from "../domain.js";
import { SlicedWork } from "../slices.js";
import type { copies } from "./copies.js";

/**
 * Creates a world from a document. The rows are written in slices, so that other writes need not
 * wait for the whole import. The world stays hidden until the last write.
 * @param dryRun write nothing, but fail where the import would fail.
 * @throws {StoreError} `taken` or `unfit`.
 */
export async function importWorld(
  store: Bound<typeof copies>,
  document: LineSource | DocumentRows,
  dryRun: boolean,
  by: Author | undefined,
): Promise<WorldRow> {
  // Check all rows first, so that nothing is written if the document has a fault.
  const found = await walk(document, trialOf(store));
  return dryRun ? found : walk(document, loaderOf(store, by));
}

async function walk(document: LineSource | DocumentRows, target: Target): Promise<WorldRow> {
  const all = new Walk(target);
  try {
    for (const part of partsIn(document)) {
      await all.take(part);
      await setImmediate();
    }
    return await all.finish();
  } catch (error) {
    await all.undo();
    throw error;
  }
}

/** The destination of a document's rows. */
interface Target {
  /** Claims the world's id. @returns the offset to add to the document's event ids. */
  begin(row: WorldRow): Promise<number>;
  /** @returns the numbers assigned to the rows, if other tables reference them. */
  load(world: string, table: Table, rows: readonly Row[]): Promise<readonly number[]>;
  /** @param last the id of the world's last event. */
  finish(row: WorldRow, last: number): Promise<WorldRow>;
  undo(world: string): Promise<void>;
}

/** Maximum size of a slice, in characters. The last row may exceed the limit. */
const SLICE_CHARACTERS = 256 * 1024;

function loaderOf(store: Bound<typeof copies>, by: Author | undefined): Target {
  const work = new SlicedWork();
  return {
    begin: (row) => work.slice(() => store.stage(row.id, row)),
    async load(world, { name, columns }, rows) {
      const names = columns.map((column) => column.name);
      const numbers: number[] = [];
      for (let from = 0; from < rows.length;) {
        const slice = sliceOf(rows, from, work.rows);
        from += slice.length;
        for (const one of await work.slice(() => store.load(world, name, names, slice))) {
          numbers.push(one);
        }
      }
      return numbers;
    },
    finish: (row, last) => work.slice(() => store.show(row.id, row, last, by)),
    undo: (world) => work.run((rows) => store.drop(world, rows)),
  };
}

function sliceOf(rows: readonly Row[], from: number, count: number): readonly Row[] {
  let size = 0;
  let end = from;
  while (end < rows.length && end < from + count && size < SLICE_CHARACTERS) {
    for (const value of rows[end]!) size += typeof value === "string" ? value.length : 8;
    end++;
  }
  return rows.slice(from, end);
}

/** Creates a target that only checks the rows. */
function trialOf(store: Bound<typeof copies>): Target {
  let table: string | undefined;
  let isTwin: (row: Row) => string | undefined = () => undefined;
  let last = 0;
  return {
    async begin(row) {
      await store.expectFree(row.id, row.domain);
      return 0;
    },
    async load(world, described, rows) {
      if (table !== described.name) {
        table = described.name;
        isTwin = duplicateFinder(described);
        last = 0;
      }
      if (rows.some((row) => isTwin(row) !== undefined)) throw takenAs(table, undefined);
      await store.expectFreeIds(world, table, idsOf(described, rows));
      return rows.map(() => ++last);
    },
    finish: async (row) => row,
    undo: async () => {},
  };
}

/** The tables whose rows other tables reference by id. */
const NAMED = new Set(
  TABLES.flatMap(({ columns }) =>
    columns.map(({ kind, of }) => (kind === "text" ? of : undefined)),
  ),
);

const ID = "id";

const placeOfId = ({ columns }: Table): number => columns.findIndex(({ name }) => name === ID);

/** Returns the ids of a table's rows. Empty if the ids need not be unique across all worlds. */
function idsOf(table: Table, rows: readonly Row[]): string[] {
  if (!table.unique.some((columns) => columns.join() === ID)) return [];
  const at = placeOfId(table);
  return rows.map((row) => row[at] as string);
}

/**
 * Returns a table without its counter, because the database assigns the numbers. Only chat events
 * keep the counter.
 */
function storedTable(table: Table): Table {
  const counter = table.name === "chat_events" ? undefined : counterOf(table);
  return { ...table, columns: table.columns.filter(({ name }) => name !== counter) };
}

class Walk {
  readonly #target: Target;
  #world: WorldRow | undefined;
  #isBegun = false;
  /** Number of rows read so far, by table. */
  readonly #counts = new Map<string, number>();
  /** The numbers assigned to new rows, by table and in the document's order. */
  readonly #numbers = new Map<string, number[]>();
  readonly #ids = new Map<string, Set<string>>();
  /** The offset to add to the document's event numbers. */
  #shift = 0;
  /** The highest event number referenced so far, and the line that references it. */
  #event = { number: 0, line: 0 };

  constructor(target: Target) {
    this.#target = target;
  }

  async take(part: LinesOfRows): Promise<void> {
    const { table, rows, line } = part;
    if (table.name === "worlds") return this.#begin(part);
    if (!this.#world) throw unfit(line, "comes before the world.");
    const stored = storedTable(table);
    const whole = rows.map((row, i) => this.#rowOf(table, row, line + i));
    this.#noteIds(table, rows);
    const numbers = await this.#target.load(this.#world.id, stored, whole);
    const known = this.#numbers.get(table.name) ?? [];
    this.#numbers.set(table.name, known);
    for (const number of numbers) known.push(number);
  }

  async finish(): Promise<WorldRow> {
    const events = this.#counts.get("chat_events") ?? 0;
    if (this.#event.number > events) {
      throw unfit(this.#event.line, `There is no event ${this.#event.number}.`);
    }
    if (!this.#world) throw unfit(3, "must begin the table worlds.");
    return this.#target.finish(this.#world, this.#shift + events);
  }

  /** Removes the loaded rows after a failure. */
  async undo(): Promise<void> {
    if (!this.#isBegun) return;
    try {
      await this.#target.undo(this.#world!.id);
    } catch (error) {
      // The maintenance job removes the remaining rows. Report only the original failure.
      if (!(error instanceof StoreError)) throw error;
    }
  }

  async #begin({ table, rows, line }: LinesOfRows): Promise<void> {
    if (rows.length > 1 || this.#world) {
      throw unfit(line + 1, "There may be only one world.");
    }
    const values = table.columns.map(({ name }, i) => [name, rows[0]![i]!]);
    this.#world = Object.fromEntries(values) as unknown as WorldRow;
    this.#shift = await this.#target.begin(this.#world);
    this.#isBegun = true;
  }

  /** Returns a row with the columns of {@link storedTable} and with adjusted references. */
  #rowOf(table: Table, row: Row, line: number): Row {
    const { name, columns } = table;
    const counter = counterOf(table);
    const place = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, place);
    const stored: Value[] = [];
    for (const [i, column] of columns.entries()) {
      const value = row[i]!;
      const at = `${name}.${column.name}`;
      if (column.name === counter) {
        if (value !== place) throw unfit(line, `${at}: Must be ${place}.`);
        if (name === "chat_events") stored.push(place + this.#shift);
        continue;
      }
      stored.push(
        value === null || column.of === undefined || column.of === "worlds"
          ? value
          : typeof value === "number"
            ? this.#numberOf(countedBy(column)!, value, line, at)
            : this.#known(column.of, value, line, at, column.loose),
      );
    }
    return stored;
  }

  #numberOf(other: string, value: number, line: number, at: string): number {
    if (other === "chat_events") {
      if (value > this.#event.number) this.#event = { number: value, line };
      if (value < 0) throw unfit(line, `${at}: May not be negative.`);
      return value === 0 ? 0 : value + this.#shift;
    }
    const number = this.#numbers.get(other)?.[value - 1];
    if (number === undefined) {
      throw unfit(line, `${at}: There is no row ${value} of ${other}.`);
    }
    return number;
  }

  /**
   * Returns an id after checking that a row with this id exists. A loose reference is not checked,
   * because the row may be gone.
   */
  #known(other: string, id: string, line: number, at: string, isLoose = false): string {
    if (isLoose || this.#ids.get(other)?.has(id)) return id;
    throw unfit(line, `${at}: There is no row ${id} of ${other}.`);
  }

  #noteIds(table: Table, rows: readonly Row[]): void {
    const { name } = table;
    const at = placeOfId(table);
    if (!NAMED.has(name) || at === -1) return;
    const ids = this.#ids.get(name) ?? new Set<string>();
    this.#ids.set(name, ids);
    for (const row of rows) {
      const id = row[at] as string;
      if (ids.size === ids.add(id).size) throw takenAs(name, id);
    }
  }
}
