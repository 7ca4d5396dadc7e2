import t from "tap";
import type { SentEvent } from "../../client/index.js";
import { rowsOf, type Row } from "../../web/state/chat-rows.js";
import { Timeline } from "../../web/state/chat-timeline.js";

const event = (id: number, changes: Partial<SentEvent> = {}): SentEvent => ({
  event_id: id,
  channel: "hall",
  sender: "ada",
  timestamp: new Date(2026, 0, 1, 12, 0, id).toISOString(),
  event_type: "channel.message",
  content: { type: "text", body: `Message ${id}.` },
  edited: null,
  replaces: null,
  reactions: {},
  ...changes,
});

const member = (id: number, user: string, membership: string) =>
  event(id, {
    event_type: "channel.member",
    sender: user,
    content: { membership, user: { id: user } },
  });

const source = { hasOlder: false, readUpTo: undefined, me: "me" };
const kinds = (rows: readonly Row[]) => rows.map(({ is }) => is);
const ids = ({ events }: Timeline) => events.map(({ event_id }) => event_id);

void t.test("messages of one author are a group", (t) => {
  const rows = rowsOf({
    ...source,
    events: [
      event(1),
      event(2),
      event(3, { sender: "ben" }),
      event(4, { sender: "ben", timestamp: "2026-01-01T23:00:00Z" }),
    ],
  });
  const firsts = rows.map((row) => row.is === "message" && row.isFirst);
  t.same(
    firsts.filter((_, at) => rows[at]!.is === "message"),
    [true, false, true, true],
  );
  t.equal(rows[0]!.is, "day");
  t.end();
});

void t.test("each day begins with a line", (t) => {
  const days = [1, 1, 2].map((day, at) =>
    event(at + 1, { timestamp: new Date(2026, 0, day, 12).toISOString() }),
  );
  t.same(kinds(rowsOf({ ...source, events: days })), [
    "day",
    "message",
    "message",
    "day",
    "message",
  ]);
  const broken = [event(1, { timestamp: "never" })];
  t.same(kinds(rowsOf({ ...source, events: broken })), ["day", "message"]);
  t.end();
});

void t.test("what is new begins with a line, unless it is one's own", (t) => {
  const events = [event(1), event(2, { sender: "me" }), event(3)];
  const rows = (changes: object) =>
    kinds(rowsOf({ ...source, events, ...changes })).slice(1);
  t.same(rows({ readUpTo: 1 }), ["message", "message", "unread", "message"]);
  t.same(rows({ readUpTo: 3 }), ["message", "message", "message"]);
  t.same(rows({ readUpTo: 0 })[0], "unread", "all is new");
  t.same(
    rows({ readUpTo: 0, hasOlder: true }),
    ["message", "message", "message"],
    "where it begins is not loaded",
  );
  t.end();
});

void t.test("who comes and goes, and what is deleted, takes one line", (t) => {
  const gone = { content: { type: "deleted" } };
  const rows = rowsOf({
    ...source,
    events: [
      member(1, "ada", "join"),
      member(2, "ben", "join"),
      member(3, "ada", "leave"),
      member(4, "ada", "ban"),
      event(5, gone),
      event(6, { ...gone, sender: "ben" }),
      event(7, { event_type: "channel.poll", content: { state: "open" } }),
      member(8, "ada", ""),
      event(9, { event_type: "channel.member", sender: null, content: {} }),
    ],
  }).slice(1);
  t.match(rows, [
    { is: "members", joined: ["ben"], left: ["ada"] },
    { is: "deleted", count: 2 },
    { is: "poll", state: "open" },
    { is: "members", joined: [], left: ["ada"] },
  ]);
  t.equal(new Set(rows.map(({ key }) => key)).size, rows.length);
  t.end();
});

void t.test("what has not changed stays the same", (t) => {
  const events = [event(1), event(2), member(3, "ben", "join")];
  const before = rowsOf({ ...source, events });
  const after = rowsOf(
    { ...source, events: [event(1), ...events.slice(1), event(4)] },
    before,
  );
  t.not(after[1], before[1], "another event");
  t.equal(after[0], before[0]);
  t.equal(after[2], before[2]);
  t.equal(after[3], before[3]);
  t.end();
});

void t.test("a timeline has each event once, in order, as it is now", (t) => {
  const timeline = new Timeline();
  timeline.addPage([event(3), event(5)]);
  t.same(
    timeline.add([event(5), event(4), event(6)]).map((it) => it.event_id),
    [4, 6],
  );
  timeline.addPage([event(1), event(2)]);
  t.same(ids(timeline), [1, 2, 3, 4, 5, 6]);
  t.same([timeline.oldest, timeline.newest], [1, 6]);
  t.end();
});

void t.test("edits are applied once, and never the older ones after", (t) => {
  const timeline = new Timeline();
  const body = (id: number) => timeline.get(id)?.content["body"];
  const edit = (id: number, replaces: number) => event(id, { replaces });
  timeline.addPage([event(1), event(2)]);
  timeline.add([edit(4, 1)]);
  timeline.add([edit(3, 1), edit(5, 99)]);
  t.equal(body(1), "Message 4.");
  t.equal(timeline.get(1)!.edited, event(4).timestamp);
  t.same(ids(timeline), [1, 2]);
  t.equal(timeline.newest, 5);
  timeline.add([event(6, { replaces: 1, content: { type: "deleted" } })]);
  t.same(timeline.get(1)!.content, { type: "deleted" });
  timeline.react({ event_id: 2, reactions: { "👍": ["ada"] } });
  timeline.react({ event_id: 77, reactions: {} });
  t.same(timeline.get(2)!.reactions, { "👍": ["ada"] });
  t.end();
});

void t.test("a timeline drops its far end, and takes it again", (t) => {
  const timeline = new Timeline();
  const all = [1, 2, 3, 4, 5, 6].map((id) => event(id));
  timeline.addPage(all);
  timeline.hasOlder = false;
  timeline.dropOldest(4);
  t.same([ids(timeline), timeline.hasOlder], [[3, 4, 5, 6], true]);
  t.equal(timeline.oldest, 3);
  timeline.dropNewest(2);
  t.same([ids(timeline), timeline.hasNewer], [[3, 4], true]);
  t.equal(timeline.newest, 4);
  t.same(timeline.add([event(7)]).length, 1, "it is returned, but not kept");
  t.same(ids(timeline), [3, 4]);
  timeline.addPage(all.slice(4));
  timeline.hasNewer = false;
  timeline.dropOldest(9);
  timeline.dropNewest(9);
  t.same(ids(timeline), [3, 4, 5, 6]);
  t.end();
});
