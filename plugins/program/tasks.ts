import type { ImportChanges, ImportReferences } from "../../db/contract/program-store.js";
import { type ImportBasis, planChanges, referencesIn } from "../../db/rules/import-changes.js";
import type { ImportOptions, ImportResult } from "../../schemas/documents/program-document.js";
import type { Faults } from "../../schemas/errors.js";
import { InvalidData } from "../../schemas/validate.js";
import { calendarOf } from "./exports/calendar.js";
import type { ExportedProgram } from "./exports/exported-program.js";
import { scheduleOf } from "./exports/schedule-json-export.js";
import { type ReadOptions, readProgram } from "./formats/read.js";

/** A document to be imported. */
export interface ImportTask {
  readonly bytes: Uint8Array;
  readonly reading: ReadOptions;
  readonly options: ImportOptions;
}

/** What the thread can do. */
export type Task =
  { import: ImportTask } | { write: "ics" | "schedule.json"; program: ExportedProgram; at: number };

/** What came of a task: a value, or what is wrong with a document. */
export type Done = { value: ImportResult | string } | { faults: Faults };

/** What an import needs of the store. */
export interface ImportPorts {
  /** What to plan from, as it is now. */
  basis: (named: ImportReferences) => Promise<ImportBasis>;
  /**
   * Writes what an import changes.
   * @param changes undefined if there are none.
   * @returns false if the world is not as the import was planned.
   */
  apply: (changes: ImportChanges | undefined) => Promise<boolean>;
}

/** A question of the thread: a port and its argument. */
export type Question = {
  [Name in keyof ImportPorts]: {
    name: Name;
    argument: Parameters<ImportPorts[Name]>[0];
  };
}[keyof ImportPorts];

/** @throws {InvalidData} for a document that cannot be read. */
export async function run(task: Task, ports: ImportPorts): Promise<ImportResult | string> {
  if ("import" in task) return importProgram(task.import, ports);
  return task.write === "ics"
    ? calendarOf(task.program, task.at)
    : JSON.stringify(scheduleOf(task.program));
}

async function importProgram(
  { bytes, reading, options }: ImportTask,
  { basis, apply }: ImportPorts,
): Promise<ImportResult> {
  const document = readProgram(bytes, reading);
  const named = referencesIn(document);
  for (;;) {
    const planned = planChanges(document, await basis(named), options);
    if ("faults" in planned) throw new InvalidData(planned.faults);
    const { changes, result } = planned;
    if (options.dryRun || (await apply(changes))) return result;
  }
}
