import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { WorldCopy } from "../schemas/documents/world-document.js";
import { Failure } from "../schemas/plain/failure.js";
import { command, withStore, withStoreOrEmpty } from "./command.js";
import { cloneWorld, exportWorld } from "../db/worlds.js";
import { context } from "./context.js";
import { writeAll } from "./lists.js";
import { counted, type JsonOption, plain, print, textOf } from "./output.js";
import { newWorldCommand, type NewWorld, worldLines } from "./worlds.js";

/** `foyer world export …` */
const exportCommand = command(
  "export <id>",
  "print a world with its keys and all that it holds but chat and files as one JSON document",
  "world export summit > summit.json",
)
  .option(
    "--with-history",
    "also its chat, direct messages included, but no uploaded files",
  )
  .action(async (id: string, { withHistory = false }: ExportOptions) => {
    const { toWorldDocument } =
      await import("../schemas/documents/world-document.js");
    const copy = await withStore(async (store) => {
      const found = await exportWorld(store, id, { history: withHistory });
      await store.audit.record(id, { type: "world.exported", subject: {} });
      return found;
    });
    await writeAll(textsOf(toWorldDocument(copy)));
  });

interface ExportOptions {
  withHistory?: boolean;
}

/** Lists that may be long. */
const LONG = new Set(["questions", "polls", "events"]);

/**
 * The text of a document, piece by piece. Each entry of a long list is a line.
 * @param indent what every line begins with.
 */
async function* textsOf(document: object, indent = ""): AsyncGenerator<string> {
  const inner = `${indent}  `;
  let separator = "{";
  for (const [name, value] of Object.entries(document) as [string, object][]) {
    yield `${separator}\n${inner}"${name}": `;
    if (LONG.has(name)) yield* linesOf(value as object[], inner);
    else if (name === "chat") yield* textsOf(value, inner);
    else {
      const lines = JSON.stringify(value, null, 2).split("\n");
      yield textOf(lines).trimEnd().replaceAll("\n", `\n${inner}`);
    }
    separator = ",";
  }
  yield `\n${indent}}${indent === "" ? "\n" : ""}`;
}

function* linesOf(list: readonly object[], indent: string) {
  let separator = "[";
  for (const entry of list) {
    yield `${separator}\n${indent}  ${plain(JSON.stringify(entry))}`;
    separator = ",";
  }
  yield list.length > 0 ? `\n${indent}]` : "[]";
}

/** `foyer world import …` */
const importCommand = command(
  "import <file>",
  'create the world in such a document, with its ids; "-" reads stdin',
  "world import summit.json --dry-run",
)
  .option("--dry-run", "report what it would do, and write nothing")
  .action(async (file: string, options: JsonOption & { dryRun?: boolean }) => {
    const copy = await readCopy(file);
    const { id, domain } = copy.world;
    const { dryRun = false } = options;
    await (dryRun
      ? withStoreOrEmpty((store) => store.worlds.import(copy, { dryRun }))
      : withStore((store) => store.worlds.import(copy), { create: true }));
    const counts = {
      rooms: copy.rooms.length,
      users: copy.users?.length ?? 0,
      announcements: copy.announcements?.length ?? 0,
      ...(copy.questions && { questions: copy.questions.length }),
      ...(copy.polls && { polls: copy.polls.length }),
      ...(copy.chat && { chat_events: copy.chat.events.length }),
    };
    const contents = inWords(counts);
    print(options.json, { id, domain, ...counts, dry_run: dryRun }, [
      dryRun
        ? `It would create the world ${id} at ${domain} with ${contents}. Nothing was written.`
        : `The world ${id} is at ${domain}, with ${contents}.`,
    ]);
  });

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
).action(
  async (id: string, newId: string, { json, title, domain }: NewWorld) => {
    const world = await withStore((store) =>
      cloneWorld(store, id, { id: newId, title, domain }),
    );
    print(json, world, worldLines(world));
  },
);

async function readCopy(file: string): Promise<WorldCopy> {
  const name = file === "-" ? "stdin" : file;
  const bytes = await (file === "-"
    ? buffer(context().stdin)
    : readInput(file));
  let text: string;
  let document: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    document = JSON.parse(text);
  } catch {
    throw new Failure(`${name} is not JSON.`);
  }
  const { findLosses } = await import("../schemas/fidelity.js");
  const { readWorldDocument } =
    await import("../schemas/documents/world-document.js");
  const { InvalidData } = await import("../schemas/validate.js");
  try {
    const losses = findLosses(text);
    if (losses) throw losses;
    return readWorldDocument(document);
  } catch (error) {
    if (!(error instanceof InvalidData)) throw error;
    const faults = Object.entries(error.faults).map(
      ([field, messages]) => `${field}: ${messages.join(" ")}`,
    );
    throw new Failure(`${name} is not a world document. ${faults.join(" ")}`);
  }
}

async function readInput(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const { message } = error as Error;
    throw new Failure(`${file} cannot be read: ${message}`, { cause: error });
  }
}

/** The commands of `foyer world` for worlds as a whole. */
export const copyCommands = [exportCommand, importCommand, cloneCommand];
