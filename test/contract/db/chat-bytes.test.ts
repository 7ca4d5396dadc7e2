import { randomUUID } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { check } from "../../../db/maintenance/check.js";
import type { WorldCopy } from "../../../schemas/documents/world-document.js";
import { copyAsKilled, databaseBytes, heldIn, marksIn, openStore } from "../../support/database.js";
import { textsBelow } from "../../support/files.js";
import { until, worldOf } from "../../support/helper.js";
import { testdir } from "../../support/testdir.js";

// Texts that are deleted, edited or otherwise removed leave no trace in any database file.

const DELETED = { type: "deleted" };

/** Opens a store with a room and users. */
async function opened(t: Test) {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  const { id: room } = (await store.rooms.create("demo", { name: "R" })).value;
  const users: string[] = [];
  for (const tokenId of ["ada", "bob"]) {
    const visitor = { tokenId, traits: new Set<string>() };
    users.push((await store.users.enter("demo", visitor)).id);
  }
  const [ada, bob] = users as [string, string];
  await store.chat.join("demo", room, ada);
  const say = async (body: string, replaces?: number, channel = room) => {
    const content = body ? { type: "text", body } : DELETED;
    const draft = { sender: ada, content, replaces };
    return (await store.chat.send("demo", channel, draft)).event.id;
  };
  return { dataDir, store, room, ada, bob, say };
}

const isMarked = (dataDir: string) => marksIn(dataDir).length > 0;

/** Returns texts of varying length, some of which span several pages. */
const textsOf = (kind: string, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const length = i % 50 === 0 ? 3000 + i * 7 : (i * 37) % 400;
    return `${kind}-${i}-start${"x".repeat(length)}${kind}-${i}-end`;
  });
const starts = (texts: readonly string[]) => texts.map((text) => /^\w+-\d+-start/.exec(text)![0]);
const ends = (texts: readonly string[]) =>
  texts.map((text) =>
    text
      .split("x")
      .at(-1)!
      .replace(/^.*start/, ""),
  );

void t.test("deleted messages and their edits", async (t) => {
  const { dataDir, store, say } = await opened(t);
  const kinds = ["doomed", "edited", "edit", "kept"] as const;
  const [doomed, edited, edits, kept] = kinds.map((kind) => textsOf(kind, 600)) as [
    string[],
    string[],
    string[],
    string[],
  ];
  const sent = await Promise.all(
    doomed.map(async (text, i) => [await say(text), await say(edited[i]!), await say(kept[i]!)]),
  );
  await Promise.all(sent.map(([, id], i) => say(edits[i]!, id)));
  const gone = [...doomed, ...edited, ...edits];
  t.equal(heldIn(dataDir, ends(gone)).length, gone.length, "all are there");
  await Promise.all(sent.flatMap(([first, second]) => [say("", first), say("", second)]));
  t.equal(isMarked(dataDir), true, "a crash would not forget it");
  await until(() => !isMarked(dataDir));
  t.strictSame(heldIn(dataDir, [...starts(gone), ...ends(gone)]), []);
  t.strictSame(heldIn(dataDir, ends(kept)), ends(kept), "the others stay");
  await store.close();
  t.strictSame(await textsBelow(dataDir, ends(gone)), []);
});

void t.test("the edits between the first and the last one, soon", async (t) => {
  const { dataDir, say, store, room } = await opened(t);
  const kinds = ["first", "second", "third", "last"].map((kind) => textsOf(kind, 60));
  const [first, second, third, last] = kinds as [string[], string[], string[], string[]];
  const ids = await Promise.all(first.map((text) => say(text)));
  const edits: number[] = [];
  for (const [i, id] of ids.entries()) {
    edits.push(await say(second[i]!, id));
    // Editing an edit edits the original message.
    await say(third[i]!, edits.at(-1));
    edits.push(await say(last[i]!, id));
  }
  await until(() => !isMarked(dataDir));
  const gone = [...first, ...second, ...third];
  t.strictSame(heldIn(dataDir, [...starts(gone), ...ends(gone)]), []);
  t.strictSame(heldIn(dataDir, ends(last)), ends(last));
  const { content } = (await store.chat.event("demo", room, edits[0]!))!;
  t.match(content, last[0], "each shows the last one");
});

