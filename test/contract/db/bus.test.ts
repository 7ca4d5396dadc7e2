import { randomUUID } from "node:crypto";
import { once } from "node:events";
import t, { type Test } from "tap";
import { type HintMessage, LocalBus } from "../../../db/bus/bus.js";
import { ClusterBus } from "../../../db/bus/cluster.js";
import { received } from "../../../db/bus/shapes.js";
import { messagesOf } from "../../../db/bus/valkey/messages.js";
import { encodeMessage } from "../../../db/bus/valkey/outbox.js";
import type { Author } from "../../../db/contract/author.js";
import type { ChatDelivery } from "../../../db/contract/chat-store.js";
import { chatEntry, type Entry } from "../../../db/log/entries.js";
import { until } from "../../support/helper.js";
import { busContract, type Group } from "./bus-contract.js";
import { type Forked, forkNode, relayAmong, type WorkerNode } from "./bus-fork.js";
import { BusNode, type Method, type Remote } from "./bus-node.js";
import { hostileMessages, SAMPLE_WORLD, sampleEntries, sampleOf } from "./sample-entries.js";

type Worker = Forked<WorkerNode>;

/** Forks workers that are connected like those of a cluster. */
async function forkWorkers(t: Test, count: number): Promise<Worker[]> {
  const forked = Array.from({ length: count }, () => forkNode(t));
  relayAmong(forked);
  await Promise.all(forked.map(({ node }) => node.begin()));
  return forked;
}

/** Channels are ordered: once a worker answers, everything it published before has been sent. */
const settle = async (nodes: WorkerNode[]) => {
  await Promise.all(nodes.map((node) => node.faults()));
  // By now, every worker has also received what was relayed to it.
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
      inject: (message) => void forked[0]!.child.send({ bus: "message", message }),
    };
  });
});

