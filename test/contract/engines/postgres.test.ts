import pg from "pg";
import t, { type Test } from "tap";
import { type BusMessage, LocalBus } from "../../../db/bus/bus.js";
import type { Store } from "../../../db/contract/store.js";
import { pageText } from "../../../db/domains/rooms/room-lists.js";
import { insertRooms } from "../../../db/domains/rooms/rooms.js";
import { sharedEvents } from "../../../db/engines/postgres/engine/membership.js";
import { Database } from "../../../db/engines/postgres/engine/postgres-database.js";
import {
  decodedText,
  encodedText,
  lockOfWorld,
  NODES,
} from "../../../db/engines/postgres/engine/postgres-sql.js";
import { postgresStore } from "../../../db/engines/postgres/index.js";
import type { Entry, Hint, OnAppended } from "../../../db/log/entries.js";
import { LogEvents } from "../../../db/log/log-events.js";
import { newRoomRow } from "../../../db/rules/room-rows.js";
import { BASELINE, migrations } from "../../../db/schema/migrations.js";
import type { RoomOrdering } from "../../../schemas/rooms.js";
import { foyer, keyOf, until, worldOf } from "../../support/helper.js";
import { NIGHT } from "../../support/night.js";
import { sharedDatabases } from "../../support/servers/postgres.js";
import { NO_SERVERS } from "../../support/shared.js";
import { testdir } from "../../support/testdir.js";
import { type Chatting, chatting, message } from "../db/store-contract/chat-setup.js";
import { storeContract } from "../db/store-contract/index.js";
import { newFile, selection } from "../db/store-contract/setup.js";
import { emptyDatabase, nameIn, openAlone, openNode, problemOf } from "./postgres-kit.js";

// Storing data in a PostgreSQL database, and opening and upgrading it.

const server = sharedDatabases();