type Opened = Awaited<ReturnType<typeof opened>>;

const fates: Record<string, { end: (all: Opened) => Promise<unknown>; isDirect?: true }> = {
  emptied: { end: ({ store, ada }) => store.chat.empty("demo", ada, 0) },
  over: {
    async end({ store }) {
      while (await store.chat.expire("demo", Date.now() + 1));
    },
  },
  alone: {
    isDirect: true,
    async end({ store, ada, bob }) {
      await store.users.erase("demo", { user_id: ada });
      await store.users.erase("demo", { user_id: bob });
    },
  },
  "of a deleted room": { end: ({ store, room }) => store.rooms.delete("demo", room) },
  "of a deleted world": { end: ({ store }) => store.worlds.delete("demo") },
};

for (const [name, { end, isDirect }] of Object.entries(fates)) {
  void t.test(`messages that are ${name}`, async (t) => {
    const all = await opened(t);
    const { dataDir, store, room, ada, bob, say } = all;
    const texts = textsOf("gone", 250);
    const channel = isDirect
      ? (await store.chat.direct("demo", ada, [ada, bob], true)).channel.id
      : room;
    await Promise.all(texts.map((text) => say(text, undefined, channel)));
    await end(all);
    const held = () => heldIn(dataDir, [...starts(texts), ...ends(texts)]);
    await until(() => held().length === 0 && !isMarked(dataDir));
    t.strictSame(held(), []);
  });
}

void t.test("a deletion waits for no reader of the file", async (t) => {
  const { dataDir, store, say } = await opened(t);
  const texts = textsOf("late", 5);
  const ids = await Promise.all(texts.map((text) => say(text)));
  const readers: Database.Database[] = [];
  const started = performance.now();
  for (const id of ids) {
    // Each reader sees the state before the next deletion, so that state stays in the write-ahead
    // log.
    const reader = new Database(join(dataDir, "foyer.db"), { readonly: true });
    readers.push(reader);
    t.teardown(() => reader.close());
    reader.exec("BEGIN");
    reader.prepare("SELECT * FROM chat_events").all();
    await say("", id);
  }
  // A writer that emptied the write-ahead log would wait two seconds for each new reader.
  t.ok(performance.now() - started < ids.length * 2000);

  const crashed = copyAsKilled(dataDir);
  t.strictSame(heldIn(crashed, ends(texts)), ends(texts), "in its log");
  t.equal(isMarked(crashed), true);
  openStore(t, crashed);
  await until(() => heldIn(crashed, ends(texts)).length === 0);

  for (const reader of readers) reader.close();
  await until(() => !isMarked(dataDir));
  t.strictSame(heldIn(dataDir, ends(texts)), [], "when they end");
  await store.close();
});

