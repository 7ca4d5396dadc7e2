import type { Lines, DocumentRows } from "../../contract/copies.js";
import type {
  RoomRecord,
  WorldCopy,
} from "../../../schemas/documents/world-document.js";
import {
  countedBy,
  counterOf,
  type Row,
  type Table,
  TABLES,
  type Value,
} from "../../copies/tables.js";
import { type LinesOfRows, partsIn, unfit } from "../../copies/world-lines.js";
import { takenAs } from "../../copies/taken.js";
import type { WorldRow } from "../../rules/rows.js";
import { roomIn, worldIn } from "../../copies/records.js";
import { derivedOf } from "../../rules/user-fields.js";
import { slices } from "../slices.js";
import type { Inserted, Sql } from "../sql.js";

/** What an import needs of its engine, inside its transaction. */
export interface WorldImporter {
  /** @throws {StoreError} `taken` on `id` or `domain`. */
  addWorld(world: WorldCopy["world"]): Promise<WorldRow>;
  /** @throws {StoreError} `taken` on `rooms`. */
  addRooms(world: string, rooms: readonly RoomRecord[]): Promise<void>;
  /** The first of so many numbers in the log of the world. An entry has to follow. */
  skip(count: number): number;
  /** In place of the content of an event that has none. */
  readonly noContent: Uint8Array | null;
  /** Undoes what a trial appended to the log. */
  withoutTrace<T>(trial: () => Promise<T>): Promise<T>;
}

/**
 * Creates the world of a document, inside a write of all worlds. Its caller appends that it
 * was created, unless it is a trial.
 * @param dryRun undoes it, so that it fails as the import would.
 * @throws {StoreError} `taken` or `unfit`.
 */
export async function importWorld(
  sql: Sql,
  engine: WorldImporter,
  document: Lines | DocumentRows,
  dryRun: boolean,
): Promise<WorldRow> {
  if (!dryRun) return create(sql, engine, document);
  // The caller undoes a write that fails.
  await sql.run("SAVEPOINT trial");
  const row = await engine.withoutTrace(() => create(sql, engine, document));
  await sql.run("ROLLBACK TO SAVEPOINT trial");
  await sql.run("RELEASE SAVEPOINT trial");
  return row;
}

async function create(
  sql: Sql,
  engine: WorldImporter,
  document: Lines | DocumentRows,
): Promise<WorldRow> {
  const walk = new Walk(sql, engine);
  for (const part of partsIn(document)) await walk.take(part);
  return walk.finish();
}

/** What follows from the rows of other tables. */
const COUNTS = [
  `UPDATE questions SET score = (SELECT count(*) FROM question_votes AS v
     WHERE v.world_id = $1 AND v.question = questions.number) WHERE world_id = $1`,
  `UPDATE poll_options SET votes = (SELECT count(*) FROM poll_votes AS v
     WHERE v.world_id = $1 AND v.option = poll_options.number) WHERE world_id = $1`,
  `UPDATE worlds SET file_bytes = (SELECT coalesce(sum(size), 0) FROM files
     WHERE world_id = $1) WHERE id = $1`,
];

/** The tables whose ids the columns of others name. */
const NAMED = new Set(
  TABLES.flatMap(({ columns }) =>
    columns.map(({ kind, of }) => (kind === "text" ? of : undefined)),
  ),
);

/** The rows of a document on their way into the tables. */
class Walk {
  readonly #sql: Sql;
  readonly #engine: WorldImporter;
  #world: WorldRow | undefined;
  /** How many rows of each table have come. */
  readonly #counts = new Map<string, number>();
  /** The numbers of the new rows of a table, in their order. */
  readonly #numbers = new Map<string, readonly number[]>();
  readonly #ids = new Map<string, Set<string>>();
  /** The number of an event in the document is this much lower. */
  #shift = 0;
  /** The greatest event that is named, and the line that names it. */
  #event = { number: 0, line: 0 };

  constructor(sql: Sql, engine: WorldImporter) {
    this.#sql = sql;
    this.#engine = engine;
  }

