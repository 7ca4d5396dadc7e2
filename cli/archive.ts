import type { Backup } from "../db/maintenance/backup.js";
import type { Report } from "../db/maintenance/manifest.js";
import { Failure } from "../schemas/plain/failure.js";
import { command, settings } from "./command.js";
import { context, counted, type JsonOption, print, warn } from "./output.js";

/** How often a terminal shows progress, in milliseconds. */
const PROGRESS_INTERVAL_MS = 100;

/**
 * Runs long work: shows on a terminal how far it is, and ends it in good order
 * when the operator stops it. On a pipe it says nothing.
 */
async function withProgress<T>(run: (report: Report) => Promise<T>): Promise<T> {
  const { stderr } = context();
  let stopped = false;
  let shown = 0;
  const stop = () => (stopped = true);
  // A second signal ends the process where it is.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
  try {
    return await run((step, done, of) => {
      if (stopped) throw new Failure("Stopped. Nothing was done.");
      if (!stderr.isTTY || Date.now() - shown < PROGRESS_INTERVAL_MS) return;
      shown = Date.now();
      const percent = of > 0 ? Math.min(100, Math.floor((100 * done) / of)) : 100;
      stderr.write(`\r\x1b[K${step}: ${percent}%`);
    });
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"]) process.off(signal, stop);
    if (shown > 0) stderr.write("\r\x1b[K");
  }
}

/** Where the data is, or shall be. */
function place() {
  const { dataDir, engines } = settings();
  return { dataDir, ...engines };
}

/** What is counted, in the order of the words; of the last ones only what there is. */
const COUNTED = ["worlds", "rooms", "files"] as const;
const COUNTED_IF_ANY = ["chat_events", "questions", "polls"] as const;

type Contents = Pick<Backup, (typeof COUNTED)[number] | (typeof COUNTED_IF_ANY)[number]>;

/** Such as "1 world, 3 rooms, 2 files, 7 questions". */
const contentsOf = (contents: Contents) =>
  [...COUNTED, ...COUNTED_IF_ANY.filter((what) => contents[what] > 0)]
    .map((what) => counted(what, contents[what]))
    .join(", ");

/** `foyer backup …` */
const backupCommand = command(
  "backup <file>",
  "copy all data and files into one new file, also while a server runs",
  "backup foyer-2027-01-31.tar",
).action(async (file: string, { json }: JsonOption) => {
  const { backup } = await import("../db/maintenance/backup.js");
  const made = await withProgress((report) => backup(place(), file, report));
  print(json, { file, ...made }, [`${file} holds ${contentsOf(made)}.`]);
  for (const key of made.damaged) {
    warn(`warning: ${key} was already missing or damaged.`);
  }
});

/** `foyer restore …` */
const restoreCommand = command(
  "restore <file>",
  "restore a backup into an empty place",
  "restore foyer-2027-01-31.tar",
).action(async (file: string, { json }: JsonOption) => {
  const { restore } = await import("../db/maintenance/restore.js");
  const to = place();
  const { name, ...held } = await withProgress((report) => restore(file, to, report));
  print(json, { data_dir: to.dataDir, ...held }, [`Restored ${contentsOf(held)} into ${name}.`]);
  if (held.untimed > 0) {
    warn(
      `warning: the file system did not keep the times of ${held.untimed} files; browsers will load them again.`,
    );
  }
});

/** `foyer check` */
const checkCommand = command(
  "check",
  "read everything back, and report what is wrong",
  "check --json",
).action(async ({ json }: JsonOption) => {
  const { check } = await import("../db/maintenance/check.js");
  const found = await withProgress((report) => check(place(), report));
  const { findings } = found;
  const lines = findings.map(({ subject, problem }) => `${subject} ${problem}`);
  if (lines.length === 0) lines.push(`All is well: ${contentsOf(found)}.`);
  print(json, found, lines);
  if (findings.length === 0) return;
  throw new Failure(
    `There ${findings.length === 1 ? "is 1 finding" : `are ${findings.length} findings`}.`,
  );
});

/** `foyer upgrade` */
const upgradeCommand = command(
  "upgrade",
  "upgrade the database to this version, while no server runs",
  "upgrade --dry-run",
)
  .option("--dry-run", "only say whether the tables would change")
  .action(async ({ dryRun, json }: JsonOption & { dryRun?: boolean }) => {
    const { upgrade, versionsOf } = await import("../db/maintenance/maintain.js");
    const of = place();
    const { present, latest } = await versionsOf(of);
    const changes = present < latest;
    if (!dryRun) await upgrade(of, warn);
    const line = changes
      ? `The tables ${dryRun ? "would change" : "have changed"} from version ${present} to ${latest}.`
      : `The tables have version ${present} already; nothing ${dryRun ? "would change" : "has changed"}.`;
    print(json, { version: present, latest, changes }, [line]);
  });

/** `foyer maintain` */
const maintainCommand = command(
  "maintain",
  "remove the bytes of what was erased from the database now, also while a server runs",
  "maintain",
).action(async ({ json }: JsonOption) => {
  const { maintain } = await import("../db/maintenance/maintain.js");
  const made = await maintain(place());
  const lines =
    made.erased_at === null
      ? ["Nothing that was erased is left in the files of the database."]
      : [
          ...made.done.map((line) => `${line.replace(/^./, (first) => first.toUpperCase())}.`),
          `Nothing that was erased is left in the files of the database; the first was erased at ${made.erased_at}.`,
        ];
  print(json, made, lines);
});

/** `foyer backup`, `restore`, `check`, `maintain` and `upgrade` */
export const archiveCommands = [
  backupCommand,
  restoreCommand,
  checkCommand,
  maintainCommand,
  upgradeCommand,
];