// Batched writes, and conflicting ones.
void t.test("lanes", { skip: NO_SERVERS }, async (t) => {
  await t.test("a write that fails takes nothing with it", async (t) => {
    const { db, worlds, rooms } = await openAlone(t, server);
    const insert = (name: string) => rooms.create("demo", { name });
    const settled = await Promise.allSettled([
      insert("first"),
      insert("second"),
      db.write("demo", async (sql, log) => {
        await sql.run("UPDATE worlds SET title = 'half' WHERE id = 'demo'");
        log.append({ type: "world.updated" });
        throw new Error("of its own");
      }),
      db.write("demo", async (sql) => {
        await sql.run("UPDATE worlds SET title = 'half' WHERE id = 'demo'");
        await sql.run("SELECT 1 / (SELECT 0)");
      }),
      insert("third"),
      rooms.update("demo", "absent", { name: "x" }),
      insert("fourth"),
    ]);
    t.match(
      settled.map((one) => (one.status === "fulfilled" ? "done" : (one.reason as Error).message)),
      ["done", "done", "of its own", /division by zero/, "done", "There is no such room.", "done"],
    );
    const stored = await worlds.get("demo");
    t.equal(stored?.value.title, worldOf("demo").title);
    const names = await db.sql.column("SELECT name FROM rooms ORDER BY name");
    t.strictSame(names, ["first", "fourth", "second", "third"]);
  });

  await t.test("writes run again only if one fails after a change", async (t) => {
    const { db, worlds } = await openAlone(t, server);
    const runsBeside = async (statement: string) => {
      let runs = 0;
      const settled = await Promise.allSettled([
        db.write("demo", async () => {}),
        db.write("demo", async () => runs++),
        db.write("demo", async (sql) => {
          await sql.run(statement);
          throw new Error("refused");
        }),
      ]);
      t.strictSame(
        settled.map(({ status }) => status),
        ["fulfilled", "fulfilled", "rejected"],
      );
      return runs;
    };
    t.equal(await runsBeside("SELECT 1"), 1);
    t.equal(await runsBeside("SELECT 1 / (SELECT 0)"), 2);
    t.equal(await runsBeside("UPDATE worlds SET title = 'x'"), 2);
    t.equal((await worlds.get("demo"))?.value.title, worldOf("demo").title);
  });

  await t.test("worlds that several nodes create at once", async (t) => {
    const url = await emptyDatabase(server);
    const nodes = await Promise.all(Array.from({ length: 4 }, () => openNode(t, url)));
    for (const [name, worldFor] of Object.entries({
      id: (i: number) => worldOf("same", { domain: `${i}.example.org` }),
      domain: (i: number) => worldOf(`w${i}`, { domain: "one.example.net" }),
    })) {
      const problems = await Promise.all(
        nodes.map(({ worlds }, i) => problemOf(worlds.create(worldFor(i)))),
      );
      t.strictSame(problems.sort(), ["taken", "taken", "taken", undefined], name);
    }
    // Updating a world also claims its new domain.
    const moved = await Promise.all(
      nodes.map(async ({ worlds }, i) => {
        await worlds.create(worldOf(`moving-${i}`));
        return problemOf(worlds.update(`moving-${i}`, { domain: "aim.example.net" }));
      }),
    );
    t.equal(moved.filter((problem) => problem === undefined).length, 1);
  });

  await t.test("a config of a megabyte", async (t) => {
    const { worlds } = await openAlone(t, server);
    const key = keyOf("demo");
    const large = { JWT_secrets: [key], text: "🎪".repeat(250_000) };
    const made = await worlds.update("demo", { config: large });
    t.strictSame((await worlds.get("demo"))?.value.config, large);
    t.equal((await worlds.get("demo"))?.version, made.version);
    t.equal((await worlds.issuing(key.issuer, key.audience)).length, 1);
  });

  /**
   * Blocks writes of some worlds.
   * @returns a function that unblocks them.
   */
  const lock = async (url: string, worlds: readonly string[]) => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(["BEGIN", ...worlds.map(lockOfWorld)].join("; "));
    return () => client.end();
  };

  await t.test("writes that wait leave connections to reads", async (t) => {
    const url = await emptyDatabase(server);
    const { db, worlds } = await openNode(t, url);
    const ids = Array.from({ length: 6 }, (_, i) => `w${i}`);
    for (const id of ids) await worlds.create(worldOf(id));
    const free = await lock(url, ids);
    const writes = ids.map((id) => worlds.configure(id, { title: "new" }));
    await until(async () => {
      const waiting = await server.run(
        `SELECT FROM pg_locks JOIN pg_database AS d ON d.oid = database
         WHERE locktype = 'advisory' AND NOT granted AND datname = '${nameIn(url)}'`,
      );
      return waiting.length >= 2;
    });
    const count = () => db.sql.value<number>("SELECT count(*) FROM worlds");
    const counted = await Promise.all(Array.from({ length: 8 }, count));
    t.strictSame(counted, Array(8).fill(6));
    await free();
    t.equal((await Promise.all(writes)).length, 6);
  });

  await t.test("no more writes wait than a lane has room for", async (t) => {
    const { url, db } = await openAlone(t, server);
    const free = await lock(url, ["demo"]);
    const write = () => problemOf(db.write("demo", async () => {}));
    const writes = Array.from({ length: 21_000 }, write);
    t.equal(await writes.at(-1), "busy", "without waiting");
    await free();
    const problems = new Set(await Promise.all(writes.slice(0, 20_000)));
    t.strictSame([...problems], [undefined]);
  });
});

// Characters that PostgreSQL cannot store.
void t.test("texts", { skip: NO_SERVERS }, async (t) => {
  const chars = ["", "\0", "\x01", "\x02", "\x03", "\x04", "\x05", "\x06", "a"];
  const all = chars.flatMap((a) => chars.flatMap((b) => chars.map((c) => a + b + c)));
  const wrong = all.filter((text) => decodedText(encodedText(text)) !== text);
  t.strictSame(wrong, [], "every text comes back");
  t.notOk(all.some((text) => encodedText(text).includes("\0")));
  const unordered = all.filter(
    (text, i) => i > 0 && text < all[i - 1]! !== encodedText(text) < encodedText(all[i - 1]!),
  );
  t.strictSame(unordered, [], "their order stays");
  const misfound = all.flatMap((text) =>
    chars
      .flatMap((a) => chars.map((b) => a + b))
      .filter((part) => text.includes(part) !== encodedText(text).includes(encodedText(part))),
  );
  t.strictSame(misfound, [], "and what is in them");

  const { rooms } = await openAlone(t, server);
  const names = ["a", "\x01\x02", "\0", "\x01", "\0\x02", "\x02"];
  for (const name of names) await rooms.create("demo", { name });
  const found = async (search: string) => {
    const asked = selection({ search, ordering: "name" });
    const { rooms: page } = (await rooms.list("demo", asked)).value;
    return page.map(({ name }) => name);
  };
  t.strictSame(await found(""), [...names].sort());
  for (const search of ["\0", "\x01", "\x02", "A"]) {
    t.strictSame(
      await found(search),
      names.filter((name) => name.toUpperCase().includes(search)).sort(),
      JSON.stringify(search),
    );
  }
});

