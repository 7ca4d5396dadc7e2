import type { ChatCopy, EventCopy } from "../../schemas/documents/chat-history.js";
import { TYPES } from "../rules/chat-rows.js";
import type { Value } from "./tables.js";

/**
 * The rows of the chat in an old document.
 * @param tag makes a tag for an event.
 */
export function chatParts({ channels, events }: ChatCopy, tag: () => number): Parts {
  const numbers = new Map(channels.map(({ id }, i) => [id, i + 1]));
  const places = new Map(events.map(({ id }, i) => [id, i + 1]));
  const ids = events.map(({ id }) => id);
  const contentOf = contentsOf(events);
  const markOf = (mark: number | undefined): number | null =>
    mark === undefined ? null : placeUntil(ids, mark);
  const lasts = lastsOf(events);
  const inChannels = <T>(list: (channel: ChatCopy["channels"][number]) => T[]) =>
    channels.flatMap((one, i) => list(one).map((row) => ({ channel: i + 1, ...row })));
  const edits = new Map<number, number>();
  for (const { id, replaces } of events) {
    if (replaces !== undefined) edits.set(places.get(replaces)!, places.get(id)!);
  }
  const reactions = events.flatMap(({ reactions = {} }, i) =>
    Object.entries(reactions).flatMap(([reaction, users]) =>
      users.map((user_id) => ({ event: i + 1, reaction, user_id })),
    ),
  );
  return [
    [
      "chat_channels",
      counted(
        channels.map(({ id, direct }) => ({
          id,
          direct: direct?.join() ?? null,
          ...(lasts.get(id) ?? { last_event: 0, last_message: 0 }),
        })),
      ),
    ],
    [
      "chat_events",
      events.map((event, i) => ({
        id: i + 1,
        channel: numbers.get(event.channel)!,
        type: TYPES.indexOf(event.type),
        sender: event.sender ?? null,
        timestamp: Date.parse(event.timestamp),
        replaces: event.replaces === undefined ? null : places.get(event.replaces)!,
        deleted: Number(event.deleted ?? false),
        content: contentOf(event) ?? null,
        tag: tag(),
        author: null,
      })),
    ],
    // Of several edits, the last one stays.
    ["chat_edits", [...edits].map(([event, edit]) => ({ event, edit }))],
    ["chat_reactions", counted(reactions)],
    [
      "chat_members",
      counted(
        inChannels(({ members = [] }) =>
          members.map(({ user, hidden = false }) => ({ user_id: user, hidden: Number(hidden) })),
        ),
      ),
    ],
    [
      "chat_readers",
      inChannels(({ readers = [] }) =>
        readers.map(({ user, pointer, listed }) => ({
          user_id: user,
          pointer: markOf(pointer),
          listed: markOf(listed),
        })),
      ),
    ],
    [
      "chat_notifications",
      inChannels(({ notifications = [] }) =>
        notifications.map(({ user, event }) => ({ user_id: user, event: places.get(event)! })),
      ),
    ],
  ];
}

/**
 * Makes the function that gives the content of an event as it is stored: JSON;
 * undefined for a deleted event, and for an edit before the last one.
 */
function contentsOf(events: readonly EventCopy[]): (event: EventCopy) => string | undefined {
  const lastEdits = new Map<number, number>();
  for (const { id, replaces } of events) {
    if (replaces !== undefined) lastEdits.set(replaces, id);
  }
  return ({ id, content, deleted, replaces }) => {
    const isOld = replaces !== undefined && lastEdits.get(replaces) !== id;
    return content && !deleted && !isOld ? JSON.stringify(content) : undefined;
  };
}

/** The last event of each channel, and the last that is no member event; 0 for none. */
function lastsOf(events: readonly EventCopy[]): Map<string, Named> {
  const lasts = new Map<string, Named>();
  for (const [i, { channel, type }] of events.entries()) {
    const before = lasts.get(channel)?.last_message ?? 0;
    const last_message = type === "channel.member" ? before : i + 1;
    lasts.set(channel, { last_event: i + 1, last_message });
  }
  return lasts;
}

/**
 * The place of the event that a mark means: it may be over or of another world, and then the
 * last one before it is meant; 0 if there is none.
 * @param ids in ascending order.
 */
function placeUntil(ids: readonly number[], mark: number): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ids[middle]! <= mark) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A row by the names of its columns, without the world. */
export type Named = Readonly<Record<string, Value>>;

/** Rows with their places, from 1. */
export const counted = <T extends object>(rows: readonly T[]): (T & { number: number })[] =>
  rows.map((row, i) => ({ ...row, number: i + 1 }));

/** Some tables and their rows. */
export type Parts = [table: string, rows: Named[]][];
