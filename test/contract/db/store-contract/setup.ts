import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";
import type { OnAppended } from "../../../../db/log/entries.js";
import type {
  ListedUser,
  RoomSelection,
  Store,
  StoreProblem,
  UserRecord,
  Visitor,
} from "../../../../db/contract/store.js";
import { until, worldOf } from "../../../support/helper.js";

/**
 * Opens one more store on a place; all stores of a place hold the same.
 * @param onAppended gets what the store appends to the log.
 * @param audits whether it keeps the audit; true by default.
 */
export type Open = (onAppended?: OnAppended, audits?: boolean) => Store | Promise<Store>;

/** Makes a new and empty place. */
export type Place = (t: Test) => Open | Promise<Open>;

/** Runs a test with one store, which has the world `demo`; `open` opens more on its place. */
export type Contract = (
  name: string,
  run: (
    t: Test,
    store: Store,
    open: (...options: Parameters<Open>) => Promise<Store>,
  ) => Promise<void>,
) => Promise<unknown>;

/** How the tests of a contract run on stores of one kind. */
export const contractOn =
  (t: Test, place: Place): Contract =>
  (name, run) =>
    t.test(name, async (t) => {
      const make = await place(t);
      const open = async (...options: Parameters<Open>) => {
        const store = await make(...options);
        t.teardown(() => store.close());
        return store;
      };
      const store = await open();
      await store.worlds.create(worldOf("demo"));
      await run(t, store, open);
    });

/** The same tests with one more world, `other`. */
export const beside =
  (contract: Contract): Contract =>
  (name, run) =>
    contract(name, async (t, store, open) => {
      await store.worlds.create(worldOf("other"));
      await run(t, store, open);
    });

/** The number of the last entry in the log of a world. */
export async function headOf(store: Store, world = "demo"): Promise<number> {
  const [head] = await store.log.heads([world]);
  return head!.seq;
}

/** Something must fail as the store says. */
export const fails = (t: Test, promise: Promise<unknown>, problem: StoreProblem, field?: string) =>
  t.rejects(promise, { name: "StoreError", problem, ...(field !== undefined && { field }) });

/** All of them must fail so. */
export async function allFail(
  t: Test,
  writes: readonly Promise<unknown>[],
  problem: StoreProblem,
  field?: string,
): Promise<void> {
  // Some fail while an earlier one is awaited.
  for (const write of writes) write.catch(() => {});
  for (const write of writes) await fails(t, write, problem, field);
}

/** A store must see what another one of its place has written, at once or soon. */
export async function sees<T>(
  t: Test,
  read: () => Promise<T>,
  expected: T,
  name = "it sees what was written",
): Promise<void> {
  let seen: T | undefined;
  const isSeen = async () => isDeepStrictEqual((seen = await read()), expected);
  await until(isSeen).catch(() => {});
  t.strictSame(seen, expected, name);
}

/** An id that nothing has. */
export const ABSENT = "00000000-0000-4000-8000-000000000000";

export const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id);

export const namesOf = (list: readonly { name: string }[]) => list.map(({ name }) => name);

/** How many of some writes succeeded. */
export const wonOf = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.filter(({ status }) => status === "fulfilled").length;

/** The first page of all rooms for a user without traits, with some of it different. */
export const selection = (changes: Partial<RoomSelection> = {}): RoomSelection => ({
  traits: new Set(),
  page: 1,
  pageSize: 50,
  ordering: "sorting_priority",
  ...changes,
});

/** A user as lists show it, who was made when last seen. */
export function listed(user: UserRecord): ListedUser {
  const { client_state: _state, deleted: _deleted, ...rest } = user;
  return { ...rest, created: user.last_seen };
}

const traits = new Set<string>();

export const ada: Visitor = {
  tokenId: "ada",
  traits: new Set(["b", "a"]),
  profile: { display_name: "Ada" },
};

/** Lets a user enter. @returns the id. */
export const enter = async (
  { users }: Store,
  tokenId: string,
  world = "demo",
  more: Partial<Visitor> = {},
): Promise<string> => (await users.enter(world, { tokenId, traits, ...more })).id;

/** A guest whose client ID is the name of another user. */
export const guest: Visitor = { clientId: "ada", traits };

/** The record of a file with any key. */
export const file = (key: string, size = 100) => ({ key, size, sha256: "00" });

/** What stands in the keys of {@link newFile} after the id. */
export const SECRET = "AbCdEfGh_-12";

/** The record of a new file as uploads make it, whose id goes with it. */
export function newFile(world = "demo", { size = 100, extension = "pdf" } = {}) {
  const id = randomUUID();
  const key = `pub/${world}/${id}.${SECRET}.${extension}`;
  return { id, record: { key, size, sha256: "0".repeat(64) } };
}

/** Records a new file. @returns its id. */
export async function add(
  store: Store,
  world = "demo",
  uploader: Partial<Visitor> = guest,
): Promise<string> {
  const { id, record } = newFile(world);
  await store.files.add(world, { traits, ...uploader }, record, 1e9);
  return id;
}

/** Waits until the clock shows another millisecond, by which lists are ordered. */
export async function tick(): Promise<void> {
  const now = Date.now();
  while (Date.now() === now) await new Promise(setImmediate);
}
