import { type Command, Option } from "commander";
import type { Store } from "../db/contract/store.js";
import { findWorld } from "../db/worlds.js";
import { command, withStore } from "./command.js";
import { type Cell, csvRow } from "./csv.js";
import { printList, writeAll } from "./lists.js";
import type { JsonOption } from "./output.js";
import { type NamedRoom, roomsIn } from "./rooms.js";

/** What every command of {@link recordsCommand} takes. */
export interface RecordsOptions extends JsonOption {
  room?: string;
  format: "json" | "csv";
}

/** Records of rooms, such as questions, and how they are written. */
interface Records<T, Column extends string> {
  /** The records of a room, in their order. */
  inRoom: (store: Store, world: string, room: NamedRoom) => AsyncIterable<T>;
  /** Those that follow the records of all rooms; none by default. */
  elsewhere?: ((store: Store, world: string) => AsyncIterable<T>) | undefined;
  /** The names of the columns of CSV. */
  columns: readonly Column[];
  /** The rows of a record in CSV, with a cell for each column. */
  rowsOf: (record: T) => readonly Readonly<Record<Column, Cell>>[];
}

/** Makes a command that prints records of the rooms of a world, as JSON or CSV. */
export const recordsCommand = (...args: Parameters<typeof command>): Command =>
  command(...args)
    .option("--room <room>", "only this room: its id, or its exact name")
    .addOption(
      new Option("--format <format>", "how it is written")
        .choices(["json", "csv"])
        .default("json"),
    )
    .hook("preAction", (self) => {
      const { json, format } = self.opts<RecordsOptions>();
      if (json && format === "csv") self.error("--json is no CSV");
    });

/**
 * Prints records of a world one by one, so memory does not grow with their number.
 * @throws {Failure} if there is no such world or room, or several rooms have the name.
 */
export const printRecords = <T, Column extends string>(
  world: string,
  { room, format }: RecordsOptions,
  { inRoom, elsewhere, columns, rowsOf }: Records<T, Column>,
): Promise<void> =>
  withStore(async (store) => {
    await findWorld(store, world);
    const rooms = await roomsIn(store, world, room);
    const records = async function* () {
      for await (const room of rooms) yield* inRoom(store, world, room);
      if (elsewhere) yield* elsewhere(store, world);
    };
    if (format === "json") return printList(true, records(), () => [], "");
    const lines = async function* () {
      yield csvRow(columns);
      for await (const record of records()) {
        for (const row of rowsOf(record)) {
          yield csvRow(columns.map((column) => row[column]));
        }
      }
    };
    return writeAll(lines());
  });