void t.test("workers hear that others take part", async (t) => {
  const forked = await forkWorkers(t, 3);
  await settle(forked.map(({ node }) => node));
  for (const { node, name: own } of forked) {
    const others = forked.map(({ name }) => name).filter((name) => name !== own);
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
    const [dying, ...others] = (await forkWorkers(t, 3)) as [Worker, ...Worker[]];
    t.equal(await dying.node.name(), dying.name);
    const nodes = others.map(({ node }) => node);
    for (const { node } of [dying, ...others]) await node.subscribe("a");
    // The worker ends once it has sent them, possibly before they are read.
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
  const [stuck, one, two] = (await forkWorkers(t, 3)) as [...[Worker, Worker, Worker]];
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
  // The count starts at 1, because the bus has already announced its process.
  for (let i = 1; i < 20_000; i++) {
    bus.publish({ type: "snapshot", data: "x" });
  }
  t.strictSame(codes, []);
  bus.publish({ type: "snapshot", data: "x" });
  t.strictSame(codes, [1]);
  t.end();
});

void t.test("letters that no process of a cluster sends", async (t) => {
  const forked = await forkWorkers(t, 2);
  const [one, two] = forked as [Worker, Worker];
  await one.node.subscribe("a");
  const letters = [
    null,
    1,
    "message",
    {},
    { bus: null },
    { bus: "__proto__" },
    { bus: "message" },
    { bus: "began" },
    { bus: "ended", process: 1 },
    { bus: "join" },
    { bus: "join", world: {} },
    { bus: "leave" },
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
  // The process exits by itself: nothing else keeps it alive.
  void node.publish("1");
  child.disconnect();
  t.strictSame(await ended, [0, null]);
});

// Parsing of messages received from other processes and through Valkey.

/** Fields that an entry may omit, by name or by the entry's type and name. */
const OPTIONAL: ReadonlySet<string> = new Set([
  "hidden",
  "poll.deleted kind",
  "chat.unheld event",
  "call.ended users",
  "call.ended seconds",
  "user.entered waits",
  "user.updated waits",
  "user.moderated waited",
]);

const messageWith = (entry: unknown) => ({
  type: "hints",
  world: SAMPLE_WORLD,
  hints: [{ entry, previous: 0 }],
});

/** Returns the value after a JSON round trip. */
const copyOf = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

void t.test("an entry of each type comes as it is, and whole", (t) => {
  for (const entry of sampleEntries) {
    const message = copyOf(messageWith(entry));
    t.strictSame(received(message), [message], entry.type);
    for (const field of Object.keys(entry)) {
      for (const value of [undefined, { x: true }, [[]]]) {
        const odd = copyOf(messageWith({ ...entry, [field]: value }));
        const isOptional = OPTIONAL.has(field) || OPTIONAL.has(`${entry.type} ${field}`);
        const count = value === undefined && isOptional ? 1 : 0;
        t.equal(received(odd).length, count, `${entry.type} ${field} ${JSON.stringify(value)}`);
      }
    }
  }
  t.end();
});

void t.test("what no process sends is refused", (t) => {
  for (const [fault, message] of Object.entries(hostileMessages)) {
    t.strictSame(received(message), [], fault);
  }
  t.end();
});

void t.test("a newer Foyer may send more", (t) => {
  const [entry] = sampleEntries;
  const message = { ...messageWith({ ...entry, color: "red" }), shade: 1 };
  t.strictSame(received(message), [message]);
  t.end();
});

const WORLD: string = randomUUID();

const messageOf = (world: string, entry: Entry): HintMessage => ({
  type: "hints",
  world,
  hints: [{ entry, previous: 2 ** 46 }],
});

/** `parsed` returns the messages received through Valkey; `bodyOf` returns a message as sent to it. */
const parsed = (body: string, world = WORLD) =>
  messagesOf({ process: "p", kind: "messages", body }, world);
const bodyOf = (message: HintMessage) => `[${JSON.stringify(encodeMessage(message))}]`;

/** Returns a delivery with ids of realistic lengths. */
function delivery(more: Partial<ChatDelivery["event"]> = {}): ChatDelivery {
  const sample = (sampleOf("chat.event") as { delivery: ChatDelivery }).delivery;
  const ids = { id: 12_345, channel: randomUUID(), sender: randomUUID() };
  const content = JSON.stringify({ type: "text", body: "Hello, how are you?" });
  const event = { ...sample.event, ...ids, timestamp: 1_795_472_876_293, content, reactions: {} };
  const before = { previous: 12_344, previousMessage: 12_340, notified: [] };
  return { ...sample, event: { ...event, ...more }, ...before };
}

void t.test("each entry, author and field of an event arrives through Valkey", (t) => {
  const plain = delivery();
  const user = plain.event.sender!;
  const authors: Author[] = [
    { kind: "user", user },
    { kind: "user", user, connection: "c1" },
    { kind: "user", user: "u2", connection: "c1" },
    { kind: "user", user: "u2" },
    { kind: "api", user },
    { kind: "api", token: "0123" },
    { kind: "server" },
  ];
  const deliveries = [
    plain,
    delivery({ sender: user, edited: 5, replaces: 7, reactions: { x: ["u1", "u2"] } }),
    { ...plain, notified: ["u1"], appeared: ["u2", "u3"] },
    delivery({ sender: null }),
  ];
  const chats = authors.flatMap((by) => deliveries.map((one) => chatEntry(WORLD, 3, one, by)));
  for (const entry of [...sampleEntries, ...chats]) {
    const message = messageOf(entry.world, entry);
    t.strictSame(parsed(bodyOf(message), entry.world), [message], entry.type);
  }
  t.end();
});

void t.test("a message takes fewer bytes than its entry", (t) => {
  const one = delivery();
  const by: Author = { kind: "user", user: one.event.sender!, connection: randomUUID() };
  const message = messageOf(WORLD, chatEntry(WORLD, 2 ** 45, one, by));
  const { length } = bodyOf(message);
  t.ok(length < 514, `${length} bytes instead of ${JSON.stringify(message).length}`);
  t.end();
});

void t.test("what no process sends through Valkey is left out", (t) => {
  const { event } = delivery();
  const good = { previous: 1, tag: 2, after: [0, 0], event };
  const events = {
    id: ["1", 0],
    channel: [1],
    type: ["x"],
    content: ["x"],
    edited: ["x"],
    reactions: [[1]],
  };
  const fields = {
    previous: [null, "1"],
    tag: [{}, -1],
    by: [null, "user", [], { kind: "god" }, { kind: "user", user: 1 }, { kind: "api", token: {} }],
    event: [
      ...[null, "x", [], 1],
      ...Object.entries(events).flatMap(([name, values]) =>
        values.map((value) => ({ ...event, [name]: value })),
      ),
    ],
    after: [null, {}, [1], ["a", "b"]],
    notified: [null, {}, [1]],
    appeared: ["x", [null]],
  };
  const hints = (value: unknown) => ({ type: "hints", world: WORLD, hints: value });
  t.equal(parsed(JSON.stringify([hints([good])])).length, 1, "without a fault, it comes");
  const odd = [null, 1, "x", {}, [[]], { kind: "user" }];
  const messages = [
    ...Object.entries(fields).flatMap(([name, values]) =>
      values.map((value) => hints([{ ...good, [name]: value }])),
    ),
    ...odd.map((value) => hints([value])),
    ...odd.map(hints),
    ...Object.values(hostileMessages),
    ...odd,
  ];
  for (const message of messages) {
    const body = JSON.stringify([message]);
    t.strictSame(parsed(body), [], body.slice(0, 200));
  }
  t.end();
});
