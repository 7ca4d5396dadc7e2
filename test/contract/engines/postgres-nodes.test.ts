import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import { Pool } from "../../../db/engines/postgres/engine/pool.js";
import { lockOfWorld } from "../../../db/engines/postgres/engine/postgres-sql.js";
import { INDEX } from "../../../db/log/entries.js";
import { INACTIVE_AFTER_MS } from "../../../db/rules/user-rows.js";
import { keyOf, until, worldOf } from "../../support/helper.js";
import { sharedDatabases } from "../../support/servers/postgres.js";
import type { Proxy } from "../../support/servers/proxy.js";
import { NO_SERVERS } from "../../support/shared.js";
import { chatting, message } from "../db/store-contract/chat-setup.js";
import { selection } from "../db/store-contract/setup.js";
import {
  follow,
  nameIn,
  type Node,
  openAlone,
  openBehindProxy,
  openNode,
  openPair,
  problemOf,
} from "./postgres-kit.js";

// The cache and the logs of nodes that share a PostgreSQL.

const server = sharedDatabases();

/** Maximum age of an answer, in milliseconds. */
const OLDEST = 1000;

// No answer is ever more than a second old, whatever breaks.
void t.test("staleness", { skip: NO_SERVERS }, async (t) => {
  await t.test("another node sees a write within a second", async (t) => {
    const { writer, reader } = await openPair(t, server);
    const { value } = await writer.rooms.create("demo", { name: "a" });
    const ada = await writer.users.enter("demo", {
      tokenId: "ada",
      traits: new Set(),
      profile: { display_name: "Ada" },
    });
    await follow(reader);
    const old = worldOf("demo").config.JWT_secrets[0]!;

    const reads = {
      room: async () => (await reader.rooms.get("demo", value.id))?.value.name,
      count: async () => (await reader.rooms.list("demo", selection())).value.count,
      domain: async () => (await reader.rooms.get("demo", value.id))?.value.domain,
      key: async () => (await reader.worlds.issuing(old.issuer, old.audience)).length,
      host: async () => (await reader.worlds.at("moved.org"))?.value.domain,
      world: async () => (await reader.worlds.get("demo"))?.value.title,
      name: async () => (await reader.users.get("demo", ada.id))?.profile?.display_name,
      traits: async () => (await reader.users.getMany("demo", [ada.id]))[0]?.traits.join(),
      state: async () => (await reader.users.find("demo", { tokenId: "ada" }))?.moderation_state,
      tombstone: async () => (await reader.users.get("demo", ada.id))?.deleted === true,
      announcements: async () => (await reader.announcements.list("demo")).length,
    };
    type Read = keyof typeof reads;
    const { rooms, worlds, users, announcements } = writer;
    const rule = (rights: string[]) => ({ permission_config: { "room.view": rights } });
    const cases: [read: Read, write: () => Promise<unknown>, sees: unknown][] = [
      ["room", () => rooms.update("demo", value.id, { name: "b" }), "b"],
      ["count", () => worlds.update("demo", rule(["nobody"])), 0],
      ["count", () => rooms.update("demo", value.id, rule([])), 1],
      ["key", () => worlds.update("demo", { config: { JWT_secrets: [keyOf("new")] } }), 0],
      ["domain", () => worlds.update("demo", { domain: "moved.org" }), "moved.org"],
      // A world answers on every host as long as it is the only one.
      ["world", () => worlds.create(worldOf("other")), worldOf("demo").title],
      ["host", () => worlds.update("demo", { domain: "again.org" }), undefined],
      ["name", () => users.update("demo", ada.id, { profile: { display_name: "B" } }), "B"],
      ["traits", () => users.enter("demo", { tokenId: "ada", traits: new Set(["x"]) }), "x"],
      ["state", () => users.moderate("demo", ada.id, "banned"), "banned"],
      ["tombstone", () => users.erase("demo", { user_id: ada.id }), true],
      ["state", async () => {}, undefined],
      ["announcements", () => announcements.create("demo", { text: "Hello" }), 1],
      ["room", () => rooms.delete("demo", value.id), undefined],
      ["count", async () => {}, 0],
      ["world", () => worlds.delete("demo"), undefined],
    ];
    for (const [name, write, expected] of cases) {
      // Fill the cache, so that the reader could return something stale.
      await until(() => reader.events.isCurrent("demo"));
      for (const read of Object.values(reads)) await read();
      await write();
      const written = performance.now();
      // Only the start of a read counts, since it may take long on a busy machine.
      let latest = 0;
      await until(async () => {
        const age = performance.now() - written;
        if ((await reads[name]()) === expected) return true;
        latest = age;
        return false;
      });
      t.ok(latest < OLDEST, `${name}: an old answer after ${latest} ms`);
    }
  });

  const breaks: Record<string, (proxy: Proxy) => void> = {
    "the way is lost": (proxy) => proxy.hang(),
    "only answers are lost": (proxy) => proxy.deafen(),
    "connections are reset": (proxy) => proxy.reset(),
  };
  for (const [name, fail] of Object.entries(breaks)) {
    await t.test(`no answer is older than a second when ${name}`, async (t) => {
      const { url, proxy, node: reader } = await openBehindProxy(t, server);
      const writer = await openNode(t, url);
      const { id } = (await writer.rooms.create("demo", { name: "0" })).value;
      await follow(reader);

      /** The commit time of each value. */
      const written = [performance.now()];
      let isOver = false;
      const writing = (async () => {
        while (!isOver) {
          await writer.rooms.update("demo", id, { name: `${written.length}` });
          written.push(performance.now());
          await sleep(30);
        }
      })();
      let answers = 0;
      let refusals = 0;
      const tooOld: unknown[] = [];
      const read = async () => {
        const from = performance.now() - OLDEST;
        const room = await reader.rooms.get("demo", id).catch(() => undefined);
        if (!room) return void refusals++;
        answers++;
        const newer = written[Number(room.value.name) + 1] ?? Infinity;
        if (newer < from) tooOld.push(from - newer);
      };
      const reading = (async () => {
        while (!isOver) {
          void read();
          await sleep(5);
        }
      })();
      await until(() => answers > 100);
      fail(proxy);
      await until(() => refusals > 0);
      await until(() => !reader.db.isUp || name === "connections are reset");
      proxy.heal();
      const before = answers;
      await until(() => answers > before + 100);
      isOver = true;
      await Promise.all([writing, reading]);
      t.strictSame(tooOld, []);
    });
  }

  await t.test("a node that cannot read the logs", async (t) => {
    let isBroken = false;
    const { writer, reader } = await openPair(t, server, ({ log }) => ({
      ...log,
      heads: async (worlds) => {
        if (isBroken) throw new Error("broken");
        return log.heads(worlds);
      },
    }));
    await follow(reader);
    // oxlint-disable-next-line typescript/unbound-method
    const statements = t.capture(Pool.prototype, "query", Pool.prototype.query);
    const title = async () => (await reader.worlds.get("demo"))?.value.title;
    const asked = async () => {
      await title();
      return statements().filter(({ args: [{ text }] }) => text.includes("FROM worlds WHERE"))
        .length;
    };
    await until(async () => (await asked()) === 0);
    isBroken = true;
    const broken = performance.now();
    await writer.worlds.configure("demo", { title: "new" });
    // Only the start of a read counts, since it may take long on a busy machine.
    let latest = 0;
    await until(async () => {
      const age = performance.now() - broken;
      if ((await title()) === "new") return true;
      latest = age;
      return false;
    });
    t.ok(latest < OLDEST + 500, "it asks the database");
    t.ok((await asked()) > 0 && (await asked()) > 0, "each time");
    isBroken = false;
    await until(() => reader.events.isCurrent("demo"));
    await title();
    statements();
    t.equal(await asked(), 0, "until it can read them again");
  });

  await t.test("a value that is older than the follower", async (t) => {
    const { writer, reader } = await openPair(t, server);
    let release = () => {};
    const reads = reader.db.caches.worlds.reads<string>();
    const read = (value: string) =>
      reads.read("demo", "key", async () => {
        await new Promise<void>((resolve) => (release = resolve));
        return { value, size: 1 };
      });
    const first = read("old");
    await follow(reader);
    release();
    t.equal(await first, "old");
    t.equal(reads.find("demo", "key"), undefined, "it was read before");
    const second = read("middle");
    await writer.worlds.configure("demo", { title: "new" });
    const [head] = await writer.log.heads(["demo"]);
    await until(() => reader.events.reached("demo") === head!.seq);
    release();
    t.equal(await second, "middle");
    t.equal(reads.find("demo", "key"), undefined, "an entry came meanwhile");
    const third = read("new");
    release();
    await third;
    t.equal(reads.find("demo", "key"), "new");
  });
});

