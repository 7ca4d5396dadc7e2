import { isVisible as isShown } from "../../schemas/plain/announcements.js";
import { isPublic, isVisible } from "../../schemas/plain/items.js";
import type { Announcement } from "../contract/announcement-store.js";
import { changedFields, changesBetween } from "../contract/audit-store.js";
import type { Item } from "../contract/item-store.js";
import { type Poll, POLL_CHANGES } from "../contract/poll-store.js";
import { type Question, QUESTION_CHANGES } from "../contract/question-store.js";
import type { UserChanges } from "../contract/store.js";
import type { Given } from "./draft.js";
import type { PublicModeration } from "./entries.js";

// Shared by the engines: the log entries of writes to records that others see.

/**
 * A user entered.
 * @param isNew whether that created the user.
 * @param hasOthers whether a known user came with other traits.
 */
export const enteredUser = (user: string, isNew: boolean, hasOthers = false): Given => ({
  type: "user.entered",
  user,
  ...(isNew ? { isNew } : { changes: changedFields(...(hasOthers ? ["traits"] : [])) }),
});

/** A user was updated. The entry has no values, as they are personal. */
export const updatedUser = (user: string, { profile, pretalx_id }: UserChanges): Given => ({
  type: "user.updated",
  user,
  changes: changedFields(
    ...(profile === undefined ? [] : ["profile"]),
    ...(pretalx_id === undefined ? [] : ["pretalx_id"]),
  ),
});

export const moderatedUser = (before: Moderated, after: Moderated): Given => {
  const state = moderationOf(after);
  return {
    type: "user.moderated",
    user: after.id,
    state,
    changes: [{ field: "state", before: moderationOf(before), after: state }],
  };
};

interface Moderated {
  readonly id: string;
  readonly moderation_state: string;
}

const moderationOf = ({ moderation_state }: Moderated) =>
  (moderation_state || "none") as PublicModeration;

const ANNOUNCEMENT = ["text", "show_until", "state"];

export const createdAnnouncement = (made: Announcement): Given => ({
  type: "announcement.created",
  announcement: made.id,
  wasVisible: false,
  changes: changesBetween(null, made, ANNOUNCEMENT),
});

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
    changes: changesBetween(before, after, ANNOUNCEMENT),
    ...(wasVisible && !isShown(after, now) && { hidden: { ...after, text: before.text } }),
  };
}

/**
 * The entries of one kind of item.
 * @param kind begins the types of the entries, and names the id of the item in them.
 * @param wasSeen names the field of a deletion that says whether readers saw the item.
 * @param isSeen whether readers, who manage no items, see this one.
 * @param hiddenOf the item that readers get when an update hides it: its new state, and the text
 *   that they saw last.
 * @param fields those that an update may change.
 */
function itemEntries<I extends Item>(
  kind: "question" | "poll",
  wasSeen: "wasVisible" | "wasPublic",
  isSeen: (item: I) => boolean,
  hiddenOf: (before: I, after: I) => I,
  fields: readonly string[],
) {
  const entry = (change: string, room: string, id: string, more: object) =>
    ({
      type: `${kind}.${change}`,
      room,
      [kind]: id,
      ...more,
    }) as unknown as Given;

  const created = (made: I): Given =>
    entry("saved", made.room, made.id, {
      hid: false,
      isNew: true,
      changes: changesBetween(null, made, fields),
    });

  /** The pin of an item was ended by another one. */
  const unpinned = (room: string, id: string): Given =>
    entry("saved", room, id, {
      hid: false,
      changes: [{ field: "is_pinned", before: true, after: false }],
    });

  const updated = (before: I, after: I): Given => {
    const hid = isSeen(before) && !isSeen(after);
    const hidden = hid && { hidden: hiddenOf(before, after) };
    const changes = changesBetween(before, after, fields);
    return entry("saved", after.room, after.id, { hid, changes, ...hidden });
  };

  /**
   * The entries beside a pin that has ended another one: readers learn nothing of the pin of an
   * item that they may not see.
   */
  const endedPin = (pinned: I, ended: string | undefined): Given[] =>
    ended === undefined || isSeen(pinned) ? [] : [unpinned(pinned.room, ended)];

  const deleted = (before: I): Given =>
    entry("deleted", before.room, before.id, { [wasSeen]: isSeen(before) });

  return { created, unpinned, updated, endedPin, deleted };
}

export const {
  created: createdQuestion,
  unpinned: unpinnedQuestion,
  updated: updatedQuestion,
  endedPin: endedQuestionPin,
  deleted: deletedQuestion,
} = itemEntries<Question>(
  "question",
  "wasVisible",
  isVisible,
  (before, after) => ({ ...after, content: before.content }),
  QUESTION_CHANGES,
);

export const {
  created: createdPoll,
  unpinned: unpinnedPoll,
  updated: updatedPoll,
  endedPin: endedPollPin,
  deleted: deletedPoll,
} = itemEntries<Poll>(
  "poll",
  "wasPublic",
  isPublic,
  (before, { state, is_pinned }) => ({ ...before, state, is_pinned }),
  POLL_CHANGES,
);
