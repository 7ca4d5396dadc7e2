import type {
  ListPlace,
  PageSelection,
  Store,
} from "../../../db/contract/store.js";
import { add, type Contract, selection, tick } from "./setup.js";

/** A row of a page: its id, and its place in the list. */
type Placed = readonly [id: string, place: ListPlace];

/** A list, of which pages are read while rows come and go. */
interface List {
  name: string;
  /** Adds a row. @returns its id. */
  add: (store: Store, number: number) => Promise<string>;
  /** None if no row can go. */
  remove?: (store: Store, id: string) => Promise<unknown>;
  page: (store: Store, selection: PageSelection) => Promise<Placed[]>;
}

const rooms = (
  ordering: "sorting_priority" | "-sorting_priority" | "name" | "-name",
): List => ({
  name: `rooms by ${ordering}`,
  add: async (store, i) => {
    // Most have the priority, or the name, of another.
    const draft = {
      name: ["a", "b", "\u{1f600}", "\uffff"][i % 4]!,
      sorting_priority: i % 3,
    };
    return (await store.rooms.create("demo", draft)).value.id;
  },
  remove: (store, id) => store.rooms.delete("demo", id),
  page: async (store, asked) => {
    const page = selection({ ...asked, ordering });
    const { value } = await store.rooms.list("demo", page);
    return value.rooms.map(({ id, name, sorting_priority }) => [
      id,
      ordering.endsWith("name")
        ? [name, sorting_priority, id]
        : [sorting_priority, name, id],
    ]);
  },
});

const users = (
  ordering: "created" | "-created" | "last_seen" | "-last_seen",
): List => ({
  name: `users by ${ordering}`,
  add: async (store, i) => {
    const visitor = { tokenId: `${i}`, traits: new Set<string>() };
    return (await store.users.enter("demo", visitor)).id;
  },
  remove: (store, user_id) => store.users.erase("demo", { user_id }),
  page: async (store, asked) => {
    const list = await store.users.list("demo", { ...asked, ordering });
    return list.users.map((user) => [
      user.id,
      [user[ordering.endsWith("created") ? "created" : "last_seen"], user.id],
    ]);
  },
});

const hook = { url: "https://example.org/", types: ["*"], enabled: true };

const lists: List[] = [
  rooms("sorting_priority"),
  rooms("-sorting_priority"),
  rooms("name"),
  rooms("-name"),
  users("created"),
  users("-created"),
  users("last_seen"),
  users("-last_seen"),
  {
    name: "files",
    add: (store) => add(store),
    remove: (store, id) => store.files.delete("demo", id),
    page: async (store, asked) =>
      (await store.files.list("demo", asked)).files.map((file) => [
        file.id,
        [file.uploadedAt, file.number],
      ]),
  },
  {
    name: "the audit",
    add: async (store) => {
      await store.audit.record("demo", { type: "done", subject: {} });
      const { entries } = await store.audit.list("demo", {
        page: 1,
        pageSize: 1,
      });
      return `${entries[0]!.number}`;
    },
    page: async (store, { after: place, ...asked }) => {
      const { entries } = await store.audit.list("demo", { ...asked, place });
      return entries.map(({ number }) => [`${number}`, [number]]);
    },
  },
  {
    name: "webhooks",
    add: async (store, i) =>
      (
        await store.webhooks.create(
          "demo",
          { ...hook, description: `${i}` },
          "x",
        )
      ).id,
    remove: (store, id) => store.webhooks.delete("demo", id),
    page: async (store, asked) =>
      (await store.webhooks.list("demo", asked)).webhooks.map(
        ({ id, number }) => [id, [number]],
      ),
  },
];

/** Pages that begin at a place lose no row and show none twice. */
export async function placeContract(contract: Contract): Promise<void> {
  for (const list of lists) {
    await contract(`${list.name} by places`, async (t, store) => {
      let made = 0;
      const more = () => list.add(store, made++);
      const stay = new Set<string>();
      for (let i = 0; i < 9; i++) {
        stay.add(await more());
        if (i % 2 === 0) await tick();
      }
      const seen: string[] = [];
      let page = await list.page(store, { page: 1, pageSize: 2 });
      t.equal(page.length, 2);
      while (page.length > 0) {
        seen.push(...page.map(([id]) => id));
        const [last, after] = page.at(-1)!;
        // The row of the place goes, too.
        await list.remove?.(store, last);
        if (made < 14) await more();
        page = await list.page(store, { page: 1, pageSize: 2, after });
      }
      t.equal(new Set(seen).size, seen.length, "none twice");
      t.strictSame(
        [...stay].filter((id) => !seen.includes(id)),
        [],
        "all",
      );
    });
  }
}
