import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import type { WorldCopy } from "../schemas/documents.js";
import { Failure } from "../failure.js";
import { command, withStore, withStoreOrEmpty } from "./command.js";
import { context } from "./context.js";
import { print } from "./output.js";
import { draftWorld } from "../worlds.js";
import {
  describe,
  missingWorld,
  namingWorld,
  type NewWorld,
} from "./worlds.js";

/** `foyer world export …` */
const exportWorld = command(
  "export <id>",
  "print a world with its keys and rooms as one JSON document",
  "world export summit > summit.json",
).action(async (id: string) => {
  const { toDocument } = await import("../schemas/documents.js");
  const copy = await withStore((store) => store.worlds.export(id));
  if (!copy) throw missingWorld(id);
  print(true, toDocument(copy), []);
});

/** `foyer world import …` */
const importWorld = command(
  "import <file>",
  'make the world of such a document, ids included; "-" reads stdin',
  "world import summit.json --dry-run",
)
  .option("--dry-run", "say what it would do, and write nothing")
  .action(
    async (file: string, options: { json?: boolean; dryRun?: boolean }) => {
      const copy = await readCopy(file);
      const { id, domain } = copy.world;
      const { dryRun = false } = options;
      await (dryRun
        ? withStoreOrEmpty((store) => store.worlds.import(copy, { dryRun }))
        : withStore((store) => store.worlds.import(copy), { create: true }));
      const rooms = `${copy.rooms.length} room${copy.rooms.length === 1 ? "" : "s"}`;
      print(
        options.json,
        { id, domain, rooms: copy.rooms.length, dry_run: dryRun },
        [
          dryRun
            ? `It would make the world ${id} at ${domain} with ${rooms}. Nothing was written.`
            : `The world ${id} is at ${domain}, with ${rooms}.`,
        ],
      );
    },
  );

/** `foyer world clone …` */
const clone = namingWorld(
  "new-id",
  command(
    "clone",
    "make a new world of the rules, settings and rooms of another",
    'world clone summit summit-2028 --title "Summit 2028" --domain 2028.example.org',
  ).argument("<id>", "the world to clone"),
).action(
  async (id: string, newId: string, { json, title, domain }: NewWorld) => {
    const { value } = await withStore(async (store) => {
      const copy = await store.worlds.export(id);
      if (!copy) throw missingWorld(id);
      return store.worlds.import(cloneOf(copy, newId, title, domain));
    });
    print(json, value, describe(value));
  },
);

/** The same again under another name: with a key that opens nothing of the first. */
function cloneOf(
  { world, rooms }: WorldCopy,
  id: string,
  title: string,
  domain: string,
): WorldCopy {
  const { config, ...draft } = draftWorld(id, title, domain);
  return {
    world: {
      ...draft,
      config: { ...world.config, ...config },
      permission_config: world.permission_config,
    },
    rooms: rooms.map((room) => ({
      ...room,
      id: randomUUID(),
      revision: 1,
      // A room that named the domain of its world does not stay behind.
      domain: room.domain === world.domain ? undefined : room.domain,
    })),
  };
}

async function readCopy(file: string): Promise<WorldCopy> {
  const name = file === "-" ? "stdin" : file;
  const bytes = await (file === "-" ? buffer(context().stdin) : readAll(file));
  let text: string;
  let document: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    document = JSON.parse(text);
  } catch {
    throw new Failure(`${name} is not JSON.`);
  }
  const { findLosses } = await import("../schemas/fidelity.js");
  const { fromDocument } = await import("../schemas/documents.js");
  const { InvalidData } = await import("../schemas/validate.js");
  try {
    const losses = findLosses(text);
    if (losses) throw losses;
    return fromDocument(document);
  } catch (error) {
    if (!(error instanceof InvalidData)) throw error;
    const faults = Object.entries(error.faults).map(
      ([field, messages]) => `${field}: ${messages.join(" ")}`,
    );
    throw new Failure(
      `${name} is not the document of a world. ${faults.join(" ")}`,
    );
  }
}

async function readAll(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const { message } = error as Error;
    throw new Failure(`${file} cannot be read: ${message}`, { cause: error });
  }
}

/** The commands of `foyer world` for worlds as a whole. */
export const copyCommands = [exportWorld, importWorld, clone];
