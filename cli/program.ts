import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { Command, Option } from "commander";
import { hostOf } from "../db/rules/file-rows.js";
import { findWorld } from "../db/world-management.js";
import type { ImportResult } from "../schemas/documents/program-document.js";
import { Failure } from "../schemas/plain/failure.js";
import { MAX_DOCUMENT } from "../schemas/plain/program.js";
import { addressIn, command, settings, withStore } from "./command.js";
import { context, counted, type JsonOption, print } from "./output.js";

/** Operators can see and change everything. */
const EVERYTHING = { edits: true, sees: () => true };

interface ImportOptions extends JsonOption {
  dryRun?: boolean;
  createRooms?: boolean;
  removeMissing?: boolean;
}

const importProgram = command(
  "import <world> <file>",
  'update the program from a pretalx, frab, iCalendar or CSV document; "-" reads stdin',
  "program import summit schedule.json --create-rooms",
)
  .option("--dry-run", "report the changes without making them")
  .option("--create-rooms", "create the rooms that the world lacks")
  .option("--remove-missing", "delete imported sessions that the document no longer has")
  .action(async (id: string, file: string, options: ImportOptions) => {
    const { json, ...how } = options;
    const { dryRun = false } = how;
    const result = await withStore(async (store) => {
      const world = await findWorld(store, id);
      const bytes = await read(file);
      const { Formats } = await import("../plugins/program/formats.js");
      const { Programs } = await import("../plugins/program/programs.js");
      const { InvalidData } = await import("../schemas/validate.js");
      const programs = new Programs(store, new Formats());
      const { publicUrl } = settings();
      const hosts = [...hostOf(world.domain), ...hostOf(publicUrl)];
      const isCsv = /\.csv$/i.test(file);
      try {
        return await programs.import(world, { bytes, isCsv, hosts }, how, { rights: EVERYTHING });
      } catch (error) {
        if (!(error instanceof InvalidData)) throw error;
        const faults = Object.entries(error.faults).map(([field, messages]) =>
          field === "non_field_errors" ? messages.join(" ") : `${field}: ${messages.join(" ")}`,
        );
        throw new Failure(`${nameOf(file)} was not imported. ${faults.join(" ")}`);
      }
    });
    print(json, result, linesOf(result, dryRun));
  });

const nameOf = (file: string) => (file === "-" ? "stdin" : file);

function linesOf(result: ImportResult, dryRun: boolean): string[] {
  const { created, updated, unchanged, deleted, rooms_created } = result;
  return [
    ...result.problems.map(({ line, session, message }) =>
      [line && `Line ${line}`, session, message].filter(Boolean).join(": "),
    ),
    `${dryRun ? "It would be" : "Sessions"}: ${created} created, ${updated} changed, ${unchanged} unchanged, ${deleted} deleted; ${counted("rooms", rooms_created)} created.`,
  ];
}

async function read(file: string): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await (file === "-" ? buffer(context().stdin) : readFile(file));
  } catch (error) {
    const { message } = error as Error;
    throw new Failure(`${file} cannot be read: ${message}`, { cause: error });
  }
  if (bytes.length <= MAX_DOCUMENT) return bytes;
  throw new Failure(`${nameOf(file)} is larger than 10 MiB.`);
}

const FORMATS = ["json", "schedule.json", "ics"] as const;

interface ExportOptions extends JsonOption {
  format: (typeof FORMATS)[number];
}

const exportProgram = command(
  "export <world>",
  "print the program as one document",
  "program export summit --format ics > summit.ics",
)
  .addOption(
    new Option("--format <format>", "the format of the output").choices(FORMATS).default("json"),
  )
  .action(async (id: string, { format, json }: ExportOptions) => {
    const text = await withStore(async (store) => {
      const world = await findWorld(store, id);
      const { Formats } = await import("../plugins/program/formats.js");
      const { Programs } = await import("../plugins/program/programs.js");
      const page = `${addressIn(settings())}/w/${world.id}`;
      const programs = new Programs(store, new Formats());
      const found = await programs.export(world, EVERYTHING, format, page);
      return (await found.bytes()).toString();
    });
    // With `--json`, a calendar is printed as a JSON string.
    const whole = format === "ics" && json ? JSON.stringify(text) : text;
    context().stdout.write(`${whole.trimEnd()}${format === "ics" && !json ? "\r\n" : "\n"}`);
  });

/** `foyer program …` */
export const programCommand = new Command("program")
  .description("import and export the program of a world")
  .addCommand(importProgram)
  .addCommand(exportProgram);
