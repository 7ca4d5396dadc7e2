import t from "tap";
import { isReport, MOST_ITEMS } from "../../live/people/replica/messages.js";
import { Random } from "../simulation/random.js";
import { ReplicaCluster } from "../simulation/replica-cluster.js";
import { Timeline } from "../simulation/timeline.js";

// What the simulation would not miss, as it comes right in the end.

/** Some processes that follow a scope, after some time. */
function clusterOf(size: number, after = 10_000) {
  const timeline = new Timeline();
  const cluster = new ReplicaCluster(timeline, new Random(1), size);
  const wait = (time: number) => timeline.runAtOnce(timeline.now + time);
  wait(after);
  return { cluster, processes: cluster.processes, wait };
}

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