const guest = (clientId: string) => ({
  clientId,
  traits: new Set<string>(),
  profile: { display_name: clientId },
  login: true,
});

// The users that a node caches, within its limit.
void t.test("cachedUsers", { skip: NO_SERVERS }, async (t) => {
  const { writer, reader } = await openPair(t, server);
  await follow(reader);

  /** Waits until a node has received every entry written so far. */
  const caughtUp = async ({ events }: Node) => {
    const [head] = await writer.log.heads(["demo"]);
    await until(() => events.reached("demo") === head!.seq);
    await until(() => events.isCurrent("demo"));
  };
  const stateOf = async (id: string) => (await reader.users.get("demo", id))?.moderation_state;

  await t.test("who was read is not read again", async (t) => {
    const { id } = await writer.users.enter("demo", guest("ada"));
    await caughtUp(reader);
    await reader.users.get("demo", id);
    // oxlint-disable-next-line typescript/unbound-method
    const statements = t.capture(Pool.prototype, "query", Pool.prototype.query);
    const asked = () =>
      statements().filter(({ args: [{ text }] }) => /FROM users\s+WHERE/.test(text)).length;
    t.equal((await reader.users.get("demo", id))?.id, id);
    t.equal((await reader.users.getMany("demo", [id, id])).length, 1);
    t.equal(asked(), 0);
    const find = () => reader.users.find("demo", { clientId: "ada" });
    t.equal((await find())?.id, id);
    t.equal(asked(), 1, "by a new name");
    t.equal((await find())?.id, id);
    t.equal(asked(), 0, "and again");
    t.equal(await reader.users.find("demo", { tokenId: "ada" }), undefined);
    t.equal(asked(), 1, "a token is no guest");
    const again = await reader.users.enter("demo", guest("ada"));
    t.same(await reader.users.get("demo", id), again, "with its last login");
  });

  await t.test("a read that began before a ban", async (t) => {
    const { id } = await writer.users.enter("demo", guest("bob"));
    await caughtUp(reader);
    // oxlint-disable-next-line typescript/unbound-method
    const { query } = Pool.prototype;
    let release = () => {};
    let isFirst = true;
    t.intercept(Pool.prototype, "query", {
      async value(this: Pool, ...args: Parameters<Pool["query"]>) {
        const found = await query.apply(this, args);
        if (isFirst && /FROM users\s+WHERE/.test(args[0].text)) {
          isFirst = false;
          await new Promise<void>((resolve) => (release = resolve));
        }
        return found;
      },
    });
    const slow = stateOf(id);
    await until(() => !isFirst);
    await writer.users.moderate("demo", id, "banned");
    await caughtUp(reader);
    release();
    t.equal(await slow, "", "it saw what was before");
    t.equal(await stateOf(id), "banned", "and is not kept");
  });

  await t.test("a login that ends after a ban", async (t) => {
    const { id } = await writer.users.enter("demo", guest("mallory"));
    await caughtUp(reader);
    const { db } = reader;
    const write = db.write.bind(db) as (...args: unknown[]) => Promise<unknown>;
    t.intercept(db, "write", {
      value: async (...args: unknown[]) => {
        const written = await write(...args);
        await writer.users.moderate("demo", id, "banned");
        await caughtUp(reader);
        return written;
      },
    });
    const entered = await reader.users.enter("demo", guest("mallory"));
    t.equal(entered.moderation_state, "", "the ban came after it");
    t.equal(await stateOf(id), "banned");
  });

  await t.test("who was inactive is read again", async (t) => {
    const { id } = await writer.users.enter("demo", guest("dora"));
    await caughtUp(reader);
    await reader.users.get("demo", id);
    await writer.db.sql.run("UPDATE users SET last_login = last_login - $2::bigint WHERE id = $1", [
      id,
      INACTIVE_AFTER_MS + 1,
    ]);
    const { last_login } = await writer.users.enter("demo", guest("dora"));
    await caughtUp(reader);
    t.equal((await reader.users.get("demo", id))?.last_login, last_login);
  });

  await t.test("who is erased leaves the memory", async (t) => {
    const { id } = await writer.users.enter("demo", guest("carol"));
    await caughtUp(reader);
    const kept = new WeakRef((await reader.users.get("demo", id))!);
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const isThere = async () => {
      await new Promise(setImmediate);
      gc();
      return kept.deref() !== undefined;
    };
    t.ok(await isThere());
    await writer.users.erase("demo", { user_id: id });
    await caughtUp(reader);
    t.notOk(await isThere());
  });
});

