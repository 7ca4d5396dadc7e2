import t from "tap";
import type { SentEvent } from "../../../client/index.js";
import { de } from "../../../web/i18n/late/de.js";
import { en } from "../../../web/i18n/late/en.js";
import { memoryShelf } from "../../../web/lib/storage.js";
import {
  allEmoji,
  labelFor,
  memberIn,
  partsIn,
  queryAt,
  reactionsIn,
  parseContent,
  withIds,
  withNames,
} from "../../../web/state/chat-content.js";
import { type Row, rowsOf, Timeline } from "../../../web/state/chat-timeline.js";
import { Drafts, emptyDraft } from "../../../web/state/chat-writing.js";
import { lineName, sanitizeName } from "../../../web/state/profile.js";

const ADA = "2d7f8f0a-3f57-4c0c-9f0e-0d6f1a3e8c1b";
const BEN = "3e7f8f0a-3f57-4c0c-9f0e-0d6f1a3e8c1b";

void t.test("what a message says, whatever its content is", (t) => {
  const named = { url: "https://a/b.png", name: "b.png" };
  const file = { ...named, mimeType: "image/png" };
  const none = { url: "", name: "", type: "" };
  const filesSaid = (files: unknown) => ({ is: "files", body: "", files });
  for (const [content, said] of [
    [
      { type: "text", body: "Hi" },
      { is: "text", body: "Hi" },
    ],
    [{ type: "files", files: [file] }, filesSaid([{ ...named, type: file.mimeType }])],
    [
      { type: "files", files: [null, 5, { url: 7, name: {} }], body: [] },
      filesSaid(Array(3).fill(none)),
    ],
    [{ type: "deleted" }, { is: "deleted" }],
    [
      { type: "call", body: { id: 1 } },
      { is: "call", seconds: undefined, isMissed: false },
    ],
    [
      { type: "call", body: null },
      { is: "call", seconds: undefined, isMissed: false },
    ],
    [
      { type: "call", body: { seconds: -1 } },
      { is: "call", seconds: undefined, isMissed: false },
    ],
    [
      { type: "call", body: { seconds: 90 } },
      { is: "call", seconds: 90, isMissed: false },
    ],
    [
      { type: "call", body: { missed: true } },
      { is: "call", seconds: undefined, isMissed: true },
    ],
  ] as const) {
    t.same(parseContent(content), said, JSON.stringify(content));
  }
  for (const content of [
    { type: "text", body: 5 },
    { type: "text", body: "" },
    { type: "files", files: "all" },
    {},
    null,
    "text",
    [],
  ]) {
    t.same(parseContent(content), { is: "unknown" }, JSON.stringify(content));
  }
  t.end();
});

void t.test("other contents may be anything as well", (t) => {
  const of = (content: unknown, sender: string | null = null) => ({
    content: content as Record<string, unknown>,
    sender,
  });
  t.same(memberIn(of({ membership: "join", user: { id: ADA } })), { id: ADA, isHere: true });
  t.same(memberIn(of({ membership: "leave" }, BEN)), { id: BEN, isHere: false });
  for (const content of [null, 1, {}, { membership: 1, user: 2 }]) {
    t.equal(memberIn(of(content)), undefined);
  }
  const strange = JSON.parse('{"👍":["a"],"__proto__":["b"],"x":"y","z":[],"":["c"]}') as Record<
    string,
    string[]
  >;
  t.same(reactionsIn({ reactions: strange }), [
    ["👍", ["a"]],
    ["__proto__", ["b"]],
  ]);
  t.same(reactionsIn({ reactions: null as never }), []);
  t.end();
});

void t.test("mentions are ids to the server and names to people", (t) => {
  t.same(partsIn(`Hi @${ADA.toUpperCase()}, and @${BEN}!`), [
    { text: "Hi " },
    { mention: ADA },
    { text: ", and " },
    { mention: BEN },
    { text: "!" },
  ]);
  t.same(partsIn("a@b.c @nobody"), [{ text: "a@b.c @nobody" }]);
  const mentions = [
    { label: "Ada", id: ADA },
    { label: "Ada L", id: BEN },
  ];
  for (const [text, stored] of [
    ["@Ada", `@${ADA}`],
    ["@Ada L, @Ada: hello", `@${BEN}, @${ADA}: hello`],
    ["@Adam is not @Ada_", "@Adam is not @Ada_"],
    ["no @", "no @"],
    ["@@Ada", `@@${ADA}`],
    ["@Ben", "@Ben"],
  ] as const) {
    t.equal(withIds(text, mentions), stored, text);
  }
  const nameOf = () => "Ada";
  const shown = withNames(`@${ADA} @${BEN} @${ADA}`, nameOf);
  t.equal(shown.text, "@Ada @Ada (2) @Ada");
  t.equal(
    withIds(shown.text, shown.mentions),
    `@${ADA} @${BEN} @${ADA}`,
    "there and back, even with equal names",
  );
  t.end();
});

