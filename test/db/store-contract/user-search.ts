import { exported } from "../../exported.js";
import type { StoreError, UserSearch } from "../../../db/contract/store.js";
import type { Contract } from "./setup.js";

/** A user, by a display name, with what else counts in a search. */
interface Person {
  name?: unknown;
  fields?: unknown;
  traits?: string[];
  banned?: boolean;
}

const people: Record<string, Person> = {
  straße: { name: "Straße" },
  eve: { name: "eve", banned: true, traits: ["staff"] },
  adam: {
    name: "Adam",
    traits: ["staff", "crew"],
    fields: { city: "STRASBOURG" },
  },
  zoe: {
    name: "Zoë",
    fields: { city: "Rome", 'a.b"c': "Kelvin \u212a", xcityz: "Os\0lo" },
  },
  bea: { name: "bea", traits: ["crew"], fields: { city: ["Rome"] } },
  nameless: { traits: ["staff"], fields: { city: "Rome" } },
  odd: { name: 7, fields: "Rome" },
};

/** What every store keeps to when users are searched for. */
export async function userSearchContract(base: Contract): Promise<void> {
  /** A test that has these people. */
  const contract: Contract = (name, run) =>
    base(name, async (t, store, open) => {
      await Promise.all(
        Object.entries(people).map(async ([clientId, person]) => {
          const { name, fields, traits = [], banned } = person;
          const { id } = await store.users.enter("demo", {
            clientId,
            traits: new Set(traits),
            profile: {
              ...(name !== undefined && { display_name: name }),
              ...(fields !== undefined && { fields }),
            },
          });
          if (banned) await store.users.moderate("demo", id, "banned");
        }),
      );
      const bare = { clientId: "bare", traits: new Set<string>() };
      await store.users.enter("demo", bare);
      await store.users.enter("demo", { ...bare, clientId: "gone" });
      const gone = await store.users.find("demo", { clientId: "gone" });
      await store.users.erase("demo", { user_id: gone!.id });
      await run(t, store, open);
    });
  const page = { page: 1, pageSize: 50 };

  await contract("whom a search finds", async (t, store) => {
    const without = ["bare", "nameless", "odd"];
    const cases: [search: Partial<UserSearch>, found: string[]][] = [
      [{}, [...without, "adam", "bea", "straße", "zoe"]],
      [{ banned: true }, [...without, "adam", "bea", "eve", "straße", "zoe"]],
      [{ named: true }, ["adam", "bea", "straße", "zoe"]],
      [{ term: "", named: true }, ["adam", "bea", "straße", "zoe"]],
      [{ term: "E" }, ["bea", "straße"]],
      [{ term: "e", banned: true }, ["bea", "eve", "straße"]],
      [{ term: "ZOË" }, ["zoe"]],
      [{ term: "zoe" }, []],
      [{ term: "strass" }, ["straße"]],
      [{ term: "STRAS", fields: ["city"] }, ["adam", "straße"]],
      [{ term: "rome", fields: ["city"] }, ["nameless", "zoe"]],
      [{ term: "rome", fields: ["city"], named: true }, ["zoe"]],
      [{ term: "rome", fields: ["town"] }, []],
      [{ term: "rome", fields: [] }, []],
      [{ term: "kelvin k", fields: ["city", 'a.b"c'] }, ["zoe"]],
      [{ term: "os\0LO", fields: ["city", "xcityz"] }, ["zoe"]],
      [{ term: "os\0lo", fields: ["city", "ci"] }, []],
      [{ term: "x", fields: ["city", 'a.b"c', "xcityz"] }, []],
      [{ term: "romekel", fields: ["city", 'a.b"c'] }, []],
      [{ term: "city", fields: ["city", "xcityz"] }, []],
      [{ traits: ["crew"] }, ["adam", "bea"]],
      [{ traits: ["staff", "none"] }, ["nameless", "adam"]],
      [{ traits: ["staff"], banned: true }, ["nameless", "adam", "eve"]],
      [{ traits: ["crew"], term: "d" }, ["adam"]],
      [{ traits: [] }, []],
      [{ term: "%" }, []],
      [{ term: "7" }, []],
    ];
    for (const [search, expected] of cases) {
      const { count, users } = await store.users.search("demo", {
        ...page,
        ...search,
      });
      const names = users.map(({ client_id }) => client_id);
      const title = JSON.stringify(search);
      t.equal(count, expected.length, title);
      const [first, rest] = [names, expected].map((list) => ({
        nameless: list.filter((name) => without.includes(name!)).sort(),
        named: list.filter((name) => !without.includes(name!)),
      }));
      t.strictSame(first, rest, title);
    }
    t.strictSame(await store.users.search("none", page), {
      count: 0,
      users: [],
    });
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
    for (let number = 1; number <= 4; number++) {
      const asked = { page: number, pageSize: 2 };
      const { count, users } = await store.users.search("demo", asked);
      t.equal(count, all.length);
      paged.push(...users);
    }
    t.strictSame(paged, all);
    const far = { page: Number.MAX_SAFE_INTEGER, pageSize: 1 };
    t.strictSame((await store.users.search("demo", far)).users, []);
    const sameNames = await Promise.all(
      ["1", "2", "3", "4"].map((clientId, i) =>
        store.users.enter("demo", {
          clientId,
          traits: new Set(),
          profile: { display_name: i % 2 ? "SAME" : "same" },
        }),
      ),
    );
    const { users } = await store.users.search("demo", {
      ...page,
      term: "s" + "ame",
    });
    t.strictSame(
      users.map(({ id }) => id),
      sameNames.map(({ id }) => id).sort(),
      "the same name in whatever case: by id",
    );
  });

  await contract("searches for users hold up no rooms", async (t, store) => {
    const query = {
      page: 1,
      pageSize: 10,
      search: "x",
      traits: new Set<string>(),
      ordering: "name" as const,
    };
    // What an engine caches of the world is read, and need not be read in between.
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
