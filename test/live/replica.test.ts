import t from "tap";
import { isReport, MOST_ITEMS } from "../../live/people/replica/messages.js";
import type { Replica } from "../../live/people/replica/replica.js";
import type { Topic } from "../../live/people/replica/topic.js";
import { isCount } from "../../schemas/plain/shapes.js";
import { Wire } from "./wire.js";

interface Started {
  replica: Replica;
  topic: Topic<number>;
}

void t.test("a process that follows asks for everything", async (t) => {
  const wire = new Wire();
  const copied = new Set<string>();
  const [one, two] = ["one", "two"].map((name) => {
    const { replica } = wire.start(name);
    const topic = replica.topic<number>({
      name: "test",
      delay: 20,
      isValue: isCount,
      put: ({ process, key }) => void copied.add(`${process} ${key}`),
      gone: ({ process, key }) => void copied.delete(`${process} ${key}`),
    });
    return { replica, topic };
  }) as [Started, Started];
  void one.replica.follow("hall");
  for (let i = 0; i < 3 * MOST_ITEMS; i++) one.topic.put("hall", `k${i}`, i);
  await wire.wait(10_000);
  void two.replica.follow("hall");
  await wire.wait(50);
  t.equal(copied.size, 3 * MOST_ITEMS);
  two.replica.unfollow("hall");
  await wire.wait(1_000);
  t.equal(copied.size, 3 * MOST_ITEMS, "it lingers");
  await wire.wait(11_000);
  t.equal(copied.size, 0);
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
