import { once } from "node:events";
import t, { type Test } from "tap";
import { ClusterBus } from "../../db/bus/cluster.js";
import { LocalBus } from "../../db/bus/local.js";
import { until } from "../helper.js";
import { busContract, type Group } from "./bus-contract.js";
import {
  type Forked,
  forkNode,
  relayAmong,
  type WorkerNode,
} from "./bus-fork.js";
import { BusNode, type Method, type Remote } from "./bus-node.js";

type Worker = Forked<WorkerNode>;

/** Starts workers that are tied together like the workers of a cluster. */
async function forkWorkers(t: Test, count: number): Promise<Worker[]> {
  const forked = Array.from({ length: count }, () => forkNode(t));
  relayAmong(forked);
  await Promise.all(forked.map(({ node }) => node.begin()));
  return forked;
}

/** A channel keeps its order: what answers now has sent all that it published before. */
const settle = async (nodes: WorkerNode[]) => {
  await Promise.all(nodes.map((node) => node.faults()));
  // And now it has got all that was passed on to it.
  await Promise.all(nodes.map((node) => node.faults()));
};

void t.test("in one process", (t) =>
  busContract(t, async () => {
    const node = await BusNode.open((onFault) => new LocalBus(onFault));
    const remote = new Proxy({} as Remote, {
      get:
        (_, method: Method) =>
        async (...args: unknown[]) =>
          node.run(method, args),
    });
    return { nodes: [remote], settle: async () => {} };
  }),
);

void t.test("between workers", async (t) => {
  const forked = await forkWorkers(t, 3);
  const workers = forked.map(({ node }) => node);
  await busContract(t, async (): Promise<Group> => {
    await Promise.all(workers.map((node) => node.begin()));
    return {
      nodes: workers,
      settle: () => settle(workers),
      inject: (message) =>
        void forked[0]!.child.send({ bus: "message", message }),
    };
  });
});

void t.test("workers hear that others take part", async (t) => {
  const forked = await forkWorkers(t, 3);
  await settle(forked.map(({ node }) => node));
  for (const { node, name: own } of forked) {
    const others = forked
      .map(({ name }) => name)
      .filter((name) => name !== own);
    const expected = others.map((name) => `began ${name}`).sort();
    t.strictSame((await node.signals()).sort(), expected);
  }
});

void t.test("a worker gets the messages that it wants", async (t) => {
  const forked = await forkWorkers(t, 3);
  const [one, two, three] = forked as [Worker, Worker, Worker];
  const nodes = forked.map(({ node }) => node);
  await two.node.join("w");
  await settle(nodes);
  const letters: Record<string, number> = { two: 0, three: 0 };
  for (const [name, { child }] of Object.entries({ two, three })) {
    const send = child.send.bind(child) as (...args: unknown[]) => boolean;
    child.send = (letter: object, ...rest: unknown[]) => {
      if ("bus" in letter) letters[name]!++;
      return send(letter, ...rest);
    };
  }
  await one.node.publishIn("w", ...Array.from({ length: 10 }, String));
  await one.node.publishIn(null, "to all");
  await settle(nodes);
  t.strictSame(letters, { two: 11, three: 1 });
});

void t.test("the end of a worker comes after its messages", async (t) => {
  for (const signal of ["SIGKILL", "SIGTERM", undefined] as const) {
    const [dying, ...others] = (await forkWorkers(t, 3)) as [
      Worker,
      ...Worker[],
    ];
    t.equal(await dying.node.name(), dying.name);
    const nodes = others.map(({ node }) => node);
    for (const { node } of [dying, ...others]) await node.subscribe("a");
    // It ends as soon as it has sent them, and perhaps before they are read.
    const said = Array.from({ length: 500 }, (_, i) => `dying.${i}`);
    void dying.node.publish(...said);
    await until(async () => (await nodes[0]!.received("a")).length > 0);
    if (signal) dying.child.kill(signal);
    else dying.child.disconnect();
    for (const node of nodes) {
      await until(async () => (await node.received("a")).includes(dying.name));
      const received = await node.received("a");
      t.equal(received.indexOf(dying.name), received.length - 1, "last");
      t.strictSame(received.slice(0, -1), said.slice(0, received.length - 1));
    }
  }
});

void t.test("a worker that does not read ends", async (t) => {
  const [stuck, one, two] = (await forkWorkers(t, 3)) as [
    ...[Worker, Worker, Worker],
  ];
  await two.node.subscribe("a");
  stuck.child.kill("SIGSTOP");
  const ended = once(stuck.child, "exit");
  const said = Array.from({ length: 1000 }, (_, i) => `${i}`);
  let isOver = false;
  void ended.then(() => (isOver = true));
  let count = 0;
  for (; !isOver && count < 100; count++) await one.node.publish(...said);
  t.strictSame(await ended, [null, "SIGKILL"]);
  t.ok(count >= 20, `not before it is far behind: ${count}`);
  await settle([one.node, two.node]);
  const received = await two.node.received("a");
  t.equal(received.length, count * said.length + 1, "others get all");
});

void t.test("a worker ends whose primary does not read", (t) => {
  const codes: number[] = [];
  const primary = {
    connected: true,
    on: () => {},
    off: () => {},
    send: () => true,
    exit: (code: number) => codes.push(code),
  } as unknown as NodeJS.Process;
  const bus = new ClusterBus(primary, (fault) => t.fail(String(fault)), "x");
  // It has said hello.
  for (let i = 1; i < 20_000; i++) {
    bus.publish({ type: "live", topic: "text", data: "x" });
  }
  t.strictSame(codes, []);
  bus.publish({ type: "live", topic: "text", data: "x" });
  t.strictSame(codes, [1]);
  t.end();
});

void t.test("letters that no process of a cluster sends", async (t) => {
  const forked = await forkWorkers(t, 2);
  const [one, two] = forked as [Worker, Worker];
  await one.node.subscribe("a");
  const letters = [
    ...[null, 1, "message", {}, { bus: null }, { bus: "__proto__" }],
    ...[{ bus: "message" }, { bus: "began" }, { bus: "ended", process: 1 }],
    ...[{ bus: "join" }, { bus: "join", world: {} }, { bus: "leave" }],
  ];
  for (const letter of letters) {
    one.child.send(letter as object);
    two.child.emit("message", letter);
  }
  await two.node.publish("good");
  await until(async () => (await one.node.received("a")).length > 0);
  t.strictSame(await one.node.received("a"), ["good"]);
  t.strictSame(await one.node.signals(), [`began ${two.name}`]);
  t.strictSame(await one.node.faults(), []);
});

void t.test("a worker without a primary tells its own", async (t) => {
  const [{ child, node }] = (await forkWorkers(t, 1)) as [Worker];
  await node.subscribe("a");
  const ended = once(child, "exit");
  // It ends by itself: nothing else keeps it.
  void node.publish("1");
  child.disconnect();
  t.strictSame(await ended, [0, null]);
});