void t.test("hostile names make one tame word", (t) => {
  for (const name of ["\u202Egnp.exe", "a\nb", "@@", "\u200B", "x".repeat(500)]) {
    const label = labelFor({ id: ADA, name }, []);
    t.ok(label.length > 0 && label.length <= 40);
    t.notMatch(label, /[@\n\u202E\u200B]/);
  }
  t.equal(sanitizeName("\u202EAda\u2066\n\tLovelace"), "Ada Lovelace");
  t.equal(sanitizeName("\u200B\u200F"), "");
  t.equal([...sanitizeName("👩‍🚀".repeat(50))].length, 61);
  t.equal(sanitizeName("👩‍🚀"), "👩‍🚀", "what joins emoji stays");
  const unseen = { id: ADA, profile: { display_name: "\u200B" } };
  t.equal(lineName(unseen, "Somebody"), "Somebody");
  t.equal(lineName(undefined, "Somebody"), "Somebody");
  t.end();
});

void t.test("a name is looked for while it is typed", (t) => {
  for (const [text, found] of [
    ["@", { from: 0, term: "" }],
    ["Hi @ad", { from: 3, term: "ad" }],
    ["(@ad", { from: 1, term: "ad" }],
    ["@Ada Lo", { from: 0, term: "Ada Lo" }],
    ["@Ada\nwhat", undefined],
    ["@ ada", undefined],
    ["mail@ada", undefined],
    ["@one two three four", undefined],
    [`@${"x".repeat(40)}`, undefined],
    ["", undefined],
  ] as const) {
    t.same(queryAt(text, text.length), found, text);
  }
  t.same(queryAt("@ada is here", 3), { from: 0, term: "ad" });
  t.end();
});

void t.test("drafts survive, and nothing that is kept breaks them", (t) => {
  const shelf = memoryShelf();
  const drafts = new Drafts(shelf, "key");
  const kept = {
    draft: {
      text: "Hi @Ada",
      mentions: [{ label: "Ada", id: ADA }],
      files: [{ url: "u", name: "n", type: "t" }],
    },
    unconfirmed: [{ content: { type: "text", body: "Hello" }, after: 5 }],
  };
  drafts.write(kept);
  t.same(new Drafts(shelf, "key").read(), kept);
  t.same(new Drafts(shelf, "other").read().draft, emptyDraft);
  drafts.write({ draft: emptyDraft, unconfirmed: [] });
  t.equal(shelf.getItem("key"), null, "nothing is left of nothing");
  for (const json of [
    "{",
    "5",
    "null",
    "[]",
    '{"draft":5,"unconfirmed":{}}',
    '{"draft":{"text":1,"mentions":[1,null],"files":[{}]},"unconfirmed":[1,{"after":1},{"content":{"type":"call"}}]}',
  ]) {
    shelf.setItem("key", json);
    t.same(drafts.read(), { draft: emptyDraft, unconfirmed: [] }, json);
  }
  t.end();
});

void t.test("each emoji is there once, and has a name in each language", (t) => {
  t.equal(new Set(allEmoji).size, allEmoji.length);
  for (const { emoji } of [en, de]) {
    const names = emoji.names.split("|");
    t.equal(names.length, allEmoji.length);
    t.equal(new Set(names).size, names.length);
  }
  t.end();
});

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
  const firsts = rows.flatMap((row) => (row.is === "message" ? [row.isFirst] : []));
  t.same(firsts, [true, false, true, true]);
  t.equal(rows[0]!.is, "day");
  t.end();
});

void t.test("each day begins with a line", (t) => {
  const days = [1, 1, 2].map((day, at) =>
    event(at + 1, { timestamp: new Date(2026, 0, day, 12).toISOString() }),
  );
  const expected = ["day", "message", "message", "day", "message"];
  t.same(kinds(rowsOf({ ...source, events: days })), expected);
  const broken = [event(1, { timestamp: "never" })];
  t.same(kinds(rowsOf({ ...source, events: broken })), ["day", "message"]);
  t.end();
});

void t.test("what is new begins with a line, unless it is one's own", (t) => {
  const events = [event(1), event(2, { sender: "me" }), event(3)];
  const rows = (changes: object) => kinds(rowsOf({ ...source, events, ...changes })).slice(1);
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
  const after = rowsOf({ ...source, events: [event(1), ...events.slice(1), event(4)] }, before);
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
