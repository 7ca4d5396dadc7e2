import { readdirSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Client, Json } from "../../conformance/client.js";
import type { ListedConnection } from "../../live/control.js";
import { Chatter, verify, writeUntil } from "../support/chatter.js";
import { foyer, foyerProcess, suspend, until } from "../support/helper.js";
import { type Person, type Server, startServer } from "../support/server.js";
import { testdir } from "../support/testdir.js";

// One server on SQLite with several worker processes.

interface Pair {
  server: Server;
  /** Returns the log entries of all its processes. */
  log: () => { pid: number; msg: string }[];
  /** Returns the ids of the processes that have served, in order of their start. */
  workers: () => number[];
}

/** Starts a server of two workers, and waits until both serve. */
async function startPair(
  t: Test,
  env: Record<string, string> = {},
  dataDir?: string,
): Promise<Pair> {
  const server = await startServer(t, {
    processes: 2,
    env: { WORKERS: "2", LOG_LEVEL: "debug", METRICS_PORT: "0", ...env },
    ...(dataDir !== undefined && { dataDir }),
  });
  const [main] = server.processes;
  const log = () =>
    main!.said.stdout
      .split("\n")
      .filter((line) => line.startsWith('{"level"'))
      .map((line) => JSON.parse(line) as { pid: number; msg: string });
  const workers = () =>
    log()
      .filter(({ msg }) => msg.startsWith("Server listening"))
      .map(({ pid }) => pid);
  await until(() => workers().length === 2);
  return { server, log, workers };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Logs in at a given worker. Stops the other workers, because a stopped process accepts no connections. */
async function logInAt(
  { server, workers }: Pair,
  pid: number | undefined,
  who: string | Person,
): Promise<Client> {
  const others = workers().filter((one) => one !== pid && isAlive(one));
  await suspend(others);
  let client: Client;
  try {
    client = await server.connect();
  } finally {
    for (const other of others) process.kill(other, "SIGCONT");
  }
  const credentials = typeof who === "string" ? { client_id: who } : { token: server.tokenOf(who) };
  const [name] = await client.login(credentials);
  if (name !== "authenticated") throw new Error("not logged in");
  return client;
}

const ann: Person = { uid: "ann", traits: ["admin"] };

void t.test("several processes on one port", async (t) => {
  const pair = await startPair(t);
  const { server, log, workers } = pair;
  const [main] = server.processes;
  const served = () =>
    log()
      .filter(({ msg }) => msg === "request")
      .map(({ pid }) => pid);
  /** Uses its own connection, which any worker may accept. */
  const list = async () =>
    fetch(`${server.baseUrl}/api/v1/worlds/demo/rooms/`, {
      headers: {
        authorization: `Bearer ${server.tokenOf({ traits: ["admin", "api"] })}`,
        connection: "close",
      },
    }).then(({ status }) => status);
  let sent = 0;
  await until(async () => {
    t.equal(await list(), 200);
    sent++;
    return new Set(served()).size === 2;
  });
  t.strictSame(new Set(served()), new Set(workers()), "both answer, and no other process");
  // A request is counted before it is logged.
  await until(() => served().length === sent);

  const url = /metrics at (http:[^"]+)/.exec(main!.said.stdout)![1]!;
  for (let i = 0; i < 3; i++) {
    const text = await (await fetch(url, { headers: { connection: "close" } })).text();
    const count =
      /request_duration_seconds_count\{method="GET",route="\S+rooms\/",status="200"\} (\d+)/;
    t.equal(Number(count.exec(text)?.[1]), sent, "whichever is asked counts for all");
    t.match(text, /^foyer_worlds 1$/m, "and one world is not two");
  }

  const [first, second] = workers();
  process.kill(first!, "SIGKILL");
  await until(() => workers().length === 3);
  t.match(
    log().find(({ msg }) => msg.includes("SIGKILL"))?.msg,
    `worker ${first} exited (SIGKILL); restarting it in 100 ms`,
  );
  for (let i = 0; i < 6; i++) t.equal(await list(), 200, "none is refused");
  const ended = /^foyer_events_total\{type="process.ended"\} 1$/m;
  // The surviving process counted this event. The new process had not started yet.
  await until(async () => ended.test(await (await fetch(url)).text()));

  main!.signal("SIGTERM");
  t.match(await main!.finished, { code: 0, stderr: "" });
  const [, , third] = workers();
  const stopped = log().filter(({ msg }) => msg === "stopped");
  t.strictSame(new Set(stopped.map(({ pid }) => pid)), new Set([second, third]), "in good order");
});

void t.test("a port that is taken", async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const env = { WORKERS: "2", PORT: String(port), LOG_LEVEL: "silent" };
  const got = await foyerProcess(t, testdir(t), ["serve", "--demo"], env);
  t.match(got, { code: 1, stdout: "", stderr: /^foyer: .*EADDRINUSE.*\n$/ }, "is printed once");
});

const idsOf = (viewers: Json[]) => viewers.map(({ id }) => id as string).sort();

const makeRooms = ({ server }: Pair, count: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const { body } = await server.rest("POST", "demo/rooms/", { name: `Room ${i}` });
      return body.id as string;
    }),
  );

