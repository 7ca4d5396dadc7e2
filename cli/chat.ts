import { Command, Option } from "commander";
import type { ChatEvent } from "../db/chat.js";
import { type Store, StoreError } from "../db/store.js";
import { Failure } from "../failure.js";
import { findWorld } from "../worlds.js";
import { command, withStore } from "./command.js";
import { csvRow } from "./csv.js";
import { PAGE_SIZE, pages, printList, writeAll } from "./lists.js";
import type { JsonOption } from "./output.js";

/** How many events are read at once, and how many if their texts are very long. */
const EVENTS = 1000;
const FEWEST_EVENTS = 25;

/** A channel to export. */
interface Source {
  id: string;
  /** The name of the room; null for a direct channel. */
  name: string | null;
}

/** The names of the columns, which are those of the JSON too. */
const COLUMNS = [
  "event_id",
  "channel",
  "room",
  "timestamp",
  "sender",
  "sender_name",
  "type",
  "text",
  "files",
  "edited",
  "replaces",
  "deleted",
] as const;

type Exported = ReturnType<typeof toExported>;

function toExported(
  { id, content, ...event }: ChatEvent,
  { name }: Source,
  names: ReadonlyMap<string, string>,
) {
  const { body, membership, files } = content;
  const text = typeof body === "string" ? body : membership;
  return {
    event_id: id,
    channel: event.channel,
    room: name,
    timestamp: timeOf(event.timestamp),
    sender: event.sender,
    sender_name: names.get(event.sender ?? "") ?? null,
    type: event.type,
    text: typeof text === "string" ? text : null,
    files: Array.isArray(files) ? files.map(toFile) : [],
    edited: event.edited === null ? null : timeOf(event.edited),
    replaces: event.replaces,
    deleted: content.type === "deleted",
  };
}

const timeOf = (milliseconds: number) => new Date(milliseconds).toISOString();

function toFile(file: unknown): { url: string; name: string } {
  const { url, name } = Object(file) as { url?: unknown; name?: unknown };
  return { url: textIn(url), name: textIn(name) };
}

const textIn = (value: unknown): string =>
  typeof value === "string" ? value : "";

const toRow = ({ files, ...exported }: Exported): string => {
  const cells = { ...exported, files: files.map(({ url }) => url).join("\n") };
  return csvRow(COLUMNS.map((column) => cells[column]));
};

/** The channels of the rooms of a world, in the order of its list, and then the direct ones. */
async function* sourcesIn(
  store: Store,
  world: string,
  direct: boolean,
): AsyncGenerator<Source> {
  const rooms = pages(async (page) =>
    (await store.rooms.all(world, page)).map(({ value }) => value),
  );
  for await (const { id, name } of rooms) yield { id, name };
  if (!direct) return;
  const seen = new Set<string>();
  const users = pages(
    async (page) => (await store.users.list(world, page)).users,
  );
  for await (const user of users) {
    for (const channel of await store.chat.memberships(world, user.id)) {
      if (!channel.direct || seen.has(channel.id)) continue;
      seen.add(channel.id);
      yield { id: channel.id, name: null };
    }
  }
}

/**
 * The room with an id or a name.
 * @throws {Failure} if there is none, or several have the name.
 */
async function findRoom(
  store: Store,
  world: string,
  asked: string,
): Promise<Source> {
  const named: Source[] = [];
  for await (const room of sourcesIn(store, world, false)) {
    if (room.id === asked) return room;
    if (room.name === asked) named.push(room);
  }
  if (named.length > 1) {
    const ids = named.map(({ id }) => id).join(", ");
    throw new Failure(`${named.length} rooms have this name: ${ids}.`);
  }
  if (!named[0]) throw new Failure(`There is no room ${asked} in ${world}.`);
  return named[0];
}

/** All events of a channel, the oldest first, read a page at a time. */
async function* eventsOf(
  store: Store,
  world: string,
  source: Source,
): AsyncGenerator<Exported> {
  let after = 0;
  let limit = EVENTS;
  for (;;) {
    let page: ChatEvent[];
    try {
      page = await store.chat.events(world, source.id, { after, limit });
    } catch (error) {
      const isLarge = error instanceof StoreError && error.problem === "large";
      if (!isLarge || limit === FEWEST_EVENTS) throw error;
      limit = Math.max(FEWEST_EVENTS, limit >> 2);
      continue;
    }
    const names = await namesOf(store, world, page);
    for (const event of page) yield toExported(event, source, names);
    if (page.length < limit) return;
    after = page.at(-1)!.id;
    limit = EVENTS;
  }
}

/** The display names of the senders of some events. */
async function namesOf(
  store: Store,
  world: string,
  events: readonly ChatEvent[],
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const senders = new Set(events.map(({ sender }) => sender ?? ""));
  senders.delete("");
  const ids = [...senders];
  for (let at = 0; at < ids.length; at += PAGE_SIZE) {
    const page = ids.slice(at, at + PAGE_SIZE);
    for (const { id, profile } of await store.users.getMany(world, page)) {
      const name = profile?.display_name;
      if (typeof name === "string") names.set(id, name);
    }
  }
  return names;
}

interface ExportOptions extends JsonOption {
  room?: string;
  format: "json" | "csv";
  direct?: boolean;
}

const exportChat = command(
  "export <world>",
  "print all messages and other events of the rooms of a world, the oldest first",
  'chat export summit --room "Main stage" --format csv > chat.csv',
)
  .option("--room <room>", "only this room: its id, or its exact name")
  .addOption(
    new Option("--format <format>", "how it is written")
      .choices(["json", "csv"])
      .default("json"),
  )
  .option("--direct", "also direct messages")
  .action(async (world: string, options: ExportOptions, self: Command) => {
    const { json, room, format, direct = false } = options;
    if (json && format === "csv") self.error("--json is no CSV");
    if (direct && room !== undefined) {
      self.error("direct messages belong to no room");
    }
    await withStore(async (store) => {
      await findWorld(store, world);
      const only =
        room === undefined ? undefined : await findRoom(store, world, room);
      const events = (async function* () {
        const sources = only ? [only] : sourcesIn(store, world, direct);
        for await (const source of sources) {
          yield* eventsOf(store, world, source);
        }
      })();
      if (format === "json") return printList(true, events, () => [], "");
      const rows = (async function* () {
        yield csvRow(COLUMNS);
        for await (const event of events) yield toRow(event);
      })();
      return writeAll(rows);
    });
  });

/** `foyer chat …` */
export const chatCommand = new Command("chat")
  .description("export the chat of a world")
  .addCommand(exportChat);
