import type { Rows } from "../row.js";

export const screenRows: Rows = {
  "screen.get": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: ({ room }) => ({ room }),
    answer: { show: "welcome", id: undefined },
  },
  "screen.show": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: ({ room }) => ({ room, show: "black" }),
    answer: {},
    pushes: [["screen.shown", "mine moderator", ({ room }) => ({ room, show: "black" })]],
  },
  "screen.show: a question": {
    as: "moderator",
    inRoom: "question.moderate",
    payload: async (it) => ({ room: it.room, show: "question", id: await it.question() }),
    answer: {},
    pushes: [
      [
        "screen.shown",
        "mine moderator",
        ({ room, payload: { id } }) => ({ room, show: "question", id }),
      ],
    ],
  },
  "screen.show: results of a poll": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => ({ room: it.room, show: "results", id: (await it.poll())[0] }),
    answer: {},
    pushes: [["screen.shown", "mine moderator", { show: "results" }]],
  },
};
