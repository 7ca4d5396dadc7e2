import type { ChatDelivery } from "../../../db/contract/chat-store.js";
import type { Change, Entry } from "../../../db/log/entries.js";
import { ofRecords, type RecordType } from "../../../schemas/plain/records.js";

export const SAMPLE_WORLD = "demo";

type FieldsOf<C, T> = C extends { type: unknown }
  ? T extends C["type"]
    ? Omit<C, "type">
    : never
  : never;

type Changes = { [T in Change["type"]]: FieldsOf<Change, T> };

const announcement = { id: "a1", text: "Hello", show_until: null, state: "archived" as const };

const question = {
  id: "q1",
  room: "r1",
  sender: "u1",
  moderator: null,
  content: "Why?",
  named: true,
  state: "archived" as const,
  answered: false,
  is_pinned: false,
  timestamp: 1,
  score: 2,
};

const poll = {
  id: "p1",
  room: "r1",
  content: "Which?",
  state: "archived" as const,
  poll_type: "choice" as const,
  settings: {},
  is_pinned: true,
  timestamp: 1,
  options: [{ id: "o1", content: "This", order: 1 }],
  results: { o1: 3 },
};

const ofRoom = { room: "r1" };
const ofUser = { user: "u1" };
const ofFile = { file: "f1" };
const ofCall = { channel: "r1", isDirect: false };
const ofAnnouncement = { announcement: "a1", wasVisible: true };
const ofQuestion = { room: "r1", question: "q1" };
const ofPoll = { room: "r1", poll: "p1" };
const votes = [{ user: "u1", connection: "c1" }, { user: "u2" }];

const changes: Omit<Changes, RecordType> = {
  "world.created": {},
  "world.updated": {},
  "world.deleted": {},
  "world.raised": {},
  "log.began": {},
  "room.created": ofRoom,
  "room.opened": ofRoom,
  "room.updated": ofRoom,
  "room.scheduled": ofRoom,
  "room.deleted": { ...ofRoom, rules: { "room.view": ["a", ["b", "c"]] } },
  "rooms.reordered": {},
  "user.entered": { ...ofUser, waits: true },
  "user.updated": { ...ofUser, waits: true },
  "user.moderated": { ...ofUser, waited: true },
  "user.blocked": ofUser,
  "user.unblocked": ofUser,
  "user.erased": ofUser,
  "announcement.created": ofAnnouncement,
  "announcement.updated": { ...ofAnnouncement, hidden: announcement },
  "chat.event": {
    channel: "r1",
    delivery: {
      event: {
        id: 1,
        channel: "r1",
        sender: "u1",
        timestamp: 1,
        edited: null,
        type: "channel.message",
        content: '{"type":"text"}',
        replaces: null,
        reactions: { "👍": ["u2"] },
      },
      previous: 0,
      previousMessage: 0,
      notified: ["u3"],
      appeared: [],
    },
  },
  "chat.reacted": { channel: "r1", event: 1 },
  "chat.held": { channel: "r1", held: "h1", ...ofUser },
  "chat.unheld": {
    channel: "r1",
    held: "h1",
    ...ofUser,
    state: "rejected",
    event: 1,
    hidden: { reason: "No." },
  },
  "report.created": { report: "t1", kind: "message", inRoom: "r1" },
  "report.resolved": { report: "t1", kind: "message", inRoom: null, action: "deleted" },
  "chat.memberships": { channel: "r1", users: ["u1", "u2"] },
  "chat.marked": { marks: [{ user: "u1", channel: "r1", pointer: 2, listed: null }] },
  "chat.erased": {},
  "question.saved": { ...ofQuestion, hid: true, hidden: question },
  "question.deleted": { ...ofQuestion, wasVisible: false },
  "question.voted": { ...ofQuestion, votes },
  "question.pinned": { ...ofQuestion, question: null },
  "poll.saved": { ...ofPoll, hid: true, hidden: poll },
  "poll.deleted": { ...ofPoll, wasPublic: false, kind: "words" },
  "poll.voted": { ...ofPoll, votes },
  "poll.pinned": ofPoll,
  "program.imported": { created: 1, updated: 2, deleted: 0 },
  "program.favored": ofUser,
  "session.rated": { session: "s1", ...ofUser },
  "program.linked": ofUser,
  "call.started": { ...ofCall, call: "c1" },
  "call.ended": { ...ofCall, call: "c1", users: ["u1"] },
  "call.declined": { channel: "r1", call: "c1", ...ofUser },
  "call.joined": { ...ofCall, ...ofUser },
  "call.left": { ...ofCall, ...ofUser },
  "call.published": { channel: "r1", ...ofUser },
  "call.staged": { ...ofRoom, ...ofUser, on: true },
  "hand.raised": { ...ofRoom, ...ofUser },
  "hand.lowered": { ...ofRoom, ...ofUser },
  "screen.shown": ofRoom,
  "caption.added": { ...ofRoom, lang: "en", caption: 1 },
  "caption.heard": { ...ofRoom, langs: ["en"] },
  "caption.erased": {},
  "file.added": ofFile,
  "file.deleted": ofFile,
  noted: { act: "webhook.created", subject: { webhook_id: "w1" } },
};

