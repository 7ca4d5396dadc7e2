import type { Rows } from "../row.js";

const text = (body: string) => ({ type: "text", body });

/** An id that no user has. */
const NOBODY = "00000000-0000-4000-8000-000000000000";

/** A sender of a direct message who is not subscribed to the channel is not notified of the message. */
const because = "unread pointers are for all but the sender";
const ofOwn = { me: { of: "unread", because }, second: { of: "unread", because } };

export const chatRows: Rows = {
  "chat.subscribe": {
    before: { enters: "second" },
    inChannel: "chat.read",
    payload: async (it) => {
      const last = await it.message("neighbor");
      return { channel: it.room, after: last - 1 };
    },
    answer: ({ ids }) => ({
      state: null,
      events: [{ event_type: "channel.message", type: "chat.event" }],
      users: { [ids.neighbor]: { id: ids.neighbor } },
    }),
  },
  "chat.unsubscribe": { inChannel: "any", payload: ({ room }) => ({ channel: room }), answer: {} },
  "chat.join": {
    before: { joined: false },
    inChannel: "chat.join",
    payload: ({ room }) => ({ channel: room }),
    answer: { unread_pointer: 0 },
    pushes: [
      ["chat.channels", "second"],
      ["chat.event", "room", { content: { membership: "join" } }],
    ],
  },
  "chat.leave": {
    inChannel: "any",
    payload: ({ room }) => ({ channel: room }),
    answer: {},
    pushes: [
      ["chat.channels", "second"],
      ["chat.event", "room -me", { content: { membership: "leave" } }],
    ],
  },
  "chat.send": {
    inChannel: "chat.send",
    payload: ({ room }) => ({
      channel: room,
      event_type: "channel.message",
      content: text("Hello"),
    }),
    answer: { event: { content: text("Hello"), edited: null, replaces: null } },
    pushes: [
      ["chat.event", "room", { content: text("Hello") }],
      ["chat.unread_pointers", "neighbor moderator elsewhere silenced"],
    ],
  },
  "chat.send: while others have unread messages": {
    inChannel: "chat.send",
    payload: async (it) => {
      await it.message("neighbor");
      return { channel: it.room, event_type: "channel.message", content: text("Hello") };
    },
    pushes: [["chat.event", "room"]],
  },
  "chat.send: to a member who has read what was said": {
    inChannel: "chat.send",
    payload: async (it) => {
      await it.read("elsewhere", await it.message("neighbor"));
      return { channel: it.room, event_type: "channel.message", content: text("Hello") };
    },
    pushes: [
      ["chat.event", "room"],
      ["chat.unread_pointers", "elsewhere"],
    ],
  },
  "chat.send: a mention": {
    inChannel: "chat.send",
    payload: ({ room, ids: { me, elsewhere, outsider } }) => ({
      channel: room,
      event_type: "channel.message",
      content: text(`@${elsewhere}, @${outsider}, @${me} and @${NOBODY}`),
    }),
    pushes: [
      ["chat.mention_warning", "me", ({ ids }) => ({ missed_users: [{ id: ids.outsider }] })],
      ["chat.event", "room"],
      ["chat.notification", "elsewhere"],
      ["chat.unread_pointers", "neighbor moderator elsewhere silenced"],
    ],
  },
  "chat.send: an edit": {
    inChannel: "chat.send",
    refused: { neighbor: "chat.denied", elsewhere: "chat.denied", moderator: "chat.denied" },
    payload: async (it) => ({
      channel: it.room,
      event_type: "channel.message",
      content: text("Better"),
      replaces: await it.message("me"),
    }),
    pushes: [
      [
        "chat.event",
        "room",
        ({ payload }) => ({ content: text("Better"), replaces: payload.replaces }),
      ],
    ],
  },
  "chat.send: an edit after a member has read the message": {
    inChannel: "chat.send",
    refused: { neighbor: "chat.denied", elsewhere: "chat.denied", moderator: "chat.denied" },
    payload: async (it) => {
      const replaces = await it.message("me");
      await it.read("elsewhere", replaces);
      return { channel: it.room, event_type: "channel.message", content: text("Better"), replaces };
    },
    pushes: [
      ["chat.event", "room"],
      ["chat.unread_pointers", "elsewhere"],
    ],
  },
  "chat.send: a deletion by a moderator": {
    as: "moderator",
    inChannel: "chat.send",
    refused: { neighbor: "", elsewhere: "chat.denied" },
    payload: async (it) => ({
      channel: it.room,
      event_type: "channel.message",
      content: { type: "deleted" },
      replaces: await it.message("neighbor"),
    }),
    pushes: [["chat.event", "room", { content: { type: "deleted" } }]],
  },
  "chat.send: a direct message": {
    inChannel: "chat.send",
    refused: {
      neighbor: "",
      elsewhere: "chat.denied",
      moderator: "chat.denied",
      silenced: "chat.denied",
      outsider: "chat.denied",
    },
    payload: async (it) => ({
      channel: await it.direct("me", "neighbor", "silenced"),
      event_type: "channel.message",
      content: text("Psst"),
    }),
    pushes: [
      ["chat.unread_pointers", "neighbor silenced"],
      ["chat.notification", "neighbor silenced", { event: { content: text("Psst") } }],
    ],
    unaware: ofOwn,
  },
  "chat.send: a direct message to a user who hid the channel": {
    inChannel: "chat.send",
    refused: {
      neighbor: "",
      elsewhere: "chat.denied",
      moderator: "chat.denied",
      silenced: "chat.denied",
      outsider: "chat.denied",
    },
    payload: async (it) => {
      const channel = await it.direct("me", "neighbor");
      await it.hide(channel, "neighbor");
      return { channel, event_type: "channel.message", content: text("Psst") };
    },
    pushes: [
      [
        "chat.channels",
        "neighbor",
        ({ room, payload: { channel } }) => ({ channels: [{ id: room }, { id: channel }] }),
      ],
      ["chat.unread_pointers", "neighbor"],
      ["chat.notification", "neighbor", { event: { content: text("Psst") } }],
    ],
    unaware: ofOwn,
  },
  "chat.send: a call": {
    needs: "livekit",
    inChannel: "chat.send",
    refused: {
      neighbor: "",
      elsewhere: "chat.denied",
      moderator: "chat.denied",
      silenced: "chat.denied",
      outsider: "chat.denied",
    },
    payload: async (it) => ({
      channel: await it.direct("me", "neighbor"),
      event_type: "channel.message",
      content: { type: "call" },
    }),
    answer: { event: { content: { type: "call", body: { type: "livekit" } } } },
    pushes: [
      ["chat.unread_pointers", "neighbor"],
      ["chat.notification", "neighbor", { event: { content: { type: "call" } } }],
      [
        "call.ring",
        "neighbor",
        ({ ids, payload: { channel } }) => ({ channel, from: { id: ids.me } }),
      ],
    ],
    unaware: ofOwn,
  },
  "chat.fetch": {
    inChannel: "chat.read",
    payload: async (it) => {
      await it.message("neighbor");
      return { channel: it.room, count: 1, before_id: 2 ** 53 - 1 };
    },
    answer: { results: [{ event_type: "channel.message", type: "chat.event" }] },
  },
  "chat.search": {
    inChannel: "chat.read",
    payload: async (it) => {
      await it.message("neighbor");
      return { channel: it.room, query: "messag" };
    },
    answer: { results: [{ event_type: "channel.message", type: "chat.event" }], more: false },
  },
  "chat.react": {
    inChannel: "chat.send",
    payload: async (it) => ({
      channel: it.room,
      event: await it.message("neighbor"),
      reaction: "👍",
    }),
    answer: ({ ids }) => ({ reactions: { "👍": [ids.me] } }),
    pushes: [["chat.event.reaction", "room", ({ ids }) => ({ reactions: { "👍": [ids.me] } })]],
  },
  "chat.mark_read": {
    inChannel: "any",
    payload: async (it) => ({ channel: it.room, id: await it.message("neighbor") }),
    answer: {},
    pushes: [
      ["chat.read_pointers", "second"],
      ["chat.notification_counts", "mine"],
    ],
  },
  "chat.direct.create": {
    requires: "chat.direct",
    refused: { foreigner: "chat.denied", neighbor: "chat.denied" },
    payload: ({ ids }) => ({ users: [ids.neighbor], hide: false }),
    answer: { members: [{}, {}] },
    pushes: [
      ["chat.event", "me", { content: { membership: "join" } }],
      ["chat.event", "me", { content: { membership: "join" } }],
      ["chat.channels", "mine neighbor"],
    ],
  },
  "chat.direct.create: hidden until a message": {
    requires: "chat.direct",
    refused: { foreigner: "chat.denied", neighbor: "chat.denied" },
    payload: ({ ids }) => ({ users: [ids.neighbor], hide: true }),
    answer: { members: [{}, {}] },
    pushes: [
      ["chat.event", "me", { content: { membership: "join" } }],
      ["chat.event", "me", { content: { membership: "join" } }],
      ["chat.channels", "second"],
    ],
  },
};
