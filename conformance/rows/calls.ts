import type { CommandRow, Push, Rows } from "../row.js";
import type { Stage } from "../stage.js";

const CHANGED = "call.changed";
const SEEN_BY = "world -outsider";

/** Returns the row of a moderator's command about the neighbor. */
const moderated = (
  fields: object,
  more: Partial<CommandRow> & { pushes?: readonly Push[] } = {},
): CommandRow => ({
  as: "moderator",
  inRoom: "call.moderate",
  payload: ({ room, ids }) => ({ room, user: ids.neighbor, ...fields }),
  answer: {},
  ...more,
});

const hand = (it: Stage, name: "me" | "neighbor") => ({ user: it.ids[name] });

/**
 * Returns the pushes about raised hands. Moderators receive the users who raised their hands, and
 * everybody else in the room receives only the number of hands.
 */
const handsPushed = (number: number, byName: (it: Stage) => object[]): Push[] => [
  ["hand.changed", "room -moderator", { hands: number }],
  ["hand.changed", "moderator", (it: Stage) => ({ hands: byName(it) })],
];

/** Error codes for audiences that are not members of a direct channel. */
const refusedStrangers = {
  neighbor: "",
  elsewhere: "chat.denied",
  moderator: "chat.denied",
  silenced: "chat.denied",
  outsider: "chat.denied",
} as const;

export const callRows: Rows = {
  "call.join": {
    needs: "livekit",
    inRoom: "call.join",
    payload: ({ room }) => ({ room }),
    answer: { engine: "livekit", mode: "stage", speak: false, moderate: false },
  },
  "call.join: of a moderator": {
    needs: "livekit",
    as: "moderator",
    inRoom: "call.join",
    payload: ({ room }) => ({ room }),
    answer: { speak: true, moderate: true },
  },
  "call.join: a direct channel": {
    needs: "livekit",
    inRoom: "call.join",
    refused: refusedStrangers,
    payload: async (it) => ({ channel: await it.ring("neighbor", "me") }),
    answer: { mode: "call", speak: true, moderate: false },
  },
  "call.state": {
    inRoom: "room.view",
    payload: async (it) => {
      await it.raiseHand("neighbor");
      return { room: it.room };
    },
    answer: { people: 0, speakers: [], started: null, hands: 1, position: undefined },
  },
  "call.state: of a moderator": {
    as: "moderator",
    inRoom: "room.view",
    payload: async (it) => {
      await it.raiseHand("neighbor");
      return { room: it.room };
    },
    answer: (it: Stage) => ({ on_stage: [], hands: [hand(it, "neighbor")] }),
  },
  "call.stage": moderated(
    { on: true },
    {
      pushes: [["call.stage", "neighbor", ({ room }) => ({ room, on: true })]],
    },
  ),
  "call.stage: back": moderated(
    {},
    {
      payload: async (it) => {
        await it.invite("neighbor");
        return { room: it.room, user: it.ids.neighbor, on: false };
      },
      pushes: [["call.stage", "neighbor", ({ room }) => ({ room, on: false })]],
    },
  ),
  "call.mute": moderated({ source: "microphone" }, { needs: "livekit" }),
  "call.remove": moderated({}, { needs: "livekit" }),
  "call.end": {
    needs: "enterCall",
    as: "moderator",
    inRoom: "call.moderate",
    payload: async (it) => {
      await it.enterCall(await it.ticket("neighbor"));
      return { room: it.room };
    },
    answer: {},
    late: true,
    pushes: [
      ["call.ended", "neighbor", ({ room }) => ({ room })],
      [CHANGED, SEEN_BY, { people: 0, speakers: [], started: null }],
    ],
  },
  "a person enters a call": {
    needs: "enterCall",
    prepare: async (it) => {
      it.device = await it.ticket("neighbor");
    },
    act: (it) => it.enterCall(it.device),
    late: true,
    pushes: [[CHANGED, SEEN_BY, ({ room }) => ({ room, people: 1, speakers: [] })]],
  },
  "call.decline": {
    needs: "livekit",
    inChannel: "any",
    refused: refusedStrangers,
    payload: async (it) => ({ channel: await it.ring("neighbor", "me") }),
    answer: {},
    pushes: [
      ["call.declined", "mine neighbor", ({ ids }) => ({ user: ids.me })],
      ["call.over", "mine neighbor"],
    ],
  },
  "hand.raise": {
    inRoom: "call.join",
    payload: ({ room }) => ({ room }),
    answer: {},
    pushes: handsPushed(1, (it) => [hand(it, "me")]),
  },
  "hand.lower": {
    inRoom: "call.join",
    payload: async (it) => {
      await it.raiseHand("me");
      return { room: it.room };
    },
    answer: {},
    late: true,
    pushes: handsPushed(0, () => []),
  },
  "hand.lower: of another": {
    as: "moderator",
    inRoom: "call.moderate",
    payload: async (it) => {
      await it.raiseHand("neighbor");
      return { room: it.room, user: it.ids.neighbor };
    },
    refused: { neighbor: "" },
    answer: {},
    late: true,
    pushes: [
      ["hand.changed", "room -mine -moderator", { hands: 0 }],
      ["hand.changed", "mine moderator", { hands: [] }],
    ],
  },
  "bbb.room_url": {
    needs: "bigbluebutton",
    inRoom: "call.join",
    payload: async (it) => ({ room: await it.roomWith("call.bigbluebutton") }),
  },
  "bbb.call_url": {
    needs: "bigbluebutton",
    requires: "login",
    refused: {
      neighbor: "",
      elsewhere: "call.unknown",
      moderator: "call.unknown",
      silenced: "call.unknown",
      outsider: "call.unknown",
      foreigner: "call.unknown",
    },
    payload: async (it) => ({ call: await it.direct("me", "neighbor") }),
  },
  "bbb.recordings": {
    needs: "bigbluebutton",
    as: "moderator",
    inRoom: "call.recordings",
    payload: async (it) => ({ room: await it.roomWith("call.bigbluebutton") }),
    answer: { results: [] },
  },
  "jitsi.room_url": {
    needs: "jitsi",
    inRoom: "call.join",
    payload: async (it) => ({ room: await it.roomWith("call.jitsi") }),
  },
};