const INDEXES: Record<RoomOrdering, string> = {
  sorting_priority: "rooms_by_priority",
  "-sorting_priority": "rooms_by_falling_priority",
  name: "rooms_by_name",
  "-name": "rooms_by_falling_name",
};

/** The number of rooms in the large world. */
const ROOMS = 100_000;

/** The number of small worlds, which make the average world small. */
const WORLDS = 5000;

// Query plans for a world with a hundred thousand rooms.
void t.test("plans", { skip: NO_SERVERS }, async (t) => {
  const { url, db, rooms } = await openAlone(t, server);
  for (let from = 0; from < ROOMS; from += 10_000) {
    const records = Array.from({ length: 10_000 }, (_, i) => ({
      id: `00000000-0000-4000-8000-${String(from + i).padStart(12, "0")}`,
      name: `room ${(from + i) * 7919}`,
      sorting_priority: (from + i) % 100,
    }));
    await db.write("demo", (sql) => insertRooms(sql, "demo", records.map(newRoomRow)));
  }
  await db.write("demo", async (sql) => {
    await sql.run(
      `WITH ids AS (
         INSERT INTO world_ids (id) SELECT 'w' || i FROM generate_series(1, $1::int) AS i),
       made AS (
         INSERT INTO worlds (id, title, config, permission_config, domain)
         SELECT 'w' || i, '', '{}', '{}', 'w' || i FROM generate_series(1, $1::int) AS i RETURNING id),
       joined AS (
         INSERT INTO view_groups (world_id, rule, rooms) SELECT id, '', 10 FROM made RETURNING world_id, id)
       INSERT INTO rooms (world_id, id, view_group, name, description, module_config,
         permission_config, sorting_priority, name_folded, description_folded)
       SELECT world_id, world_id || '-' || i, id, 'x', '', '[]', '{}', i, 'X', ''
       FROM joined, generate_series(1, 10) AS i`,
      [WORLDS],
    );
  });

  const client = new pg.Client({ connectionString: url });
  await client.connect();
  t.teardown(() => client.end());
  for (const prepare of ["SELECT 1", "ANALYZE", "VACUUM ANALYZE"]) {
    await client.query(prepare);
    // PostgreSQL uses custom plans for the first executions of a prepared statement.
    for (const mode of ["force_custom_plan", "force_generic_plan"]) {
      await client.query(`SET plan_cache_mode = ${mode}`);
      for (const [ordering, index] of Object.entries(INDEXES)) {
        const query = {
          world: "demo",
          revision: 1,
          groups: [1],
          type: "",
          search: "",
          ordering: ordering as RoomOrdering,
          limit: 50,
          offset: 0,
          after: undefined,
        };
        const { text } = pageText({ engine: "postgres" }, query, "id");
        await client.query(`PREPARE page (text, bigint[]) AS ${text}`);
        for (const offset of [0, ROOMS - 50]) {
          const { rows } = await client.query<Record<string, string>>(
            `EXPLAIN EXECUTE page ('demo', '{1}', 50, ${offset})`,
          );
          const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
          const name = `${prepare}, ${mode}, ${ordering}, ${offset}`;
          t.match(plan, new RegExp(`using ${index} `), `${name}: ${plan}`);
          t.notMatch(plan, /Sort/, name);
        }
        await client.query("DEALLOCATE page");
      }
    }
  }
  const { value } = await rooms.list("demo", selection());
  t.equal(value.count, ROOMS);
});

/** How long dead row versions may remain, in milliseconds. */
const SOON = 10_000;

/** The tables in which erasing a user leaves dead rows. */
const CHAT = ["chat_channels", "chat_members", "chat_readers", "chat_notifications"];
const VOTES = ["questions", "question_votes", "poll_ballots"];
const ERASED = ["users", "blocks", "files", "log", ...VOTES, ...CHAT];

