import type { Test } from "tap";
import { until, worldOf } from "../../support/helper.js";
import { NIGHT } from "../../support/night.js";
import { openStoreIn } from "../../support/stack.js";
import { testdir } from "../../support/testdir.js";
import { type Forked, forkProcess, relayAmong, type Through } from "./bus-fork.js";
import type { RemoteLog, Seen } from "./log-worker.js";

const WORLD = "demo";

export const texts = (count: number) => Array.from({ length: count }, (_, i) => `${i}`);

/** Starts processes that share a bus and a store with the worlds `demo` and `other`. */
export async function startLogs(t: Test, count: number, through?: Through): Promise<RemoteLog[]> {
  const dataDir = testdir(t);
  const { worlds } = await openStoreIn(t, dataDir);
  for (const world of [WORLD, "other"]) await worlds.create(worldOf(world));
  const forked: Forked<RemoteLog>[] = Array.from({ length: count }, () =>
    forkProcess(t, "log-worker.js"),
  );
  relayAmong(forked);
  const nodes = forked.map(({ node }) => node);
  for (const node of nodes) await node.begin(dataDir, through);
  return nodes;
}

/**
 * Waits until each process has received `count` entries, and checks that all received the same
 * ones, once and in order.
 */
export async function expectAllReceived(
  t: Test,
  nodes: readonly RemoteLog[],
  count: number,
): Promise<Seen[][]> {
  const all: Seen[][] = [];
  for (const node of nodes) {
    await until(async () => (await node.seen()).length >= count);
    all.push(await node.seen());
  }
  const subjects = all[0]!.map(({ subject }) => subject);
  const first = all[0]![0]!.seq;
  for (const seen of all) {
    t.equal(seen.length, count, "each once");
    const seqs = seen.map(({ seq }) => seq);
    t.strictSame(
      seqs,
      Array.from(seqs, (_, i) => first + i),
      "in order, without a gap",
    );
    t.strictSame(
      seen.map(({ subject }) => subject),
      subjects,
      "the same for all",
    );
  }
  return all;
}

/**
 * Tests that every process receives the log of each world that it follows, even over an unreliable
 * bus.
 * @param through the bus; `nothing` for one that drops everything.
 */
export async function logContract(t: Test, through?: Through): Promise<void> {
  await t.test("processes that write at the same time", async (t) => {
    const nodes = await startLogs(t, 3, through);
    for (const node of nodes) await node.follow(WORLD);
    const missing = await Promise.all(nodes.map((node) => node.write(WORLD, texts(30))));
    t.strictSame(missing, [0, 0, 0], "a process has its own before its answer");
    const all = await expectAllReceived(t, nodes, 90);
    const skip = !NIGHT && "a busy machine proves nothing about times";
    await t.test("most of them arrive within a second", { skip }, async (t) => {
      const late = all.flat().map((seen) => seen.late);
      t.ok(late.toSorted((a, b) => a - b)[late.length / 2]! < 1000);
    });
  });

  await t.test("a process that follows later", async (t) => {
    const nodes = await startLogs(t, 2, through);
    const [one, two] = nodes as [RemoteLog, RemoteLog];
    await one.follow(WORLD);
    await one.write(WORLD, ["before"]);
    await two.follow(WORLD);
    await two.follow(WORLD);
    await one.write(WORLD, ["1", "2", "3"]);
    await one.write("other", ["of a world that is not followed"]);
    await until(async () => (await two.seen()).length >= 3);
    await two.unfollow(WORLD);
    await one.write(WORLD, ["4"]);
    await until(async () => (await two.seen()).length >= 4);
    await two.unfollow(WORLD);
    await one.write(WORLD, ["after"]);
    await two.follow("other");
    await one.follow("other");
    await one.write("other", ["last"]);
    await until(async () => (await two.seen()).length >= 5);
    const [, ...own] = await one.seen();
    const subjects = own.map(({ subject }) => subject);
    t.strictSame(
      (await two.seen()).map(({ subject }) => subject),
      [...subjects.slice(0, 4), subjects.at(-1)],
    );
  });

  if (through === "nothing") return;
  await t.test("hints need no reads", async (t) => {
    const nodes = await startLogs(t, 2, through);
    const [one, two] = nodes as [RemoteLog, RemoteLog];
    for (const node of nodes) await node.follow(WORLD);
    // From now on, the bus knows that both processes follow the world.
    await one.write(WORLD, ["0"]);
    await expectAllReceived(t, nodes, 1);
    const before = [await one.reads(), await two.reads()] as const;
    await one.write(WORLD, texts(100), true);
    await expectAllReceived(t, nodes, 101);
    t.equal((await one.reads()) - before[0], 0);
    // The periodic check of the heads may run just before a hint arrives.
    const reads = (await two.reads()) - before[1];
    t.ok(reads <= 5, `${reads} reads`);
  });
}
