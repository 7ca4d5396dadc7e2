import type { AnyEvent, Events } from "../db/contract/events.js";
import type { Entry } from "../db/log/entries.js";
import { isCrowd, type Outboxes } from "./delivery/outbox.js";
import type { EntryHandlers } from "./module.js";
import type { Hub } from "./people/hub.js";
import type { Connection } from "./socket/connection.js";

/** A part of the live layer that handles entries, and the reason for its position. */
interface OrderedPart {
  readonly part: string;
  readonly why: string;
}

/** The parts that handle each log entry, in this order: rights, content, own pushes. */
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
    part: "guests",
    why: "comes after the rights, and shares the queue of pushes to a world",
  },
  { part: "silences", why: "only sets a timer, so it may come anywhere" },
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
  {
    part: "chat.held",
    why: "shares the queue of its channel, behind the message that was approved",
  },
  {
    part: "reports",
    why: "comes after the rights, and shares the queue of pushes to a world",
  },
  { part: "questions.lists", why: "forgets lists, as with pages" },
  {
    part: "questions",
    why: "comes after the rights; polls and questions share the queue of their room",
  },
  { part: "polls.lists", why: "forgets lists, as with pages" },
  { part: "polls.boards", why: "forgets leaderboards, as with pages" },
  { part: "polls", why: "comes after the rights, as questions do" },
  { part: "calls", why: "comes after the rights, and shares the queue of its room" },
  {
    part: "screens",
    why: "comes after the rights and the items that a screen shows, and shares their queue",
  },
  { part: "captions", why: "comes after the rights, and shares the queue of its room" },
  {
    part: "reset",
    why: "ends the connections of a world that went back, so that every part forgets it; no other part handles that",
  },
  {
    part: "own",
    why: "makes a connection wait for its own pushes, which all others have begun by now",
  },
] as const satisfies readonly OrderedPart[];

/** A file that subscribes to entries, and the reason for its position. */
interface Subscriber {
  readonly file: string;
  readonly why: string;
}

/**
 * All subscribers to the entries of a process, in startup order, which is also the order in which
 * they receive each entry.
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
 * All subscribers to the entries of a single world. They subscribe only while they need the
 * entries, and receive each entry after {@link subscribers}. Their order does not matter, because
 * each subscriber queues the entry for its own recipients and reads nothing that another subscriber
 * holds.
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
  {
    file: "live/modules/calls/keeper.ts",
    why: "checks the people in calls in the background, and repeats that until it succeeds",
  },
] as const satisfies readonly Subscriber[];

/** The name of a part that handles entries. */
export type EntryPart = (typeof entryOrder)[number]["part"];

/** The handlers of each part: one per event type, or one for all events. */
export type EntryTable = Readonly<Record<EntryPart, EntryHandlers | ((event: AnyEvent) => void)>>;

/**
 * Dispatches each event to all parts in order. An error in one part does not affect the other
 * parts.
 * @returns a function that stops the dispatch.
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

/** Ports for making connections wait for the pushes that an entry causes. */
export interface OwnPorts {
  readonly sockets: ReadonlyMap<string, Connection>;
  readonly hub: Hub;
  readonly outboxes: Outboxes;
  /** Counts channel subscribers. */
  readonly channels: { sizeOf(channel: string): number };
}

/**
 * Creates the last handler of entries: each connection receives the pushes caused by its commands
 * before the response to its next message, even if the store is slow. In a crowd, no message waits,
 * because pushes to crowds are flushed in batches.
 */
export function ownPushes(ports: OwnPorts): (event: AnyEvent) => void {
  const { sockets, hub, outboxes, channels } = ports;

  const pushesOf = (entry: Entry): Promise<void>[] => {
    const { world } = entry;
    const places: (readonly [place: string, size: number])[] = [];
    // Reactions and channel lists are throttled, so senders do not wait for them.
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

/** Returns the ids of the connections that caused an entry. */
function authorsOf(event: AnyEvent): string[] {
  if ("votes" in event) {
    return event.votes.flatMap(({ connection }) => connection ?? []);
  }
  const connection = "by" in event ? event.by.connection : undefined;
  return connection === undefined ? [] : [connection];
}
