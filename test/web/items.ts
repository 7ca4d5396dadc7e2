import type { ListedPoll, ListedQuestion } from "../../client/index.js";

/** A question that was asked in this minute. */
export const question = (
  minute: number,
  changes: Partial<ListedQuestion> = {},
): ListedQuestion => ({
  ...{ id: `question-${minute}`, content: `Question ${minute}?` },
  ...{ state: "visible", answered: false, timestamp: timeOf(minute) },
  ...{ room_id: "hall", score: 0, is_pinned: false, voted: false },
  ...changes,
});

/** A poll with the options `a` and `b` that was created in this minute. */
export const poll = (
  minute: number,
  changes: Partial<ListedPoll> = {},
): ListedPoll => ({
  ...{ id: `poll-${minute}`, content: `Poll ${minute}?`, state: "open" },
  ...{ timestamp: timeOf(minute), room_id: "hall", is_pinned: false },
  options: ["a", "b"].map((id, i) => ({ id, content: id, order: i + 1 })),
  ...changes,
});

const timeOf = (minute: number) =>
  new Date(Date.UTC(2026, 0, 1, 10, minute)).toISOString();
