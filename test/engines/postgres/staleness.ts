import { setTimeout as sleep } from "node:timers/promises";
import { atBest, keyOf, timed, until, worldOf } from "../../helper.js";
import { selection } from "../../db/store-contract/setup.js";
import { PATIENCE } from "../../patience.js";
import { type Proxy, startProxy, through } from "../../servers/proxy.js";
import {
  emptyDatabase,
  follow,
  openNode,
  type Part,
  problemOf,
} from "./setup.js";

/** How old an answer may be, in milliseconds. */
const OLDEST = 1000;

/** How long after the loss of the database everybody knows, in milliseconds. */
const NOTICED = 2000 * PATIENCE;

/** Nothing older than a second is ever answered, whatever breaks. */
export const staleness: Part = async (t, server) => {
  await t.test("another node sees a write within a second", async (t) => {
    const url = await emptyDatabase(server);
    const [writer, reader] = [await openNode(t, url), await openNode(t, url)];
    await writer.worlds.create(worldOf("demo"));
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
      count: async () =>
        (await reader.rooms.list("demo", selection())).value.count,
      domain: async () =>
        (await reader.rooms.get("demo", value.id))?.value.domain,
      key: async () =>
        (await reader.worlds.issuing(old.issuer, old.audience)).length,
      host: async () =>
        (await reader.worlds.at("moved.example.org"))?.value.domain,
      world: async () => (await reader.worlds.get("demo"))?.value.title,
      name: async () =>
        (await reader.users.get("demo", ada.id))?.profile?.display_name,
      traits: async () =>
        (await reader.users.getMany("demo", [ada.id]))[0]?.traits.join(),
      state: async () =>
        (await reader.users.find("demo", { tokenId: "ada" }))?.moderation_state,
      tombstone: async () =>
        (await reader.users.get("demo", ada.id))?.deleted === true,
      announcements: async () =>
        (await reader.announcements.list("demo")).length,
    };
    type Read = keyof typeof reads;
    const cases: [read: Read, write: () => Promise<unknown>, sees: unknown][] =
      [
        [
          "room",
          () => writer.rooms.update("demo", value.id, { name: "b" }),
          "b",
        ],
        [
          "count",
          () =>
            writer.worlds.update("demo", {
              permission_config: { "room.view": ["nobody"] },
            }),
          0,
        ],
        [
          "count",
          () =>
            writer.rooms.update("demo", value.id, {
              permission_config: { "room.view": [] },
            }),
          1,
        ],
        [
          "key",
          () =>
            writer.worlds.update("demo", {
              config: { JWT_secrets: [keyOf("new")] },
            }),
          0,
        ],
        [
          "domain",
          () => writer.worlds.update("demo", { domain: "moved.example.org" }),
          "moved.example.org",
        ],
        [
          "host",
          async () => {
            await writer.worlds.create(worldOf("other"));
            await writer.worlds.update("demo", { domain: "again.example.org" });
          },
          undefined,
        ],
        [
          "name",
          () =>
            writer.users.update("demo", ada.id, {
              profile: { display_name: "Countess" },
            }),
          "Countess",
        ],
        [
          "traits",
          () =>
            writer.users.enter("demo", {
              tokenId: "ada",
              traits: new Set(["moderator"]),
            }),
          "moderator",
        ],
        [
          "state",
          () => writer.users.moderate("demo", ada.id, "banned"),
          "banned",
        ],
        [
          "tombstone",
          () => writer.users.erase("demo", { user_id: ada.id }),
          true,
        ],
        ["state", async () => {}, undefined],
        [
          "announcements",
          () => writer.announcements.create("demo", { text: "Hello" }),
          1,
        ],
        ["room", () => writer.rooms.delete("demo", value.id), undefined],
        ["count", async () => {}, 0],
        ["world", () => writer.worlds.delete("demo"), undefined],
      ];
    for (const [name, write, expected] of cases) {
      // So that it has something to be wrong about.
      await until(() => reader.events.isCurrent("demo"));
      for (const read of Object.values(reads)) await read();
      await write();
      const written = performance.now();
      // What counts is when a read began, however long a busy machine takes for it.
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
      const url = await emptyDatabase(server);
      const proxy = await startProxy(t, server.port);
      const writer = await openNode(t, url);
      const reader = await openNode(t, through(url, proxy));
      await writer.worlds.create(worldOf("demo"));
      const { id } = (await writer.rooms.create("demo", { name: "0" })).value;
      await follow(reader);

      /** When each value was committed. */
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

  await t.test("a database that stops to answer", async (t) => {
    const { worlds, rooms, db } = await openNode(
      t,
      await emptyDatabase(server),
    );
    await worlds.create(worldOf("demo"));
    const { id } = (await rooms.create("demo", { name: "x" })).value;
    const uses = {
      room: () => rooms.get("demo", id),
      list: () => rooms.list("demo", selection()),
      world: () => worlds.get("demo"),
      write: () => rooms.update("demo", id, { name: "y" }),
    };
    for (const use of Object.values(uses)) await use();
    server.pause();
    try {
      const paused = performance.now();
      // A write that waits for its answer may have happened, and one that has not begun has not.
      const waiting = problemOf(uses.write());
      await until(() => !db.isUp);
      t.ok(performance.now() - paused < NOTICED, "it is noticed");
      t.match(await waiting, /unusable|doubtful/);
      for (const [name, use] of Object.entries(uses)) {
        const took = await atBest(100, () =>
          timed(async () => {
            t.equal(await problemOf(use()), "unusable", name);
          }),
        );
        t.ok(took < 100, `without waiting: ${took} ms`);
      }
    } finally {
      server.resume();
    }
    await until(async () => (await problemOf(uses.room())) === undefined);
    for (const [name, use] of Object.entries(uses)) {
      t.equal(await problemOf(use()), undefined, `${name} works again`);
    }
  });

  await t.test("connections that are ended", async (t) => {
    const url = await emptyDatabase(server);
    const node = await openNode(t, url);
    await node.worlds.create(worldOf("demo"));
    await node.worlds.get("demo");
    await server.run(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = '${new URL(url).pathname.slice(1)}'`,
    );
    await until(() => !node.db.isUp);
    await until(() => node.db.isUp);
    t.equal((await node.worlds.get("demo"))?.value.id, "demo");
  });

  await t.test("a node that cannot read the logs", async (t) => {
    const url = await emptyDatabase(server);
    const writer = await openNode(t, url);
    let isBroken = false;
    const reader = await openNode(t, url, 4, ({ log }) => ({
      ...log,
      heads: async (worlds) => {
        if (isBroken) throw new Error("broken");
        return log.heads(worlds);
      },
    }));
    await writer.worlds.create(worldOf("demo"));
    await follow(reader);
    const statements = t.capture(
      reader.db.sql,
      "one",
      reader.db.sql.one.bind(reader.db.sql),
    );
    const title = async () => (await reader.worlds.get("demo"))?.value.title;
    const asked = async () => {
      await title();
      return statements().length;
    };
    await until(async () => (await asked()) === 0);
    isBroken = true;
    const broken = performance.now();
    await writer.worlds.configure("demo", { title: "new" });
    // What counts is when a read began, however long a busy machine takes for it.
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
    const url = await emptyDatabase(server);
    const writer = await openNode(t, url);
    let release = () => {};
    const reader = await openNode(t, url);
    await writer.worlds.create(worldOf("demo"));
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
};
