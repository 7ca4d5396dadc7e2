import { isVisible as isShown } from "../../schemas/plain/announcements.js";
import { isPublic, isVisible } from "../../schemas/plain/items.js";
import { isPlainKind } from "../../schemas/plain/polls.js";
import type { Announcement } from "../contract/announcement-store.js";
import { changedFields, changesBetween } from "../contract/audit-store.js";
import type { Item } from "../contract/item-store.js";
import { type Poll, POLL_CHANGES } from "../contract/poll-store.js";
import { type Question, QUESTION_CHANGES } from "../contract/question-store.js";
import type { UserUpdate } from "../contract/store.js";
import type { GivenEntry } from "./draft.js";
import type { PublicModeration } from "./entries.js";

// Builds the log entries for writes to records that other users see. Shared by the engines.

/**
 * Returns the entry for a user who entered the world.
 * @param isNew whether entering created the user.
 * @param hasOthers whether an existing user entered with changed traits.
 * @param waits whether the user is a new guest who waits for approval.
 */
export const enteredUser = (
  user: string,
  isNew: boolean,
  hasOthers = false,
  waits = false,
): GivenEntry => ({
  type: "user.entered",
  user,
  ...(waits && { waits }),
  ...(isNew ? { isNew } : { changes: changedFields(...(hasOthers ? ["traits"] : [])) }),
});

/** Returns the entry for an updated user. The values are omitted, because they are personal data. */
export const updatedUser = (user: string, { profile, pretalx_id }: UserUpdate): GivenEntry => ({
  type: "user.updated",
  user,
  changes: changedFields(
    ...(profile === undefined ? [] : ["profile"]),
    ...(pretalx_id === undefined ? [] : ["pretalx_id"]),
  ),
});

export const moderatedUser = (before: Moderated, after: Moderated): GivenEntry => {
  const state = moderationOf(after);
  return {
    type: "user.moderated",
    user: after.id,
    state,
    ...(before.moderation_state === "waiting" && { waited: true }),
    changes: [
      { field: "state", before: moderationOf(before), after: state },
      ...(after.moderated_until === null
        ? []
        : [{ field: "until", before: null, after: new Date(after.moderated_until).toISOString() }]),
    ],
  };
};

interface Moderated {
  readonly id: string;
  readonly moderation_state: string;
  readonly moderated_until: number | null;
}

const moderationOf = ({ moderation_state }: Moderated) =>
  (moderation_state || "none") as PublicModeration;

const ANNOUNCEMENT = ["text", "show_until", "state"];

export const createdAnnouncement = (made: Announcement): GivenEntry => ({
  type: "announcement.created",
  announcement: made.id,
  wasVisible: false,
  changes: changesBetween(null, made, ANNOUNCEMENT),
});

/** Returns the entry for a changed announcement. @param now in milliseconds since 1970. */
export function updatedAnnouncement(
  before: Announcement,
  after: Announcement,
  now = Date.now(),
): GivenEntry {
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
 * Creates the functions that build the entries about one kind of item.
 * @param kind the prefix of the entry types, and the name of the field with the item's id.
 * @param wasSeen the field that, in the entry about a deletion, tells whether readers saw the item.
 * @param isSeen whether readers see an item. Readers are users who do not manage items.
 * @param hiddenOf returns the item that readers receive when an update hides the item: the new
 * state, with the text that readers last saw.
 * @param fields the fields that an update may change.
 * @param kindOf names the kind of an item that not every client can show.
 */
function itemEntries<I extends Item>(
  kind: "question" | "poll",
  wasSeen: "wasVisible" | "wasPublic",
  isSeen: (item: I) => boolean,
  hiddenOf: (before: I, after: I) => I,
  fields: readonly string[],
  kindOf: (item: I) => { readonly kind?: string } = () => ({}),
) {
  const entry = (change: string, room: string, id: string, more: object, of?: I) =>
    ({
      type: `${kind}.${change}`,
      room,
      [kind]: id,
      ...more,
      ...(of && kindOf(of)),
    }) as unknown as GivenEntry;

  const created = (made: I): GivenEntry =>
    entry(
      "saved",
      made.room,
      made.id,
      {
        hid: false,
        isNew: true,
        changes: changesBetween(null, made, fields),
      },
      made,
    );

  /** Returns the entry for an item that was unpinned when another item was pinned. */
  const unpinned = (room: string, id: string): GivenEntry =>
    entry("saved", room, id, {
      hid: false,
      changes: [{ field: "is_pinned", before: true, after: false }],
    });

  const updated = (before: I, after: I): GivenEntry => {
    const hid = isSeen(before) && !isSeen(after);
    const hidden = hid && { hidden: hiddenOf(before, after) };
    const changes = changesBetween(before, after, fields);
    return entry("saved", after.room, after.id, { hid, changes, ...hidden }, after);
  };

  /**
   * Returns the entry for the item that a new pin replaced, but only if readers cannot see the
   * newly pinned item. In that case, readers are not informed about the new pin.
   */
  const endedPin = (pinned: I, ended: string | undefined): GivenEntry[] =>
    ended === undefined || isSeen(pinned) ? [] : [unpinned(pinned.room, ended)];

  const deleted = (before: I): GivenEntry =>
    entry("deleted", before.room, before.id, { [wasSeen]: isSeen(before) }, before);

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
  ({ poll_type }) => (isPlainKind(poll_type) ? {} : { kind: poll_type }),
);

/**
 * Returns the entry for an answer that a manager hid or showed. Does not contain the answer,
 * because the answer may be erased later.
 */
export const hiddenAnswer = ({ room, id, poll_type }: Poll, isHidden: boolean): GivenEntry =>
  ({
    type: "poll.saved",
    room,
    poll: id,
    hid: false,
    kind: poll_type,
    changes: [
      {
        field: "answers",
        before: isHidden ? "shown" : "hidden",
        after: isHidden ? "hidden" : "shown",
      },
    ],
  }) as unknown as GivenEntry;
