import type { Backup } from "../db/maintenance/backup.js";
import type { ReportProgress } from "../db/maintenance/manifest.js";
import { Failure } from "../schemas/plain/failure.js";
import { command, settings } from "./command.js";
import { context, counted, type JsonOption, print, warn } from "./output.js";

/** Interval between progress updates on a terminal, in milliseconds. */
const PROGRESS_INTERVAL_MS = 100;

/**
 * Runs a long task. Shows progress on a terminal, but prints nothing to a pipe. Stops the task
 * cleanly when the operator interrupts it.
 */
async function withProgress<T>(run: (report: ReportProgress) => Promise<T>): Promise<T> {
  const { stderr } = context();
  let stopped = false;
  let shown = 0;
  const stop = () => (stopped = true);
  // A second signal kills the process.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stop);
  try {
    return await run((step, done, of) => {
      if (stopped) throw new Failure("Stopped. Nothing was changed.");
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

/** Returns the configured location of the data, which may not exist yet. */
function place() {
  const { dataDir, engines } = settings();
  return { dataDir, ...engines };
}

/** The counts to print, in order. Counts in COUNTED_IF_ANY are printed only if they are greater than zero. */
const COUNTED = ["worlds", "rooms", "files"] as const;
const COUNTED_IF_ANY = ["chat_events", "questions", "polls"] as const;

type Contents = Pick<Backup, (typeof COUNTED)[number] | (typeof COUNTED_IF_ANY)[number]>;

/** Formats counts, such as "1 world, 3 rooms, 2 files, 7 questions". */
const contentsOf = (contents: Contents) =>
  [...COUNTED, ...COUNTED_IF_ANY.filter((what) => contents[what] > 0)]
    .map((what) => counted(what, contents[what]))
    .join(", ");

/** `foyer backup …` */
const backupCommand = command(
  "backup <file>",
  "copy all data and files to one new file, even while a server runs",
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
  "restore a backup into an empty folder, database and bucket",
  "restore foyer-2027-01-31.tar",
).action(async (file: string, { json }: JsonOption) => {
  const { restore } = await import("../db/maintenance/restore.js");
  const to = place();
  const { name, ...held } = await withProgress((report) => restore(file, to, report));
  print(json, { data_dir: to.dataDir, ...held }, [`Restored ${contentsOf(held)} into ${name}.`]);
  if (held.untimed > 0) {
    warn(
      `warning: the file system did not keep the timestamps of ${held.untimed} files; browsers will reload them.`,
    );
  }
});

/** `foyer check` */
const checkCommand = command(
  "check",
  "verify all data and files, contact the servers for calls and mail, and report findings",
  "check --json",
).action(async ({ json }: JsonOption) => {
  const { check } = await import("../db/maintenance/check.js");
  const found = await withProgress((report) => check(place(), report));
  const { calls, mail } = settings();
  if (mail) {
    const { checkMail } = await import("../plugins/mail/smtp.js");
    const problem = await checkMail(mail);
    if (problem !== undefined) found.findings.push({ subject: "The mail server", problem });
  }
  if (Object.keys(calls).length > 0) {
    const { checkCallEngines } = await import("../plugins/calls/open-engines.js");
    found.findings.push(...(await checkCallEngines(calls)));
  }
  const { findings } = found;
  const lines = findings.map(({ subject, problem }) => `${subject} ${problem}`);
  if (lines.length === 0) lines.push(`No findings: ${contentsOf(found)}.`);
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
  .option("--dry-run", "only report whether the tables would change")
  .action(async ({ dryRun, json }: JsonOption & { dryRun?: boolean }) => {
    const { upgrade, versionsOf } = await import("../db/maintenance/maintain.js");
    const of = place();
    const { present, latest } = await versionsOf(of);
    const changes = present < latest;
    if (!dryRun) await upgrade(of, warn);
    const line = changes
      ? `The tables ${dryRun ? "would change" : "have changed"} from version ${present} to ${latest}.`
      : `The tables already have version ${present}; nothing ${dryRun ? "would change" : "has changed"}.`;
    print(json, { version: present, latest, changes }, [line]);
  });

/** `foyer maintain` */
const maintainCommand = command(
  "maintain",
  "remove the bytes of erased data from the database immediately, even while a server runs",
  "maintain",
).action(async ({ json }: JsonOption) => {
  const { maintain } = await import("../db/maintenance/maintain.js");
  const made = await maintain(place());
  const lines =
    made.erased_at === null
      ? ["The files of the database contain no erased data."]
      : [
          ...made.done.map((line) => `${line.replace(/^./, (first) => first.toUpperCase())}.`),
          `The files of the database no longer contain erased data; the oldest was erased at ${made.erased_at}.`,
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
