import type { Delivery } from "../../../db/contract/chat-store.js";
import type { Entry } from "../../../db/log/entries.js";
import { SAMPLE_WORLD as world, sampleOf } from "./sample-entries.js";

const hints = (...entries: unknown[]) => ({
  type: "hints",
  world,
  hints: entries.map((entry) => ({ entry, previous: 0 })),
});

const entry = (type: Entry["type"], fields: object = {}) => hints(sampleOf(type, fields));

/** An entry of a new message of a channel whose event has other fields. */
function message(fields: object): unknown {
  const { delivery } = sampleOf("chat.event") as { delivery: Delivery };
  const event = { ...delivery.event, ...fields };
  return entry("chat.event", { delivery: { ...delivery, event } });
}

const many = (count: number) => Array.from({ length: count }, () => "u1");
const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;

/** Messages that no process of this Foyer sends, by their fault. */
export const hostileMessages: Readonly<Record<string, unknown>> = {
  "no object": "hints",
  null: null,
  "a list": [entry("world.updated")],
  "no type": { world, hints: [] },
  "a type that is no text": { ...entry("world.updated"), type: ["hints"] },
  "a type that every object has": { type: "__proto__" },
  "an unknown type": { type: "world.painted", world },
  "an entry by itself": sampleOf("world.updated"),
  "the beginning of a process": { type: "process.began", process: "x" },
  "the end of a process": { type: "process.ended", process: "x" },
  "no world": { ...entry("world.updated"), world: undefined },
  "a world that is a number": { ...entry("world.updated"), world: 1 },
  "a world that is endless": {
    ...hints(sampleOf("world.updated", { world: "x".repeat(9999) })),
    world: "x".repeat(9999),
  },
  "hints that are no list": { type: "hints", world, hints: { length: 1 } },
  "a hint that is null": { type: "hints", world, hints: [null] },
  "a hint without an entry": { type: "hints", world, hints: [{ previous: 0 }] },
  "a hint without the tag before it": {
    type: "hints",
    world,
    hints: [{ entry: sampleOf("world.updated") }],
  },
  "an entry of another world": hints(
    sampleOf("world.updated"),
    sampleOf("world.updated", { world: "other", seq: 2 }),
  ),
  "an entry of an unknown type": hints({ ...sampleOf("world.updated"), type: "world.painted" }),
  "an entry of a type that every object has": hints({
    ...sampleOf("world.updated"),
    type: "constructor",
  }),
  "an entry that is malformed beside one that is well": hints(
    sampleOf("world.updated"),
    sampleOf("room.updated", { room: 1, seq: 2 }),
  ),
  "more entries than a transaction has": hints(
    ...many(5001).map((_, i) => sampleOf("world.updated", { seq: i + 1 })),
  ),
  "a number that is 0": entry("world.updated", { seq: 0 }),
  "a number that is no whole one": entry("world.updated", { seq: 1.5 }),
  "a number that is a text": entry("world.updated", { seq: "1" }),
  "a number that is not exact": entry("world.updated", { seq: 2 ** 60 }),
  "a tag that is negative": entry("world.updated", { tag: -1 }),
  "an author that is a text": entry("world.updated", { by: "u1" }),
  "an author of an unknown kind": entry("world.updated", { by: { kind: "root" } }),
  "an author that is an object": entry("world.updated", {
    by: { kind: "user", user: { toString: 1 } },
  }),
  "a user that is null": entry("user.moderated", { user: null }),
  "rules that are no object": entry("room.deleted", { rules: [] }),
  "a rule that is no list": entry("room.deleted", { rules: { "room.view": { length: 1 } } }),
  "a rule with an object": entry("room.deleted", { rules: { "room.view": [[{}]] } }),
  "members that are no list": entry("chat.memberships", { users: { length: 1 } }),
  "more members than an entry names": entry("chat.memberships", { users: many(20_001) }),
  "more votes than an entry names": entry("poll.voted", {
    votes: many(20_001).map((user) => ({ user })),
  }),
  "a vote without a user": entry("question.voted", { votes: [{}] }),
  "a mark without a channel": entry("chat.marked", {
    marks: [{ user: "u1", pointer: 1, listed: null }],
  }),
  "a delivery that is null": entry("chat.event", { delivery: null }),
  "a delivery without an event": entry("chat.event", {
    delivery: { previous: 0, previousMessage: 0, notified: [], appeared: [] },
  }),
  "an event that has not the number of its entry": message({ id: 2 }),
  "an event of another channel": message({ channel: "r2" }),
  "reactions that are no lists": message({ reactions: { "👍": "u1" } }),
  "a message that is no text": message({ content: { type: "text" } }),
  "a message that is no JSON": message({ content: '{}]["x",{}' }),
  "a message that is JSON of a list": message({ content: "[]" }),
  "a message that is JSON of too many levels": message({
    content: JSON.stringify({ x: nested(200) }),
  }),
  "a hidden announcement without a text": entry("announcement.updated", { hidden: { id: "a1" } }),
  "a hidden question without content": entry("question.saved", { hidden: {} }),
  "a hidden poll whose options are no list": entry("poll.saved", {
    hidden: { ...(sampleOf("poll.saved")["hidden"] as object), options: 1 },
  }),
  "a snapshot of nothing": { type: "snapshot" },
  "a snapshot of a world that is a number": { type: "snapshot", world: 1, data: {} },
  "a snapshot that is too deep": { type: "snapshot", data: nested(200) },
};