/** One entry of each type, each as the first of its log. */
export const sampleEntries: readonly Entry[] = Object.entries({
  ...changes,
  ...ofRecords((record) => ({ [record]: "x1" })),
}).map(
  ([type, change]) =>
    ({
      type,
      ...change,
      world: SAMPLE_WORLD,
      seq: 1,
      tag: 7,
      at: 1,
      by: { kind: "user", user: "u1", connection: "c1" },
    }) as Entry,
);

/** Returns the sample entry of a type, with some fields replaced. */
export const sampleOf = (type: Entry["type"], fields: object = {}): Record<string, unknown> => ({
  ...sampleEntries.find((entry) => entry.type === type)!,
  ...fields,
});

const hints = (...entries: unknown[]) => ({
  type: "hints",
  world: SAMPLE_WORLD,
  hints: entries.map((entry) => ({ entry, previous: 0 })),
});

const entry = (type: Entry["type"], fields: object = {}) => hints(sampleOf(type, fields));

/** Returns the hint for a chat message with some fields replaced. */
function message(fields: object): unknown {
  const { delivery } = sampleOf("chat.event") as { delivery: ChatDelivery };
  const event = { ...delivery.event, ...fields };
  return entry("chat.event", { delivery: { ...delivery, event } });
}

const many = (count: number) => Array.from({ length: count }, () => "u1");
const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;

/** Messages that no process of this version sends, by their fault. */
export const hostileMessages: Readonly<Record<string, unknown>> = {
  "no object": "hints",
  null: null,
  "a list": [entry("world.updated")],
  "no type": { world: SAMPLE_WORLD, hints: [] },
  "a type that is no text": { ...entry("world.updated"), type: ["hints"] },
  "a type that every object has": { type: "__proto__" },
  "an unknown type": { type: "world.painted", world: SAMPLE_WORLD },
  "an entry by itself": sampleOf("world.updated"),
  "the beginning of a process": { type: "process.began", process: "x" },
  "the end of a process": { type: "process.ended", process: "x" },
  "no world": { ...entry("world.updated"), world: undefined },
  "a world that is a number": { ...entry("world.updated"), world: 1 },
  "a world that is endless": {
    ...hints(sampleOf("world.updated", { world: "x".repeat(9999) })),
    world: "x".repeat(9999),
  },
  "hints that are no list": { type: "hints", world: SAMPLE_WORLD, hints: { length: 1 } },
  "a hint that is null": { type: "hints", world: SAMPLE_WORLD, hints: [null] },
  "a hint without an entry": { type: "hints", world: SAMPLE_WORLD, hints: [{ previous: 0 }] },
  "a hint without the tag before it": {
    type: "hints",
    world: SAMPLE_WORLD,
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
