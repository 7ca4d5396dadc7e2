import { readdirSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { check } from "../../db/maintenance/check.js";
import type { WorldCopy } from "../../schemas/documents/world-document.js";
import { databaseBytes, openStore } from "../database.js";
import { until, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

const USER = "00000000-0000-4000-8000-00000000000a";

/** A world with one member and rooms in which so many messages were sent in turn. */
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

/** The text of the nth message, which no other has in it, of many lengths. */
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

/** The numbers of the messages that are in any byte of a database or its log. */
function heldIn(dataDir: string): number[] {
  const held = new Set<number>();
  for (const bytes of databaseBytes(dataDir)) {
    const text = bytes.toString("latin1");
    for (const [, number] of text.matchAll(/<message (\d+)[!>]/g)) {
      held.add(Number(number));
    }
  }
  return [...held].sort((a, b) => a - b);
}

async function fine(t: Test, dataDir: string): Promise<void> {
  t.strictSame((await check({ dataDir }, () => {})).findings, []);
}

const marks = (dataDir: string) =>
  readdirSync(dataDir).filter((name) => name.includes("erasing"));

void t.test("a store that closes erases what it can", async (t) => {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  await store.worlds.import(chatty([randomUUID()], 2500));
  await store.worlds.delete("demo");
  await store.close();
  t.strictSame(rowsIn(dataDir), { all: 2500, over: 2500 });
  t.strictSame(heldIn(dataDir), []);
  t.strictSame(marks(dataDir), []);
});

void t.test("space is given back when most events are over", async (t) => {
  const dataDir = testdir(t);
  const rooms = [randomUUID(), randomUUID(), randomUUID()];
  const [kept] = rooms as [string];
  const store = openStore(t, dataDir);
  await store.worlds.import(chatty(rooms, 18_000));
  const before = await store.chat.events("demo", kept, {
    after: 0,
    limit: 6000,
  });
  const headOf = async () => (await store.log.heads(["demo"]))[0]!.seq;
  const last = await headOf();
  await store.rooms.delete("demo", rooms[1]!);
  await until(() => rowsIn(dataDir).over === 6000);
  await store.rooms.delete("demo", rooms[2]!);
  await until(() => rowsIn(dataDir).all === 6000);
  t.strictSame(
    await store.chat.events("demo", kept, { after: 0, limit: 6000 }),
    before,
  );
  t.ok((await headOf()) > last, "no id is given again");
  const text = { type: "text", body: "new" };
  const sent = { sender: USER, content: text };
  const { event } = await store.chat.send("demo", kept, sent);
  t.ok(event.id > last);
  await store.rooms.delete("demo", kept);
  await until(() => rowsIn(dataDir).over === 6001);
  await until(() => marks(dataDir).length === 0);
  t.strictSame(
    heldIn(dataDir),
    [],
    "not a byte is left, of those either that were moved",
  );
  await fine(t, dataDir);
});