/** Opens a store with a user who has rows in every table. */
async function opened(t: Test) {
  const { url, ...store } = await openAlone(t, server);
  const database = nameIn(url);
  await server.run("CREATE EXTENSION pgstattuple", database);
  const { users, questions, polls, chat } = store;
  const enter = async (tokenId: string) => {
    const profile = { display_name: tokenId };
    const visitor = { tokenId, traits: new Set(["x"]), profile };
    return (await users.enter("demo", visitor)).id;
  };
  const ada = await enter("ada");
  const bob = await enter("bob");
  const draft = { name: "R", module_config: [{ type: "chat.native", config: {} }] };
  const room = (await store.rooms.create("demo", draft)).value.id;
  await users.block("demo", ada, bob);
  const uploader = { tokenId: "ada", traits: new Set<string>() };
  await store.files.add("demo", uploader, newFile().record, 1e6);
  const asked = { sender: ada, content: "x", state: "visible" } as const;
  const question = await questions.create("demo", room, asked);
  await questions.vote("demo", room, question.id, ada, true, false);
  // The log entry contains the question until an erasure.
  const hidden = await questions.create("demo", room, asked);
  const changes = { state: "archived" } as const;
  await questions.update("demo", room, hidden.id, changes, bob);
  const open = { content: "x", options: [{ content: "a" }], state: "open" } as const;
  const poll = await polls.create("demo", room, open);
  await polls.vote("demo", room, poll.id, ada, { options: [poll.options[0]!.id] });
  await chat.join("demo", room, ada);
  await chat.join("demo", room, bob);
  const text = { type: "text", body: "x" };
  await chat.send("demo", room, { sender: bob, content: text, mentioned: [ada] });
  /** Lists the tables that have dead row versions. */
  const dead = async () => {
    const counts = ERASED.map(
      (table) =>
        `SELECT '${table}' AS name FROM pgstattuple('${table}') WHERE dead_tuple_count > 0`,
    );
    const rows = await server.run(counts.join(" UNION ALL "), database);
    return (rows as { name: string }[]).map(({ name }) => name);
  };
  // A snapshot still open elsewhere may keep some dead rows.
  await until(async () => {
    await server.run(`VACUUM ${ERASED.join(", ")}`, database);
    return (await dead()).length === 0;
  });
  return { url, store, room, ada, bob, question, dead };
}

// Erased data leaves no dead row versions.
void t.test("erasing", { skip: NO_SERVERS }, async (t) => {
  await t.test("an erased user leaves no dead rows", async (t) => {
    const { url, store, ada, bob, question, room, dead } = await opened(t);
    const tables = ["users", "blocks", "files", "questions", "log"];
    // The lock keeps autovacuum from cleaning up before the test looks, however long that takes.
    const holder = new pg.Client({ connectionString: url });
    await holder.connect();
    t.teardown(() => holder.end());
    await holder.query("BEGIN");
    await holder.query(`LOCK TABLE ${tables.join(", ")} IN SHARE UPDATE EXCLUSIVE MODE`);
    const erased = performance.now();
    await store.users.erase("demo", { user_id: ada });
    const left = await dead();
    for (const table of tables) {
      t.ok(left.includes(table), `${table} has them at first`);
    }
    await holder.query("COMMIT");
    await until(async () => (await dead()).length === 0);
    if (NIGHT) t.ok(performance.now() - erased < SOON);
    const changes = { content: "y" };
    await store.questions.update("demo", room, question.id, changes, bob);
    t.strictSame(await dead(), ["questions"]);
    await until(async () => (await dead()).length === 0);
    await store.questions.delete("demo", room, question.id);
    await until(async () => !(await dead()).includes("questions"));
  });

  await t.test("also if the process ends right after", async (t) => {
    const { store, ada, dead } = await opened(t);
    const erasing = store.users.erase("demo", { user_id: ada });
    await Promise.all([erasing, store.close()]);
    t.strictSame(await dead(), []);
  });

  await t.test("when the last reader is gone", async (t) => {
    const { url, store, ada, dead } = await opened(t);
    const reader = new pg.Client({ connectionString: url });
    await reader.connect();
    t.teardown(() => reader.end());
    await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await reader.query("SELECT count(*) FROM users");
    await store.users.erase("demo", { user_id: ada });
    // The job retries after a second.
    await until(async () => (await store.counts()).erasureAge > 1.5);
    t.ok((await dead()).includes("users"), "the reader still sees them");
    await reader.query("COMMIT");
    await until(async () => (await dead()).length === 0);
    await until(async () => (await store.counts()).erasureAge === 0);
  });

  await t.test("foyer maintain does at once what a killed node left", async (t) => {
    const { url, store, dead } = await opened(t);
    await store.close();
    const command = (...args: string[]) => foyer(testdir(t), args, { DATABASE_URL: url });
    const at = Date.parse("2026-01-02T03:04:05Z");
    await server.run(
      `INSERT INTO erasures (subject, at) VALUES ('users', ${at}); UPDATE users SET last_seen = 1`,
      nameIn(url),
    );
    t.strictSame(await dead(), ["users"]);
    t.match(await command("check"), {
      code: 1,
      stdout: /^database still holds data that was erased at 2026-01-02T03:04:05.000Z; /m,
    });
    t.strictSame(await command("maintain"), {
      code: 0,
      stdout:
        "Vacuumed users.\nThe files of the database no longer contain erased data; the oldest was erased at 2026-01-02T03:04:05.000Z.\n",
      stderr: "",
    });
    t.strictSame(await dead(), []);
    t.notMatch((await command("check")).stdout, "erased");
  });
});

