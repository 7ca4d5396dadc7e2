import { worldOf } from "../../helper.js";
import type { UserOrdering } from "../../../schemas/users.js";
import { filesOf, usersOf } from "../../listed.js";
import {
  ABSENT,
  add,
  ada,
  type Contract,
  fails,
  file,
  guest,
  tick,
} from "./setup.js";

export async function userContract(contract: Contract): Promise<void> {
  await contract("who uploads is a user", async (t, store) => {
    const users = () => usersOf(store, "demo");
    t.strictSame(await users(), []);
    const before = Date.now();
    await store.files.add("demo", ada, file("1"), 1000);
    await store.files.add("demo", guest, file("2"), 1000);
    const [second, first, ...rest] = (await users()).sort((a, b) =>
      (a.token_id ?? "").localeCompare(b.token_id ?? ""),
    );
    t.strictSame(rest, [], "a uid and a client ID of one name are two users");
    t.match(second, { token_id: null, client_id: "ada", traits: [] });
    t.equal(second?.profile, null);
    t.match(first, { token_id: "ada", client_id: null, traits: ["b", "a"] });
    t.strictSame(first?.profile, ada.profile);
    t.ok(first!.last_seen >= before && first!.last_seen <= Date.now());

    const later = { tokenId: "ada", traits: new Set(["c"]) };
    await store.files.add("demo", later, file("3"), 1000);
    const again = (await users()).find(({ id }) => id === first?.id);
    t.match(again, { traits: ["c"], profile: ada.profile });
    t.equal((await users()).length, 2);

    await store.worlds.create(worldOf("other"));
    await store.files.add("other", ada, file("4"), 1000);
    const [there] = await usersOf(store, "other");
    t.not(there?.id, first?.id, "of another world, another user");
  });

  await contract("who was seen last comes first", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    for (const tokenId of ["a", "b", "c"]) {
      await add(store, "demo", { tokenId });
      await tick();
    }
    await add(store, "demo", { tokenId: "a" });
    const order = async (ordering: UserOrdering = "-last_seen") => {
      const asked = { page: 1, pageSize: 50, ordering };
      const { users } = await store.users.list("demo", asked);
      return users.map(({ token_id }) => token_id);
    };
    t.strictSame(await order(), ["a", "c", "b"]);
    t.strictSame(await order("last_seen"), ["b", "c", "a"]);
    t.strictSame(await order("created"), ["a", "b", "c"]);
    t.strictSame(await order("-created"), ["c", "b", "a"]);
    await store.users.erase("demo", { token_id: "c" });
    t.strictSame(await order(), ["a", "b"], "without who was erased");
    const { count } = await store.users.list("demo", { page: 1, pageSize: 1 });
    t.equal(count, 2);

    const sameTime = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        add(store, "other", { clientId: `c${i}` }),
      ),
    );
    const users = await usersOf(store, "other");
    t.equal(users.length, sameTime.length);
    t.strictSame(
      users,
      [...users].sort(
        (a, b) => a.created - b.created || (a.id < b.id ? -1 : 1),
      ),
      "then by id",
    );
  });

  await contract("the first upload sets the profile", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    const profile = { display_name: "Ada" };
    await add(store, "demo", { tokenId: "ada", profile });
    await add(store, "demo", { tokenId: "bob" });
    await add(store, "demo", { tokenId: "ada", profile: { other: 1 } });
    await add(store, "demo", { tokenId: "bob", profile });
    const users = await usersOf(store, "demo");
    t.strictSame(
      new Map(users.map((user) => [user.token_id, user.profile])),
      new Map([
        ["ada", profile],
        ["bob", null],
      ]),
    );
  });

  await contract("a page of users is bounded", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    const text = "x".repeat(1024 * 1024);
    for (const [i, size] of [1, 1, 1, 1, 5].entries()) {
      const profile = { text: text.repeat(size) };
      await add(store, "demo", { tokenId: `${i}`, profile });
      await tick();
    }
    const page = (page: number, pageSize: number) =>
      store.users.list("demo", { page, pageSize });
    await fails(t, page(1, 50), "large");
    await fails(t, page(1, 4), "large");
    t.equal((await page(1, 3)).users.length, 3);
    t.equal((await page(5, 1)).users.length, 1, "one alone is given always");
  });

  await contract("a user is erased", async (t, store) => {
    await store.worlds.create(worldOf("other"));
    await store.files.add("demo", ada, file("1"), 1000);
    await store.files.add("demo", guest, file("2"), 1000);
    await store.files.add("other", ada, file("3"), 1000);
    const users = await usersOf(store, "demo");
    const { id } = users.find(({ client_id }) => client_id !== null)!;
    for (const name of [
      { token_id: "eve" },
      { token_id: "" },
      { user_id: ABSENT },
      { user_id: "ada" },
      { token_id: id },
    ]) {
      await fails(t, store.users.erase("demo", name), "absent");
    }
    await fails(t, store.users.erase("other", { user_id: id }), "absent");
    await fails(t, store.users.erase("none", { token_id: "ada" }), "absent");
    t.equal((await usersOf(store, "demo")).length, 2);

    await store.users.erase("demo", { token_id: "ada" });
    t.strictSame(
      (await usersOf(store, "demo")).map(({ client_id }) => client_id),
      ["ada"],
      "and not the guest of the same name",
    );
    await fails(t, store.users.erase("demo", { token_id: "ada" }), "absent");
    await store.users.erase("demo", { user_id: id });
    await fails(t, store.users.erase("demo", { user_id: id }), "absent");
    t.strictSame(await usersOf(store, "demo"), []);
    t.equal((await usersOf(store, "other")).length, 1);
    t.equal((await filesOf(store, "demo")).length, 2, "files stay");
    t.equal(await store.files.size("demo"), 200);

    await store.files.add("demo", ada, file("4"), 1000);
    const [back, ...rest] = await usersOf(store, "demo");
    t.strictSame(rest, []);
    t.notOk(
      users.some((user) => user.id === back?.id),
      "a new user",
    );
  });
}
