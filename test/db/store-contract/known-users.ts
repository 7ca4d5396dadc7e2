import { randomUUID } from "node:crypto";
import type { UserRecord } from "../../../db/contract/store.js";
import { until, worldOf } from "../../helper.js";
import { ABSENT, ada, type Contract, fails, file, guest } from "./setup.js";

const traits = new Set<string>();

export async function knownUserContract(base: Contract): Promise<void> {
  /** A test that also has the world `other`. */
  const contract: Contract = (name, run) =>
    base(name, async (t, store, open) => {
      await store.worlds.create(worldOf("other"));
      await run(t, store, open);
    });

  await contract("a login", async (t, store) => {
    const before = Date.now();
    const first = await store.users.enter("demo", {
      ...ada,
      login: true,
      pretalxId: "P1",
    });
    t.equal(first.pretalx_id, "P1");
    t.equal(first.last_login, first.last_seen);
    t.ok(first.last_login! >= before);
    while (Date.now() === first.last_seen) await new Promise(setImmediate);
    const seen = await store.users.enter("demo", { ...ada, pretalxId: "P2" });
    t.ok(seen.last_seen > first.last_seen);
    t.equal(seen.last_login, first.last_login, "an upload is no login");
    t.equal(seen.pretalx_id, "P1", "the id of the first entry stays");
    const again = await store.users.enter("demo", { ...ada, login: true });
    t.equal(again.last_login, again.last_seen);
    t.equal((await store.users.enter("demo", guest)).last_login, null);
  });

  await contract("users are found", async (t, store, open) => {
    const { users } = store;
    const [one, two] = await Promise.all([
      users.enter("demo", { ...ada, pretalxId: "P" }),
      users.enter("demo", { ...guest, pretalxId: "P" }),
    ]);
    const elsewhere = await users.enter("other", { ...ada, pretalxId: "P" });
    t.strictSame(await users.get("demo", one.id), one);
    t.strictSame(await (await open()).users.get("demo", one.id), one);
    t.equal(await users.get("other", one.id), undefined);
    t.equal(await users.get("demo", ABSENT), undefined);
    t.equal(await users.get("none", one.id), undefined);
    t.ok(Object.isFrozen(await users.get("demo", one.id)));
    t.throws(() => one.traits.push("admin"), "with all that is in it");

    t.strictSame(await users.find("demo", { tokenId: "ada" }), one);
    t.strictSame(await users.find("demo", { clientId: "ada" }), two);
    t.strictSame(await users.find("demo", ada), one);
    t.equal(await users.find("demo", { tokenId: "Ada" }), undefined);
    t.equal(await users.find("none", ada), undefined);

    const ids = [two.id, ABSENT, "x", elsewhere.id, one.id, two.id];
    const idsOf = (found: UserRecord[]) => found.map(({ id }) => id).sort();
    const both = [one.id, two.id].sort();
    t.strictSame(idsOf(await users.getMany("demo", ids)), both);
    t.strictSame(await users.getMany("demo", []), []);
    t.strictSame(idsOf(await users.byPretalx("demo", ["P", "Q", "P"])), both);
    t.strictSame(await users.byPretalx("demo", []), []);

    await users.erase("demo", { user_id: one.id });
    const tombstone = {
      id: one.id,
      token_id: null,
      client_id: null,
      profile: null,
      traits: [],
      last_seen: one.last_seen,
      moderation_state: "",
      client_state: {},
      pretalx_id: null,
      last_login: null,
      deleted: true,
    };
    t.strictSame(await users.get("demo", one.id), tombstone);
    t.strictSame(idsOf(await users.getMany("demo", ids)), both);
    t.strictSame(await users.byPretalx("demo", ["P"]), [two]);
    t.equal(await users.find("demo", { tokenId: "ada" }), undefined);
  });

  await contract("a user is changed by fields", async (t, store, open) => {
    const { users } = store;
    const other = await open();
    const { id } = await users.enter("demo", ada);
    const first = (await users.get("demo", id))!;
    let expected = first;
    const steps = [
      { profile: { display_name: "Eve", "2": [{}], "1": null } },
      { client_state: { theme: { dark: true } } },
      { pretalx_id: "ABC" },
      {},
      { profile: {}, client_state: {}, pretalx_id: null },
    ];
    for (const step of steps) {
      expected = { ...expected, ...step };
      const name = JSON.stringify(step);
      t.strictSame(await users.update("demo", id, step), expected, name);
      for (const reader of [users, other.users]) {
        t.strictSame(await reader.get("demo", id), expected, name);
      }
    }
    t.strictSame((await users.enter("demo", ada)).profile, {}, "and stays");
    t.equal(first.profile?.display_name, "Ada", "what was read stays as it is");

    await fails(t, users.update("other", id, { profile: {} }), "absent");
    await fails(t, users.update("demo", ABSENT, {}), "absent");
    await users.erase("demo", { user_id: id });
    await fails(t, users.update("demo", id, { profile: {} }), "absent");
    await fails(t, users.update("demo", id, {}), "absent");
  });

  await contract("a user is moderated", async (t, store, open) => {
    const { users } = store;
    const other = await open();
    const { id } = await users.enter("demo", ada);
    const steps = [
      ["silenced", "silenced"],
      ["banned", "banned"],
      ["silenced", "banned"],
      ["banned", "banned"],
      ["", ""],
      ["banned", "banned"],
    ] as const;
    for (const [asked, state] of steps) {
      t.equal(
        (await users.moderate("demo", id, asked)).moderation_state,
        state,
      );
      // Another process may answer with a user as it was up to a second ago.
      const seen = async () =>
        (await other.users.get("demo", id))?.moderation_state === state;
      await until(seen);
    }
    const banned = await users.get("demo", id);
    while (Date.now() === banned?.last_seen) await new Promise(setImmediate);
    const entry = { ...ada, traits: new Set(["admin"]), login: true };
    t.strictSame(await users.enter("demo", entry), banned, "is not refreshed");
    t.strictSame(await users.get("demo", id), banned);
    await users.moderate("demo", id, "");
    await users.moderate("demo", id, "silenced");
    t.strictSame((await users.enter("demo", entry)).traits, ["admin"]);

    await fails(t, users.moderate("other", id, "banned"), "absent");
    await fails(t, users.moderate("demo", ABSENT, "banned"), "absent");
    await users.erase("demo", { user_id: id });
    await fails(t, users.moderate("demo", id, "banned"), "absent");
    t.equal((await users.enter("demo", ada)).moderation_state, "");
  });

  await contract("a person is moderated by a uid", async (t, store, open) => {
    const { users } = store;
    const other = await open();
    const made = await users.moderateNamed("demo", "later", "banned");
    t.match(made, {
      token_id: "later",
      moderation_state: "banned",
      traits: [],
    });
    const visitor = { tokenId: "later", traits: new Set(["admin"]) };
    t.equal((await other.users.enter("demo", visitor)).id, made.id);
    t.equal((await users.enter("demo", visitor)).moderation_state, "banned");
    const again = await users.moderateNamed("demo", "later", "");
    t.strictSame([again.id, again.moderation_state], [made.id, ""]);
    const profile = { display_name: "Ada" };
    const first = await users.enter("demo", { ...visitor, profile });
    t.match(first, { traits: ["admin"], profile }, "comes for the first time");
    const later = { ...visitor, profile: { display_name: "Eve" } };
    t.strictSame((await users.enter("demo", later)).profile, profile);
    await fails(t, users.moderateNamed("none", "later", "banned"), "absent");
  });

  await contract("who may not upload", async (t, store) => {
    const { users, files } = store;
    for (const [visitor, state] of [
      [ada, "silenced"],
      [guest, "banned"],
    ] as const) {
      const { id } = await users.enter("demo", visitor);
      const before = await users.moderate("demo", id, state);
      const key = randomUUID();
      // Among others, as they share a transaction.
      const results = await Promise.allSettled([
        files.add("demo", { clientId: "x", traits }, file(randomUUID()), 1e6),
        files.add("demo", visitor, file(key), 1e6),
        files.add("demo", { clientId: "y", traits }, file(randomUUID()), 1e6),
      ]);
      t.match(results, [
        { status: "fulfilled" },
        { status: "rejected", reason: { problem: "denied" } },
        { status: "fulfilled" },
      ]);
      await fails(t, files.add("demo", visitor, file(key), 0), "denied");
      await fails(t, files.add("none", visitor, file(key), 0), "absent");
      t.notOk(await files.has(key));
      t.strictSame(await users.get("demo", id), before, "not refreshed");
      await files.add("other", visitor, file(key), 1e6);
      await users.moderate("demo", id, "");
      await files.add("demo", visitor, file(randomUUID()), 1e6);
    }
    t.equal(await files.size("demo"), 600);
  });

  await contract("users block others", async (t, store) => {
    const { users } = store;
    const enter = async (clientId: string, world = "demo") => {
      const profile = { display_name: clientId };
      return (await users.enter(world, { clientId, traits, profile })).id;
    };
    const a = await enter("a");
    const b = await enter("b");
    const c = await enter("C");
    const foreign = await enter("a", "other");
    const blocked = async (id: string) =>
      (await users.blocked("demo", id)).map((user) => user.id);
    await users.block("demo", a, c);
    await users.block("demo", a, b);
    await users.block("demo", a, b);
    await users.block("demo", b, a);
    t.strictSame(await blocked(a), [b, c], "by name, whatever the case");
    t.strictSame(await blocked(b), [a]);
    t.strictSame(await blocked(c), [], "a block has a direction");
    t.strictSame(await users.blocked("other", a), []);
    await users.unblock("demo", a, b);
    await users.unblock("demo", a, b);
    t.strictSame(await blocked(a), [c]);
    t.strictSame(await blocked(b), [a]);
    const strangers: [world: string, id: string, other: string][] = [
      ["demo", a, ABSENT],
      ["demo", ABSENT, a],
      ["demo", a, foreign],
      ["other", a, b],
      ["none", a, b],
    ];
    for (const names of strangers) {
      await fails(t, users.block(...names), "absent");
      await fails(t, users.unblock(...names), "absent");
    }
    await users.block("demo", c, a);
    await users.erase("demo", { user_id: c });
    t.strictSame(await blocked(a), [], "no block of an erased user is left");
    t.strictSame(await blocked(c), []);
    await fails(t, users.block("demo", a, c), "absent");
    await fails(t, users.unblock("demo", c, a), "absent");
  });

  await contract("erasing says whom", async (t, store) => {
    const { id } = await store.users.enter("demo", ada);
    t.equal(await store.users.erase("demo", { token_id: "ada" }), id);
    const second = await store.users.enter("demo", ada);
    t.equal(await store.users.erase("demo", { user_id: second.id }), second.id);
  });
}
