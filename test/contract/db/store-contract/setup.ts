import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";
import type { OnAppended } from "../../../../db/log/entries.js";
import type {
  UserListing,
  RoomSelection,
  Store,
  StoreProblem,
  UserRecord,
  Visitor,
} from "../../../../db/contract/store.js";
import { until, worldOf } from "../../../support/helper.js";

/**
 * Opens another store at the same location; they share all data.
 * @param onAppended receives what the store appends to the log.
 * @param audits whether the store keeps the audit; defaults to true.
 */
export type Open = (onAppended?: OnAppended, audits?: boolean) => Store | Promise<Store>;

/** Creates a new, empty location. */
export type Place = (t: Test) => Open | Promise<Open>;

/** Runs a test on a store with the world `demo`; `open` opens further stores at its location. */
export type Contract = (
  name: string,
  run: (
    t: Test,
    store: Store,
    open: (...options: Parameters<Open>) => Promise<Store>,
  ) => Promise<void>,
) => Promise<unknown>;

/** Runs the tests of a contract on one kind of store. */
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

/** Runs the same tests with a second world, `other`. */
export const beside =
  (contract: Contract): Contract =>
  (name, run) =>
    contract(name, async (t, store, open) => {
      await store.worlds.create(worldOf("other"));
      await run(t, store, open);
    });

/** Returns the number of the last entry in a world's log. */
export async function headOf(store: Store, world = "demo"): Promise<number> {
  const [head] = await store.log.heads([world]);
  return head!.seq;
}

/** Expects a rejection with a {@link StoreError}. */
export const fails = (t: Test, promise: Promise<unknown>, problem: StoreProblem, field?: string) =>
  t.rejects(promise, { name: "StoreError", problem, ...(field !== undefined && { field }) });

/** Expects all writes to fail with the same problem. */
export async function allFail(
  t: Test,
  writes: readonly Promise<unknown>[],
  problem: StoreProblem,
  field?: string,
): Promise<void> {
  // Some fail while an earlier one is being awaited: avoid unhandled rejections.
  for (const write of writes) write.catch(() => {});
  for (const write of writes) await fails(t, write, problem, field);
}

/** Expects that a store sees another store's writes, immediately or soon. */
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

/** An id that does not exist. */
export const ABSENT = "00000000-0000-4000-8000-000000000000";

export const idsOf = (list: readonly { id: string }[]) => list.map(({ id }) => id);

export const namesOf = (list: readonly { name: string }[]) => list.map(({ name }) => name);

/** Counts the fulfilled results. */
export const wonOf = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.filter(({ status }) => status === "fulfilled").length;

/** Selects the first page of all rooms for a user without traits, with some changes. */
export const selection = (changes: Partial<RoomSelection> = {}): RoomSelection => ({
  traits: new Set(),
  page: 1,
  pageSize: 50,
  ordering: "sorting_priority",
  ...changes,
});

/** Returns a user as lists show it, assuming it was created when last seen. */
export function listed(user: UserRecord): UserListing {
  const { client_state: _state, deleted: _deleted, ...rest } = user;
  return { ...rest, created: user.last_seen };
}

const traits = new Set<string>();

export const ada: Visitor = {
  tokenId: "ada",
  traits: new Set(["b", "a"]),
  profile: { display_name: "Ada" },
};

/**
 * Creates or refreshes a user.
 * @returns the id.
 */
export const enter = async (
  { users }: Store,
  tokenId: string,
  world = "demo",
  more: Partial<Visitor> = {},
): Promise<string> => (await users.enter(world, { tokenId, traits, ...more })).id;

/** A guest whose client id equals another user's token id. */
export const guest: Visitor = { clientId: "ada", traits };

/** Returns the record of a file with the given key. */
export const file = (key: string, size = 100) => ({ key, size, sha256: "00" });

/** The part of {@link newFile}'s keys that follows the id. */
export const SECRET = "AbCdEfGh_-12";

/** Returns the record of a new file as uploads create it, along with its id. */
export function newFile(world = "demo", { size = 100, extension = "pdf" } = {}) {
  const id = randomUUID();
  const key = `pub/${world}/${id}.${SECRET}.${extension}`;
  return { id, record: { key, size, sha256: "0".repeat(64) } };
}

/**
 * Records a new file.
 * @returns its id.
 */
export async function add(
  store: Store,
  world = "demo",
  uploader: Partial<Visitor> = guest,
): Promise<string> {
  const { id, record } = newFile(world);
  await store.files.add(world, { traits, ...uploader }, record, 1e9);
  return id;
}

/** Waits for the next millisecond, since lists are ordered by time. */
export async function tick(): Promise<void> {
  const now = Date.now();
  while (Date.now() === now) await new Promise(setImmediate);
}
