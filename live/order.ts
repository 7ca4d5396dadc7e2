import type { AnyEvent, Events } from "../db/contract/events.js";
import type { EntryHandlers } from "./module.js";

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
  {
    part: "announcements",
    why: "shares the line of pushes to a world, behind the rights",
  },
  {
    part: "program",
    why: "comes after the rights, and shares the line of pushes to a world",
  },
  {
    part: "chat.unread",
    why: "comes before the channels, as a deleted room leaves the unread lists before its subscriptions end",
  },
  {
    part: "chat.feed",
    why: "queues a chat event, so that the later parts, and own pushes above all, can wait for it",
  },
  {
    part: "chat.channels",
    why: "paces reactions behind the events to which they belong",
  },
  {
    part: "chat.pages",
    why: "forgets pages; the answers of this turn were read before the entry",
  },
  {
    part: "questions",
    why: "comes after the rights; polls and questions share the line of their room",
  },
  { part: "polls", why: "comes after the rights, as questions do" },
  {
    part: "reset",
    why: "ends connections once no part holds anything of the world that went back",
  },
  {
    part: "own",
    why: "makes a connection wait for its own pushes, which all others have begun by now",
  },
] as const satisfies readonly Place[];

/** The name of a part that handles entries. */
export type EntryPart = (typeof entryOrder)[number]["part"];

/** The handlers of each part: by the type of an event, or for any. */
export type EntryTable = Readonly<
  Record<EntryPart, EntryHandlers | ((event: AnyEvent) => void)>
>;

/**
 * Hands each event to all parts in their order. An error of one part keeps it from no
 * other.
 * @returns a function that ends it.
 */
export function handEntries(
  events: Pick<Events, "subscribe">,
  table: EntryTable,
): () => void {
  const ends = entryOrder.map(({ part }) => {
    const handlers = table[part];
    if (typeof handlers === "function") return events.subscribe(handlers);
    return events.subscribe((event) => {
      const handle = handlers[event.type] as
        ((event: AnyEvent) => void) | undefined;
      handle?.(event);
    });
  });
  return () => {
    for (const end of ends) end();
  };
}
