import type { ChatEvent } from "../contract/chat-store.js";
import { type Store, StoreError } from "../contract/store.js";
import { allUsers, displayNames, results, timeOf } from "./results.js";

/**
 * Number of events per read. If a read exceeds the maximum page size, it is retried with fewer
 * events, but at least `FEWEST_EVENTS`.
 */
const EVENTS = 1000;
const FEWEST_EVENTS = 25;

/** A channel to export. */
interface Source {
  readonly id: string;
  /** The room's name; null for a direct channel. */
  readonly name: string | null;
}

/** The column names, which are also the JSON field names. */
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
  const { type, body, membership, files } = JSON.parse(content) as Record<string, unknown>;
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
    deleted: type === "deleted",
  };
}

function toFile(file: unknown): { url: string; name: string } {
  const { url, name } = Object(file) as { url?: unknown; name?: unknown };
  return { url: textIn(url), name: textIn(name) };
}

const textIn = (value: unknown): string => (typeof value === "string" ? value : "");

const toRow = ({ files, ...exported }: Exported) => ({
  ...exported,
  files: files.map(({ url }) => url).join("\n"),
});

/** Yields all events in a channel, oldest first, reading one page at a time. */
async function* eventsOf(store: Store, world: string, source: Source): AsyncGenerator<Exported> {
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
    const senders = page.map(({ sender }) => sender);
    const names = await displayNames(store, world, senders);
    for (const event of page) yield toExported(event, source, names);
    if (page.length < limit) return;
    after = page.at(-1)!.id;
    limit = EVENTS;
  }
}

/** Yields all events in a world's direct channels, one channel at a time. */
export async function* directEvents(store: Store, world: string): AsyncGenerator<Exported> {
  const seen = new Set<string>();
  for await (const user of allUsers(store, world)) {
    for (const channel of await store.chat.memberships(world, user.id)) {
      if (!channel.direct || seen.has(channel.id)) continue;
      seen.add(channel.id);
      yield* eventsOf(store, world, { id: channel.id, name: null });
    }
  }
}

/** The chat in rooms, without direct messages. */
export const chat = results({
  inRooms: ["chat.read"],
  columns: COLUMNS,
  rowsOf: (event: Exported) => [toRow(event)],
  records: eventsOf,
});
