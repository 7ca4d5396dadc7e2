import type { Test } from "tap";
import type { Remote } from "./events-node.js";

/** Processes that share their events. */
export interface Group {
  nodes: Remote[];
  /** Waits until every event that was published before is with all who get it. */
  settle(): Promise<void>;
}

const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}.${i}`);

/**
 * What events keep to, however they travel: `db/events.ts` as tests.
 * @param start gives a group that nobody has used.
 */
export async function eventsContract(
  t: Test,
  start: (t: Test) => Promise<Group>,
): Promise<void> {
  const contract = (
    name: string,
    run: (t: Test, group: Group) => Promise<void>,
  ) => t.test(name, async (t) => run(t, await start(t)));

  await contract("each listener gets each event once", async (t, group) => {
    const { nodes } = group;
    const names = ["a", "b"];
    for (const node of nodes) {
      for (const name of names) await node.subscribe(name);
    }
    const published = nodes.map((_, n) => numbered(`${n}`, 50));
    // In three calls each, so that those of several processes mix.
    await Promise.all(
      nodes.map(async (node, n) => {
        const worlds = published[n]!;
        await node.publish(...worlds.slice(0, 5));
        await node.publish(...worlds.slice(5, 40));
        await node.publish(...worlds.slice(40));
      }),
    );
    await group.settle();
    for (const [at, node] of nodes.entries()) {
      for (const name of names) {
        const received = await node.received(name);
        t.equal(received.length, 50 * nodes.length, `${at} ${name}`);
        for (const [n, worlds] of published.entries()) {
          const own = received.filter((world) => world.startsWith(`${n}.`));
          t.strictSame(own, worlds, `${at} ${name} got those of ${n} in order`);
        }
      }
    }
  });

  await contract("each process has a name", async (t, { nodes }) => {
    const names = await Promise.all(nodes.map((node) => node.name()));
    t.equal(new Set(names).size, nodes.length);
    t.ok(names.every((name) => name.length >= 16));
  });

  await contract(
    "messages of the live layer come as they are",
    async (t, group) => {
      const { nodes } = group;
      for (const node of nodes) await node.subscribe("a");
      const messages = [
        {
          type: "live",
          topic: "t",
          world: "w",
          data: { x: [null, 1.5, "🎪"] },
        },
        { type: "live", topic: "u", data: null },
      ] as const;
      for (const message of messages) await nodes[0]!.send(message);
      await group.settle();
      for (const node of nodes) {
        t.strictSame(
          await node.received("a"),
          messages.map((message) => JSON.stringify(message)),
        );
      }
    },
  );

  await contract(
    "who is here gets it before publish returns",
    async (t, group) => {
      const [node] = group.nodes as [Remote];
      await node.subscribe("a");
      await node.subscribe("b", "throws");
      await node.subscribe("c");
      t.strictSame(await node.publish("1", "2"), [
        { a: 1, b: 1, c: 1 },
        { a: 2, b: 2, c: 2 },
      ]);
    },
  );

  await contract("a listener that throws stops nobody", async (t, group) => {
    const { nodes } = group;
    for (const node of nodes) {
      await node.subscribe("first");
      await node.subscribe("bad", "throws");
      await node.subscribe("last");
    }
    await nodes[0]!.publish("1", "2");
    await group.settle();
    for (const node of nodes) {
      for (const name of ["first", "bad", "last"]) {
        t.strictSame(await node.received(name), ["1", "2"]);
      }
      t.strictSame(await node.faults(), ["bad got 1", "bad got 2"], "reported");
    }
  });

  await contract("what a listener publishes comes after", async (t, group) => {
    const { nodes } = group;
    const [node] = nodes as [Remote];
    await node.subscribe("before");
    await node.subscribe("one", "republishes");
    await node.subscribe("after");
    for (const other of nodes.slice(1)) await other.subscribe("after");
    await node.publish("1", "2");
    await group.settle();
    const expected = ["1", "1 again", "2", "2 again"];
    t.strictSame(await node.received("before"), expected);
    for (const each of nodes) {
      t.strictSame(await each.received("after"), expected);
    }
  });

  await contract("a subscription ends", async (t, group) => {
    const { nodes } = group;
    for (const node of nodes) {
      await node.subscribe("a");
      await node.subscribe("b");
    }
    const last = nodes.at(-1)!;
    await nodes[0]!.publish("1");
    await group.settle();
    await last.unsubscribe("a");
    await last.unsubscribe("a");
    await nodes[0]!.publish("2");
    await last.publish("3");
    await group.settle();
    t.strictSame(await last.received("a"), ["1"]);
    t.strictSame((await last.received("b")).sort(), ["1", "2", "3"]);
    t.strictSame(await last.faults(), []);
  });

  await contract("after the end there is nothing", async (t, group) => {
    const { nodes } = group;
    for (const node of nodes) await node.subscribe("a");
    const [first, ...others] = nodes as [Remote, ...Remote[]];
    const name = await first.name();
    await first.publish("1");
    await group.settle();
    await first.close();
    await first.close();
    await first.subscribe("late");
    await first.publish("2");
    for (const other of others) await other.publish("3");
    await group.settle();
    t.strictSame(await first.received("a"), ["1"]);
    t.strictSame(await first.received("late"), []);
    for (const other of others) {
      // Some say that they end, others leave that to whoever sees them end.
      const received = await other.received("a");
      t.strictSame(
        received.filter((world) => world !== name),
        ["1", ...others.map(() => "3")],
      );
    }
  });
}
