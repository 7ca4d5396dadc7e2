import t, { type Test } from "tap";
import { ask, Chatter, eventually } from "./chatter.js";
import { verify, writeUntil } from "./conversation.js";
import { connectTo, isAlive, type Pair, startPair } from "./pair.js";
import { Person } from "./person.js";

type Data = Record<string, unknown>;

/** People in tests do not wait as long as others must. */
const tireless = {
  LIVE_MESSAGES_PER_SECOND: "1000",
  LIVE_COMMANDS_PER_SECOND: "10000",
};

/** How many write at once. */
const WRITERS = 24;

/** Creates a room with a chat. @returns the id of the channel. */
async function makeChat(
  t: Test,
  pair: Pair,
  config: Data = {},
): Promise<string> {
  const admin = await Person.connect(t, pair.server.port);
  await admin.logIn(pair.sign("admin", "admin"));
  const room = await ask(admin, "room.create", {
    name: `Talk ${Math.random()}`,
    description: "",
    modules: [{ type: "chat.native", config }],
  });
  admin.ws.terminate();
  return room.channel as string;
}

/** Starts a reader at each process, and many writers through all of them. */
async function crowd(t: Test, pair: Pair, channel: string) {
  const { port } = pair.server;
  const readers: Chatter[] = [];
  for (const [i, pid] of pair.workers().entries()) {
    const reader = new Chatter(t, `reader-${i}`, channel, port);
    await reader.join();
    readers.push(await reader.connect(() => connectTo(t, pair, pid)));
  }
  const writers = await Promise.all(
    Array.from({ length: WRITERS }, async (_, i) => {
      const writer = new Chatter(t, `writer-${i}`, channel, port);
      return (await writer.join()).connect();
    }),
  );
  const acknowledged = () =>
    writers.reduce((sum, writer) => sum + writer.acknowledged.size, 0);
  return {
    readers,
    writers,
    everybody: [...readers, ...writers],
    acknowledged,
  };
}

void t.test("kill -9 of either process during a conversation", async (t) => {
  const pair = await startPair(t, tireless);
  const channel = await makeChat(t, pair);
  const { writers, everybody, acknowledged } = await crowd(t, pair, channel);
  const [first, second] = pair.workers();
  let goal = Infinity;
  const writing = writeUntil(writers, () => acknowledged() >= goal);
  const kill = async (pid: number, processes: number) => {
    const before = acknowledged();
    await eventually("a conversation", () => acknowledged() >= before + 100);
    process.kill(pid, "SIGKILL");
    await eventually("its successor", () => {
      return pair.workers().length === processes;
    });
  };
  await kill(first!, 3);
  await kill(second!, 4);
  goal = acknowledged() + 100;
  await writing;
  await verify(t, writers, everybody);
  t.ok(
    everybody.every(({ connections }) => connections >= 2),
    "everybody was thrown out",
  );
});

void t.test("kill -9 of the whole server, and a restart", async (t) => {
  const pair = await startPair(t, tireless);
  const channel = await makeChat(t, pair);
  const { writers, everybody, acknowledged } = await crowd(t, pair, channel);
  let goal = Infinity;
  const writing = writeUntil(writers, () => acknowledged() >= goal);
  await eventually("a conversation", () => acknowledged() >= 150);
  pair.server.signal("SIGKILL");
  const workers = pair.workers();
  for (const pid of workers) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  await pair.server.finished;
  await eventually("the end", () => !workers.some(isAlive));
  const before = writers.flatMap(({ acknowledged }) => [
    ...acknowledged.values(),
  ]);
  const known = acknowledged();
  const env = { ...tireless, PORT: String(pair.server.port) };
  await startPair(t, env, pair.dataDir);
  await eventually("they go on", () => acknowledged() >= known + 100);
  goal = 0;
  await writing;
  const last = await verify(t, writers, everybody);
  t.ok(last > Math.max(...before), "ids go on increasing");
  const later = writers.flatMap(({ acknowledged }) => [
    ...acknowledged.values(),
  ]);
  t.equal(new Set(later).size, later.length, "no id is used again");
});
