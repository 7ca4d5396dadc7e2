import t from "tap";
import { Copy } from "../../live/people/replica/copy.js";
import { isReport, MOST_ITEMS } from "../../live/people/replica/messages.js";
import { Part } from "../../live/people/replica/part.js";
import { Random } from "../simulation/random.js";
import { ReplicaCluster } from "../simulation/replica-cluster.js";
import { Timeline } from "../simulation/timeline.js";
import { Wire, type WiredProcess } from "./wire.js";

// What the simulation would not miss, as it comes right in the end.

/** Some processes that follow a scope, after some time. */
function clusterOf(size: number, after = 10_000) {
  const timeline = new Timeline();
  const cluster = new ReplicaCluster(timeline, new Random(1), size);
  const wait = (time: number) => timeline.runAtOnce(timeline.now + time);
  wait(after);
  return { cluster, processes: cluster.processes, wait };
}

void t.test("changes arrive at once", async (t) => {
  const { processes, wait } = clusterOf(2);
  const [one, two] = processes as [
    (typeof processes)[0],
    (typeof processes)[0],
  ];
  for (const process of processes) process.follow("hall");
  wait(10_000);
  one.put("hall", "a");
  wait(40);
  t.strictSame([...two.copyOf(one.name, "hall")], [["a", 1]]);
  one.delete("hall", "a");
  wait(40);
  t.strictSame([...two.copyOf(one.name, "hall")], []);
});

void t.test(
  "a process that begins to follow asks for everything",
  async (t) => {
    const { processes, wait } = clusterOf(2);
    const [one, two] = processes as [
      (typeof processes)[0],
      (typeof processes)[0],
    ];
    one.follow("hall");
    for (let i = 0; i < 3 * MOST_ITEMS; i++) one.put("hall", `k${i}`);
    wait(10_000);
    two.follow("hall");
    wait(50);
    t.equal(two.copyOf(one.name, "hall").size, 3 * MOST_ITEMS);
    two.unfollow("hall");
    wait(1_000);
    t.equal(two.copyOf(one.name, "hall").size, 3 * MOST_ITEMS, "it lingers");
    wait(11_000);
    t.equal(two.copyOf(one.name, "hall").size, 0);
  },
);

void t.test("following begins when all others have answered", async (t) => {
  const wire = new Wire();
  const [one, two, three] = ["one", "two", "three"].map((name) =>
    wire.start(name),
  ) as [WiredProcess, WiredProcess, WiredProcess];
  await wire.wait(100);
  await Promise.all([one.replica.follow("hall"), wire.wait(30)]);
  const follow = async (process: WiredProcess, scope: string) => {
    let isReady = false;
    void process.replica.follow(scope).then(() => (isReady = true));
    await wire.wait(60);
    const isSoon = isReady;
    await wire.wait(250);
    return [isSoon, isReady];
  };
  t.strictSame(await follow(two, "hall"), [true, true]);
  three.clock.pause(1_000);
  t.strictSame(await follow(two, "foyer"), [false, true], "but not for long");
});

void t.test("a scope costs only those who follow it", async (t) => {
  const { cluster, processes, wait } = clusterOf(3);
  for (const process of processes.slice(0, 2)) process.follow("hall");
  wait(1_000);
  const quiet = cluster.bus.arrived;
  wait(10_000);
  const beats = cluster.bus.arrived - quiet;
  t.ok(
    beats >= 80 && beats <= 110,
    `${beats} beats: 6 everywhere, 2 in the hall`,
  );
  for (let i = 0; i < 100; i++) processes[0]!.put("hall", `k${i}`);
  const before = cluster.bus.arrived;
  wait(30);
  t.ok(cluster.bus.arrived - before < 10, "changes are published together");
  processes[2]!.follow("foyer");
  wait(10_000);
  const alone = cluster.bus.arrived;
  for (let i = 0; i < 100; i++) {
    processes[2]!.put("foyer", `k${i}`);
    wait(30);
  }
  // Three seconds, in which all say everywhere that they live.
  t.ok(cluster.bus.arrived - alone < 40, "a process alone publishes nothing");
});

void t.test("a process that sleeps forgets nobody", async (t) => {
  const { processes, wait } = clusterOf(2);
  const [one, two] = processes as [
    (typeof processes)[0],
    (typeof processes)[0],
  ];
  for (const process of processes) process.follow("hall");
  one.put("hall", "a");
  wait(1_000);
  two.pause(60_000);
  wait(60_001);
  t.equal(two.gone, 0);
  one.put("hall", "b");
  wait(2_000);
  t.equal(two.copyOf(one.name, "hall").size, 2);
  t.equal(two.gone, 0);
});

