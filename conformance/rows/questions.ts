import type { Rows } from "../row.js";

const PINNED = { question: { is_pinned: true } };
const UNPINNED = { question: { is_pinned: false } };

export const questionRows: Rows = {
  "question.ask": {
    inRoom: "question.ask",
    payload: ({ room }) => ({ room, content: "Why?" }),
    answer: ({ ids: { me: sender } }) => ({
      question: { content: "Why?", state: "mod_queue", score: 0, sender },
    }),
    pushes: [["question.created_or_updated", "moderator"]],
    unaware: {
      second: {
        of: "questions",
        because: "a question in the queue is pushed to moderators only",
      },
    },
  },
  "question.ask: by a user who knows that names are shown": {
    inRoom: "question.ask",
    payload: ({ room }) => ({ room, content: "Why?", named: true }),
    answer: ({ ids: { me: sender } }) => ({ question: { sender } }),
    pushes: [["question.created_or_updated", "moderator"]],
    unaware: {
      second: {
        of: "questions",
        because: "a question in the queue is pushed to moderators only",
      },
    },
  },
  "question.update: admitted": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => ({
      room: it.room,
      id: await it.question({ state: "mod_queue" }),
      state: "visible",
    }),
    answer: { question: { state: "visible" } },
    pushes: [
      [
        "question.created_or_updated",
        "room",
        { question: { answered: false } },
      ],
    ],
  },
  "question.update: hidden again": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => ({
      room: it.room,
      id: await it.question(),
      state: "archived",
    }),
    pushes: [
      [
        "question.created_or_updated",
        "room",
        { question: { state: "archived" } },
      ],
    ],
    unaware: {
      neighbor: {
        of: "questions",
        because:
          "the push does not say whose question it is; the client lists again",
      },
    },
  },
  "question.update: in the queue": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => ({
      room: it.room,
      id: await it.question({ state: "mod_queue" }, "elsewhere"),
      content: "Better?",
    }),
    pushes: [["question.created_or_updated", "mine moderator"]],
  },
  "question.update: pinned": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => {
      await it.question({ is_pinned: true });
      return { room: it.room, id: await it.question(), is_pinned: true };
    },
    answer: { question: { is_pinned: true } },
    pushes: [
      ["question.created_or_updated", "room", PINNED],
      ["question.created_or_updated", "room", UNPINNED],
    ],
  },
  "question.update: pinned in the queue": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => {
      await it.question({ is_pinned: true });
      const id = await it.question({ state: "mod_queue" }, "elsewhere");
      return { room: it.room, id, is_pinned: true };
    },
    pushes: [
      ["question.created_or_updated", "mine moderator", PINNED],
      ["question.created_or_updated", "room", UNPINNED],
    ],
  },
  "question.delete": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => ({ room: it.room, id: await it.question() }),
    answer: ({ payload }) => ({ question: payload.id }),
    pushes: [
      [
        "question.deleted",
        "room",
        ({ room, payload }) => ({ room, id: payload.id }),
      ],
    ],
  },
  "question.delete: in the queue": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => ({
      room: it.room,
      id: await it.question({ state: "mod_queue" }, "elsewhere"),
    }),
    pushes: [["question.deleted", "mine moderator"]],
  },
  "question.vote: a visible question": {
    inRoom: "question.vote",
    payload: async (it) => ({ room: it.room, id: await it.question() }),
    answer: { question: { score: 1 } },
    pushes: [
      ["question.created_or_updated", "room", { question: { score: 1 } }],
    ],
  },
  "question.vote: from outside the room": {
    before: { enters: false },
    inRoom: "question.vote",
    payload: async (it) => ({ room: it.room, id: await it.question() }),
    pushes: [["question.created_or_updated", "room"]],
  },
  "question.vote: in the queue": {
    as: "moderator",
    inRoom: "question.vote",
    refused: { neighbor: "question.unknown", elsewhere: "question.unknown" },
    payload: async (it) => ({
      room: it.room,
      id: await it.question({ state: "mod_queue" }, "moderator"),
    }),
    answer: { question: { score: 1 } },
    pushes: [["question.created_or_updated", "mine moderator"]],
  },
  "question.list": {
    inRoom: "question.read",
    payload: async (it) => {
      await it.question({ state: "mod_queue" });
      await it.question({ content: "Shown" });
      return { room: it.room };
    },
    answer: [{ content: "Shown", voted: false }],
  },
  "question.list: of a moderator": {
    as: "moderator",
    inRoom: "question.read",
    payload: async (it) => {
      await it.question({ state: "mod_queue" });
      return { room: it.room };
    },
    answer: [{ state: "mod_queue" }],
  },
  "question.pin": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => {
      await it.question({ is_pinned: true });
      return { room: it.room, id: await it.question() };
    },
    answer: ({ payload: { id } }) => ({ id }),
    pushes: [["question.pinned", "room"]],
  },
  "question.pin: in place of one in the queue": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => {
      const pinned = { state: "mod_queue", is_pinned: true } as const;
      await it.question(pinned, "elsewhere");
      return { room: it.room, id: await it.question() };
    },
    pushes: [["question.pinned", "room"]],
  },
  "question.pin: in the queue": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => ({
      room: it.room,
      id: await it.question({ state: "mod_queue" }, "elsewhere"),
    }),
    pushes: [["question.pinned", "mine moderator"]],
  },
  "question.unpin": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => {
      await it.question({ is_pinned: true });
      return { room: it.room };
    },
    answer: {},
    pushes: [["question.unpinned", "room", ({ room }) => ({ room })]],
  },
};
