import { isVisible as isShown } from "../../schemas/plain/announcements.js";
import { isPublic, isVisible } from "../../schemas/plain/items.js";
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

/** A question was changed. */
export function updatedQuestion(before: Question, after: Question): Given {
  const hid = isVisible(before) && !isVisible(after);
  return {
    type: "question.saved",
    room: after.room,
    question: after.id,
    hid,
    ...(hid && { hidden: { ...after, content: before.content } }),
  };
}

/** A question was asked, or its pin was ended by another one. */
export const savedQuestion = (room: string, question: string): Given => ({
  type: "question.saved",
  room,
  question,
  hid: false,
});

/**
 * The extra entry of a pin that has ended another one: readers get no push about the pin of a
 * question that they may not see.
 */
export const endedQuestionPin = (
  pinned: Question,
  ended: string | undefined,
): Given[] =>
  ended === undefined || isVisible(pinned)
    ? []
    : [savedQuestion(pinned.room, ended)];

export const deletedQuestion = (before: Question): Given => ({
  type: "question.deleted",
  room: before.room,
  question: before.id,
  wasVisible: isVisible(before),
});

/** A poll was changed. */
export function updatedPoll(before: Poll, after: Poll): Given {
  const hid = isPublic(before) && !isPublic(after);
  const { state, is_pinned } = after;
  return {
    type: "poll.saved",
    room: after.room,
    poll: after.id,
    hid,
    ...(hid && { hidden: { ...before, state, is_pinned } }),
  };
}

/** A poll was created, or its pin was ended by another one. */
export const savedPoll = (room: string, poll: string): Given => ({
  type: "poll.saved",
  room,
  poll,
  hid: false,
});

/** As {@link endedQuestionPin}. */
export const endedPollPin = (
  pinned: Poll,
  ended: string | undefined,
): Given[] =>
  ended === undefined || isPublic(pinned)
    ? []
    : [savedPoll(pinned.room, ended)];

export const deletedPoll = (before: Poll): Given => ({
  type: "poll.deleted",
  room: before.room,
  poll: before.id,
  wasPublic: isPublic(before),
});