void t.test("a process that ends takes all with it", async (t) => {
  const { cluster, processes, wait } = clusterOf(2);
  const [one, two] = processes as [
    (typeof processes)[0],
    (typeof processes)[0],
  ];
  for (const process of processes) process.follow("hall");
  one.put("hall", "a");
  wait(1_000);
  cluster.bus.end(one.name, 0);
  wait(1);
  t.equal(two.gone, 1);
  wait(1_500);
  t.equal(two.copyOf(one.name, "hall").size, 1, "it was not true");
  cluster.bus.kill(one.name);
  wait(3_000);
  t.equal(two.copyOf(one.name, "hall").size, 1, "it may be slow");
  wait(1_500);
  t.equal(two.copyOf(one.name, "hall").size, 0);
});

void t.test("a late change undoes no part of a whole", async (t) => {
  const found = new Map<string, unknown>();
  const copy = new Copy({
    put: (key, value) => found.set(key, value),
    gone: (key) => found.delete(key),
  });
  const slice = { version: 10, of: 2 };
  copy.take({ version: 5, slice: 0, of: 1, put: [["a", 4, 1]] });
  copy.take({ ...slice, slice: 0, put: [["a", 9, 3]] });
  copy.change({ since: 5, version: 8, put: [["a", 7, 2]], gone: [] });
  copy.take({ ...slice, slice: 0, put: [["a", 9, 3]] });
  copy.take({ version: 9, slice: 0, of: 1, put: [["a", 7, 2]] });
  t.ok(copy.isBehind);
  copy.take({ ...slice, slice: 1, put: [["b", 10, 1]] });
  t.notOk(copy.isBehind);
  t.strictSame(
    [...found],
    [
      ["a", 3],
      ["b", 1],
    ],
  );
});

void t.test("a part forgets deletions", async (t) => {
  let version = 0;
  const part = new Part(() => ++version, 0);
  for (const key of ["a", "b", "c"]) part.put(key, key);
  part.takePending();
  const before = part.version;
  t.ok(part.delete("a", 1_000));
  t.notOk(part.delete("a", 1_000));
  t.match(part.since(before), [{ since: before, put: [], gone: ["a"] }]);
  part.prune(5_000);
  t.match(part.since(before), [{ gone: ["a"] }]);
  part.takePending();
  part.prune(20_000);
  t.equal(part.since(before), undefined);
  t.match(part.whole(), [
    {
      put: [
        ["b", 3, "b"],
        ["c", 4, "c"],
      ],
      of: 1,
    },
  ]);
  for (let i = 0; i < 20_000; i++) {
    part.put("d", i);
    part.delete("d", 20_000);
    part.put(`e${i}`, i);
  }
  for (let i = 0; i < 20_000; i++) part.delete(`e${i}`, 20_000);
  part.takePending();
  part.prune(20_000);
  const kept = part.since(part.version - 1_000)!;
  t.equal(kept.flatMap(({ gone }) => gone).length, 1_000);
  t.equal(part.since(part.version - 12_000), undefined, "too many");
});

void t.test("reports that no process sends", async (t) => {
  const process = "x";
  const bad = [
    null,
    "beat",
    { kind: "beat", version: 1 },
    { process, kind: "beat" },
    { process, kind: "beat", version: -1 },
    { process, kind: "beat", version: 1, in: 1 },
    {
      process,
      kind: "changes",
      since: 1,
      version: 2,
      put: [["a", "b", 1]],
      gone: [],
    },
    { process, kind: "__proto__" },
    { process, kind: "want", since: "all" },
    { process, kind: "want", since: 1, of: null },
    { process, kind: "changes", since: 1, version: 2, put: {}, gone: [] },
    { process, kind: "changes", since: 1, version: 2, put: [["a"]], gone: [] },
    { process, kind: "changes", since: 1, version: 2, put: [], gone: [1] },
    { process, kind: "whole", version: 1, slice: 0, of: 1 },
    { process, kind: "whole", version: 1, slice: 0, of: 1e9, put: [] },
    {
      ...{ process, kind: "whole", version: 1, slice: 0, of: 1 },
      put: Array.from({ length: MOST_ITEMS + 1 }, () => ["a", 1, 1]),
    },
  ];
  for (const report of bad) {
    t.notOk(isReport(report), JSON.stringify(report).slice(0, 80));
  }
  t.ok(isReport({ process, kind: "beat", version: 1, more: "later" }));
});

void t.test("no deletion is forgotten before it is published", async (t) => {
  let version = 0;
  const part = new Part(() => ++version, 0);
  const keys = Array.from({ length: 12_000 }, (_, i) => `item ${i}`);
  for (const key of keys) part.put(key, true);
  part.takePending();
  for (const key of keys) part.delete(key, 1);
  part.prune(1);
  const told = part.takePending().flatMap(({ gone }) => gone);
  t.same(told, keys, "a crowd that leaves at once");
  part.prune(1);
  t.equal(part.since(1), undefined, "then the oldest are forgotten");
});