void t.test("a page costs the same wherever it is", async (t) => {
  const { dataDir, store, room, say } = await opened(t);
  const { chat, log } = store;
  await say("first");
  const db = new Database(join(dataDir, "foyer.db"));
  // Many gone events, and many joins.
  const fill = db.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150000)
     INSERT INTO chat_events (world_id, id, tag, channel, type, sender, timestamp, gone, content)
     SELECT 'demo', seq + i, 1, 1, ?, 'x', i, ?, '{"membership":"join"}'
     FROM n, log_heads WHERE log_heads.world_id = 'demo'`,
  );
  const raise = db.prepare(
    "UPDATE log_heads SET seq = seq + 150000, tag = 1 WHERE world_id = 'demo'",
  );
  fill.run(0, 1);
  raise.run();
  fill.run(1, 0);
  raise.run();
  const scanned = performance.now();
  db.prepare("SELECT sum(length(content)) FROM chat_events").get();
  const scan = performance.now() - scanned;
  db.close();
  const last = await say("last");
  let took = Infinity;
  for (let i = 0; i < 100; i++) {
    const started = performance.now();
    const withoutMembers = true;
    const pages = await Promise.all([
      chat.events("demo", room, { limit: 25, withoutMembers }),
      chat.events("demo", room, { after: 0, limit: 3, withoutMembers }),
      chat.events("demo", room, { before: 150_000, limit: 25 }),
      chat.events("demo", room, { after: 0, limit: 3 }),
      chat.deliveries("demo", room, last - 1, 3),
      log.since("demo", last - 1, 3).then(({ entries }) => entries),
    ]);
    took = Math.min(took, performance.now() - started);
    t.strictSame(
      pages.map(({ length }) => length),
      [2, 2, 2, 3, 1, 1],
    );
  }
  // All six queries together must be faster than a scan of half the rows.
  t.ok(took < scan / 2, `${took} ms, where all rows take ${scan} ms`);
});

const USER = "00000000-0000-4000-8000-00000000000a";

/** Returns a copy of a world with one member, who has sent `count` messages to the rooms in turn. */
function chatty(rooms: readonly string[], count: number): WorldCopy {
  return {
    world: worldOf("demo"),
    rooms: rooms.map((id) => ({ id, name: id })),
    users: [
      {
        id: USER,
        token_id: "ada",
        client_id: null,
        profile: null,
        traits: [],
        last_seen: new Date().toISOString(),
      },
    ],
    chat: {
      channels: rooms.map((id) => ({ id, members: [{ user: USER }] })),
      events: Array.from({ length: count }, (_, i) => ({
        id: i + 1,
        channel: rooms[i % rooms.length]!,
        type: "channel.message",
        timestamp: new Date().toISOString(),
        sender: USER,
        content: { type: "text", body: textOf(i) },
      })),
    },
  };
}

/** Returns the text of the nth message. Lengths vary, and no text contains another. */
const textOf = (i: number) => `<message ${i}${"!".repeat(i % 150)}>`;

const rowsIn = (dataDir: string) => {
  const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
  try {
    return db
      .prepare<[], { all: number; over: number }>(
        'SELECT count(*) AS "all", coalesce(sum(gone), 0) AS over FROM chat_events',
      )
      .get()!;
  } finally {
    db.close();
  }
};

/** Returns the numbers of all messages found in the bytes of a database or its log. */
function numbersIn(dataDir: string): number[] {
  const texts = databaseBytes(dataDir).map((bytes) => bytes.toString("latin1"));
  const found = texts.flatMap((text) => [...text.matchAll(/<message (\d+)[!>]/g)]);
  return [...new Set(found.map(([, number]) => Number(number)))].sort((a, b) => a - b);
}

void t.test("space is given back when most events are over", async (t) => {
  const dataDir = testdir(t);
  const rooms = [randomUUID(), randomUUID(), randomUUID()];
  const [kept] = rooms as [string];
  const store = openStore(t, dataDir);
  await store.worlds.import(chatty(rooms, 18_000));
  const before = await store.chat.events("demo", kept, { after: 0, limit: 6000 });
  const headOf = async () => (await store.log.heads(["demo"]))[0]!.seq;
  const last = await headOf();
  await store.rooms.delete("demo", rooms[1]!);
  await until(() => rowsIn(dataDir).over === 6000);
  await store.rooms.delete("demo", rooms[2]!);
  await until(() => rowsIn(dataDir).all === 6000);
  t.strictSame(await store.chat.events("demo", kept, { after: 0, limit: 6000 }), before);
  t.ok((await headOf()) > last, "no id is given again");
  const text = { type: "text", body: "new" };
  const sent = { sender: USER, content: text };
  const { event } = await store.chat.send("demo", kept, sent);
  t.ok(event.id > last);
  await store.rooms.delete("demo", kept);
  await until(() => rowsIn(dataDir).over === 6001);
  await until(() => marksIn(dataDir).length === 0);
  t.strictSame(numbersIn(dataDir), [], "not a byte is left, of those either that were moved");
  t.strictSame((await check({ dataDir }, () => {})).findings, []);
});
