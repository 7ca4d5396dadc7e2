import type { ImportChanges, ImportReferences } from "../../db/contract/program-store.js";
import { type ImportBasis, planChanges, referencesIn } from "../../db/rules/import-changes.js";
import type { ImportOptions, ImportResult } from "../../schemas/documents/program-document.js";
import type { Faults } from "../../schemas/errors.js";
import { isWorkbook } from "../../schemas/plain/sheets/sheets.js";
import { InvalidData } from "../../schemas/validate.js";
import { calendarOf } from "./exports/calendar.js";
import type { ExportedProgram } from "./exports/exported-program.js";
import { scheduleOf } from "./exports/schedule-json-export.js";
import { type ReadOptions, readProgram, readWorkbook } from "./formats/read.js";

/** A document to import. */
export interface ImportTask {
  readonly bytes: Uint8Array;
  readonly reading: ReadOptions;
  readonly options: ImportOptions;
}

/** A task for the worker thread. */
export type Task =
  { import: ImportTask } | { write: "ics" | "schedule.json"; program: ExportedProgram; at: number };

/** The outcome of a task: a value, or the faults of a document. */
export type TaskResult = { value: ImportResult | string } | { faults: Faults };

/** The store operations that an import needs. */
export interface ImportPorts {
  /** Reads the current state, from which the import is planned. */
  basis: (named: ImportReferences) => Promise<ImportBasis>;
  /**
   * Writes an import's changes.
   * @param changes undefined if nothing changes.
   * @returns false if the world has changed since the import was planned.
   */
  apply: (changes: ImportChanges | undefined) => Promise<boolean>;
}

/** A request from the thread: a port and its argument. */
export type PortCall = {
  [Name in keyof ImportPorts]: {
    name: Name;
    argument: Parameters<ImportPorts[Name]>[0];
  };
}[keyof ImportPorts];

/**
 * Runs a task to completion.
 * @throws {InvalidData} for a document that cannot be read.
 */
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
  const document = isWorkbook(bytes)
    ? await readWorkbook(bytes, reading.zone)
    : readProgram(bytes, reading);
  const named = referencesIn(document);
  for (;;) {
    const planned = planChanges(document, await basis(named), options);
    if ("faults" in planned) throw new InvalidData(planned.faults);
    const { changes, result } = planned;
    if (options.dryRun || (await apply(changes))) return result;
  }
}