// Erased chat content soon disappears from all row versions, whichever node erases it.
void t.test("remains", { skip: NO_SERVERS }, async (t) => {
  const { url, ...store } = await openAlone(t, server);
  const name = nameIn(url);
  const { room, ada, bob } = await chatting(store);
  const say: Chatting["say"] = (body, more) =>
    store.chat.send("demo", room, { ...message(ada, body), ...more });

  await server.run("CREATE EXTENSION pageinspect", name);

  /** Returns the texts that any row version still contains, dead or alive. */
  async function left(...texts: string[]): Promise<string[]> {
    const found = await server.run(
      `SELECT text FROM unnest(ARRAY['${texts.join("', '")}']) AS text WHERE EXISTS (
         SELECT 1 FROM generate_series(0, pg_relation_size('chat_events') / 8192 - 1) AS page,
           heap_page_items(get_raw_page('chat_events', page::int)) AS item
         WHERE position(text::bytea IN item.t_data) > 0)`,
      name,
    );
    return (found as { text: string }[]).map(({ text }) => text);
  }
  // A vacuum may truncate the last pages while they are being read.
  const isGone = (text: string) =>
    until(async () => (await left(text).catch(() => [text])).length === 0);

  const edited = await say("edited away");
  await say("an edit between", { replaces: edited.event.id });
  await say("the edit", { replaces: edited.event.id });
  const deleted = await say("deleted soon");
  await say("", { content: { type: "deleted" }, replaces: deleted.event.id });
  await store.chat.send("demo", room, message(bob, "of bob"));
  await say("kept for now");
  await isGone("edited away");
  await isGone("an edit between");
  await isGone("deleted soon");
  t.strictSame(await left("the edit", "of bob", "kept for now"), [
    "the edit",
    "of bob",
    "kept for now",
  ]);
  await store.chat.empty("demo", bob, 0);
  await isGone("of bob");

  const { channel } = await store.chat.direct("demo", ada, [ada, bob], true);
  await store.chat.send("demo", channel.id, message(ada, "in private"));
  const events = Array.from({ length: 2500 }, () => say("one of many"));
  await Promise.all(events);
  const lastId = async (one: Store) => (await one.log.heads(["demo"]))[0]!.seq;
  const last = await lastId(store);
  const other = await openNode(t, url);
  await store.rooms.delete("demo", room);
  for (const user_id of [ada, bob]) {
    await store.users.erase("demo", { user_id });
  }
  await isGone("one of many");
  await isGone("in private");
  t.strictSame(await left("the edit", "kept for now"), []);
  const counts = await server.run(
    `SELECT (SELECT count(*)::int FROM chat_events WHERE world_id = 'demo') AS events,
       (SELECT count(*)::int FROM chat_remains) AS remains`,
    name,
  );
  t.strictSame(counts, [{ events: 0, remains: 0 }]);
  const entries = ["room.deleted", "user.erased", "user.erased"];
  t.equal(await lastId(other), last + entries.length, "no id is used again");

  await store.worlds.delete("other");
  await store.close();
  const [found] = (await server.run("SELECT count(*)::int AS events FROM chat_events", name)) as [
    { events: number },
  ];
  t.equal(found.events, 0, "who ends does what is left");
});

