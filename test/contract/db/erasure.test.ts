import { hash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import t, { type Test } from "tap";
import type { SqliteStore } from "../../../db/engines/sqlite/index.js";
import { OverdueErasures } from "../../../db/erasure/erasure-job.js";
import { INDEX } from "../../../db/log/entries.js";
import { check } from "../../../db/maintenance/check.js";
import {
  copyAsKilled,
  expectErased,
  heldIn,
  marksIn,
  openStore,
  usersOf,
} from "../../support/database.js";
import { foyer, until, worldOf } from "../../support/helper.js";
import { testdir } from "../../support/testdir.js";
import { add, enter, idsOf, SECRET } from "./store-contract/setup.js";

// Erased data leaves no byte in SQLite's files.

const HOUR = 3_600_000;

/** Opens a store with the worlds `demo` and `other`, each with a room and the user `ada`. */
async function opened(t: Test) {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const [rooms, users]: Record<string, string>[] = [{}, {}];
  for (const world of ["demo", "other"]) {
    await store.worlds.create(worldOf(world));
    users![world] = await enter(store, "ada", world);
    rooms![world] = (await store.rooms.create(world, { name: "R" })).value.id;
  }
  const [room, user] = [rooms!.demo!, users!.demo!];
  const ask = (content: string, world = "demo", where = rooms![world]!) =>
    store.questions.create(world, where, { sender: users![world]!, content, state: "visible" });
  return { dataDir, store, rooms: rooms!, users: users!, room, user, ask };
}

type Opened = Awaited<ReturnType<typeof opened>>;

/**
 * Creates and hides a question, whose text is then also in the log.
 * @returns its id.
 */
async function hide({ store, ask, room, user }: Opened, content: string): Promise<string> {
  const { id } = await ask(content);
  await store.questions.update("demo", room, id, { state: "archived" }, user);
  return id;
}

/** Changes a database without its store noticing. */
function change(dataDir: string, sql: string): void {
  const db = new Database(join(dataDir, "foyer.db"));
  db.exec(sql);
  db.close();
}

/** Removes a hidden question's text from everywhere except the log. */
const keepInLogOnly = (dataDir: string, id: string) =>
  change(dataDir, `UPDATE questions SET content = '-' WHERE id = '${id}'; VACUUM`);

/** Opens a reader that keeps the write-ahead log from being emptied until it is closed. */
function readerOf(t: Test, dataDir: string, table: string): Database.Database {
  const reader = new Database(join(dataDir, "foyer.db"), { readonly: true });
  t.teardown(() => reader.close());
  reader.exec("BEGIN");
  reader.prepare(`SELECT * FROM ${table}`).all();
  return reader;
}

const range = (count: number) => Array.from({ length: count }, (_, i) => i);

/** Returns a text with a searchable start, whose length differs from its neighbors'. */
const words = (kind: string, i: number, longest = 300) =>
  `${kind}-${i}-${"x".repeat((i * 37) % longest)}`;

const secretOf = (i: number) => hash("sha256", `1 ${i}`).slice(32, 44);

/** Matches the starts of {@link words} and of file keys in arbitrary bytes. */
const STARTS =
  /(user|trait|profile|name|client|state|pretalx|later|announced|first|hidden|request|change)-\d+-|\.[0-9a-f]{12}/g;

/**
 * Scenarios that write and erase many rows, in an order that makes SQLite move rows between pages.
 * @returns the starts of what must be gone, and of what must stay.
 */
const masses: Record<string, (all: Opened) => Promise<{ gone: string[]; stay: string[] }>> = {
  async "users who uploaded"({ store }) {
    const COUNT = 3000;
    for (const round of [0, 1]) {
      const uploads = range(COUNT).map((n) => {
        const i = (n * 7919) % COUNT;
        const traits = new Set([`trait-${i}-${"t".repeat((i * 7 + round * 31) % 90)}-end`]);
        const visitor = { tokenId: words("user", i, 180), traits };
        const profile = { display_name: `profile-${i}-end` };
        const file = { key: `${i} ${round}`, size: 1, sha256: "00" };
        return store.files.add("demo", { ...visitor, profile }, file, 1e9);
      });
      await Promise.all(uploads);
    }
    const starts: Record<"gone" | "stay", string[]> = { gone: [], stay: [] };
    const erasures: Promise<unknown>[] = [];
    for (const { id, token_id } of await usersOf(store, "demo")) {
      if (token_id === "ada") continue;
      const i = Number(token_id!.split("-")[1]);
      const isDoomed = (i * 7919) % COUNT < COUNT / 2;
      const kinds = ["user", "trait", "profile"].map((kind) => `${kind}-${i}-`);
      starts[isDoomed ? "gone" : "stay"].push(...kinds);
      if (isDoomed) erasures.push(store.users.erase("demo", { user_id: id }));
    }
    await Promise.all(erasures);
    return starts;
  },

  // With these keys in this order, SQLite moves some rows to other pages before they are deleted,
  // and leaves their bytes in the old pages. This is rare: one key in thousands.
  async "the keys of files, also with their world"({ store }) {
    const added = range(3000).map((i) => {
      const id = hash("sha256", `1 ${i}`).replace(
        /^(.{8})(.{4})(.{4})(.{4})(.{12}).*/,
        "$1-$2-$3-$4-$5",
      );
      const secret = secretOf(i);
      const key = `pub/demo/${id}.${secret}.${i % 3 === 0 ? "jpeg" : "pdf"}`;
      return { id, secret, key };
    });
    const record = (key: string, world = "demo") =>
      store.files.add(
        world,
        { clientId: "guest", traits: new Set() },
        { key, size: 1, sha256: "00" },
        1e9,
      );
    const bySecret = added.slice(0, 2000).sort((a, b) => (a.secret < b.secret ? -1 : 1));
    const gone: string[] = [];
    for (const [adds, deletes] of [
      [added.slice(0, 2000), bySecret.slice(0, 1500)],
      [added.slice(2000), added.slice(2000, 2900)],
    ] as const) {
      await Promise.all(adds.map(({ key }) => record(key)));
      await Promise.all(deletes.map(({ id }) => store.files.delete("demo", id)));
      gone.push(...deletes.map(({ secret }) => `.${secret}`));
    }
    const ofWorld = range(600).map((i) => `.${secretOf(10_000 + i)}`);
    await Promise.all(ofWorld.map((secret, i) => record(`pub/other/${i}${secret}.pdf`, "other")));
    t.equal((await store.worlds.delete("other")).length, ofWorld.length);
    gone.push(...ofWorld);
    const stay = added.map(({ secret }) => `.${secret}`).filter((one) => !gone.includes(one));
    return { gone, stay };
  },

  async "the texts of hidden questions"(all) {
    const { store, room } = all;
    const ids: string[] = [];
    for (const from of range(9)) {
      await Promise.all(
        range(100).map(async (n) => {
          const i = 100 * from + n;
          // Not awaited, so the order is arbitrary; three or six for each text.
          for (const n of range(3 + 3 * (i % 2))) {
            void store.announcements.create("other", { text: `${n}` });
          }
          ids.push(await hide(all, words("hidden", i, 100)));
        }),
      );
    }
    // Pruning deletes the other world's rows, which lie between those with texts.
    while (await store.log.prune("other", Date.now() + 1000));
    await Promise.all(ids.map((id) => store.questions.delete("demo", room, id)));
    return { gone: range(900).map((i) => `hidden-${i}-`), stay: [] };
  },

  async "the audit of a deleted world"({ dataDir, store }) {
    const COUNT = 600;
    for (const from of range(6)) {
      await Promise.all(
        range(100).flatMap((n) => {
          const i = 100 * from + n;
          const act = { type: "results.exported", subject: {} } as const;
          const by = { kind: "server", request: `request-${i}-` } as const;
          const changes = [{ field: "f", before: null, after: words("change", i) }];
          return [
            store.audit.record("demo", { ...act, changes }, by),
            ...range((i * 7) % 13).map(() => store.audit.record("other", act)),
          ];
        }),
      );
    }
    // Prunes old entries of both worlds, which lie between entries that stay. Many small steps make
    // many rows move.
    change(dataDir, `UPDATE log SET at = seq WHERE world_id != '' AND seq < ${COUNT * 3}`);
    const audited = () => store.audit.list("demo", { page: 1, pageSize: 9999 });
    const before = await audited();
    t.ok(before.count > COUNT);
    for (let old = 100; old < COUNT * 3; old += 100) {
      while (await store.log.prune("other", old));
      while (await store.log.prune("demo", old / 30));
    }
    t.strictSame(await audited(), before, "the audit has the same entries");
    await store.worlds.delete("demo");
    const gone = range(COUNT).flatMap((i) => [`request-${i}-`, `change-${i}-`]);
    return { gone, stay: [] };
  },
};

/** The label for a block that a user made. */
const blocked = (user: string) => `block of ${user}`;

for (const [name, run] of Object.entries(masses)) {
  void t.test(`no byte is left of ${name}`, async (t) => {
    const all = await opened(t);
    const { gone, stay } = await run(all);
    // Closing the store completes pending erasures.
    await all.store.close();
    const bytes = readFileSync(join(all.dataDir, "foyer.db"), "latin1").toLowerCase();
    const there = new Set(bytes.match(STARTS));
    const pairs = bytes.matchAll(/([0-9a-f-]{36})(?=[0-9a-f-]{36})/g);
    for (const [, id] of pairs) there.add(blocked(id!));
    t.strictSame(
      gone.filter((start) => there.has(start)),
      [],
    );
    t.strictSame(
      stay.filter((start) => !there.has(start)),
      [],
      "the others stay",
    );
    const { findings } = await check({ dataDir: all.dataDir }, () => {});
    t.strictSame(
      findings.filter(({ subject }) => subject === "database"),
      [],
    );
  });
}

// Erased data soon leaves the files of an open store. Until then, a row in `erasures` records it.
const soon: [name: string, erase: (all: Opened) => Promise<{ gone: string[]; stay?: string[] }>][] =
  [
    [
      "the key of a file",
      async ({ store }) => {
        const id = await add(store);
        await store.files.delete("demo", id);
        return { gone: [SECRET] };
      },
    ],
    [
      "the folded fields of a user",
      async ({ dataDir, store }) => {
        const profile = { fields: { city: "secret town" } };
        const user_id = await enter(store, "bob", "demo", { profile });
        const gone = ["secret town", "SECRET TOWN"];
        t.strictSame(heldIn(dataDir, gone), gone);
        await store.users.erase("demo", { user_id });
        return { gone };
      },
    ],
    [
      "a person's invitation and mails",
      async ({ store }) => {
        const draft = { name: "invited-1-end", email: "a@x.org", role: "attendee", uid: "ada" };
        const [made] = await store.invitations.create("demo", [draft]);
        const detail = { text: "mailed-1-end" };
        const mail = {
          act: "a",
          kind: "invitation",
          invitation: made!.id,
          detail,
          due_at: 1,
        } as const;
        const other = {
          act: "b",
          kind: "test",
          detail: { text: "mailed-2-end" },
          due_at: 1,
        } as const;
        await store.mails.queue("demo", [mail, other], 1);
        await store.users.erase("demo", { token_id: "ada" });
        return { gone: ["invited-1-end", "mailed-1-end"], stay: ["mailed-2-end"] };
      },
    ],
    [
      "what a question said before",
      async ({ store, room, user, ask }) => {
        const { id } = await ask("first-1-end");
        await ask("first-2-end");
        await store.questions.vote("demo", room, id, user, true, false);
        await store.questions.update("demo", room, id, { content: "later-1-end" }, user);
        return { gone: ["first-1-end"], stay: ["first-2-end", "later-1-end"] };
      },
    ],
    [
      "a question",
      async ({ store, room, ask }) => {
        const { id } = await ask("first-1-end");
        await store.questions.delete("demo", room, id);
        return { gone: ["first-1-end"] };
      },
    ],
    [
      "the questions of a room",
      async ({ store, room, ask }) => {
        await ask("first-3-end");
        await store.rooms.delete("demo", room);
        return { gone: ["first-3-end"] };
      },
    ],
    [
      "the words of messages",
      async ({ store, room, user }) => {
        await store.chat.join("demo", room, user);
        const send = (body: string, replaces?: number) =>
          store.chat.send("demo", room, {
            sender: user,
            content: { type: "text", body },
            ...(replaces && { replaces }),
          });
        const sent = await Promise.all(range(400).map((i) => send(`word${1000 + i}end`)));
        const find = async (query: string) =>
          (await store.chat.search("demo", room, { query, limit: 400 })).length;
        t.equal(await find("word"), 400);
        const [first, second] = sent.map(({ event }) => event.id);
        await send("wordother", first);
        await store.chat.send("demo", room, {
          sender: user,
          content: { type: "deleted" },
          replaces: second!,
        });
        t.equal(await find("word"), 399);
        t.equal(await find("word1000end"), 0);
        return {
          gone: ["1000END", "1000end", "1001END", "1001end"],
          stay: ["word1399end", "wordother"],
        };
      },
    ],
    [
      "the polls of a world, and no others",
      async ({ store, rooms, room, user }) => {
        const { polls } = store;
        const draft = (content: string, option: string, state: "open" | "closed") => ({
          content,
          options: [{ content: option }],
          state,
        });
        await polls.create("other", rooms.other!, draft("poll-end", "option-end", "closed"));
        const kept = await polls.create("demo", room, draft("stays-end", "also-end", "open"));
        const [option] = idsOf(kept.options) as [string];
        await polls.vote("demo", room, kept.id, user, { options: [option] });
        await store.worlds.delete("other");
        const voted = { ...kept, results: { [option]: 1 } };
        t.strictSame(await polls.list("demo", room, { limit: 9 }), [voted]);
        t.match(await polls.vote("demo", room, kept.id, user, { options: [] }), { poll: kept });
        return { gone: ["poll-end", "option-end"], stay: ["stays-end", "also-end"] };
      },
    ],
  ];

for (const [name, erase] of soon) {
  void t.test(`soon, no byte is left of ${name}`, async (t) => {
    const all = await opened(t);
    const { gone, stay = [] } = await erase(all);
    await expectErased(all.dataDir, gone);
    t.strictSame(heldIn(all.dataDir, stay), stay);
    await until(() => marksIn(all.dataDir).length === 0);
    await all.store.close();
    t.strictSame(heldIn(all.dataDir, gone), []);
    const { findings } = await check({ dataDir: all.dataDir }, () => {});
    t.strictSame(
      findings.filter(({ subject }) => subject === "database"),
      [],
    );
  });
}

// The process is killed while a reader keeps SQLite from emptying its write-ahead log.
const killed: [
  name: string,
  table: string,
  make: (all: Opened) => Promise<[text: string, erase: () => Promise<unknown>]>,
][] = [
  [
    "a user",
    "users",
    async ({ store }) => {
      const text = `bob-${"x".repeat(50)}`;
      const user_id = await enter(store, text);
      return [text, () => store.users.erase("demo", { user_id })];
    },
  ],
  [
    "a file",
    "files",
    async ({ store }) => {
      const id = await add(store);
      return [SECRET, () => store.files.delete("demo", id)];
    },
  ],
  [
    "what a question said before",
    "questions",
    async ({ store, dataDir, room, user, ask }) => {
      const { id, content } = await ask("some words of before");
      const update = (content: string) =>
        store.questions.update("demo", room, id, { content, answered: true }, user);
      await update(content);
      t.strictSame(marksIn(dataDir), [], "the same content erases nothing");
      return [content, () => update("other words")];
    },
  ],
  [
    "what was hidden, with a poll",
    "log",
    async (all) => {
      const { store, dataDir, room } = all;
      const text = "some words that were hidden";
      const id = await hide(all, text);
      const poll = await store.polls.create("demo", room, { content: "p", options: [] });
      change(dataDir, `UPDATE questions SET content = '-' WHERE id = '${id}'`);
      return [text, () => store.polls.delete("demo", room, poll.id)];
    },
  ],
];

for (const [name, table, make] of killed) {
  void t.test(`a killed process leaves a mark of ${name}`, async (t) => {
    const all = await opened(t);
    const { dataDir, store } = all;
    const [text, erase] = await make(all);
    const reader = readerOf(t, dataDir, table);
    await erase();
    t.not(marksIn(dataDir).length, 0);
    const crashed = copyAsKilled(dataDir);
    t.strictSame(heldIn(crashed, [text]), [text], "in its log");
    const next = openStore(t, crashed);
    await until(() => heldIn(crashed, [text]).length === 0);
    t.strictSame(await usersOf(next, "demo"), await usersOf(store, "demo"), "and is done");
    reader.close();
    await until(() => marksIn(dataDir).length === 0);
    await store.close();
    t.strictSame(heldIn(dataDir, [text]), []);
  });
}

void t.test("what was hidden goes with what is erased", async (t) => {
  const all = await opened(t);
  const { dataDir, store, room, user, ask } = all;
  const first = await hide(all, "hidden at first");
  const poll = await store.polls.create("demo", room, { content: "p", options: [] });
  const deleted = await ask("q");
  const bob = await enter(store, "bob");
  const { id: other } = (await store.rooms.create("demo", { name: "S" })).value;
  const erasures: [name: string, erase: (store: SqliteStore) => Promise<unknown>][] = [
    ["a poll", (next) => next.polls.delete("demo", room, poll.id)],
    ["a question", (next) => next.questions.delete("demo", room, deleted.id)],
    ["a text", (next) => next.questions.update("demo", room, first, { content: "-" }, user)],
    ["a user", (next) => next.users.erase("demo", { user_id: bob })],
    ["a room", (next) => next.rooms.delete("demo", other)],
    ["a world", (next) => next.worlds.delete("demo")],
  ];
  let next = store;
  for (const [name, erase] of erasures) {
    const text = `the words that ${name} takes along`;
    const { questions } = next;
    const draft = { sender: user, content: text, state: "visible" } as const;
    const { id } = await questions.create("demo", room, draft);
    await questions.update("demo", room, id, { state: "archived" }, user);
    await next.close();
    keepInLogOnly(dataDir, id);
    t.strictSame(heldIn(dataDir, [text]), [text]);
    next = openStore(t, dataDir);
    await erase(next);
    await expectErased(dataDir, [text]);
    await next.close();
    t.strictSame(heldIn(dataDir, [text]), [], name);
    next = openStore(t, dataDir);
  }
});

void t.test(
  "an hour later, nothing is left of what was hidden or of a deleted world",
  async (t) => {
    const all = await opened(t);
    const { dataDir, store } = all;
    const text = "some words that were hidden";
    const id = await hide(all, text);
    await store.worlds.delete("other");
    await store.close();
    keepInLogOnly(dataDir, id);
    for (const [isOver, left] of [
      [false, ["", "demo", "other"]],
      [true, ["", "demo"]],
    ] as const) {
      // Ages all entries to half an hour, then to an hour.
      change(dataDir, `UPDATE log SET at = at - ${HOUR / 2}`);
      t.strictSame(heldIn(dataDir, [text]), [text]);
      const next = openStore(t, dataDir);
      const entries = async () => (await next.log.since("demo", 0, 99)).entries;
      const seqs = (await entries()).map(({ seq }) => seq);
      t.equal(await next.log.prune("demo", 0), false);
      while (await next.log.prune(INDEX, 0));
      const after = await entries();
      t.equal(after.filter((entry) => "hidden" in entry).length, isOver ? 0 : 1);
      t.strictSame(
        after.map(({ seq }) => seq),
        seqs,
        "the entries stay",
      );
      t.ok((await next.log.heads(["other"]))[0]!.seq > 0, "and the head of a deleted world");
      if (isOver) await expectErased(dataDir, [text]);
      await next.close();
      const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
      t.strictSame(db.prepare("SELECT DISTINCT world_id FROM log ORDER BY 1").pluck().all(), left);
      db.close();
    }
  },
);

void t.test("an erased user costs the same beside many others", async (t) => {
  const written: number[] = [];
  for (const others of [100, 20_000]) {
    const dataDir = testdir(t);
    const first = openStore(t, dataDir);
    for (const world of ["demo", "other"]) await first.worlds.create(worldOf(world));
    const profile = { display_name: "Ada the erased" };
    const user_id = await enter(first, "ada", "demo", { profile });
    await first.close();
    change(
      dataDir,
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${others})
       INSERT INTO users (id, world_id, token_id, traits, profile, last_seen)
       SELECT 'u' || i, 'other', 'u' || i, '[]', '{"display_name":"A name of some length"}', i FROM n;
       PRAGMA wal_checkpoint(TRUNCATE)`,
    );
    const store = openStore(t, dataDir);
    await store.users.erase("demo", { user_id });
    // The write-ahead log holds every page that the write changed, and nothing else yet.
    written.push(statSync(join(dataDir, "foyer.db-wal")).size);
    await until(() => heldIn(dataDir, ["Ada the erased"]).length === 0);
    await until(() => marksIn(dataDir).length === 0);
    t.equal((await store.counts()).users, others, "the others stay");
    await store.close();
  }
  const [few, many] = written as [number, number];
  t.ok(many < 2 * few, `${many} bytes instead of ${few}`);
});

/** Returns a logger that collects its lines. */
function lines() {
  const got: string[] = [];
  const take = (level: string) => (line: string) => void got.push(`${level} ${line}`);
  return { got, log: { info: take("info"), error: take("error") } };
}

void t.test("an erasure that fails is told, and in a check", async (t) => {
  const dataDir = testdir(t);
  const { got: all, log } = lines();
  // On a busy machine, rounds are slow, and slow rounds are logged, too.
  const told = () => all.filter((line) => !line.startsWith("info Removing erased data: "));
  const store = openStore(t, dataDir, { maintenance: log, overdueAfter: 1 });
  await store.worlds.create(worldOf("demo"));
  const user_id = await enter(store, "ada");
  t.equal((await store.counts()).erasureAge, 0);
  const reader = readerOf(t, dataDir, "users");
  await store.users.erase("demo", { user_id });
  t.ok((await store.counts()).erasureAge > 0);
  const findings = async () =>
    (await check({ dataDir }, () => {})).findings.map(({ problem }) => problem);
  t.strictSame(await findings(), [], "not yet");
  await until(() => told().length > 0);
  t.match(told(), [
    /^error Erased data has been in the files of the database for \d+ seconds: something reads an earlier state of the database$/,
  ]);
  change(dataDir, `UPDATE erasures SET at = ${Date.parse("2026-01-02T03:04:05Z")}`);
  t.strictSame(await findings(), [
    "still holds data that was erased at 2026-01-02T03:04:05.000Z; a running server removes it, unless its log says why it cannot, and foyer maintain removes it at once",
  ]);
  reader.close();
  await until(() => marksIn(dataDir).length === 0);
  await until(() => told().length > 1);
  t.strictSame(told().slice(1), ["info Erased data has left the files of the database."]);
  t.strictSame(await findings(), []);
  t.equal((await store.counts()).erasureAge, 0);
});

void t.test("foyer maintain removes at once what a killed process left", async (t) => {
  const { dataDir, store, user } = await opened(t);
  const bob = await enter(store, "bob-the-erased");
  const reader = readerOf(t, dataDir, "users");
  await store.users.erase("demo", { user_id: bob });
  const killed = copyAsKilled(dataDir);
  reader.close();
  // A table so large that a server rewrites it only while there are no writes.
  change(
    killed,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
     INSERT INTO users (id, world_id, token_id, traits, profile, last_seen)
     SELECT 'u' || i, 'demo', 'u' || i, '[]', '{}', i FROM n;
     UPDATE erasures SET at = ${Date.parse("2026-01-02T03:04:05Z")}`,
  );
  const other = readerOf(t, killed, "users");
  const failed = await foyer(killed, ["maintain"]);
  t.strictSame(failed, {
    code: 1,
    stdout: "",
    stderr:
      "foyer: data erased at 2026-01-02T03:04:05.000Z is still in the files: something reads an earlier state of the database\n",
  });
  t.not(marksIn(killed).length, 0);
  other.close();
  const { code, stdout, stderr } = await foyer(killed, ["maintain"]);
  t.strictSame({ code, stderr }, { code: 0, stderr: "" });
  t.match(
    stdout,
    /^Emptied the write-ahead log\.\nThe files of the database no longer contain erased data; /m,
  );
  t.strictSame(heldIn(killed, ["bob-the-erased"]), []);
  t.strictSame(marksIn(killed), []);
  t.strictSame(JSON.parse((await foyer(killed, ["maintain", "--json"])).stdout), {
    erased_at: null,
    done: [],
  });
  const next = openStore(t, killed);
  t.equal((await next.users.get("demo", user))?.token_id, "ada", "all else is there");
});

void t.test("the job logs what it did", async (t) => {
  const dataDir = testdir(t);
  const { got, log } = lines();
  // A slow round is logged above the debug level, so accept either.
  const maintenance = { ...log, debug: log.info };
  const store = openStore(t, dataDir, { maintenance });
  await store.worlds.create(worldOf("demo"));
  const user_id = await enter(store, "ada");
  await store.users.erase("demo", { user_id });
  await until(() => got.length > 0);
  const line =
    /^info Removing erased data: rewrote .*users.*, emptied the write-ahead log in \d+ ms\.$/;
  t.match(got, [line]);
});

void t.test("a failing erasure is logged after a minute, then hourly", (t) => {
  const { got, log } = lines();
  const overdue = new OverdueErasures(log);
  const counts = { 0: 0, 0.9: 0, 1: 1, 2: 1, 60: 1, 61: 2, 120: 2, 121: 3 };
  for (const [minutes, count] of Object.entries(counts).sort(([a], [b]) => +a - +b)) {
    overdue.failed(new Error("no room"), +minutes * 60_000);
    t.equal(got.length, count, `after ${minutes} minutes`);
  }
  t.match(got[1], /^error .* for 3660 seconds: no room$/);
  overdue.succeeded();
  overdue.failed("again", 122 * 60_000);
  t.equal(got.length, 4, "begins again");
  t.end();
});
