import type { Test } from "tap";
import { until } from "../../support/helper.js";
import type { Remote } from "./bus-node.js";
import { hostileMessages, SAMPLE_WORLD, sampleEntries } from "./sample-entries.js";

/** Processes that share a bus. */
export interface Group {
  nodes: Remote[];
  /** Waits until every message published so far has been delivered. */
  settle(): Promise<void>;
  /** Makes the first node receive a message as if another process had sent it. The message may be invalid. */
  inject?: (message: unknown) => Promise<unknown> | void;
}

const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${name}.${i}`);

/**
 * Tests that an implementation keeps the contract of `db/bus/bus.ts`, whatever its transport.
 * @param start returns an unused group.
 */
export async function busContract(t: Test, start: (t: Test) => Promise<Group>): Promise<void> {
  const contract = (name: string, run: (t: Test, group: Group) => Promise<void>) =>
    t.test(name, async (t) => {
      const group = await start(t);
      // Every node knows the others' joins.
      await group.settle();
      await run(t, group);
    });

  await contract("each listener gets each message once", async (t, group) => {
    const { nodes } = group;
    const names = ["a", "b"];
    for (const node of nodes) {
      for (const name of names) await node.subscribe(name);
    }
    const published = nodes.map((_, n) => numbered(`${n}`, 50));
    // In three calls each, so that messages from different processes interleave.
    await Promise.all(
      nodes.map(async (node, n) => {
        const texts = published[n]!;
        await node.publish(...texts.slice(0, 5));
        await node.publish(...texts.slice(5, 40));
        await node.publish(...texts.slice(40));
      }),
    );
    await group.settle();
    for (const [at, node] of nodes.entries()) {
      for (const name of names) {
        const received = await node.received(name);
        t.equal(received.length, 50 * nodes.length, `${at} ${name}`);
        for (const [n, texts] of published.entries()) {
          const own = received.filter((text) => text.startsWith(`${n}.`));
          t.strictSame(own, texts, `${at} ${name} got the messages of ${n} in order`);
        }
      }
    }
  });

  await contract("each process has a name", async (t, { nodes }) => {
    const names = await Promise.all(nodes.map((node) => node.name()));
    t.equal(new Set(names).size, nodes.length);
    t.ok(names.every((name) => name.length >= 16));
  });

  await contract("messages come as they are", async (t, group) => {
    const { nodes } = group;
    for (const node of nodes) await node.subscribe("a");
    const data = { x: [null, 1.5, "🎪"] };
    const hints = sampleEntries.map((entry) => ({ entry, previous: 0 }));
    const messages = [
      { type: "snapshot", world: SAMPLE_WORLD, data },
      { type: "snapshot", data: null },
      { type: "hints", world: SAMPLE_WORLD, hints },
    ] as const;
    for (const message of messages) {
      await nodes[0]!.send(message);
      await group.settle();
    }
    for (const node of nodes) {
      // The order of fields is unspecified.
      const received = await node.received("a");
      t.strictSame(
        received.map((text) => JSON.parse(text) as unknown),
        JSON.parse(JSON.stringify(messages)),
      );
    }
  });

  await contract("messages of a world reach who joined it", async (t, group) => {
    const { nodes } = group;
    const [from, ...others] = nodes as [Remote, ...Remote[]];
    for (const node of nodes) await node.subscribe("a");
    let told = 0;
    /** Publishes in two worlds and globally, and checks which nodes receive what. */
    const check = async (joined: string[]) => {
      told++;
      const worlds = ["", "w", "v"];
      for (const world of worlds) await from.publishIn(world, `${world}${told}`);
      await from.publishIn(null, `all${told}`);
      await group.settle();
      const here = (await from.received("a")).slice(-4);
      t.strictSame(
        here,
        [...worlds, "all"].map((world) => `${world}${told}`),
      );
      for (const other of others) {
        const came = await other.received("a");
        const now = came.filter((text) => text.endsWith(`${told}`));
        const expected = [...joined, "all"].map((world) => `${world}${told}`);
        t.strictSame(now.sort(), expected.sort(), `${told}`);
      }
    };
    const each = async (does: "join" | "leave", ...worlds: string[]) => {
      for (const other of others) {
        for (const world of worlds) await other[does](world);
      }
      await group.settle();
    };
    await check([]);
    await each("join", "w");
    await check(["w"]);
    await each("join", "w", "");
    await check(["w", ""]);
    await each("leave", "w");
    await check(["w", ""]);
    await each("leave", "w");
    await check([""]);
    await each("join", "w", "v");
    await check(["w", "v", ""]);
    await each("leave", "v", "");
    await each("leave", "v", "never joined");
    await check(["w"]);
  });

  await contract("an answer to who has just joined comes", async (t, group) => {
    const { nodes } = group;
    const names = await Promise.all(nodes.map((node) => node.name()));
    for (const node of nodes) await node.subscribe("a");
    const worlds = numbered("w", 40);
    // Each node rejoins while the answers of the previous round are still in flight.
    for (let i = 0; i < 3; i++) {
      for (const node of nodes) {
        for (const world of worlds) await node.leave(world);
        await node.ask(...worlds);
      }
      await group.settle();
      // The first settle may only have delivered the questions; this one covers their answers.
      await group.settle();
    }
    for (const node of nodes) {
      const received = new Set(await node.received("a"));
      for (const world of worlds) {
        for (const name of names) t.ok(received.has(`${world} of ${name}`));
      }
    }
  });

  await contract("listeners here get it before publish returns", async (t, group) => {
    const [node] = group.nodes as [Remote];
    await node.subscribe("a");
    await node.subscribe("b", "throws");
    await node.subscribe("c");
    t.strictSame(await node.publish("1", "2"), [
      { a: 1, b: 1, c: 1 },
      { a: 2, b: 2, c: 2 },
    ]);
  });

  await contract("a listener that throws stops no other", async (t, group) => {
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

  await contract("what no process sends harms nothing", async (t, group) => {
    const { nodes, inject } = group;
    if (!inject) return;
    const [node] = nodes as [Remote];
    await node.subscribe("a");
    for (const message of Object.values(hostileMessages)) await inject(message);
    const good = { type: "snapshot", world: "demo", data: { topic: "text", text: "good" } };
    await inject(good);
    await until(async () => (await node.received("a")).includes("good"));
    const data = { topic: "text", text: "of a world it has not joined" };
    const of = { ...good, world: "other", data };
    await inject(of);
    await group.settle();
    t.strictSame(await node.received("a"), ["good"]);
    t.strictSame(await node.faults(), []);
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
    await first.join("late");
    await first.leave("late");
    await first.publish("2");
    for (const other of others) await other.publish("3");
    await group.settle();
    t.strictSame(await first.received("a"), ["1"]);
    t.strictSame(await first.received("late"), []);
    for (const other of others) {
      // Some processes announce their end; that of others is detected.
      const received = await other.received("a");
      t.strictSame(
        received.filter((text) => text !== name),
        ["1", ...others.map(() => "3")],
      );
    }
  });
}