const refuses = (t: Test, promise: Promise<unknown>, message: RegExp) =>
  t.rejects(promise, { name: "StoreError", problem: "unusable", message });

// Opening and serving a database: who may, and who is refused.
void t.test("starting", { skip: NO_SERVERS }, async (t) => {
  const open = (url: string, create = true) => Database.open({ url, pool: 1 }, { create });

  await t.test("nodes that start together fill it once", async (t) => {
    const url = await server.createDatabase();
    const nodes = await Promise.all(Array.from({ length: 4 }, () => openNode(t, url)));
    t.equal(new Set(nodes.map(({ db }) => db.id)).size, 1, "one installation");
  });

  await t.test("a database that cannot be used", async (t) => {
    const url = await server.createDatabase();
    await refuses(t, open(url, false), /has stored nothing there yet$/);

    // The lock that a node of an older Foyer holds.
    const older = new pg.Client({ connectionString: url });
    await older.connect();
    await older.query(`SELECT pg_advisory_lock_shared(${NODES})`);
    await refuses(t, open(url), /nodes still serve its version 0/);
    await older.end();
    await (await open(url)).close();

    const name = nameIn(url);
    await server.run("UPDATE cluster SET value = '900' WHERE name = 'version'", name);
    await refuses(t, open(url), /has version 900.*run a newer Foyer$/);
    await server.run("UPDATE cluster SET value = '20' WHERE name = 'version'", name);
    await refuses(
      t,
      open(url),
      /has version 20, of a build before release 0\.1\.0; export .* import/,
    );

    const secret = new URL(url);
    secret.password = "very-secret";
    secret.pathname = "/absent";
    await t.rejects(open(secret.href), {
      problem: "unusable",
      message:
        /^DATABASE_URL: cannot use the database absent at 127\.0\.0\.1:\d+: (?!.*very-secret)/,
    });
    await server.run(
      `CREATE DATABASE "${nameIn(url)}-ascii" TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'`,
    );
    await refuses(t, open(server.url(`${nameIn(url)}-ascii`)), /encoding is SQL_ASCII/);
  });

  await t.test("an older database is upgraded by few, and alone", async (t) => {
    const url = await server.createDatabase();
    await (await open(url)).close();
    const command = (...args: string[]) => foyer(testdir(t), args, { DATABASE_URL: url });
    const stays = `The tables already have version ${BASELINE}; nothing`;
    t.match(await command("upgrade", "--dry-run"), {
      code: 0,
      stdout: `${stays} would change.\n`,
    });
    t.match(await command("upgrade"), { stdout: `${stays} has changed.\n` });

    migrations.push("CREATE TABLE notes (\n  text TEXT\n);");
    t.teardown(() => void migrations.pop());
    const refusal =
      /^foyer: .*version 100 instead of 101; stop all nodes, and run foyer upgrade\n$/;
    for (const [args, stderr] of [
      ["world list", refusal],
      ["token x", refusal],
      ["check", /^foyer: the database has version 100 now, and this Foyer works with 101\n$/],
    ] as const) {
      t.match(await command(...args.split(" ")), { code: 1, stdout: "", stderr });
    }
    const older = new pg.Client({ connectionString: url });
    await older.connect();
    await older.query(`SELECT pg_advisory_lock_shared(${NODES})`);
    for (const name of ["upgrade", "serve"]) {
      t.match(await command(name), {
        code: 1,
        stderr: /nodes still serve its version 100; stop them first/,
      });
    }
    t.match(JSON.parse((await command("upgrade", "--dry-run", "--json")).stdout), {
      version: BASELINE,
      latest: BASELINE + 1,
      changes: true,
    });
    await older.end();
    t.match(await command("upgrade"), {
      code: 0,
      stdout: "The tables have changed from version 100 to 101.\n",
    });
    t.same(await server.run("SELECT count(*)::int AS notes FROM notes", nameIn(url)), [
      { notes: 0 },
    ]);
  });

  await t.test("an upgrade between the look and the lock", async (t) => {
    const url = await server.createDatabase();
    const common = { events: "alone:a", files: "folder:a" };
    // The settings in common match, so only the version can keep the next node out.
    const { db: first } = await openNode(t, url, 1);
    await first.join(common, url);
    await first.close();
    const { db } = await openNode(t, url, 1);
    const name = nameIn(url);
    const upgrading = new pg.Client({ connectionString: url });
    await upgrading.connect();
    await upgrading.query(`SELECT pg_advisory_lock(${NODES})`);
    const joining = refuses(t, db.join(common, url), /has version 900 now/);
    await until(async () => {
      const waiting = await server.run(
        `SELECT FROM pg_locks JOIN pg_database AS d ON d.oid = database
         WHERE locktype = 'advisory' AND NOT granted AND datname = '${name}'`,
      );
      return waiting.length > 0;
    });
    await upgrading.query("UPDATE cluster SET value = '900' WHERE name = 'version'");
    await upgrading.end();
    await joining;
  });

  for (const [name, settings] of Object.entries({
    "a server without TLS": "?sslmode=verify-full",
    "a server without TLS, loosely": "?sslmode=require",
    "a file of authorities that is missing": "?sslmode=verify-full&sslrootcert=/absent.pem",
  })) {
    await t.test(`${name} is one line`, async (t) => {
      const url = (await server.createDatabase()) + settings;
      await refuses(t, open(url), /^DATABASE_URL: cannot use the database \S+ at 127[^\n]+$/);
    });
  }

  await t.test("nodes without the same in common", async (t) => {
    // Each standalone server has a unique name.
    const alone = "alone:a";
    const here = "folder:here";
    const shared = sharedEvents("a");
    type Has = [events: string, files: string];
    const cases: [first: Has, second: Has, refusal?: RegExp][] = [
      [[alone, here], ["alone:b", here], /another server uses it already/],
      [[alone, here], [shared, here], /a server without VALKEY_URL uses it/],
      [[shared, here], [alone, here], /VALKEY_URL has to be set/],
      [[shared, here], [sharedEvents("b"), here], /use another Valkey/],
      [[shared, here], [shared, "folder:there"], /store files elsewhere/],
      [
        [shared, here],
        [shared, here],
      ],
    ];
    await Promise.all(
      cases.map(async ([first, second, refusal]) => {
        const url = await server.createDatabase();
        const join = async ([events, files]: Has) => {
          const { db } = await openNode(t, url, 1);
          await db.join({ events, files }, url);
          return db;
        };
        const one = await join(first);
        if (!refusal) return void (await join(second));
        await refuses(t, join(second), refusal);
        await one.close();
        await join(second);
      }),
    );
  });
});

