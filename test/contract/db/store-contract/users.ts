import { randomUUID } from "node:crypto";
import {
  StoreError,
  type UserRecord,
  type UserSearch,
  type Visitor,
} from "../../../../db/contract/store.js";
import { nameShapeOf } from "../../../../schemas/plain/look-alikes.js";
import type { UserName, UserOrdering } from "../../../../schemas/users.js";
import { exported, filesOf, usersOf } from "../../../support/database.js";
import { until, worldOf } from "../../../support/helper.js";
import {
  ABSENT,
  ada,
  add,
  beside,
  type Contract,
  enter,
  fails,
  file,
  guest,
  idsOf,
  listed,
  newFile,
  tick,
  wonOf,
} from "./setup.js";

const none = new Set<string>();

/** A user whose profile contains unusual values. */
const odd = {
  tokenId: "ada",
  traits: new Set(["speaker", "attendee"]),
  profile: { display_name: "Ada", odd: [null, "\u2028🎪"] },
};

/** Waits until the clock has passed the time at which a user was last seen. */
async function past({ last_seen }: UserRecord): Promise<void> {
  while (Date.now() === last_seen) await new Promise(setImmediate);
}

const page = { page: 1, pageSize: 50 };

/** Tests how users enter, change, and are erased. */
export async function userContract(base: Contract): Promise<void> {
  const contract = beside(base);

  await contract("the first entry creates a user", async (t, store, open) => {
    t.strictSame(await usersOf(store, "demo"), []);
    const before = Date.now();
    const user = await store.users.enter("demo", odd);
    const { id, last_seen, ...rest } = user;
    t.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.ok(last_seen >= before && last_seen <= Date.now());
    t.strictSame(rest, {
      token_id: "ada",
      client_id: null,
      profile: odd.profile,
      traits: ["speaker", "attendee"],
      moderation_state: "",
      moderated_until: null,
      client_state: {},
      pretalx_id: null,
      last_login: null,
      deleted: false,
    });
    for (const reader of [store, await open()]) {
      t.strictSame(await usersOf(reader, "demo"), [listed(user)], "listed as returned");
    }
    t.strictSame(await usersOf(store, "other"), []);
    await fails(t, store.users.enter("none", odd), "absent");
    t.strictSame(await usersOf(store, "none"), []);
    t.equal((await store.counts()).users, 1);
  });

  await contract("later entries refresh traits and times, not the profile", async (t, store) => {
    const { users } = store;
    const first = await users.enter("demo", { ...odd, login: true, pretalxId: "P1" });
    t.match(first, { pretalx_id: "P1", last_login: first.last_seen });
    await past(first);
    const other = { ...odd, traits: new Set(["admin"]), profile: { display_name: "Eve" } };
    const second = await users.enter("demo", { ...other, pretalxId: "P2" });
    t.ok(second.last_seen > first.last_seen);
    const { last_seen } = second;
    t.strictSame(second, { ...first, traits: ["admin"], last_seen }, "and it is no login");
    await past(second);
    const third = await users.enter("demo", { tokenId: "ada", traits: none, login: true });
    t.match(third, { id: first.id, profile: odd.profile, traits: [] });
    t.equal(third.last_login, third.last_seen);
    t.strictSame(await usersOf(store, "demo"), [{ ...listed(third), created: first.last_seen }]);

    const bare = await users.enter("demo", { tokenId: "b", traits: none });
    t.equal(bare.profile, null);
    const again = await users.enter("demo", { ...odd, tokenId: "b" });
    t.match(again, { id: bare.id, profile: null });
    const empty = await users.enter("demo", { tokenId: "e", traits: none, profile: {} });
    t.strictSame(empty.profile, {});
  });

  await contract("who uploads is a user", async (t, store) => {
    const before = Date.now();
    await store.files.add("demo", ada, file("1"), 1000);
    await store.files.add("demo", guest, file("2"), 1000);
    const [first, ...rest] = (await usersOf(store, "demo")).filter((user) => user.token_id);
    t.strictSame(rest, []);
    t.match(first, { token_id: "ada", client_id: null, traits: ["b", "a"], profile: ada.profile });
    t.ok(first!.last_seen >= before && first!.last_seen <= Date.now());
    const upload = (key: string, traits = ["c"], profile = {}) =>
      store.files.add("demo", { tokenId: "ada", traits: new Set(traits), profile }, file(key), 1e6);
    await upload("3");
    const entered = await store.users.enter("demo", { ...ada, traits: new Set(["d"]) });
    t.match(entered, { id: first!.id, traits: ["d"] });
    await upload("4", ["e"]);
    t.match(await store.users.get("demo", first!.id), { traits: ["e"], profile: ada.profile });
    t.equal((await usersOf(store, "demo")).length, 2);
  });

  await contract("whom a name means", async (t, store) => {
    const ids = new Set<string>();
    const names = ["ada", "Ada", "ada ", "ADA", "ád"];
    for (const tokenId of names) {
      const user = await store.users.enter("demo", { tokenId, traits: none });
      t.equal(user.token_id, tokenId);
      ids.add(user.id);
    }
    const byClient = await store.users.enter("demo", guest);
    t.match(byClient, { token_id: null, client_id: "ada", profile: null });
    t.equal((await store.users.enter("demo", guest)).id, byClient.id);
    ids.add(byClient.id);
    ids.add(await enter(store, "ada", "other"));
    t.equal(ids.size, names.length + 2, "a uid is no client ID, and each world has its users");
    t.equal((await usersOf(store, "demo")).length, names.length + 1);
    t.equal((await usersOf(store, "other")).length, 1);
  });

  await contract("many first entries and uploads at once", async (t, store, open) => {
    const stores = [store, await open(), await open()];
    const visits = Array.from({ length: 60 }, (_, n) => {
      const visitor = { tokenId: `user-${n % 2}`, traits: new Set([`${n}`]), profile: { n } };
      const { users, files } = stores[n % 3]!;
      const isUpload = n % 5 === 0;
      return isUpload
        ? files.add("demo", visitor, newFile().record, 1e9)
        : users.enter("demo", visitor);
    });
    const entered = (await Promise.all(visits)).filter((user) => typeof user === "object");
    for (const name of ["user-0", "user-1"]) {
      const same = entered.filter(({ token_id }) => token_id === name);
      t.equal(same.length, 24, name);
      const facts = same.map(({ id, profile }) => JSON.stringify([id, profile]));
      t.equal(new Set(facts).size, 1, "are one user, with the profile of the first");
    }
    for (const one of stores) t.equal((await usersOf(one, "demo")).length, 2);
    t.equal((await store.counts()).users, 2);
    const files = await filesOf(store, "demo");
    t.equal(files.length, 12);
    t.equal(new Set(files.map(({ userId }) => userId)).size, 2);
    const { id, token_id } = entered[0]!;
    const names: UserName[] = [{ token_id: token_id! }, { user_id: id }, { user_id: id }];
    const erased = names.map((name) => store.users.erase("demo", name));
    t.equal(wonOf(await Promise.allSettled(erased)), 1, "of many erasures, one");
  });

  await contract("users have an order", async (t, store) => {
    for (const tokenId of ["a", "b", "c"]) {
      await add(store, "demo", { tokenId });
      await tick();
    }
    await add(store, "demo", { tokenId: "a" });
    const order = async (ordering: UserOrdering = "-last_seen") =>
      (await store.users.list("demo", { ...page, ordering })).users
        .map(({ token_id }) => token_id)
        .join("");
    t.equal(await order(), "acb");
    t.equal(await order("last_seen"), "bca");
    t.equal(await order("created"), "abc");
    t.equal(await order("-created"), "cba");
    await store.users.erase("demo", { token_id: "c" });
    t.equal(await order(), "ab", "without who was erased");
    t.equal((await store.users.list("demo", { page: 1, pageSize: 1 })).count, 2);

    const uuid = (n: number) => `${n}0000000-0000-4000-8000-000000000000`;
    const days = { 4: 1, 1: 2, 3: 2, 2: 1, 5: 1 };
    const users = Object.entries(days).map(([id, day]) => ({
      ...{ id: uuid(+id), token_id: `user-${id}`, client_id: null, profile: null, traits: [] },
      last_seen: `2026-01-0${day}T00:00:00Z`,
    }));
    await store.worlds.import({ world: worldOf("tied"), rooms: [], users });
    for (const [ordering, expected] of [
      ["created", "12345"],
      ["-last_seen", "13245"],
      ["last_seen", "54231"],
    ] as const) {
      const found = await store.users.list("tied", { page: 1, pageSize: 10, ordering });
      t.equal(
        idsOf(found.users)
          .map(([digit]) => digit)
          .join(""),
        expected,
        `ties: ${ordering}`,
      );
    }
  });

  await contract("a page of users is bounded", async (t, store) => {
    const text = "x".repeat(1024 * 1024);
    for (const [i, size] of [1, 1, 1, 1, 5].entries()) {
      await add(store, "demo", { tokenId: `${i}`, profile: { text: text.repeat(size) } });
      await tick();
    }
    const list = (page: number, pageSize: number) => store.users.list("demo", { page, pageSize });
    await fails(t, list(1, 50), "large");
    await fails(t, list(1, 4), "large");
    t.equal((await list(1, 3)).users.length, 3);
    t.equal((await list(5, 1)).users.length, 1, "one alone is given always");
    t.strictSame(await list(2 ** 53 - 1, 1000), { count: 5, users: [] });
  });

  await contract("a user is erased", async (t, store) => {
    for (const [world, visitor, key] of [
      ["demo", ada, "1"],
      ["demo", guest, "2"],
      ["other", ada, "3"],
    ] as const) {
      await store.files.add(world, visitor, file(key), 1000);
    }
    const users = await usersOf(store, "demo");
    const { id } = users.find(({ client_id }) => client_id !== null)!;
    const erase = (name: UserName, world = "demo") => store.users.erase(world, name);
    for (const name of [{ token_id: "eve" }, { token_id: "" }, { user_id: "ada" }]) {
      await fails(t, erase(name), "absent");
    }
    await fails(t, erase({ token_id: id }), "absent");
    await fails(t, erase({ user_id: id }, "other"), "absent");
    await fails(t, erase({ token_id: "ada" }, "none"), "absent");
    t.equal((await usersOf(store, "demo")).length, 2);

    const byToken = users.find(({ token_id }) => token_id !== null)!;
    t.equal(await erase({ token_id: "ada" }), byToken.id, "it says whom");
    t.strictSame(idsOf(await usersOf(store, "demo")), [id], "not the guest of the same name");
    await fails(t, erase({ token_id: "ada" }), "absent");
    t.equal(await erase({ user_id: id }), id);
    await fails(t, erase({ user_id: id }), "absent");
    t.strictSame(await usersOf(store, "demo"), []);
    t.equal((await usersOf(store, "other")).length, 1);
    t.equal((await filesOf(store, "demo")).length, 2, "files stay");
    t.equal(await store.files.size("demo"), 200);

    for (const [i, visitor] of [ada, guest].entries()) {
      await store.files.add("demo", visitor, file(`new ${i}`), 1000);
    }
    const back = await usersOf(store, "demo");
    t.equal(back.length, 2);
    t.notOk(
      back.some((user) => idsOf(users).includes(user.id)),
      "they are new users",
    );
    for (const visitor of [ada, guest]) {
      const { id } = (await store.users.find("demo", visitor))!;
      await erase({ user_id: id });
      const second = await store.users.enter("demo", { ...visitor, profile: { x: 1 } });
      t.not(second.id, id);
      t.strictSame(second.profile, { x: 1 });
      await fails(t, erase({ user_id: id }), "absent");
    }
  });

  await contract("users are found", async (t, store, open) => {
    const { users } = store;
    const [one, two, elsewhere] = await Promise.all([
      users.enter("demo", { ...ada, pretalxId: "P" }),
      users.enter("demo", { ...guest, pretalxId: "P" }),
      users.enter("other", { ...ada, pretalxId: "P" }),
    ]);
    const found: [() => Promise<UserRecord | undefined>, UserRecord | undefined][] = [
      [() => users.get("demo", one.id), one],
      [async () => (await open()).users.get("demo", one.id), one],
      [() => users.get("other", one.id), undefined],
      [() => users.get("demo", ABSENT), undefined],
      [() => users.get("none", one.id), undefined],
      [() => users.find("demo", { tokenId: "ada" }), one],
      [() => users.find("demo", { clientId: "ada" }), two],
      [() => users.find("demo", ada), one],
      [() => users.find("demo", { tokenId: "Ada" }), undefined],
      [() => users.find("none", ada), undefined],
    ];
    for (const [find, user] of found) t.strictSame(await find(), user, String(find));
    t.throws(() => one.traits.push("admin"), "frozen with all that is in it");

    const ids = [two.id, ABSENT, "x", elsewhere.id, one.id, two.id];
    const both = [one.id, two.id].sort();
    const many = async () => idsOf(await users.getMany("demo", ids)).sort();
    t.strictSame(await many(), both);
    t.strictSame(await users.getMany("demo", []), []);
    t.strictSame(idsOf(await users.byPretalx("demo", ["P", "Q", "P"])).sort(), both);
    t.strictSame(await users.byPretalx("demo", []), []);

    await users.erase("demo", { user_id: one.id });
    const nothing = { token_id: null, client_id: null, profile: null, pretalx_id: null };
    const tombstone = { ...one, ...nothing, traits: [], last_login: null, deleted: true };
    t.strictSame(await users.get("demo", one.id), tombstone);
    t.strictSame(await many(), both);
    t.strictSame(await users.byPretalx("demo", ["P"]), [two]);
    t.equal(await users.find("demo", { tokenId: "ada" }), undefined);
  });

  await contract("a user is changed by fields", async (t, store, open) => {
    const { users } = store;
    const other = await open();
    const { id } = await users.enter("demo", ada);
    const first = (await users.get("demo", id))!;
    let expected = first;
    for (const step of [
      { profile: { display_name: "Eve", "2": [{}], "1": null } },
      { client_state: { theme: { dark: true } } },
      { pretalx_id: "ABC" },
      {},
      { profile: {}, client_state: {}, pretalx_id: null },
    ]) {
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
    await users.erase("demo", { user_id: id });
    await fails(t, users.update("demo", id, { profile: {} }), "absent");
    await fails(t, users.update("demo", id, {}), "absent");
  });

  await contract("a user is moderated", async (t, store, open) => {
    const { users } = store;
    const other = await open();
    const { id } = await users.enter("demo", ada);
    for (const [asked, state] of [
      ["silenced", "silenced"],
      ["banned", "banned"],
      ["silenced", "banned"],
      ["banned", "banned"],
      ["", ""],
      ["banned", "banned"],
    ] as const) {
      t.equal((await users.moderate("demo", id, asked)).moderation_state, state);
      // Another process may return a user that is up to a second old.
      await until(async () => (await other.users.get("demo", id))?.moderation_state === state);
    }
    const banned = (await users.get("demo", id))!;
    await past(banned);
    const entry = { ...ada, traits: new Set(["admin"]), login: true };
    t.strictSame(await users.enter("demo", entry), banned, "is not refreshed");
    t.strictSame(await users.get("demo", id), banned);
    await users.moderate("demo", id, "");
    await users.moderate("demo", id, "silenced");
    t.strictSame((await users.enter("demo", entry)).traits, ["admin"]);
    await fails(t, users.moderate("other", id, "banned"), "absent");
    await users.erase("demo", { user_id: id });
    await fails(t, users.moderate("demo", id, "banned"), "absent");
    t.equal((await users.enter("demo", ada)).moderation_state, "");
  });

  await contract("a person is moderated by a uid", async (t, store, open) => {
    const { users } = store;
    const other = await open();
    const made = await users.moderateNamed("demo", "later", "banned");
    t.match(made, { token_id: "later", moderation_state: "banned", traits: [] });
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

  await contract("a silence ends by itself, once", async (t, store, open) => {
    const { users } = store;
    const other = await open();
    const { id } = await users.enter("demo", ada);
    const later = Date.now() + 3_600_000;
    t.equal(await users.nextModerationEnd("demo"), undefined);
    const silenced = await users.moderate("demo", id, { state: "silenced", until: later });
    t.match(silenced, { moderation_state: "silenced", moderated_until: later });
    t.equal(await users.nextModerationEnd("demo"), later);
    t.equal(await users.nextModerationEnd("other"), undefined);
    await users.endModeration("demo", later - 1);
    t.match(await users.get("demo", id), { moderation_state: "silenced" }, "not before its time");
    await Promise.all([store, other].map((it) => it.users.endModeration("demo", later)));
    t.match(await users.get("demo", id), { moderation_state: "", moderated_until: null });
    const { entries } = await store.log.since("demo", 0, 100);
    const states = entries.flatMap((it) => (it.type === "user.moderated" ? [it.state] : []));
    t.strictSame(states, ["silenced", "none"], "two processes end it once");
    for (const [decision, state, until] of [
      [{ state: "silenced", until: later }, "silenced", later],
      ["silenced", "silenced", null],
      [{ state: "silenced", until: later }, "silenced", later],
      ["banned", "banned", null],
      [{ state: "silenced", until: later }, "banned", null],
      [{ state: "banned", until: later }, "banned", null],
      ["", "", null],
    ] as const) {
      const after = await users.moderate("demo", id, decision);
      t.match(after, { moderation_state: state, moderated_until: until }, JSON.stringify(decision));
    }
    await users.moderateNamed("demo", "later", { state: "silenced", until: later });
    t.equal(await users.nextModerationEnd("demo"), later);
    await users.moderate("demo", id, { state: "silenced", until: later });
    await users.erase("demo", { user_id: id });
    await users.endModeration("demo", later);
    t.match(await users.get("demo", id), { deleted: true, moderation_state: "" });
  });

  await contract("a ban keeps out new guests from the network for a while", async (t, store) => {
    const { users } = store;
    const [net, elsewhere] = ["192.0.2.0/24", "2001:db8:0:1::/64"];
    const enterFrom = (network: string | undefined, who: Partial<Visitor>, world = "demo") =>
      users.enter(world, { traits: none, login: true, network, ...who });
    const troll = await enterFrom(elsewhere, { clientId: "troll" });
    await enterFrom(net, { clientId: "troll" });
    await enterFrom(net, { clientId: "before" });
    const ends = Date.now() + 3_600_000;
    await users.moderate("demo", troll.id, { state: "banned", networkUntil: ends });
    t.equal(await users.networkBan("demo", troll.id), ends);
    t.equal(await users.nextModerationEnd("demo"), ends);
    const out = (who: Partial<Visitor>) => fails(t, enterFrom(net, who), "denied", "network");
    await out({ clientId: "again" });
    t.equal(await users.find("demo", { clientId: "again" }), undefined, "no user is made");
    await out({ clientId: "anonymous:room:x" });
    t.match(await enterFrom(net, { clientId: "troll" }), { moderation_state: "banned" });
    for (const [name, network, who] of [
      ["a guest who was there before", net, { clientId: "before" }],
      ["an invited person", net, { tokenId: "ada" }],
      ["a guest from elsewhere", elsewhere, { clientId: "new" }],
      ["a guest from an unknown network", undefined, { clientId: "unknown" }],
    ] as const) {
      t.match(await enterFrom(network, who), { moderation_state: "" }, name);
    }
    t.match(await enterFrom(net, { clientId: "again" }, "other"), { moderation_state: "" });
    await users.moderate("demo", troll.id, { state: "banned", networkUntil: ends - 1 });
    t.equal(await users.networkBan("demo", troll.id), ends, "a shorter ban changes nothing");
    await users.erase("demo", { user_id: troll.id });
    await out({ clientId: "after the erasure" });
    await users.endModeration("demo", ends);
    t.match(await enterFrom(net, { clientId: "again" }), { moderation_state: "" });
    const other = await enterFrom(net, { clientId: "other" });
    await users.moderate("demo", other.id, { state: "banned", networkUntil: ends });
    await out({ clientId: "third" });
    await users.moderate("demo", other.id, "");
    t.equal(await users.networkBan("demo", other.id), undefined, "forgiven with the user");
    t.match(await enterFrom(net, { clientId: "third" }), { moderation_state: "" });
    const unknown = await enterFrom(undefined, { clientId: "nowhere" });
    await users.moderate("demo", unknown.id, { state: "banned", networkUntil: ends });
    t.equal(await users.networkBan("demo", unknown.id), undefined, "its network is unknown");
  });

  await contract("a guest waits for approval", async (t, store) => {
    const { users, files } = store;
    const waits = { traits: none, login: true, guest: { waits: true, quietUntil: 5 } };
    const made = await users.enter("demo", {
      ...waits,
      clientId: "a",
      profile: { display_name: "A" },
    });
    t.match(made, { moderation_state: "waiting", moderated_until: null });
    const names = async (since = 0, limit = 10) => {
      const { count, guests } = await users.waiting("demo", since, limit);
      return [count, ...guests.map(({ profile }) => profile?.display_name)];
    };
    await past(made);
    await users.enter("demo", { ...waits, clientId: "b", profile: { display_name: "B" } });
    t.strictSame(await names(), [2, "A", "B"]);
    t.strictSame(await names(0, 1), [2, "A"]);
    t.strictSame(await names(Date.now() + 1000), [0], "who has not asked for a while");
    await users.enter("demo", { ...waits, clientId: "b", profile: { display_name: "Bea" } });
    t.strictSame(await names(), [2, "A", "Bea"], "the present name");
    const b = (await users.find("demo", { clientId: "b" }))!;
    const put = files.add("demo", { traits: none, clientId: "b" }, file(randomUUID()), 1e6);
    await fails(t, put, "denied");
    t.match(await users.moderate("demo", b.id, "silenced"), { moderation_state: "waiting" });
    const { users: found } = await users.search("demo", { ...page, banned: false });
    t.strictSame(found, [], "others do not find them");
    t.match(await users.answer("demo", made.id, true), { moderation_state: "" });
    t.match(
      await users.answer("demo", made.id, false),
      { moderation_state: "" },
      "the first counts",
    );
    t.match(await users.answer("demo", b.id, false), { moderation_state: "banned" });
    t.match(await users.answer("demo", b.id, true, 9), { moderation_state: "banned" });
    const c = await users.enter("demo", { ...waits, clientId: "c" });
    const quiet = { moderation_state: "silenced", moderated_until: 9 };
    t.match(await users.answer("demo", c.id, true, 9), quiet);
    const asked = { ...waits, guest: { waits: false, quietUntil: 7 } };
    const d = await users.enter("demo", { ...asked, clientId: "d" });
    t.match(d, { moderation_state: "silenced", moderated_until: 7 });
    t.match(await users.enter("demo", { ...waits, clientId: "d" }), { id: d.id }, "once known");
    t.strictSame(await names(), [0]);
    const e = await users.enter("demo", { ...waits, clientId: "e" });
    t.match(await users.moderate("demo", e.id, ""), { moderation_state: "" }, "by reactivation");
    await fails(t, users.answer("other", e.id, true), "absent");
    await users.erase("demo", { user_id: e.id });
    await fails(t, users.answer("demo", e.id, true), "absent");
  });

  await contract("names that look alike", async (t, store) => {
    const { users, invitations } = store;
    const named = (tokenId: string, display_name: string, ...traits: string[]) =>
      users.enter("demo", { tokenId, traits: new Set(traits), profile: { display_name } });
    const host = await named("host", "Marta Organizer", "admin");
    const like = async (name: string, ...roles: string[]) => {
      const found = await users.lookAlikes("demo", nameShapeOf(name), roles);
      return found.map(({ id, uid, traits }) => [id === undefined, uid, ...traits]);
    };
    t.strictSame(await like("ＭАRТА 0rganlzer"), [[false, "host", "admin"]]);
    t.strictSame(await like("Martin"), []);
    await users.update("demo", host.id, { profile: { display_name: "Martin" } });
    t.strictSame(await like("Mаrtin"), [[false, "host", "admin"]]);
    t.strictSame(await like("Marta Organizer"), []);
    const [made] = await invitations.create("demo", [
      { name: "Sam Speaker", role: "speaker", uid: "sam" },
      { name: "Ann Attendee", role: "attendee", uid: "ann" },
    ]);
    t.strictSame(await like("5AM SPEAKER", "speaker"), [[true, "sam", "speaker"]]);
    t.strictSame(await like("Ann Attendee", "speaker"), []);
    await invitations.update("demo", made!.id, { revoked: true });
    t.strictSame(await like("Sam Speaker", "speaker"), []);
    await users.erase("demo", { user_id: host.id });
    t.strictSame(await like("Martin"), []);
  });

  await contract("who may not upload", async (t, store) => {
    const { users, files } = store;
    for (const [visitor, state] of [
      [ada, "silenced"],
      [guest, "banned"],
    ] as const) {
      const { id } = await users.enter("demo", visitor);
      const before = await users.moderate("demo", id, state);
      const key = `of ${state}`;
      const put = (who: Visitor, name: string = randomUUID()) =>
        files.add("demo", who, file(name), 1e6);
      // Alongside other writes, which share its transaction.
      const results = await Promise.allSettled([
        put({ clientId: "x", traits: none }),
        put(visitor, key),
        put({ clientId: "y", traits: none }),
      ]);
      t.match(results[1], { status: "rejected", reason: { problem: "denied" } });
      t.equal(wonOf(results), 2);
      await fails(t, files.add("demo", visitor, file(key), 0), "denied");
      await fails(t, files.add("none", visitor, file(key), 0), "absent");
      t.notOk(await files.has(key));
      t.strictSame(await users.get("demo", id), before, "not refreshed");
      await files.add("other", visitor, file(key), 1e6);
      await users.moderate("demo", id, "");
      await put(visitor);
    }
    t.equal(await files.size("demo"), 600);
  });

  await contract("users block others", async (t, store) => {
    const { users } = store;
    const of = async (clientId: string, world = "demo") =>
      (await users.enter(world, { clientId, traits: none, profile: { display_name: clientId } }))
        .id;
    const [a, b, c, foreign] = [
      await of("a"),
      await of("b"),
      await of("C"),
      await of("a", "other"),
    ];
    const expectBlocked = async (lists: [user: string, blocked: string[], why?: string][]) => {
      for (const [user, blocked, why] of lists) {
        t.strictSame(idsOf(await users.blocked("demo", user)), blocked, why ?? "blocked");
      }
    };
    const pairs = [
      [a, c],
      [a, b],
      [a, b],
      [b, a],
    ] as const;
    for (const [user, other] of pairs) await users.block("demo", user, other);
    await expectBlocked([
      [a, [b, c], "by name, whatever the case"],
      [b, [a]],
      [c, [], "a block has a direction"],
    ]);
    t.strictSame(await users.blocked("other", a), []);
    for (let i = 0; i < 2; i++) await users.unblock("demo", a, b);
    await expectBlocked([
      [a, [c]],
      [b, [a]],
    ]);
    for (const [world, user, other] of [
      ["demo", a, ABSENT],
      ["demo", ABSENT, a],
      ["demo", a, foreign],
      ["other", a, b],
      ["none", a, b],
    ] as const) {
      await fails(t, users.block(world, user, other), "absent");
      await fails(t, users.unblock(world, user, other), "absent");
    }
    await users.block("demo", c, a);
    await users.erase("demo", { user_id: c });
    await expectBlocked([
      [a, [], "no block of an erased user is left"],
      [c, []],
    ]);
    await fails(t, users.block("demo", a, c), "absent");
    await fails(t, users.unblock("demo", c, a), "absent");
  });
}

/** The parts of a user that a search considers; the key is the client id. */
interface Person {
  name?: unknown;
  fields?: unknown;
  traits?: string[];
  banned?: boolean;
}

const people: Record<string, Person> = {
  straße: { name: "Straße" },
  eve: { name: "eve", banned: true, traits: ["staff"] },
  adam: { name: "Adam", traits: ["staff", "crew"], fields: { city: "STRASBOURG" } },
  zoe: { name: "Zoë", fields: { city: "Rome", 'a.b"c': "Kelvin \u212a", xcityz: "Os\0lo" } },
  bea: { name: "bea", traits: ["crew"], fields: { city: ["Rome"] } },
  nameless: { traits: ["staff"], fields: { city: "Rome" } },
  odd: { name: 7, fields: "Rome" },
};

/** Tests the search for users. */
export async function userSearchContract(base: Contract): Promise<void> {
  /** Runs a test in a world with these people. */
  const contract: Contract = (name, run) =>
    base(name, async (t, store, open) => {
      const { users } = store;
      const enters = Object.entries(people).map(async ([clientId, { name, fields, ...person }]) => {
        const profile = JSON.parse(JSON.stringify({ display_name: name, fields })) as Record<
          string,
          unknown
        >;
        const traits = new Set(person.traits);
        const { id } = await users.enter("demo", { clientId, traits, profile });
        if (person.banned) await users.moderate("demo", id, "banned");
      });
      await Promise.all(enters);
      await users.enter("demo", { clientId: "bare", traits: none });
      const { id } = await users.enter("demo", { clientId: "gone", traits: none });
      await users.erase("demo", { user_id: id });
      await run(t, store, open);
    });

  await contract("whom a search finds", async (t, store) => {
    // Users without a name come first, in any order.
    const without = ["bare", "nameless", "odd"];
    const cases: [search: Partial<UserSearch>, found: string][] = [
      [{}, "bare nameless odd adam bea straße zoe"],
      [{ banned: true }, "bare nameless odd adam bea eve straße zoe"],
      [{ named: true }, "adam bea straße zoe"],
      [{ term: "", named: true }, "adam bea straße zoe"],
      [{ term: "E" }, "bea straße"],
      [{ term: "e", banned: true }, "bea eve straße"],
      [{ term: "ZOË" }, "zoe"],
      [{ term: "zoe" }, ""],
      [{ term: "strass" }, "straße"],
      [{ term: "STRAS", fields: ["city"] }, "adam straße"],
      [{ term: "rome", fields: ["city"] }, "nameless zoe"],
      [{ term: "rome", fields: ["city"], named: true }, "zoe"],
      [{ term: "rome", fields: ["town"] }, ""],
      [{ term: "rome", fields: [] }, ""],
      [{ term: "kelvin k", fields: ["city", 'a.b"c'] }, "zoe"],
      [{ term: "os\0LO", fields: ["city", "xcityz"] }, "zoe"],
      [{ term: "os\0lo", fields: ["city", "ci"] }, ""],
      [{ term: "x", fields: ["city", 'a.b"c', "xcityz"] }, ""],
      [{ term: "romekel", fields: ["city", 'a.b"c'] }, ""],
      [{ term: "city", fields: ["city", "xcityz"] }, ""],
      [{ traits: ["crew"] }, "adam bea"],
      [{ traits: ["staff", "none"] }, "nameless adam"],
      [{ traits: ["staff"], banned: true }, "nameless adam eve"],
      [{ traits: ["crew"], term: "d" }, "adam"],
      [{ traits: [] }, ""],
      [{ term: "%" }, ""],
      [{ term: "7" }, ""],
    ];
    for (const [search, expected] of cases) {
      const { count, users } = await store.users.search("demo", { ...page, ...search });
      const names = users.map(({ client_id }) => client_id!);
      const at = names.findLastIndex((name) => without.includes(name)) + 1;
      const found = [...names.slice(0, at).sort(), ...names.slice(at)].join(" ");
      t.strictSame([found, count], [expected, names.length], JSON.stringify(search));
    }
    t.strictSame(await store.users.search("none", page), { count: 0, users: [] });
  });

  await contract("a found user is as it is read", async (t, store) => {
    const search = { ...page, term: "adam" };
    const { users } = await store.users.search("demo", search);
    t.strictSame(users, [await store.users.get("demo", users[0]!.id)]);
    t.ok(Object.isFrozen(users[0]));
    const { id } = users[0]!;
    await store.users.update("demo", id, { profile: { display_name: "Ben" } });
    t.equal((await store.users.search("demo", search)).count, 0);
    const renamed = await store.users.search("demo", { ...page, term: "BEN" });
    t.equal(renamed.users[0]?.id, id, "by the present name");

    const counts = async () => {
      const asked = { ...page, term: "oslo", fields: ["city"] };
      return (await store.users.search("demo", asked)).count;
    };
    const profile = { fields: { city: "Oslo" } };
    await store.users.update("demo", id, { profile });
    t.equal(await counts(), 1, "by the present fields");
    await store.users.update("demo", id, { client_state: { x: 1 } });
    t.equal(await counts(), 1, "whatever else changes");
    const copy = await exported(store, "demo");
    await store.worlds.delete("demo");
    await store.worlds.import(copy);
    t.equal(await counts(), 1, "in a world that has moved");
  });

  await contract("found users are paged", async (t, store) => {
    const all = (await store.users.search("demo", page)).users;
    const paged = [];
    for (let page = 1; page <= 4; page++) {
      const { count, users } = await store.users.search("demo", { page, pageSize: 2 });
      t.equal(count, all.length);
      paged.push(...users);
    }
    t.strictSame(paged, all);
    const far = { page: Number.MAX_SAFE_INTEGER, pageSize: 1 };
    t.strictSame((await store.users.search("demo", far)).users, []);
    const sameNames = await Promise.all(
      ["SAME", "same", "Same", "same"].map((display_name, i) =>
        enter(store, `${i}`, "demo", { profile: { display_name } }),
      ),
    );
    const { users } = await store.users.search("demo", { ...page, term: "same" });
    t.strictSame(idsOf(users), sameNames.sort(), "the same name in whatever case: by id");
  });

  await contract("searches for users hold up no rooms", async (t, store) => {
    const query = {
      page: 1,
      pageSize: 10,
      search: "x",
      traits: new Set<string>(),
      ordering: "name" as const,
    };
    // Fills the engine's caches, so that the calls below need no other reads.
    await store.rooms.list("demo", { ...query, search: "y" });
    const controller = new AbortController();
    const ended: string[] = [];
    const searches = Array.from({ length: 70 }, (_, i) =>
      store.users.search("demo", page, controller.signal).then(
        () => ended.push("users"),
        ({ problem }: StoreError) => ended.push(`${i} ${problem}`),
      ),
    );
    const rooms = await store.rooms.list("demo", query);
    t.equal(rooms.value.count, 0, "they have places of their own");
    const before = ended.filter((how) => how === "users").length;
    t.ok(before < 35, `and their turn, after ${before} searches`);
    controller.abort();
    await store.users.search("demo", page);
    await Promise.all(searches);
    const served = ended.filter((how) => how === "users").length;
    t.ok(served < 50, `${served} searches ran; none waits for the others`);
  });
}
