import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import { check } from "../../db/maintenance/check.js";
import { INDEX } from "../../db/log/entries.js";
import type { Store } from "../../db/contract/store.js";
import { copyAsKilled, heldIn, openStore } from "../database.js";
import { until, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";
import { expectErased, marksIn } from "./expect-erased.js";

// No byte stays of what the log of a world told of hidden texts.

const HOUR = 3_600_000;

/** A store with two worlds, each with a room and a user. */
async function opened(t: Test) {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const rooms: Record<string, string> = {};
  const users: Record<string, string> = {};
  for (const world of ["demo", "other"]) {
    await store.worlds.create(worldOf(world));
    const visitor = { tokenId: "ada", traits: new Set<string>() };
    users[world] = (await store.users.enter(world, visitor)).id;
    rooms[world] = (await store.rooms.create(world, { name: "R" })).value.id;
  }
  return { dataDir, store, rooms, users };
}

type Opened = Awaited<ReturnType<typeof opened>>;

/** Hides a question with a text, which then is in the log as well. @returns its id. */
async function hide(
  { store, rooms, users }: Pick<Opened, "store" | "rooms" | "users">,
  content: string,
  world = "demo",
): Promise<string> {
  const [room, sender] = [rooms[world]!, users[world]!];
  const draft = { sender, content, state: "visible" } as const;
  const { id } = await store.questions.create(world, room, draft);
  const { questions } = store;
  await questions.update(world, room, id, { state: "archived" }, sender);
  return id;
}

/** Changes a closed database. */
function change(dataDir: string, sql: string): void {
  const db = new Database(join(dataDir, "foyer.db"));
  db.exec(sql);
  db.close();
}

/** As if all was written a while ago. */
const age = (dataDir: string, by: number) =>
  change(dataDir, `UPDATE log SET at = at - ${by}`);

void t.test("what was hidden goes with what is erased", async (t) => {
  const all = await opened(t);
  const { dataDir, store, rooms, users } = all;
  const { room, user } = { room: rooms.demo!, user: users.demo! };
  const [first, poll, deleted] = await Promise.all([
    hide(all, "hidden at first"),
    store.polls.create("demo", room, { content: "p", options: [] }),
    store.questions.create("demo", room, {
      ...{ sender: user, content: "q", state: "visible" },
    }),
  ]);
  // The log is the only one that holds these texts.
  const only = async (text: string) => {
    const id = await hide(all, text);
    await store.close();
    change(
      dataDir,
      `UPDATE questions SET content = '-' WHERE id = '${id}'; VACUUM`,
    );
    t.strictSame(heldIn(dataDir, [text]), [text]);
    return openStore(t, dataDir);
  };
  t.ok(first);
  const erasures: [name: string, erase: (store: Store) => Promise<unknown>][] =
    [
      ["a poll", (next) => next.polls.delete("demo", room, poll.id)],
      ["a question", (next) => next.questions.delete("demo", room, deleted.id)],
      [
        "a text",
        (next) =>
          next.questions.update("demo", room, first, { content: "-" }, user),
      ],
      [
        "a user",
        async (next) => {
          const visitor = { tokenId: "bob", traits: new Set<string>() };
          const { id } = await next.users.enter("demo", visitor);
          await next.users.erase("demo", { user_id: id });
        },
      ],
      [
        "a room",
        async (next) => {
          const { value } = await next.rooms.create("demo", { name: "S" });
          await next.rooms.delete("demo", value.id);
        },
      ],
      ["a world", (next) => next.worlds.delete("demo")],
    ];
  for (const [name, erase] of erasures) {
    const text = `the words that ${name} takes along`;
    all.store = await only(text);
    await erase(all.store);
    await expectErased(dataDir, [text]);
    await all.store.close();
    t.strictSame(heldIn(dataDir, [text]), [], name);
    all.store = openStore(t, dataDir);
  }
});

void t.test("a killed process leaves a mark of it", async (t) => {
  const all = await opened(t);
  const { dataDir, store, rooms } = all;
  const text = "some words that were hidden";
  const id = await hide(all, text);
  const poll = await store.polls.create("demo", rooms.demo!, {
    ...{ content: "p", options: [] },
  });
  change(dataDir, `UPDATE questions SET content = '-' WHERE id = '${id}'`);
  // A reader keeps the log of the database from being emptied.
  const reader = new Database(join(dataDir, "foyer.db"), { readonly: true });
  t.teardown(() => reader.close());
  reader.exec("BEGIN");
  reader.prepare("SELECT * FROM log").all();
  await store.polls.delete("demo", rooms.demo!, poll.id);
  t.equal(marksIn(dataDir).length, 1);
  const crashed = copyAsKilled(dataDir);
  t.strictSame(heldIn(crashed, [text]), [text]);
  openStore(t, crashed);
  await until(() => heldIn(crashed, [text]).length === 0);
});

void t.test("an hour later, nothing of it is left", async (t) => {
  const all = await opened(t);
  const { dataDir } = all;
  const text = "some words that were hidden";
  const id = await hide(all, text);
  await all.store.close();
  change(
    dataDir,
    `UPDATE questions SET content = '-' WHERE id = '${id}'; VACUUM`,
  );
  age(dataDir, HOUR / 2);
  let store = openStore(t, dataDir);
  const hiddenIn = async () =>
    (await store.log.since("demo", 0, 99)).entries.filter(
      (entry) => "hidden" in entry,
    ).length;
  await store.log.prune("other", 0);
  t.equal(await hiddenIn(), 1, "as long as others may need it");
  await store.close();
  t.strictSame(heldIn(dataDir, [text]), [text]);
  age(dataDir, HOUR / 2);
  store = openStore(t, dataDir);
  const before = (await store.log.since("demo", 0, 99)).entries;
  t.equal(await store.log.prune("other", 0), false);
  t.equal(await hiddenIn(), 0);
  t.strictSame(
    (await store.log.since("demo", 0, 99)).entries.map(({ seq }) => seq),
    before.map(({ seq }) => seq),
    "the entries stay",
  );
  await expectErased(dataDir, [text]);
});

void t.test("no row moves while it holds a text", async (t) => {
  const all = await opened(t);
  const { dataDir, store, rooms } = all;
  const COUNT = 900;
  const textOf = (i: number) => `words-${i}-${"x".repeat((i * 37) % 100)}-end`;
  const ids: string[] = [];
  for (let from = 0; from < COUNT; from += 100) {
    const some = Array.from({ length: 100 }, (_, i) => from + i);
    await Promise.all(
      some.map(async (i) => {
        // In any order, and three or six for each text.
        for (let n = 0; n < 3 + 3 * (i % 2); n++) {
          void store.announcements.create("other", { text: `${n}` });
        }
        ids.push(await hide(all, textOf(i)));
      }),
    );
  }
  // It goes through the rows of the other world, which are between those with texts.
  while (await store.log.prune("other", Date.now() + 1000));
  await Promise.all(
    ids.map((id) => store.questions.delete("demo", rooms.demo!, id)),
  );
  const isHeld = () =>
    Array.from({ length: COUNT }, (_, i) => textOf(i)).filter(
      (text) => heldIn(dataDir, [text]).length > 0,
    );
  await store.close();
  t.strictSame(isHeld(), []);

  const next = openStore(t, dataDir);
  while (await next.log.prune("other", Date.now() + 1000));
  const { entries } = await next.log.since("other", 0, 9999);
  t.strictSame(entries, [], "then they go");
  t.ok((await next.log.since("demo", 0, 9999)).entries.length > ids.length);
  await next.close();
  const { findings } = await check({ dataDir }, () => {});
  t.strictSame(findings, []);
});

void t.test("a deleted world leaves nothing of its audit", async (t) => {
  const { dataDir, store } = await opened(t);
  const COUNT = 600;
  const wordsOf = (i: number) => `words-${i}-${"x".repeat((i * 37) % 300)}`;
  const request = "the-name-of-a-request";
  for (let from = 0; from < COUNT; from += 100) {
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => from + i).flatMap((i) => {
        const act = { type: "results.exported", subject: {} } as const;
        const by = { kind: "server", request: `${request}-${i}` } as const;
        const changes = [{ field: "f", before: null, after: wordsOf(i) }];
        return [
          store.audit.record("demo", { ...act, changes }, by),
          ...Array.from({ length: (i * 7) % 13 }, () =>
            store.audit.record("other", act),
          ),
        ];
      }),
    );
  }
  await store.close();
  // Old entries of both worlds, between entries that stay. In steps, many rows move.
  change(
    dataDir,
    `UPDATE log SET at = seq WHERE world_id != '' AND seq < ${COUNT * 3}`,
  );
  const next = openStore(t, dataDir);
  const all = { page: 1, pageSize: 9999 };
  const audited = () => next.audit.list("demo", all);
  const before = await audited();
  t.ok(before.count > COUNT);
  for (let old = 100; old < COUNT * 3; old += 100) {
    while (await next.log.prune("other", old));
    while (await next.log.prune("demo", old / 30));
  }
  t.strictSame(await audited(), before, "the audit has the same entries");
  await next.worlds.delete("demo");
  await next.close();
  const words = Array.from({ length: COUNT }, (_, i) => `words-${i}-`);
  t.strictSame(heldIn(dataDir, [request, ...words]), []);
});

void t.test("the log of a deleted world goes an hour later", async (t) => {
  const { dataDir, store } = await opened(t);
  await store.worlds.delete("demo");
  await store.close();
  const rows = () => {
    const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
    try {
      return db
        .prepare("SELECT DISTINCT world_id FROM log ORDER BY 1")
        .pluck()
        .all();
    } finally {
      db.close();
    }
  };
  for (const [aged, left] of [
    [HOUR / 2, ["", "demo", "other"]],
    [HOUR, ["", "other"]],
  ] as const) {
    age(dataDir, aged);
    const next = openStore(t, dataDir);
    await next.log.prune("other", 0);
    while (await next.log.prune(INDEX, 0));
    t.ok((await next.log.heads(["demo"]))[0]!.seq > 0, "its head stays");
    await next.close();
    t.strictSame(rows(), left);
  }
});