void t.test("a process that is killed takes its people with it", async (t) => {
  const pair = await startPair(t);
  const { server, workers } = pair;
  const [room, other] = await makeRooms(pair, 2);
  const [here, there] = workers();
  const host = await logInAt(pair, here, ann);
  await host.do("room.enter", { room });
  const lost: Client[] = [];
  for (const name of ["one", "two"]) {
    const guest = await logInAt(pair, there, name);
    lost.push(guest);
    await guest.do("room.enter", { room });
  }
  await lost[0]!.do("room.enter", { room: other });
  await host.next("room.viewer.added", ({ user }) => user.id === lost[1]!.id);
  const counts = (users: string) => (data: Json) => data.room === other && data.users === users;
  await host.next("world.user_count_change", counts("few"));
  await lost[1]!.do("room.react", { room, reaction: "👏" });
  t.same((await host.next("room.reaction")).reactions, { "👏": 1 });

  process.kill(there!, "SIGKILL");
  for (const { id } of lost) await host.next("room.viewer.removed", (data) => data.user_id === id);
  await host.next("world.user_count_change", counts("none"));
  t.same(idsOf((await host.do("room.enter", { room })).viewers), [host.id]);
  const ids = lost.map(({ id }) => id);
  const offline = { [ids[0]!]: false, [ids[1]!]: false };
  t.same(await host.do("user.online_status", { ids }), offline);

  await until(() => workers().length === 3);
  const next = workers()[2]!;
  // The replacement process also removes the socket of its predecessor.
  const sockets = () =>
    readdirSync(join(server.dataDir, "control"))
      .filter((name) => name.endsWith(".sock"))
      .map((name) => Number.parseInt(name, 10));
  await until(() => sockets().includes(next));
  t.notOk(sockets().includes(there!));
  const bob = await logInAt(pair, next, { uid: "bob", traits: ["admin"] });
  const { stdout } = await foyer(server.dataDir, ["connections", "list", "--json"]);
  const own = (JSON.parse(stdout) as ListedConnection[]).find(({ user }) => user === bob.id);
  t.equal(own?.pid, next);
  t.same(
    await bob.do("user.online_status", { ids: [host.id, ...ids] }),
    { [host.id]: true, ...offline },
    "the one that replaces it knows who is online",
  );
  const entered = await bob.do("room.enter", { room });
  t.same(idsOf(entered.viewers), [host.id, bob.id].sort());

  const { config } = (await server.rest("GET", "demo/")).body;
  await server.rest("PATCH", "demo/", { config: { ...config, connection_limit: 1 } });
  const twin = await logInAt(pair, here, "twin");
  await logInAt(pair, next, "twin");
  t.match(await twin.next("error"), { code: "connection.replaced" }, "connections of all count");
});

const WRITERS = 24;

/** Starts a reader on each process, and many writers across all processes. */
async function startConversation(pair: Pair) {
  const { server } = pair;
  const chat = { name: "Talk", module_config: [{ type: "chat.native" }] };
  const channel = (await server.rest("POST", "demo/rooms/", chat)).body.id as string;
  const chatter = (name: string) => new Chatter(name, channel, () => server.guest(name)).join();
  const readers: Chatter[] = [];
  for (const [i, pid] of pair.workers().entries()) {
    const reader = await chatter(`reader-${i}`);
    readers.push(await reader.connect(() => logInAt(pair, pid, reader.name)));
  }
  const writers = await Promise.all(
    Array.from({ length: WRITERS }, async (_, i) => (await chatter(`writer-${i}`)).connect()),
  );
  const acknowledged = () => writers.reduce((sum, writer) => sum + writer.acknowledged.size, 0);
  return { writers, everybody: [...readers, ...writers], acknowledged };
}

void t.test("kill -9 of either process during a conversation", async (t) => {
  const pair = await startPair(t);
  const { writers, everybody, acknowledged } = await startConversation(pair);
  let goal = Infinity;
  const writing = writeUntil(writers, () => acknowledged() >= goal);
  for (const [i, pid] of pair.workers().entries()) {
    const before = acknowledged();
    await until(() => acknowledged() >= before + 100);
    process.kill(pid, "SIGKILL");
    await until(() => pair.workers().length === i + 3);
  }
  goal = acknowledged() + 100;
  await writing;
  await verify(t, writers, everybody);
  const thrownOut = everybody.every(({ connections }) => connections >= 2);
  t.ok(thrownOut, "everybody was thrown out");
});

void t.test("kill -9 of the whole server, and a restart", async (t) => {
  const pair = await startPair(t);
  const { server } = pair;
  const { writers, everybody, acknowledged } = await startConversation(pair);
  let goal = Infinity;
  const writing = writeUntil(writers, () => acknowledged() >= goal);
  await until(() => acknowledged() >= 150);
  const workers = pair.workers();
  for (const pid of [server.processes[0]!.pid, ...workers].filter(isAlive)) {
    process.kill(pid, "SIGKILL");
  }
  await server.processes[0]!.finished;
  await until(() => !workers.some(isAlive));
  const ids = () => writers.flatMap((writer) => [...writer.acknowledged.values()]);
  const before = ids();
  await startPair(t, { PORT: String(server.port) }, server.dataDir);
  await until(() => acknowledged() >= before.length + 100);
  goal = 0;
  await writing;
  const last = await verify(t, writers, everybody);
  t.ok(last > Math.max(...before), "ids go on increasing");
  t.equal(new Set(ids()).size, ids().length, "no id is used again");
});