// Logs of worlds that several nodes write to.
void t.test("logs", { skip: NO_SERVERS }, async (t) => {
  await t.test("what entries hid is erased", async (t) => {
    const node = await openAlone(t, server);
    const { worlds, questions, log } = node;
    const { room, ada, bob } = await chatting(node);
    const ask = async (content: string) => {
      const draft = { sender: ada, content, state: "visible" } as const;
      return (await questions.create("demo", room, draft)).id;
    };
    const hide = (id: string) => questions.update("demo", room, id, { state: "archived" }, bob);
    const hidden = async () =>
      (await log.since("demo", 0, 1000)).entries.flatMap((entry) =>
        "hidden" in entry ? entry.hidden : [],
      );
    const [first, second] = [await ask("first"), await ask("second")];
    await hide(first);
    t.match(await hidden(), [{ content: "first" }]);
    // All three are batched into one transaction.
    await Promise.all([
      worlds.configure("demo", { title: "a" }),
      hide(second),
      questions.delete("demo", room, second),
    ]);
    t.strictSame(await hidden(), []);
    const third = await ask("third");
    await hide(third);
    await log.prune("demo", 0);
    t.match(await hidden(), [{ content: "third" }], "it is young");
    await server.run("UPDATE log SET at = at - 3600000", nameIn(node.url));
    await log.prune("demo", 0);
    t.strictSame(await hidden(), []);
  });

  await t.test("old entries are pruned, also of deleted worlds", async (t) => {
    const { worlds, log, db } = await openAlone(t, server);
    await worlds.create(worldOf("gone"));
    for (const id of ["demo", "gone"]) await worlds.configure(id, { title: "a" });
    await worlds.delete("gone");
    const [head, gone] = await log.heads(["demo", "gone"]);
    const count = (world: string) =>
      db.sql.value("SELECT count(*) FROM log WHERE world_id = $1", [world]);
    t.equal(await log.prune(INDEX, 0), false);
    t.equal(await count("gone"), 3, "a follower may still have to read them");
    await db.sql.run("UPDATE log SET at = at - 3600001");
    await log.prune(INDEX, 0);
    t.equal(await count("gone"), 0);
    t.equal(await count("demo"), 2);
    await log.prune("demo", Date.now());
    t.equal(await count("demo"), 0);
    t.strictSame(await log.heads(["demo", "gone"]), [head, gone]);
    t.strictSame(
      await log.since("demo", head!.seq, 10),
      { tag: head!.tag, entries: [] },
      "the last one is known",
    );
    t.equal((await log.since("demo", head!.seq - 1, 10)).tag, undefined);
    await worlds.create(worldOf("gone"));
    const [again] = await log.heads(["gone"]);
    t.equal(again!.seq, gone!.seq + 1, "no number is given twice");
  });
});

