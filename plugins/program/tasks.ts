import type { Faults } from "../../schemas/errors.js";
import type { ProgramDocument } from "../../schemas/documents/program-document.js";
import { calendarOf } from "./exports/calendar.js";
import type { ExportedProgram } from "./exports/program.js";
import { scheduleOf } from "./exports/schedule-json.js";
import { readProgram, type ReadOptions } from "./formats/read.js";

/** What the thread can do. */
export type Task =
  | { read: Uint8Array; options: ReadOptions }
  | { write: "ics" | "schedule.json"; program: ExportedProgram; at: number };

/** What came of a task: a value, or what is wrong with a document. */
export type Done = { value: ProgramDocument | string } | { faults: Faults };

/** @throws {InvalidData} for a document that cannot be read. */
export function run(task: Task): ProgramDocument | string {
  if ("read" in task) return readProgram(task.read, task.options);
  return task.write === "ics"
    ? calendarOf(task.program, task.at)
    : JSON.stringify(scheduleOf(task.program));
}
