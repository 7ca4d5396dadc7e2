import { loadConfig } from "../config.js";
import type { Counts } from "../db/sqlite/inspection.js";
import { Failure } from "../failure.js";
import { command } from "./command.js";
import { context } from "./context.js";
import { print, warn } from "./output.js";
import { withProgress } from "./progress.js";

interface Json {
  json?: boolean;
}

const dataDir = () => loadConfig(context().env).dataDir;

const described = ({ worlds, rooms, files }: Counts) =>
  [
    [worlds, "world"],
    [rooms, "room"],
    [files, "file"],
  ]
    .map(([count, noun]) => `${count} ${noun}${count === 1 ? "" : "s"}`)
    .join(", ");

/** `foyer backup …` */
const backupCommand = command(
  "backup <file>",
  "copy all data and files into one new file, also while a server runs",
  "backup foyer-2027-01-31.tar",
).action(async (file: string, { json }: Json) => {
  const { backup } = await import("../db/backup.js");
  const made = await withProgress((report) => backup(dataDir(), file, report));
  print(json, { file, ...made }, [`${file} holds ${described(made)}.`]);
  for (const key of made.damaged) {
    warn(`warning: ${key} was missing or damaged before.`);
  }
});

/** `foyer restore …` */
const restoreCommand = command(
  "restore <file>",
  "put a backup in place in an empty or missing DATA_DIR",
  "restore foyer-2027-01-31.tar",
).action(async (file: string, { json }: Json) => {
  const { restore } = await import("../db/restore.js");
  const to = dataDir();
  const held = await withProgress((report) => restore(file, to, report));
  print(json, { data_dir: to, ...held }, [
    `${to} has ${described(held)} again.`,
  ]);
  if (held.untimed > 0) {
    warn(
      `warning: the file system keeps no times for ${held.untimed} of the files; browsers will load them again.`,
    );
  }
});

/** `foyer check` */
const checkCommand = command(
  "check",
  "read everything back, and say what is not as it should be",
  "check --json",
).action(async ({ json }: Json) => {
  const { check } = await import("../db/check.js");
  const found = await withProgress((report) => check(dataDir(), report));
  const { findings } = found;
  const lines = findings.map(({ subject, problem }) => `${subject} ${problem}`);
  if (lines.length === 0) lines.push(`All is well: ${described(found)}.`);
  print(json, found, lines);
  if (findings.length === 0) return;
  throw new Failure(
    `There ${findings.length === 1 ? "is 1 finding" : `are ${findings.length} findings`}.`,
  );
});

/** `foyer backup`, `restore` and `check` */
export const archiveCommands = [backupCommand, restoreCommand, checkCommand];
