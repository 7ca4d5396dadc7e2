import type { AnyEvent, Events } from "../db/contract/events.js";
import type { Entry } from "../db/log/entries.js";
import { isCrowd, type Outboxes } from "./delivery/outbox.js";
import type { EntryHandlers } from "./module.js";
import type { Hub } from "./people/hub.js";
import type { Connection } from "./socket/connection.js";

/** A part of the live layer that handles entries, and why it comes where it comes. */
interface Place {
  readonly part: string;
  readonly why: string;
}

/** The parts that each entry of the log passes, in this order: rights, content, own pushes. */
export const entryOrder = [
  {
    part: "activity",
    why: "forgets a deleted world; it reads nothing that others hold, so it may come anywhere",
  },
  {
    part: "world",
    why: "comes before all content: it forgets the old rights, and holds the pushes to users who may have lost some",
  },
  { part: "announcements", why: "shares the queue of pushes to a world, behind the rights" },
  {
    part: "program",
    why: "comes after the rights, and shares the queue of pushes to a world",
  },
  {
    part: "chat.unread",
    why: "comes before the channels, as a deleted room leaves the unread lists before its subscriptions end",
  },
  {
    part: "chat.feed",
    why: "queues a chat event, so that the later parts, and own pushes above all, can wait for it",
  },
  { part: "chat.channels", why: "paces reactions behind the events to which they belong" },
  {
    part: "chat.pages",
    why: "forgets pages; what is read from now on is not older than the entry",
  },
  { part: "questions.lists", why: "forgets lists, as with pages" },
  {
    part: "questions",
    why: "comes after the rights; polls and questions share the queue of their room",
  },
  { part: "polls.lists", why: "forgets lists, as with pages" },
  { part: "polls", why: "comes after the rights, as questions do" },
  {
    part: "reset",
    why: "ends the connections of a world that went back, so that every part forgets it; no other part handles that",
  },
  {
    part: "own",
    why: "makes a connection wait for its own pushes, which all others have begun by now",
  },
] as const satisfies readonly Place[];

/** A file that subscribes to entries, and why it comes where it comes. */
interface Subscriber {
  readonly file: string;
  readonly why: string;
}

/**
 * All that subscribes to the entries of a process, in the order of the start. Each entry passes
 * them in this order.
 */
export const subscribers = [
  {
    file: "db/open.ts",
    why: "comes first: ends the state that reads of this turn share, which may be older than the entry",
  },
  {
    file: "db/engines/postgres/engine/postgres-cache.ts",
    why: "comes first: a read that a later one causes must not find a row from before the entry",
  },
  { file: "plugins/metrics.ts", why: "only counts, so it may come anywhere" },
  {
    file: "plugins/push/web-push.ts",
    why: "decides by the entry alone and sends in the background, so it may come anywhere",
  },
  {
    file: "live/people/snapshots.ts",
    why: "takes messages between processes and no entries, so it may come anywhere",
  },
  { file: "live/order.ts", why: "hands entries to the parts above" },
] as const satisfies readonly Subscriber[];

/**
 * All that subscribes to the entries of one world, while it needs them. It gets each entry after
 * {@link subscribers}; between themselves their order does not matter, as each one queues the
 * entry for receivers of its own and reads nothing that another one holds.
 */
export const worldSubscribers = [
  {
    file: "plugins/feed/feeds.ts",
    why: "queues entries for the streams of HTTP, which share nothing with websockets",
  },
  {
    file: "plugins/webhooks/webhook-plugin.ts",
    why: "queues entries for webhooks; one that misses them reads the log",
  },
] as const satisfies readonly Subscriber[];

/** The name of a part that handles entries. */
export type EntryPart = (typeof entryOrder)[number]["part"];

/** The handlers of each part: by the type of an event, or for any. */
export type EntryTable = Readonly<Record<EntryPart, EntryHandlers | ((event: AnyEvent) => void)>>;

/**
 * Hands each event to all parts in their order. An error of one part keeps it from no
 * other.
 * @returns a function that ends it.
 */
export function handEntries(events: Pick<Events, "subscribe">, table: EntryTable): () => void {
  const ends = entryOrder.map(({ part }) => {
    const handlers = table[part];
    if (typeof handlers === "function") return events.subscribe(handlers);
    return events.subscribe((event) => {
      const handle = handlers[event.type] as ((event: AnyEvent) => void) | undefined;
      handle?.(event);
    });
  });
  return () => {
    for (const end of ends) end();
  };
}

/** Where the pushes that an entry causes can be waited for. */
export interface OwnPorts {
  readonly sockets: ReadonlyMap<string, Connection>;
  readonly hub: Hub;
  readonly outboxes: Outboxes;
  /** The subscribers of channels. */
  readonly channels: { sizeOf(channel: string): number };
}

/**
 * Makes the last handler of entries: each connection gets the pushes that its commands
 * cause before the answer to its next message, however long the store takes. In a crowd
 * no message waits, as pushes are flushed together there.
 */
export function ownPushes(ports: OwnPorts): (event: AnyEvent) => void {
  const { sockets, hub, outboxes, channels } = ports;

  const pushesOf = (entry: Entry): Promise<void>[] => {
    const { world } = entry;
    const places: (readonly [place: string, size: number])[] = [];
    // Reactions and lists of channels are paced, and senders do not wait for them.
    if (entry.type === "chat.event") places.push([entry.channel, channels.sizeOf(entry.channel)]);
    else if (!("channel" in entry)) places.push([world, hub.in(world).size]);
    if ("room" in entry) places.push([entry.room, hub.inRoom(world, entry.room).size]);
    return places.flatMap(([place, size]) => (isCrowd(size) ? [] : (outboxes.ended(place) ?? [])));
  };

  return (event) => {
    for (const id of authorsOf(event)) {
      sockets.get(id)?.loop.follow(pushesOf(event as Entry));
    }
  };
}

/** The ids of the connections that caused an entry. */
function authorsOf(event: AnyEvent): string[] {
  if ("votes" in event) {
    return event.votes.flatMap(({ connection }) => connection ?? []);
  }
  const connection = "by" in event ? event.by.connection : undefined;
  return connection === undefined ? [] : [connection];
}
