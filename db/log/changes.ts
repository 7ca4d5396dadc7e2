import { isVisible as isShown } from "../../schemas/plain/announcements.js";
import { isPublic, isVisible } from "../../schemas/plain/items.js";
import type { Item } from "../contract/items.js";
import type { Poll } from "../contract/polls.js";
import type { Question } from "../contract/questions.js";
import type { Announcement } from "../contract/announcements.js";
import type { Given } from "./draft.js";

// Shared by the engines: the log entries of writes to records that others see.

/** An announcement was changed. @param now in milliseconds since 1970. */
export function updatedAnnouncement(
  before: Announcement,
  after: Announcement,
  now = Date.now(),
): Given {
  const wasVisible = isShown(before, now);
  return {
    type: "announcement.updated",
    announcement: after.id,
    wasVisible,
    ...(wasVisible &&
      !isShown(after, now) && { hidden: { ...after, text: before.text } }),
  };
}

/**
 * The entries of one kind of item.
 * @param kind begins the types of the entries, and names the id of the item in them.
 * @param wasSeen names the field of a deletion that says whether readers saw the item.
 * @param isSeen whether readers, who manage no items, see this one.
 * @param hiddenOf the item that readers get when an update hides it: its new state, and the text
 *   that they saw last.
 */
function itemEntries<I extends Item>(
  kind: "question" | "poll",
  wasSeen: "wasVisible" | "wasPublic",
  isSeen: (item: I) => boolean,
  hiddenOf: (before: I, after: I) => I,
) {
  const entry = (change: string, room: string, id: string, more: object) =>
    ({ type: `${kind}.${change}`, room, [kind]: id, ...more }) as Given;

  /** An item was created, or its pin was ended by another one. */
  const saved = (room: string, id: string): Given =>
    entry("saved", room, id, { hid: false });

  const updated = (before: I, after: I): Given => {
    const hid = isSeen(before) && !isSeen(after);
    const hidden = hid && { hidden: hiddenOf(before, after) };
    return entry("saved", after.room, after.id, { hid, ...hidden });
  };

  /**
   * The entries beside a pin that has ended another one: readers learn nothing of the pin of an
   * item that they may not see.
   */
  const endedPin = (pinned: I, ended: string | undefined): Given[] =>
    ended === undefined || isSeen(pinned) ? [] : [saved(pinned.room, ended)];

  const deleted = (before: I): Given =>
    entry("deleted", before.room, before.id, { [wasSeen]: isSeen(before) });

  return { saved, updated, endedPin, deleted };
}

export const {
  saved: savedQuestion,
  updated: updatedQuestion,
  endedPin: endedQuestionPin,
  deleted: deletedQuestion,
} = itemEntries<Question>(
  "question",
  "wasVisible",
  isVisible,
  (before, after) => ({ ...after, content: before.content }),
);

export const {
  saved: savedPoll,
  updated: updatedPoll,
  endedPin: endedPollPin,
  deleted: deletedPoll,
} = itemEntries<Poll>(
  "poll",
  "wasPublic",
  isPublic,
  (before, { state, is_pinned }) => ({ ...before, state, is_pinned }),
);