/** One node's end of a bus that all nodes in this process share. */
class SharedBus extends LocalBus {
  override readonly isAlone = false;
  readonly #all: Set<SharedBus>;

  constructor(all: Set<SharedBus>) {
    super((error) => t.fail(String(error)));
    this.#all = all.add(this);
  }

  override publish(message: BusMessage): void {
    for (const bus of this.#all) bus.deliver(message);
  }

  deliver(message: BusMessage): void {
    super.publish(message);
  }

  override async close(): Promise<void> {
    this.#all.delete(this);
    await super.close();
  }
}

/** Shows a test the appended hints before they are delivered. */
class WatchedEvents extends LogEvents {
  watch: OnAppended = () => undefined;

  override appended(hints: readonly Hint<Entry>[]): Promise<unknown> | undefined {
    return Promise.all([this.watch(hints), super.appended(hints)]);
  }
}

void t.test("PostgreSQL", { skip: NO_SERVERS }, async (t) => {
  await storeContract(t, async () => {
    const url = await emptyDatabase(server);
    const buses = new Set<SharedBus>();
    return async (onAppended, audits) => {
      const options = { create: true, audits };
      const db = await Database.open({ url, pool: 4 }, options);
      const store = postgresStore(db);
      const events = new WatchedEvents({
        bus: new SharedBus(buses),
        log: store.log,
        onFault: (error) => void t.fail(String(error)),
      });
      if (onAppended) events.watch = onAppended;
      db.follow(events);
      return {
        ...store,
        async close() {
          await store.close();
          await events.close();
        },
      };
    };
  });
});
