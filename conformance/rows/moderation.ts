import type { Rows } from "../row.js";

const text = (body: string) => ({ type: "text", body });

/** Only moderators are notified of reports. */
const nobodyElse = {
  neighbor: "report.unknown",
  elsewhere: "report.unknown",
  silenced: "report.unknown",
  outsider: "report.unknown",
  foreigner: "report.unknown",
} as const;

export const moderationRows: Rows = {
  "chat.send: where messages wait": {
    inChannel: "chat.send",
    payload: async (it) => {
      await it.hold();
      return { channel: it.room, event_type: "channel.message", content: text("Hello") };
    },
    answer: ({ room, ids }) => ({
      event: undefined,
      held: { channel: room, sender: ids.me, content: text("Hello"), replaces: null },
    }),
    pushes: [
      [
        "chat.held",
        "mine moderator",
        ({ room, ids }) => ({
          channel: room,
          event: { content: text("Hello") },
          user: { id: ids.me },
        }),
      ],
    ],
  },
  "chat.held.list": {
    inChannel: "any",
    payload: async (it) => {
      await it.waiting("neighbor");
      return { channel: it.room };
    },
    answer: { count: 0, results: [], users: {} },
  },
  "chat.held.list: as a moderator": {
    as: "moderator",
    inChannel: "any",
    payload: async (it) => {
      await it.waiting("neighbor");
      return { channel: it.room };
    },
    answer: ({ ids }) => ({
      count: 1,
      results: [{ sender: ids.neighbor }],
      users: { [ids.neighbor]: { id: ids.neighbor } },
    }),
  },
  "chat.approve": {
    as: "moderator",
    inChannel: "chat.moderate",
    payload: async (it) => ({ channel: it.room, event: await it.waiting("neighbor") }),
    pushes: [
      ["chat.event", "room", ({ ids }) => ({ sender: ids.neighbor, content: { type: "text" } })],
      ["chat.unread_pointers", "mine moderator elsewhere silenced"],
      [
        "chat.held.gone",
        "mine neighbor moderator",
        ({ room, payload }) => ({ channel: room, event: payload.event, state: "approved" }),
      ],
    ],
  },
  "chat.reject": {
    as: "moderator",
    inChannel: "chat.moderate",
    payload: async (it) => ({
      channel: it.room,
      event: await it.waiting("neighbor"),
      reason: "Not here.",
    }),
    answer: {},
    pushes: [
      [
        "chat.held.gone",
        "mine neighbor moderator",
        ({ payload }) => ({ event: payload.event, state: "rejected", reason: "Not here." }),
      ],
    ],
  },
  "chat.report": {
    inChannel: "chat.read",
    payload: async (it) => ({
      channel: it.room,
      event: await it.message("elsewhere"),
      reason: "spam",
    }),
    refused: { silenced: "auth.denied", elsewhere: "report.unknown" },
    answer: {},
    pushes: [["report.changed", "moderator", { open: 1 }]],
  },
  "question.report": {
    inRoom: "question.read",
    payload: async (it) => ({
      room: it.room,
      id: await it.question({}, "elsewhere"),
      reason: "other",
      text: "Look!",
    }),
    refused: { silenced: "auth.denied", elsewhere: "report.unknown" },
    answer: {},
    pushes: [["report.changed", "moderator", { open: 1 }]],
  },
  "user.report": {
    requires: "world.view",
    payload: ({ room, ids }) => ({ user: ids.elsewhere, room, reason: "harassment" }),
    refused: {
      silenced: "auth.denied",
      elsewhere: "report.unknown",
      outsider: "protocol.denied",
      foreigner: "room.unknown",
    },
    answer: {},
    pushes: [["report.changed", "moderator", { open: 1 }]],
  },
  "report.list": {
    as: "moderator",
    inRoom: "chat.moderate",
    payload: async (it) => {
      await it.report("neighbor", "elsewhere");
      return { room: it.room, state: "open" };
    },
    answer: ({ room, ids }) => ({
      reports: [
        {
          kind: "message",
          room,
          user: { id: ids.elsewhere },
          reports: [{ user: { id: ids.neighbor }, reason: "spam", text: "" }],
          count: 1,
          state: "open",
        },
      ],
      more: false,
      open: 1,
    }),
  },
  "report.resolve": {
    as: "moderator",
    requires: "login",
    payload: async (it) => {
      const id = await it.report("neighbor", "elsewhere");
      return { id, action: "dismissed" };
    },
    refused: nobodyElse,
    answer: {},
    pushes: [["report.changed", "mine moderator", { open: 0 }]],
  },
  "report.resolve: with a deletion": {
    as: "moderator",
    requires: "login",
    payload: async (it) => ({ id: await it.report("neighbor", "elsewhere"), action: "deleted" }),
    refused: nobodyElse,
    answer: {},
    pushes: [
      ["chat.event", "room", { content: { type: "deleted" } }],
      ["report.changed", "mine moderator", { open: 0 }],
    ],
  },
};
