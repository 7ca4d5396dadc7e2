import { type Command, Option } from "commander";
import { command } from "./command.js";
import { type Cell, csvRow } from "./csv.js";
import { printList, writeAll } from "./lists.js";
import type { JsonOption } from "./output.js";

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
 * Prints records one by one, so memory does not grow with their number.
 * @param columns the names of the columns of CSV.
 * @param rowsOf the rows of a record in CSV, with a cell for each column.
 */
export async function printRecords<T, Column extends string>(
  format: "json" | "csv",
  records: AsyncIterable<T>,
  columns: readonly Column[],
  rowsOf: (record: T) => readonly Readonly<Record<Column, Cell>>[],
): Promise<void> {
  if (format === "json") return printList(true, records, () => [], "");
  const rows = async function* () {
    yield csvRow(columns);
    for await (const record of records) {
      for (const row of rowsOf(record)) {
        yield csvRow(columns.map((column) => row[column]));
      }
    }
  };
  return writeAll(rows());
}
