import type { Delivery } from "../../contract/chat.js";
import { type Author, chatEntry, type Entry } from "../../log/entries.js";
import type { Hint } from "../../log/log.js";

/**
 * A hint as it travels between the threads. Of an event of chat, only what its delivery
 * does not say: to copy the names of fields takes most of the time.
 */
export type SentHint =
  | Hint<Entry>
  | [
      previous: number,
      world: string,
      tag: number,
      by: Author,
      delivery: Delivery,
    ];

export const toSent = (hint: Hint<Entry>): SentHint => {
  const { entry, previous } = hint;
  if (entry.type !== "chat.event") return hint;
  return [previous, entry.world, entry.tag, entry.by, entry.delivery];
};

export const fromSent = (sent: SentHint): Hint<Entry> => {
  if (!Array.isArray(sent)) return sent;
  const [previous, world, tag, by, delivery] = sent;
  return { entry: chatEntry(world, tag, delivery, by), previous };
};
