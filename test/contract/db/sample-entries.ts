import type { Change, Entry } from "../../../db/log/entries.js";

/** The world of the entries. */
export const SAMPLE_WORLD = "demo";

/** The fields of changes of a type. */
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
  is_pinned: true,
  timestamp: 1,
  options: [{ id: "o1", content: "This", order: 1 }],
  results: { o1: 3 },
};

const ofRoom = { room: "r1" };
const ofUser = { user: "u1" };
const ofFile = { file: "f1" };
const ofAnnouncement = { announcement: "a1", wasVisible: true };
const ofQuestion = { room: "r1", question: "q1" };
const ofPoll = { room: "r1", poll: "p1" };
const votes = [{ user: "u1", connection: "c1" }, { user: "u2" }];

const changes: Changes = {
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
  "user.entered": ofUser,
  "user.updated": ofUser,
  "user.moderated": ofUser,
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
  "chat.memberships": { channel: "r1", users: ["u1", "u2"] },
  "chat.marked": { marks: [{ user: "u1", channel: "r1", pointer: 2, listed: null }] },
  "chat.erased": {},
  "question.saved": { ...ofQuestion, hid: true, hidden: question },
  "question.deleted": { ...ofQuestion, wasVisible: false },
  "question.voted": { ...ofQuestion, votes },
  "question.pinned": { ...ofQuestion, question: null },
  "poll.saved": { ...ofPoll, hid: true, hidden: poll },
  "poll.deleted": { ...ofPoll, wasPublic: false },
  "poll.voted": { ...ofPoll, votes },
  "poll.pinned": ofPoll,
  "session.created": { session: "s1" },
  "session.updated": { session: "s1" },
  "session.deleted": { session: "s1" },
  "speaker.created": { speaker: "p1" },
  "speaker.updated": { speaker: "p1" },
  "speaker.deleted": { speaker: "p1" },
  "program.imported": { created: 1, updated: 2, deleted: 0 },
  "program.favored": ofUser,
  "program.linked": ofUser,
  "file.added": ofFile,
  "file.deleted": ofFile,
  noted: { act: "webhook.created", subject: { webhook_id: "w1" } },
};

/** An entry of each type, as if each were the first of its log. */
export const sampleEntries: readonly Entry[] = Object.entries(changes).map(
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

/** The sample of a type, with other fields. */
export const sampleOf = (type: Entry["type"], fields: object = {}): Record<string, unknown> => ({
  ...sampleEntries.find((entry) => entry.type === type)!,
  ...fields,
});