/** The gap that a log leaves in its numbers after it has lost entries. */
const JUMP = 1_000_000;

// The database loses entries that a node has already seen, as after a failover or restore.
void t.test("lost", { skip: NO_SERVERS }, async (t) => {
  const node = await openAlone(t, server);
  const { rooms, chat, log, events, db } = node;
  const name = nameIn(node.url);
  const { room, ada } = await chatting(node);
  const say = () => chat.send("demo", room, message(ada, "x"));
  for (const id of ["demo", "other", INDEX]) await events.follow(id);
  const resets: string[] = [];
  events.subscribe(({ type, ...event }) => {
    if (type === "world.reset") resets.push((event as { world: string }).world);
  });
  const headOf = async (world: string) => (await log.heads([world]))[0]!;

  /** Runs SQL statements and terminates all connections in the same transaction. */
  const change = async (statements: string) => {
    await server.run(
      `BEGIN; ${statements};
       SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = '${name}' AND pid <> pg_backend_pid(); COMMIT`,
      name,
    );
    await until(() => !db.isUp);
    await until(() => db.isUp);
  };
  /** Resets the log of `demo` to an earlier number while no write is in flight. */
  const goBack = (seq: number) =>
    change(`${lockOfWorld("demo")};
      DELETE FROM log WHERE world_id = 'demo' AND seq > ${seq};
      DELETE FROM chat_events WHERE world_id = 'demo' AND id > ${seq};
      UPDATE log_heads SET seq = ${seq}, tag = (
        SELECT tag FROM log WHERE world_id = 'demo' AND seq = ${seq}
        UNION ALL SELECT tag FROM chat_events WHERE world_id = 'demo' AND id = ${seq})
      WHERE world_id = 'demo'`);

  await t.test("nothing happens if nothing is lost", async (t) => {
    await say();
    const before = await log.heads(["demo", "other", INDEX]);
    await change("SELECT 1");
    t.strictSame(await log.heads(["demo", "other", INDEX]), before);
    const after = await say();
    t.equal(after.event.id, before[0]!.seq + 1);
    t.strictSame(resets, []);
  });

  await t.test("numbers that people know are given to nothing", async (t) => {
    const { seq: kept } = await headOf("demo");
    await rooms.update("demo", room, { name: "lost" });
    const { event: seen } = await say();
    const other = await headOf("other");
    await goBack(kept);
    // The node has already compared the logs by the time of the first write.
    const { event } = await say();
    t.equal(event.id, seen.id + JUMP + 1);
    const { entries } = await log.since("demo", kept, 10);
    t.match(entries, [
      { type: "world.raised", seq: seen.id + JUMP, by: { kind: "server" } },
      { type: "chat.event" },
    ]);
    t.strictSame(await headOf("other"), other, "another world is as it was");
    await until(() => resets.length > 0);
    t.strictSame(resets, ["demo"]);
    await until(() => events.reached("demo") === event.id);
  });

  await t.test("another history has grown longer", async (t) => {
    const { seq: kept } = await headOf("demo");
    await say();
    const seen = await headOf("demo");
    // Another node writes before this one has compared the logs.
    await change(
      `UPDATE chat_events SET tag = tag + 1 WHERE world_id = 'demo' AND id = ${seen.seq};
       INSERT INTO log (world_id, seq, tag, at, type, author, detail)
         VALUES ('demo', ${seen.seq + 1}, 7, 0, 'world.updated', '{"kind":"api"}', '{}');
       UPDATE log_heads SET seq = ${seen.seq + 1}, tag = 7 WHERE world_id = 'demo'`,
    );
    const { event } = await say();
    t.equal(event.id, seen.seq + 1 + JUMP + 1);
    const { tag } = await log.since("demo", kept, 1);
    t.not(tag, undefined, "what is common is not touched");
    await until(() => resets.length > 1);
    t.strictSame(resets, ["demo", "demo"]);
  });

  await t.test("writes that wait all the time come after it", async (t) => {
    const { seq: kept } = await headOf("demo");
    const { event: seen } = await say();
    let isOver = false;
    const ids: number[] = [];
    const writing = (async () => {
      while (!isOver) {
        const problem = await problemOf(say().then(({ event }) => ids.push(event.id)));
        if (problem) await new Promise(setImmediate);
      }
    })();
    await goBack(kept);
    await until(() => ids.some((id) => id > seen.id + JUMP));
    isOver = true;
    await writing;
    const between = ids.filter((id) => id > kept + 1_000 && id <= kept + JUMP);
    t.strictSame(between, []);
    t.strictSame([...new Set(ids)].length, ids.length, "no id comes twice");
  });
});
