import type { CommandRow, Like, Push, Rows } from "../row.js";
import type { QuestionChanges, Stage } from "../stage.js";

const CHANGED = "question.created_or_updated";
const MODERATORS = "mine moderator";
const QUEUED = { state: "mod_queue" } as const;

const PINNED = { question: { is_pinned: true } };
const UNPINNED = { question: { is_pinned: false } };

const QUEUE = "a question in the queue is pushed to moderators only";

const asked = (fields: object, answer: (it: Stage) => object): CommandRow => ({
  inRoom: "question.ask",
  payload: ({ room }) => ({ room, content: "Why?", ...fields }),
  answer: (it: Stage) => ({ question: answer(it) }),
  pushes: [[CHANGED, "moderator"]],
  unaware: { second: { of: "questions", because: QUEUE } },
});

const moderated = (
  payload: NonNullable<CommandRow["payload"]>,
  pushes: readonly Push[],
  answer?: Like,
): CommandRow => ({
  as: "moderator",
  inRoom: "question.moderate",
  payload,
  pushes,
  ...(answer && { answer }),
});

/**
 * Creates a neighbor's visible question, or a queued question from a user elsewhere, and returns a
 * payload about the question.
 */
const about =
  (fields: object = {}) =>
  async (it: Stage) => ({ room: it.room, id: await it.question(), ...fields });
const aboutQueued =
  (fields: object = {}) =>
  async (it: Stage) => ({ room: it.room, id: await it.question(QUEUED, "elsewhere"), ...fields });

/** Pins another question before creating the payload. */
const besidePinned =
  (payload: (it: Stage) => Promise<object>, pinned: QuestionChanges = {}) =>
  async (it: Stage) => {
    await it.question({ is_pinned: true, ...pinned }, pinned.state ? "elsewhere" : "neighbor");
    return payload(it);
  };

export const questionRows: Rows = {
  "question.ask": asked({}, ({ ids: { me: sender } }) => ({
    content: "Why?",
    state: "mod_queue",
    score: 0,
    sender,
  })),
  "question.ask: by a user who knows that names are shown": asked(
    { named: true },
    ({ ids: { me: sender } }) => ({ sender }),
  ),
  "question.update: admitted": moderated(
    async (it) => ({ room: it.room, id: await it.question(QUEUED), state: "visible" }),
    [[CHANGED, "room", { question: { answered: false } }]],
    { question: { state: "visible" } },
  ),
  "question.update: hidden again": {
    ...moderated(about({ state: "archived" }), [
      [CHANGED, "room", { question: { state: "archived" } }],
    ]),
    unaware: {
      neighbor: {
        of: "questions",
        because: "the push does not say whose question it is; the client lists again",
      },
    },
  },
  "question.update: in the queue": moderated(aboutQueued({ content: "Better?" }), [
    [CHANGED, MODERATORS],
  ]),
  "question.update: pinned": moderated(
    besidePinned(about({ is_pinned: true })),
    [
      [CHANGED, "room", PINNED],
      [CHANGED, "room", UNPINNED],
    ],
    PINNED,
  ),
  "question.update: pinned in the queue": moderated(
    besidePinned(aboutQueued({ is_pinned: true })),
    [
      [CHANGED, MODERATORS, PINNED],
      [CHANGED, "room", UNPINNED],
    ],
  ),
  "question.delete": moderated(
    about(),
    [["question.deleted", "room", ({ room, payload }) => ({ room, id: payload.id })]],
    ({ payload }) => ({ question: payload.id }),
  ),
  "question.delete: in the queue": moderated(aboutQueued(), [["question.deleted", MODERATORS]]),
  "question.vote: a visible question": {
    inRoom: "question.vote",
    payload: about(),
    answer: { question: { score: 1 } },
    pushes: [[CHANGED, "room", { question: { score: 1 } }]],
  },
  "question.vote: from outside the room": {
    before: { enters: "second" },
    inRoom: "question.vote",
    payload: about(),
    pushes: [[CHANGED, "room"]],
  },
  "question.vote: in the queue": {
    as: "moderator",
    inRoom: "question.vote",
    refused: { neighbor: "question.unknown", elsewhere: "question.unknown" },
    payload: async (it) => ({ room: it.room, id: await it.question(QUEUED, "moderator") }),
    answer: { question: { score: 1 } },
    pushes: [[CHANGED, MODERATORS]],
  },
  "question.list": {
    inRoom: "question.read",
    payload: async (it) => {
      await it.question(QUEUED);
      await it.question({ content: "Shown" });
      return { room: it.room };
    },
    answer: [{ content: "Shown", voted: false }],
  },
  "question.list: of a moderator": {
    as: "moderator",
    inRoom: "question.read",
    payload: async (it) => {
      await it.question(QUEUED);
      return { room: it.room };
    },
    answer: [QUEUED],
  },
  "question.pin": moderated(
    besidePinned(about()),
    [["question.pinned", "room"]],
    ({ payload: { id } }) => ({ id }),
  ),
  "question.pin: in place of one in the queue": moderated(besidePinned(about(), QUEUED), [
    ["question.pinned", "room"],
  ]),
  "question.pin: in the queue": moderated(aboutQueued(), [["question.pinned", MODERATORS]]),
  "question.unpin": moderated(
    besidePinned(async ({ room }) => ({ room })),
    [["question.unpinned", "room", ({ room }) => ({ room })]],
    {},
  ),
};
