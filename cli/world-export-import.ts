import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { ChatCopy } from "../schemas/chat-history.js";
import type { WorldCopy } from "../schemas/world-document.js";
import { Failure } from "../failure.js";
import { command, withStore, withStoreOrEmpty } from "./command.js";
import { cloneWorld, exportWorld } from "../worlds.js";
import { context } from "./context.js";
import { writeAll } from "./lists.js";
import { type JsonOption, plain, print, textOf } from "./output.js";
import { newWorldCommand, type NewWorld, worldLines } from "./worlds.js";

/** `foyer world export …` */
const exportCommand = command(
  "export <id>",
  "print a world with its keys, rooms, users and announcements as one JSON document",
  "world export summit > summit.json",
)
  .option(
    "--with-history",
    "also its chat, direct messages included, but no uploaded files",
  )
  .action(async (id: string, { withHistory = false }: ExportOptions) => {
    const { toWorldDocument } = await import("../schemas/world-document.js");
    const copy = await withStore((store) =>
      exportWorld(store, id, withHistory),
    );
    const { chat, ...rest } = copy;
    const document = toWorldDocument(rest);
    if (!chat) return print(true, document, []);
    await writeAll(documentWith(document, chat));
  });

interface ExportOptions {
  withHistory?: boolean;
}

/** The text of a document with its chat. Each event is a line, so the text is made piece by piece. */
async function* documentWith(
  document: object,
  { events, ...chat }: ChatCopy,
): AsyncGenerator<string> {
  const whole = { ...document, chat: { ...chat, events: [] } };
  const text = textOf(JSON.stringify(whole, null, 2).split("\n"));
  const end = text.lastIndexOf("]");
  yield text.slice(0, end);
  let separator = "\n";
  for (const event of events) {
    yield `${separator}      ${plain(JSON.stringify(event))}`;
    separator = ",\n";
  }
  yield `${events.length > 0 ? "\n    " : ""}${text.slice(end)}`;
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
    .map(([what, count]) => {
      const nouns = what.replace("_", " ");
      return `${count} ${count === 1 ? nouns.slice(0, -1) : nouns}`;
    })
    .join(", ");

/** `foyer world clone …` */
const cloneCommand = newWorldCommand(
  "new-id",
  command(
    "clone",
    "create a world with all that another holds but its files",
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
  const { readWorldDocument } = await import("../schemas/world-document.js");
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
