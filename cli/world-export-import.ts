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
  "print a world with its keys and all that it holds but chat and files as one JSON document, a row on each line",
  "world export summit > summit.json",
)
  .option("--with-history", "also its chat, direct messages included")
  .option(
    "--with-files <archive>",
    "write a new file: a tar with the document and all uploaded files",
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

/** How many characters are written at once, at least. */
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
  'create the world in such a document, with its ids; "-" reads stdin',
  "world import summit.json --dry-run",
)
  .option("--dry-run", "report what it would do, and write nothing")
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
          ? `It would create the world ${id} at ${domain} with ${contents}. Nothing was written.`
          : `The world ${id} is at ${domain}, with ${contents}.`,
      ]);
    }),
  );

/** The names of tables in the report of an import. */
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

/** The first three are always there. */
const countsOf = (rows: Readonly<Record<string, number>>) =>
  Object.fromEntries(
    Object.entries(REPORTED).flatMap(([table, name], i) =>
      i < 3 || rows[table] ? [[name, rows[table] ?? 0]] : [],
    ),
  );

/** What a document holds: always its rooms, and of the rest what there is. */
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
    "create a world with all that another holds but its files, its chat and its votes",
    'world clone summit summit-2028 --title "Summit 2028" --domain 2028.example.org',
  ).argument("<id>", "the world to clone"),
).action(async (id: string, newId: string, { json, title, domain }: NewWorld) => {
  const world = await withStore((store) => cloneWorld(store, id, { id: newId, title, domain }));
  print(json, world, worldLines(world));
});

/** The commands of `foyer world` for worlds as a whole. */
export const copyCommands = [exportCommand, importCommand, cloneCommand];