  async take(part: LinesOfRows): Promise<void> {
    const { table, rows, line } = part;
    if (table.name === "worlds") return this.#begin(part);
    if (!this.#world) throw unfit(line, "comes before the world.");
    for (const column of table.columns) {
      const other = countedBy(column);
      if (other !== undefined && other !== "chat_events") {
        await this.#loadNumbers(other);
      }
    }
    const inserted = rows.map((row, i) => this.#rowOf(table, row, line + i));
    this.#noteIds(table, rows);
    if (table.name === "rooms") {
      return this.#engine.addRooms(this.#world.id, inserted.map(roomIn));
    }
    await this.#refuseTaken(table, rows);
    await this.#insert(table, inserted);
  }

  async finish(): Promise<WorldRow> {
    const events = this.#counts.get("chat_events") ?? 0;
    if (this.#event.number > events) {
      throw unfit(this.#event.line, `There is no event ${this.#event.number}.`);
    }
    this.#engine.skip(events);
    if (!this.#world) throw unfit(3, "must begin the table worlds.");
    for (const text of COUNTS) await this.#sql.run(text, [this.#world.id]);
    return this.#world;
  }

  async #begin({ table, rows, line }: LinesOfRows): Promise<void> {
    if (rows.length > 1 || this.#world) {
      throw unfit(line + 1, "There may be only one world.");
    }
    const values = table.columns.map(({ name }, i) => [name, rows[0]![i]!]);
    const row = Object.fromEntries(values) as unknown as WorldRow;
    this.#world = await this.#engine.addWorld(worldIn(row));
    this.#shift = this.#engine.skip(0) - 1;
  }

  /** A row as it is stored. */
  #rowOf(table: Table, row: Row, line: number): Record<string, Value> {
    const { name, columns } = table;
    const counter = counterOf(table);
    const place = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, place);
    const stored: Record<string, Value> = {};
    for (const [i, column] of columns.entries()) {
      const value = row[i]!;
      const at = `${name}.${column.name}`;
      if (column.name === counter) {
        if (value !== place) throw unfit(line, `${at}: Must be ${place}.`);
        if (name === "chat_events") stored.id = place + this.#shift;
        continue;
      }
      stored[column.name] =
        value === null || column.of === undefined || column.of === "worlds"
          ? value
          : typeof value === "number"
            ? this.#numberOf(countedBy(column)!, value, line, at)
            : this.#known(column.of, value, line, at, column.loose);
    }
    return stored;
  }

  #numberOf(other: string, value: number, line: number, at: string): number {
    if (other === "chat_events") {
      if (value > this.#event.number) this.#event = { number: value, line };
      if (value < 0) throw unfit(line, `${at}: May not be negative.`);
      return value === 0 ? 0 : value + this.#shift;
    }
    const number = this.#numbers.get(other)![value - 1];
    if (number === undefined) {
      throw unfit(line, `${at}: There is no row ${value} of ${other}.`);
    }
    return number;
  }

  /** A loose reference may be to a row that is gone. */
  #known(
    other: string,
    id: string,
    line: number,
    at: string,
    isLoose = false,
  ): string {
    if (isLoose || this.#ids.get(other)?.has(id)) return id;
    throw unfit(line, `${at}: There is no row ${id} of ${other}.`);
  }

  #noteIds({ name, columns }: Table, rows: readonly Row[]): void {
    const at = columns.findIndex((column) => column.name === "id");
    if (!NAMED.has(name) || at === -1) return;
    const ids = this.#ids.get(name) ?? new Set<string>();
    this.#ids.set(name, ids);
    for (const row of rows) {
      const id = row[at] as string;
      if (ids.size === ids.add(id).size) throw takenAs(name, id);
    }
  }

  /** Refuses the ids that another world has. */
  async #refuseTaken(table: Table, rows: readonly Row[]): Promise<void> {
    const isAlone = table.unique.some((columns) => columns.join() === "id");
    if (!isAlone) return;
    const at = table.columns.findIndex(({ name }) => name === "id");
    const ids = rows.map((row) => row[at] as string);
    const text = `SELECT id FROM ${table.name} WHERE id = ANY ($1)`;
    const seen = new Set(await this.#sql.column<string>(text, [ids]));
    for (const id of ids) {
      if (seen.has(id)) throw takenAs(table.name, id);
      seen.add(id);
    }
  }

  /** The numbers of the rows that are there. All of its rows have come. */
  async #loadNumbers(table: string): Promise<void> {
    if (this.#numbers.has(table)) return;
    const text = `SELECT number FROM ${table} WHERE world_id = $1 ORDER BY number`;
    const numbers = await this.#sql.column<number>(text, [this.#world!.id]);
    this.#numbers.set(table, numbers);
  }

  async #insert(
    { name }: Table,
    rows: readonly Record<string, Value>[],
  ): Promise<void> {
    const whole = rows.map((row): Inserted => {
      if (name === "users")
        return { ...row, ...derivedOf(row.profile as string | null) };
      if (name === "chat_events") {
        return { ...row, content: row.content ?? this.#engine.noContent };
      }
      return { ...row, ...DERIVED.get(name) };
    });
    try {
      for (const slice of slices(whole, sizeOf)) {
        await this.#sql.insert(name, slice);
      }
    } catch (error) {
      // Only two rows of the document can be in conflict, as the world is new.
      const { code = "" } = error as { code?: string };
      if (!/^(SQLITE_CONSTRAINT|23)/.test(code)) throw error;
      throw takenAs(name, undefined);
    }
  }
}

/** The columns that are computed at the end. */
const DERIVED = new Map(
  TABLES.map(({ name, columns }) => [
    name,
    Object.fromEntries(
      columns.flatMap((column) =>
        column.derived === undefined ? [] : [[column.name, column.derived]],
      ),
    ),
  ]),
);

/** About how many characters a row has. */
const sizeOf = (row: Inserted): number =>
  Object.values(row).reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? value.length : 8),
    0,
  );
