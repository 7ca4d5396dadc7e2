import { type Command, Option } from "commander";
import type { Store } from "../db/contract/store.js";
import { findWorld } from "../db/worlds.js";
import { command, withStore } from "./command.js";
import type { Results } from "../db/results/results.js";
import { csvRow } from "../schemas/plain/csv.js";
import { printList, writeAll } from "./lists.js";
import type { JsonOption } from "./output.js";
import { roomsIn } from "./rooms.js";

/** What every command of {@link recordsCommand} takes. */
export interface RecordsOptions extends JsonOption {
  room?: string;
  format: "json" | "csv";
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
 * Prints results of a world one by one, so memory does not grow with their number.
 * @param elsewhere gives the records that follow the records of all rooms; none by default.
 * @throws {Failure} if there is no such world or room, or several rooms have the name.
 */
export const printRecords = <T extends object>(
  world: string,
  { room, format }: RecordsOptions,
  { records: inRoom, columns, rowsOf }: Results<T>,
  elsewhere?: (store: Store, world: string) => AsyncIterable<T>,
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
          yield csvRow(columns.map((column) => row[column] ?? null));
        }
      }
    };
    return writeAll(lines());
  });
