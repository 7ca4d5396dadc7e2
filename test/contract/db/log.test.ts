import t from "tap";
import type { Author } from "../../../db/contract/author.js";
import type { ChatDelivery } from "../../../db/contract/chat-store.js";
import { LogDraft } from "../../../db/log/draft.js";
import { chatEntry, entryOf, type EntryRow, type LogPosition } from "../../../db/log/entries.js";
import { logContract } from "./log-contract.js";
import { sampleOf } from "./sample-entries.js";

void t.test("between workers", (t) => logContract(t));

void t.test("by a bus that drops everything", (t) => logContract(t, "nothing"));

// Drafting the entries of one transaction.

const ada: Author = { kind: "user", user: "ada", connection: "c1" };
const command: Author = { kind: "command" };
const poll = { type: "poll.voted", room: "r", poll: "p" } as const;

/** Starts a draft on top of some heads. Its tags count up from 1, its timestamps from 1001. */
function drafted(heads: Record<string, LogPosition> = {}) {
  const asked: string[] = [];
  let [tag, date] = [0, 1000];
  const headOf = (world: string) => {
    asked.push(world);
    return heads[world] ?? { seq: 0, tag: 0 };
  };
  const draft = new LogDraft(headOf, { tag: () => ++tag, date: () => ++date });
  /** Formats the hints as `<previous tag> <world> <number> <type> <tag>`. */
  const hints = () =>
    draft.finish().map(({ entry: { world, seq, type, tag }, previous }) => {
      return [previous, world, seq, type, tag].join(" ");
    });
  return { draft, asked, hints };
}

/** Converts a row to an entry. */
const read = ({ world_id: world, ...row }: EntryRow) => entryOf({ world, ...row });

/** Returns a message with the given entry number as its id. */
function delivery(id: number): ChatDelivery {
  const sample = sampleOf("chat.event") as { delivery: ChatDelivery };
  return { ...sample.delivery, event: { ...sample.delivery.event, id } };
}

void t.test("entries follow the head of their world", async (t) => {
  const { draft, asked, hints } = drafted({ a: { seq: 7, tag: 70 } });
  t.equal(draft.next("a"), 8);
  draft.append("a", { type: "rooms.reordered" }, ada);
  draft.append("b", { type: "world.created" }, command);
  draft.append("a", { type: "room.created", room: "r" }, ada);
  const tag = draft.newTag();
  t.equal(draft.next("a"), 10);
  draft.put(chatEntry("a", tag, delivery(10), ada));
  t.equal(draft.next("a"), 11);
  t.strictSame(asked, ["a", "b"], "each head is read once");
  t.strictSame(hints(), [
    "70 a 8 rooms.reordered 1",
    "0 b 1 world.created 2",
    "1 a 9 room.created 3",
    "3 a 10 chat.event 4",
  ]);
  t.strictSame(draft.heads(), [
    { world: "a", seq: 10, tag: 4 },
    { world: "b", seq: 1, tag: 2 },
  ]);
  const entry = { seq: 9, tag: 3, at: 1003, type: "room.created" };
  const row: EntryRow = {
    ...{ world_id: "a", ...entry, author: '{"kind":"user","user":"ada"}' },
    ...{ detail: '{"room":"r"}', data: null },
    ...{ audit: "room.created", changes: "[]", request: "c1" },
  };
  t.strictSame(draft.rows().slice(-1), [row], "no event of chat");
  t.strictSame(read(row), { world: "a", ...entry, room: "r", by: { kind: "user", user: "ada" } });
});

void t.test("what is hidden is kept apart", async (t) => {
  const { draft } = drafted();
  const hidden = { id: "x", text: "t", show_until: null, state: "archived" } as const;
  const change = { announcement: "x", wasVisible: true };
  draft.append("a", { type: "announcement.updated", ...change, hidden }, command);
  draft.finish();
  const [row] = draft.rows();
  t.match(row, { detail: JSON.stringify(change), data: JSON.stringify(hidden) });
  t.match(read(row!), { hidden, wasVisible: true });
  t.notOk("hidden" in read({ ...row!, data: null }));
});

void t.test("a write that fails leaves no entry", async (t) => {
  const { draft, hints } = drafted({ a: { seq: 7, tag: 70 } });
  draft.append("a", { type: "rooms.reordered" }, ada);
  draft.append("a", poll, ada);
  const outer = draft.mark();
  draft.append("a", { type: "chat.erased" }, ada);
  const inner = draft.mark();
  draft.skip("a", 5);
  draft.append("a", { type: "world.created" }, ada);
  draft.append("b", { type: "world.created" }, ada);
  draft.append("a", poll, { ...ada, user: "bob" });
  draft.back(inner);
  t.equal(draft.next("a"), 10);
  t.equal(draft.next("b"), 1);
  draft.back(inner);
  draft.append("b", { type: "world.deleted" }, ada);
  draft.back(outer);
  draft.append("a", { type: "world.updated" }, ada);
  t.match(hints(), [
    /^70 a 8 rooms.reordered 1$/,
    /^1 a 9 world.updated \d+$/,
    /^\d+ a 10 poll.voted \d+$/,
  ]);
  const { entry } = draft.finish().at(-1)!;
  t.strictSame("votes" in entry && entry.votes, [{ user: "ada", connection: "c1" }]);
  t.match(draft.heads(), [{ world: "a", seq: 10 }]);
  t.equal(draft.heads().length, 1);
});

void t.test("votes of one transaction share an entry", async (t) => {
  const { draft } = drafted();
  const question = { type: "question.voted", room: "r", question: "q" } as const;
  draft.append("a", poll, ada);
  draft.append("a", question, { kind: "user", user: "bob" });
  draft.append("a", { type: "rooms.reordered" }, command);
  draft.append("b", { ...poll, poll: "other" }, ada);
  draft.append("a", poll, { kind: "user", user: "cy" });
  const entries = draft.finish().map(({ entry }) => entry);
  const stamp = (seq: number, world = "a") => ({ seq, world, by: { kind: "users" } });
  t.match(entries, [
    { type: "rooms.reordered", seq: 1 },
    { ...poll, ...stamp(2), votes: [{ user: "ada", connection: "c1" }, { user: "cy" }] },
    { ...question, ...stamp(3), votes: [{ user: "bob" }] },
    { ...poll, poll: "other", ...stamp(1, "b"), votes: [{ user: "ada" }] },
  ]);
  t.equal(entries.length, 4);
  const [, row] = draft.rows();
  t.match(row, { detail: '{"room":"r","poll":"p"}', author: '{"kind":"users"}' }, "no user");
  t.match(read(row!), { ...poll, votes: [] });
});

void t.test("imported events have numbers before their world", async (t) => {
  const { draft, hints } = drafted({ a: { seq: 7, tag: 70 } });
  t.equal(draft.skip("a", 3), 8);
  t.equal(draft.skip("a", 1), 11);
  draft.append("a", { type: "world.created" }, command);
  t.strictSame(hints(), ["70 a 12 world.created 1"]);
  t.strictSame(draft.heads(), [{ world: "a", seq: 12, tag: 1 }]);
});

void t.test("tags are random, and exact in a double", async (t) => {
  const draft = new LogDraft(() => ({ seq: 0, tag: 0 }));
  const tags = Array.from({ length: 1000 }, () => draft.newTag());
  t.equal(new Set(tags).size, tags.length);
  t.ok(tags.every((tag) => Number.isSafeInteger(tag) && tag > 0));
  draft.append("a", { type: "world.created" }, command);
  const [hint] = draft.finish();
  t.ok(Math.abs(hint!.entry.at - Date.now()) < 60_000);
});
