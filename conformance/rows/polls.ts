import type { Rows } from "../row.js";

/** The results of a poll, for audiences that see the results of every poll. */
const RESULTS = { poll: { results: {}, poll_type: undefined } };

const PINNED = { poll: { is_pinned: true } };
const UNPINNED = { poll: { is_pinned: false } };
const UNPINNED_SECRET = { poll: { is_pinned: false, results: undefined } };

export const pollRows: Rows = {
  "poll.create": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: ({ room }) => ({
      room,
      content: "Tea?",
      options: [{ content: "Yes" }, { content: "No" }],
    }),
    answer: { poll: { state: "draft", content: "Tea?" } },
    pushes: [["poll.created_or_updated", "mine moderator", RESULTS]],
  },
  "poll.create: open": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: ({ room }) => ({ room, content: "Tea?", state: "open" }),
    pushes: [
      ["poll.created_or_updated", "mine moderator", { poll: { results: [] } }],
      [
        "poll.created_or_updated",
        "neighbor silenced",
        { poll: { results: undefined } },
      ],
    ],
  },
  "poll.update: opened": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [id] = await it.poll({ state: "draft" });
      return { room: it.room, id, state: "open" };
    },
    answer: { poll: { state: "open", results: {} } },
    pushes: [
      ["poll.created_or_updated", "mine moderator", RESULTS],
      [
        "poll.created_or_updated",
        "neighbor silenced",
        { poll: { results: undefined } },
      ],
      ["chat.event", "room", { event_type: "channel.poll" }],
      ["chat.unread_pointers", "neighbor moderator elsewhere silenced"],
    ],
  },
  "poll.update: closed": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [id, yes] = await it.poll();
      await it.vote(id, "neighbor", yes);
      return { room: it.room, id, state: "closed" };
    },
    pushes: [
      [
        "poll.created_or_updated",
        "room",
        ({ payload }) => ({
          poll: { id: payload.id, state: "closed", results: {} },
        }),
      ],
    ],
  },
  "poll.update: hidden": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [id] = await it.poll();
      return { room: it.room, id, state: "archived" };
    },
    pushes: [
      ["poll.created_or_updated", "room", { poll: { state: "archived" } }],
    ],
  },
  "poll.update: pinned": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [[id], [other]] = [await it.poll(), await it.poll()];
      await it.pinPoll(other);
      return { room: it.room, id, is_pinned: true };
    },
    answer: { poll: { is_pinned: true } },
    pushes: [
      ["poll.created_or_updated", "room", PINNED],
      ["poll.created_or_updated", "mine moderator", UNPINNED],
      ["poll.created_or_updated", "neighbor silenced", UNPINNED_SECRET],
    ],
  },
  "poll.update: a draft pinned": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [other] = await it.poll();
      await it.pinPoll(other);
      const [id] = await it.poll({ state: "draft" });
      return { room: it.room, id, is_pinned: true };
    },
    pushes: [
      ["poll.created_or_updated", "mine moderator", PINNED],
      ["poll.created_or_updated", "room", UNPINNED],
    ],
  },
  "poll.delete": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [id] = await it.poll();
      return { room: it.room, id };
    },
    answer: ({ payload }) => ({ poll: payload.id }),
    pushes: [["poll.deleted", "room"]],
  },
  "poll.delete: a draft": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [id] = await it.poll({ state: "draft" });
      return { room: it.room, id };
    },
    pushes: [["poll.deleted", "mine moderator"]],
  },
  "poll.vote": {
    inRoom: "poll.vote",
    payload: async (it) => {
      const [id, yes] = await it.poll();
      await it.vote(id, "neighbor", yes);
      return { room: it.room, id, options: [yes] };
    },
    answer: ({ payload: { options } }) => ({
      poll: { results: { [options[0]]: 2 } },
    }),
    // All voters, and users who see all results.
    pushes: [
      [
        "poll.created_or_updated",
        "mine neighbor moderator",
        ({ payload }) => ({
          poll: { results: { [payload.options[0]]: 2 } },
        }),
      ],
    ],
  },
  "poll.vote: withdrawn": {
    inRoom: "poll.vote",
    payload: async (it) => {
      const [id, yes] = await it.poll();
      await it.vote(id, "me", yes);
      return { room: it.room, id, options: [] };
    },
    answer: { poll: { results: undefined } },
    pushes: [
      ["poll.created_or_updated", "mine", { poll: { results: undefined } }],
      ["poll.created_or_updated", "moderator", RESULTS],
    ],
  },
  "poll.list": {
    inRoom: "poll.read",
    payload: async (it) => {
      await it.poll({ state: "draft" });
      await it.poll({ content: "Shown" });
      return { room: it.room };
    },
    answer: [{ content: "Shown", results: undefined, answers: undefined }],
  },
  "poll.pin": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [id] = await it.poll();
      return { room: it.room, id };
    },
    answer: ({ payload: { id } }) => ({ id }),
    pushes: [
      [
        "poll.pinned",
        "room",
        ({ room, payload }) => ({ room, id: payload.id }),
      ],
    ],
  },
  "poll.pin: in place of a draft": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [draft] = await it.poll({ state: "draft" });
      await it.pinPoll(draft);
      const [id] = await it.poll();
      return { room: it.room, id };
    },
    pushes: [["poll.pinned", "room"]],
  },
  "poll.pin: a draft": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [id] = await it.poll({ state: "draft" });
      return { room: it.room, id };
    },
    pushes: [["poll.pinned", "mine moderator"]],
  },
  "poll.unpin": {
    as: "moderator",
    inRoom: "poll.manage",
    payload: async (it) => {
      const [id] = await it.poll();
      await it.pinPoll(id);
      return { room: it.room };
    },
    answer: {},
    pushes: [["poll.unpinned", "room"]],
  },
};
