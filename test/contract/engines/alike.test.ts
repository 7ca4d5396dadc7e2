import { join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import t, { type Test } from "tap";
import type { EngineOptions, Engines } from "../../../db/contract/engines.js";
import type { Store, StoreProblem } from "../../../db/contract/store.js";
import { type Entry, INDEX } from "../../../db/log/entries.js";
import { openEngines } from "../../../db/open.js";
import { exported } from "../../support/database.js";
import { worldOf } from "../../support/helper.js";
import { sharedDatabases } from "../../support/servers/postgres.js";
import { NO_SERVERS } from "../../support/shared.js";
import { testdir } from "../../support/testdir.js";
import { mapping } from "./call-mapping.js";
import { callSequence, DEMO, FIXED, WORLDS } from "./call-sequence.js";
import type { Operation } from "./calls.js";

// The same calls on two stores must produce the same answers, entries and documents. `SEED` is the
// first seed after the complete one, `SEEDS` their number, `OPERATIONS` the number of calls per
// seed. The stores are SQLite and PostgreSQL; with `AGAINST=<dist>`, this build and the one in that
// folder, on each engine.

/** A seed for which every method succeeds at least once. */
const COMPLETE = 19;

const SEED = Number(process.env.SEED ?? COMPLETE);
const SEEDS = Number(process.env.SEEDS ?? 1);
const OPERATIONS = Number(process.env.OPERATIONS ?? 1500);
const { AGAINST } = process.env;

const server = sharedDatabases();

const isStoreError = (error: unknown): error is { problem: StoreProblem; field?: string } =>
  error instanceof Error && error.name === "StoreError";

/** Resolves to the answer, or to the problem and field of an error. */
const outcome = (run: NonNullable<Operation["run"]>, store: Store, side: 0 | 1) =>
  run(store, side).then(
    (answer) => ({ answer }),
    (error: unknown) => {
      // A store from another build has a different error class.
      if (!isStoreError(error)) throw error;
      return { problem: error.problem, field: error.field };
    },
  );

const LOGS = [...WORLDS, INDEX];

/**
 * Returns the entries that a store has appended since `heads`, and advances `heads`. Omits tags and
 * times, which differ between stores.
 */
async function appended({ log }: Store, heads: number[]): Promise<unknown[]> {
  const entries: Entry[] = [];
  for (const [i, { seq }] of (await log.heads(LOGS)).entries()) {
    if (seq === heads[i]) continue;
    entries.push(...(await log.since(LOGS[i]!, heads[i]!, 1000)).entries);
    heads[i] = seq;
  }
  return entries.map(({ tag, at, ...entry }) => ({
    ...entry,
    isStamped: tag > 0 && at > 0,
  }));
}

type Open = (options: EngineOptions) => Promise<Engines>;

/** Opens a store from this build or another one. */
async function opened(t: Test, name: string, url?: string, dist?: string): Promise<Store> {
  const path = dist && pathToFileURL(join(resolve(dist), "db", "open.js")).href;
  const open = path ? ((await import(path)) as { openEngines: Open }).openEngines : openEngines;
  const database = url === undefined ? {} : { database: { url, pool: 4 } };
  const engines = await open({ dataDir: join(testdir(t), name), ...database });
  t.teardown(() => engines.close());
  return engines.store;
}

/** Summarizes a world's document, without the values that each store chooses. */
const documentOf = async (store: Store, world: string) => {
  const { rows } = await exported(store, world, { history: true });
  return Object.entries(rows).map(([table, some]) => [table, some.length]);
};

/** The methods that the sequences leave out: the histories of a database belong to its engine. */
const OF_ENGINE = ["log.history", "log.state"];

const methodsOf = (store: Store): string[] =>
  Object.entries(store).flatMap(([part, of]) =>
    of instanceof Function || of === undefined
      ? []
      : Object.keys(of as object).map((method) => `${part}.${method}`),
  );

async function play(t: Test, seed: number, stores: readonly [Store, Store]): Promise<void> {
  const maps = [mapping(FIXED), mapping(FIXED)] as const;
  for (const store of stores) {
    await store.worlds.import(DEMO);
    await store.worlds.create(worldOf("other"));
  }
  const heads = [LOGS.map(() => 0), LOGS.map(() => 0)] as const;
  for (const [i, store] of stores.entries()) await appended(store, heads[i]!);
  t.strictSame(heads[0], heads[1]);
  const { names, operationOf, random } = callSequence(seed);
  const uncalled = methodsOf(stores[1]).filter((method) => !names.includes(method));
  t.same(
    uncalled.filter((method) => !OF_ENGINE.includes(method)),
    [],
    "each method has a call",
  );
  const succeeded = new Set<string>();
  const missing = () => names.filter((name) => !succeeded.has(name));
  // Some methods rarely succeed, so the complete seed gets more calls, half of them of these methods.
  const isOver = (n: number) =>
    n >= OPERATIONS && (seed !== COMPLETE || missing().length === 0 || n >= 3 * OPERATIONS);
  for (let n = 0; !isOver(n); n++) {
    const isRare = n >= OPERATIONS && n % 2 === 0;
    const name = random.pick(isRare ? missing() : names);
    const { run, keep } = operationOf(name);
    const [a, b] = [await outcome(run, stores[0], 0), await outcome(run, stores[1], 1)];
    const logged = [await appended(stores[0], heads[0]), await appended(stores[1], heads[1])];
    const [left, right] = [maps[0]([a, logged[0]]), maps[1]([b, logged[1]])];
    if (left !== right) {
      t.equal(right, left, `seed ${seed}, operation ${n}: ${name}`);
      return;
    }
    const isDone = "answer" in a && "answer" in b && a.answer !== undefined;
    if (isDone) keep?.([a.answer, b.answer]);
    if ("answer" in a) succeeded.add(name);
    // The next call must have a different time.
    const now = Date.now();
    while (Date.now() === now) await setImmediate();
  }
  if (seed === COMPLETE) t.same(missing(), [], "each succeeded once");
  for (const world of ["demo", "other"]) {
    const [a, b] = [await documentOf(stores[0], world), await documentOf(stores[1], world)];
    t.strictSame(b, a, `the documents of ${world}`);
  }
}

const pairs = AGAINST
  ? [
      { title: "both builds, on SQLite", isShared: [false, false], others: AGAINST },
      { title: "both builds, on PostgreSQL", isShared: [true, true], others: AGAINST },
    ]
  : [{ title: "both engines", isShared: [false, true], others: undefined }];

const seeds = new Set([COMPLETE, ...Array.from({ length: SEEDS }, (_, i) => SEED + i)]);

for (const { title, isShared, others } of pairs) {
  const skip = isShared.includes(true) && NO_SERVERS;
  for (const seed of seeds) {
    void t.test(`${title} answer alike, seed ${seed}`, { skip }, async (t) => {
      const urls: (string | undefined)[] = [];
      for (const is of isShared) urls.push(is ? await server.createDatabase() : undefined);
      const stores = [
        await opened(t, "left", urls[0], others),
        await opened(t, "right", urls[1]),
      ] as const;
      await play(t, seed, stores);
    });
  }
}
