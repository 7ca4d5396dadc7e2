import { worldOf } from "../../helper.js";
import { usersOf } from "../../listed.js";
import { type Contract, fails, listed } from "./setup.js";

const none = new Set<string>();
const ada = {
  tokenId: "ada",
  traits: new Set(["speaker", "attendee"]),
  profile: { display_name: "Ada", odd: [null, "\u2028🎪"] },
};

/** The rules that every store keeps when a user enters a world. */
export async function enteringContract(base: Contract): Promise<void> {
  /** A test that also has the world `other`. */
  const contract: Contract = (name, run) =>
    base(name, async (t, store, open) => {
      await store.worlds.create(worldOf("other"));
      await run(t, store, open);
    });

  await contract("the first entry creates a user", async (t, store, open) => {
    const before = Date.now();
    const user = await store.users.enter("demo", ada);
    const { id, last_seen, ...rest } = user;
    t.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.ok(last_seen >= before && last_seen <= Date.now());
    t.strictSame(rest, {
      token_id: "ada",
      client_id: null,
      profile: ada.profile,
      traits: ["speaker", "attendee"],
      moderation_state: "",
      client_state: {},
      pretalx_id: null,
      last_login: null,
      deleted: false,
    });
    const inList = [listed(user)];
    t.strictSame(await usersOf(store, "demo"), inList, "listed as returned");
    t.strictSame(await usersOf(await open(), "demo"), inList, "and kept");
    t.strictSame(await usersOf(store, "other"), []);
  });

  await contract("later entries refresh the user", async (t, store) => {
    const first = await store.users.enter("demo", ada);
    while (Date.now() === first.last_seen) await new Promise(setImmediate);
    const second = await store.users.enter("demo", {
      tokenId: "ada",
      traits: new Set(["admin"]),
      profile: { display_name: "Somebody else" },
    });
    t.ok(second.last_seen > first.last_seen);
    t.strictSame(
      second,
      { ...first, traits: ["admin"], last_seen: second.last_seen },
      "its traits and its time, and not its profile",
    );
    const third = await store.users.enter("demo", {
      tokenId: "ada",
      traits: none,
    });
    t.match(third, { id: first.id, profile: ada.profile });
    t.strictSame(third.traits, []);
    const { last_seen: created } = first;
    const shown = [{ ...listed(third), created }];
    t.strictSame(await usersOf(store, "demo"), shown);
  });

  await contract("a profile is taken only at first", async (t, store) => {
    const bare = await store.users.enter("demo", {
      tokenId: "b",
      traits: none,
    });
    t.equal(bare.profile, null);
    const again = await store.users.enter("demo", { ...ada, tokenId: "b" });
    t.equal(again.id, bare.id);
    t.equal(again.profile, null);
    const empty = { tokenId: "e", traits: none, profile: {} };
    t.strictSame((await store.users.enter("demo", empty)).profile, {});
  });

  await contract("whom a name means", async (t, store) => {
    const byToken = await store.users.enter("demo", ada);
    const guest = { clientId: "ada", traits: none };
    const byClient = await store.users.enter("demo", guest);
    t.match(byClient, { token_id: null, client_id: "ada", profile: null });
    t.not(byClient.id, byToken.id, "a uid is no client ID");
    t.equal((await store.users.enter("demo", guest)).id, byClient.id);
    const elsewhere = await store.users.enter("other", ada);
    t.not(elsewhere.id, byToken.id, "each world has its own users");
    for (const tokenId of ["Ada", "ada ", "ADA", "ád"]) {
      const user = await store.users.enter("demo", { tokenId, traits: none });
      t.equal(user.token_id, tokenId);
      t.not(user.id, byToken.id, `${tokenId} is another user`);
    }
    t.equal((await usersOf(store, "demo")).length, 6);
    t.equal((await usersOf(store, "other")).length, 1);
  });

  await contract("no world, no user", async (t, store) => {
    await fails(t, store.users.enter("none", ada), "absent");
    t.strictSame(await usersOf(store, "none"), []);
    await store.worlds.create(worldOf("none"));
    t.strictSame(await usersOf(store, "none"), [], "also not later");
    await store.worlds.delete("demo");
    await fails(t, store.users.enter("demo", ada), "absent");
    t.equal((await store.counts()).users, 0);
  });

  await contract("many first entries at once", async (t, store, open) => {
    const stores = [store, await open(), await open()];
    const users = await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        stores[n % stores.length]!.users.enter("demo", {
          tokenId: `user-${n % 2}`,
          traits: new Set([`trait-${n}`]),
          profile: { n },
        }),
      ),
    );
    for (const name of ["user-0", "user-1"]) {
      const same = users.filter(({ token_id }) => token_id === name);
      t.equal(same.length, 30, name);
      t.equal(new Set(same.map(({ id }) => id)).size, 1, "are one user");
      const profiles = same.map(({ profile }) => JSON.stringify(profile));
      t.equal(new Set(profiles).size, 1, "with the profile of the first");
    }
    t.equal((await usersOf(store, "demo")).length, 2);
    t.equal((await store.counts()).users, 2);
  });

  await contract("uploads and entries mean the same user", async (t, store) => {
    const sha256 = "0".repeat(64);
    const upload = (key: string, traits: ReadonlySet<string>) =>
      store.files.add(
        "demo",
        { ...ada, traits, profile: { from: key } },
        { key, size: 1, sha256 },
        1000,
      );
    const { id } = await store.users.enter("demo", ada);
    await upload("1", new Set(["uploader"]));
    const [uploaded, ...rest] = await usersOf(store, "demo");
    t.strictSame(rest, []);
    t.match(uploaded, { id, profile: ada.profile, traits: ["uploader"] });
    const again = await store.users.enter("demo", ada);
    t.equal(again.id, id);
    t.strictSame(again.traits, [...ada.traits]);
  });

  await contract("an erased user enters as a new one", async (t, store) => {
    const guest = { clientId: "guest", traits: none };
    for (const visitor of [ada, guest]) {
      const first = await store.users.enter("demo", visitor);
      await store.users.erase("demo", { user_id: first.id });
      t.strictSame(await usersOf(store, "demo"), [], "stays erased");
      const fresh = { ...visitor, profile: { display_name: "New" } };
      const second = await store.users.enter("demo", fresh);
      t.not(second.id, first.id);
      t.strictSame(second.profile, fresh.profile);
      await fails(
        t,
        store.users.erase("demo", { user_id: first.id }),
        "absent",
      );
      t.strictSame(await usersOf(store, "demo"), [listed(second)]);
      await store.users.erase("demo", { user_id: second.id });
    }
  });

  await contract("a closed store lets no user in", async (t, store) => {
    await store.close();
    await fails(t, store.users.enter("demo", ada), "unusable");
  });
}
