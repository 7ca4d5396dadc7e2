import type { FileStore } from "../db/contract/file-store.js";
import type { Store } from "../db/contract/store.js";
import { cloneWorld, findWorld } from "../db/world-management.js";
import { command, withStore, withStoreOrEmpty } from "./command.js";
import { counted, type JsonOption, plain, print, warn, writeAll } from "./output.js";
import { withDocument } from "./world-documents.js";
import { type NewWorld, newWorldCommand, worldLines } from "./worlds.js";

/** `foyer world export …` */
const exportCommand = command(
  "export <id>",
  "print a world with its keys and all its data except chat and files as one JSON document, one row per line",
  "world export summit > summit.json",
)
  .option("--with-history", "include its chat, with direct messages")
  .option(
    "--with-files <archive>",
    "write a new tar with the document and all uploaded files instead",
  )
  .action(async (id: string, options: ExportOptions) => {
    const { withHistory = false, withFiles, json } = options;
    await withStore(async (store, files) => {
      await findWorld(store, id);
      await store.audit.record(id, { type: "world.exported", subject: {} });
      if (withFiles !== undefined) {
        const { exportArchive } = await import("../db/maintenance/world-archive.js");
        const data = { store, files };
        const made = await exportArchive(data, id, withFiles, withHistory);
        print(json, { file: withFiles, ...made }, [
          `${withFiles} holds the world ${id} and ${counted("files", made.files)}.`,
        ]);
        for (const key of made.damaged) {
          warn(`warning: ${key} was already missing.`);
        }
        return;
      }
      const lines = store.worlds.export(id, { history: withHistory });
      await writeAll(textsOf(lines));
    });
  });

interface ExportOptions extends JsonOption {
  withHistory?: boolean;
  withFiles?: string;
}

/** Minimum number of characters per write. */
const CHUNK = 64 * 1024;

async function* textsOf(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let text = "";
  for await (const line of lines) {
    text += `${plain(line)}\n`;
    if (text.length < CHUNK) continue;
    yield text;
    text = "";
  }
  yield text;
}

/** `foyer world import …` */
const importCommand = command(
  "import <file>",
  'create the world in an exported document or tar, with its ids; "-" reads stdin',
  "world import summit.json --dry-run",
)
  .option("--dry-run", "report the changes without making them")
  .action((file: string, options: JsonOption & { dryRun?: boolean }) =>
    withDocument(file, async (document) => {
      const { dryRun = false } = options;
      const run = async (store: Store, files: FileStore) => {
        if (!("archive" in document)) {
          return store.worlds.import(document, { dryRun });
        }
        const { importArchive } = await import("../db/maintenance/world-archive.js");
        return importArchive({ store, files }, document.archive, dryRun);
      };
      const { world, rows } = await (dryRun
        ? withStoreOrEmpty(run)
        : withStore(run, { create: true }));
      const { id, domain } = world.value;
      const counts = countsOf(rows);
      const contents = inWords(counts);
      print(options.json, { id, domain, ...counts, dry_run: dryRun }, [
        dryRun
          ? `This would create the world ${id} at ${domain} with ${contents}. Nothing was written.`
          : `Created the world ${id} at ${domain} with ${contents}.`,
      ]);
    }),
  );

/** The tables in an import report, each with its name in the report. */
const REPORTED = {
  rooms: "rooms",
  users: "users",
  announcements: "announcements",
  questions: "questions",
  polls: "polls",
  program_sessions: "sessions",
  program_speakers: "speakers",
  files: "files",
  chat_events: "chat_events",
};

/**
 * Returns the counts to report. The first three tables are always included; every other table is
 * included only if it has rows.
 */
const countsOf = (rows: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(REPORTED).flatMap(([table, name], i) =>
      i < 3 || rows[table] ? [[name, rows[table] ?? 0]] : [],
    ),
  );

/**
 * Describes a document's contents. The rooms are always mentioned; all other contents are mentioned
 * only if their count is not zero.
 */
const inWords = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .filter(([what, count]) => what === "rooms" || count > 0)
    .map(([what, count]) => counted(what, count))
    .join(", ");

/** `foyer world clone …` */
const cloneCommand = newWorldCommand(
  "new-id",
  command(
    "clone",
    "copy a world, except its files, chat and votes",
    'world clone summit summit-2028 --title "Summit 2028" --domain 2028.example.org',
  ).argument("<id>", "the world to clone"),
).action(async (id: string, newId: string, { json, title, domain }: NewWorld) => {
  const world = await withStore((store) => cloneWorld(store, id, { id: newId, title, domain }));
  print(json, world, worldLines(world));
});

/** The commands of `foyer world` that process whole worlds. */
export const copyCommands = [exportCommand, importCommand, cloneCommand];
