import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { INACTIVE } from "../../../db/contract/inactive.js";
import type { UserRow } from "../../../db/rules/rows.js";
import { UserCache } from "../../../db/postgres/users/user-cache.js";
import { until, worldOf } from "../../helper.js";
import {
  emptyDatabase,
  follow,
  type Node,
  openNode,
  type Part,
} from "./setup.js";

const guest = (clientId: string) => ({
  clientId,
  traits: new Set<string>(),
  profile: { display_name: clientId },
  login: true,
});

const rowOf = (id: string, text: string): UserRow => ({
  id,
  token_id: id,
  client_id: null,
  profile: JSON.stringify({ text }),
  traits: "[]",
  last_seen: 0,
  moderation_state: "",
  client_state: null,
  pretalx_id: null,
  last_login: null,
});

/** What a node keeps of users, and that it never keeps too much. */
export const cachedUsers: Part = async (t, server) => {
  const url = await emptyDatabase(server);
  const [writer, reader] = [await openNode(t, url), await openNode(t, url)];
  await writer.worlds.create(worldOf("demo"));
  await follow(reader);

  /** Waits until a node has got everything that is written. */
  const caughtUp = async ({ events }: Node) => {
    const [head] = await writer.log.heads(["demo"]);
    await until(() => events.reached("demo") === head!.seq);
    await until(() => events.isCurrent("demo"));
  };
  const stateOf = async (id: string) =>
    (await reader.users.get("demo", id))?.moderation_state;

  await t.test("who was read or logged in is not read again", async (t) => {
    const { id } = await writer.users.enter("demo", guest("ada"));
    await caughtUp(reader);
    await reader.users.get("demo", id);
    const { sql } = reader.db;
    const all = t.capture(sql, "all", sql.all.bind(sql));
    const one = t.capture(sql, "one", sql.one.bind(sql));
    const asked = () => all().length + one().length;
    t.equal((await reader.users.get("demo", id))?.id, id);
    t.equal((await reader.users.getMany("demo", [id, id])).length, 1);
    t.equal((await reader.users.find("demo", { clientId: "ada" }))?.id, id);
    t.equal(asked(), 0);
    t.equal(await reader.users.find("demo", { tokenId: "ada" }), undefined);
    t.equal(asked(), 1, "a token is no guest");

    const eve = await reader.users.enter("demo", guest("eve"));
    t.equal(await reader.users.get("demo", eve.id), eve);
    t.equal(asked(), 0, "its own login");
    const again = await reader.users.enter("demo", guest("ada"));
    t.equal(await reader.users.get("demo", id), again, "with its last login");
  });

  await t.test("a read that began before a ban", async (t) => {
    const { id } = await writer.users.enter("demo", guest("bob"));
    await caughtUp(reader);
    const { sql } = reader.db;
    const all = sql.all.bind(sql);
    let release = () => {};
    let isFirst = true;
    t.intercept(sql, "all", {
      value: async (...args: Parameters<typeof all>) => {
        const rows = await all(...args);
        if (isFirst) {
          isFirst = false;
          await new Promise<void>((resolve) => (release = resolve));
        }
        return rows;
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
    await writer.db.sql.run(
      "UPDATE users SET last_login = last_login - $2::bigint WHERE id = $1",
      [id, INACTIVE + 1],
    );
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

  await t.test("a bounded number of users", async (t) => {
    const followed = { isCurrent: () => true, follow() {}, now: () => 0 };
    const cache = new UserCache(() => followed);
    const keep = (id: string, length: number) =>
      cache.keep(cache.begin("demo"), [rowOf(id, "x".repeat(length))]);
    const isKept = (id: string) => cache.known("demo", [id]).users.length > 0;
    keep("huge", 1024 * 1024);
    t.notOk(isKept("huge"), "none that leaves no space for others");
    for (let i = 0; i < 50; i++) keep(`user ${i}`, 250_000);
    const kept = Array.from({ length: 50 }, (_, i) => isKept(`user ${i}`));
    t.equal(kept.filter(Boolean).length, 33, "16 Mi characters");
    t.ok(kept[49]);
    t.notOk(kept[0], "the oldest goes first");
    t.equal(cache.named("demo", { tokenId: "user 0" }), undefined);
    t.ok(cache.named("demo", { tokenId: "user 49" }));
    cache.forgetWorld("demo");
    t.notOk(isKept("user 49"));
    t.equal(cache.named("demo", { tokenId: "user 49" }), undefined);
  });

  await t.test("an old login is read again", (t) => {
    let now = 0;
    const followed = { isCurrent: () => true, follow() {}, now: () => now };
    const cache = new UserCache(() => followed);
    cache.keep(cache.begin("demo"), [rowOf("ada", "")]);
    now = 3_600_000;
    t.ok(cache.named("demo", { tokenId: "ada" }));
    now++;
    t.notOk(cache.named("demo", { tokenId: "ada" }));
    t.end();
  });
};
