import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";
import t from "tap";
import type { ListedConnection } from "../../live/control.js";
import { putDatabase } from "../support/database.js";
import { type Finished, foyer, until, worldOf } from "../support/helper.js";
import { type Server, startServer } from "../support/server.js";
import { shortFolder } from "../support/testdir.js";

// `foyer connections`, the server socket that it uses, and what the log records about websockets.

/** Returns the socket of the only process that serves a folder. */
function socketOf(dataDir: string): string {
  const folder = join(dataDir, "control");
  const [name, ...others] = readdirSync(folder);
  if (name === undefined || others.length > 0) throw new Error("not one");
  return join(folder, name);
}

const connections = (dataDir: string, ...args: string[]): Promise<Finished> =>
  foyer(dataDir, ["connections", ...args]);

async function listed(dataDir: string, ...args: string[]): Promise<ListedConnection[]> {
  const got = await connections(dataDir, "list", ...args, "--json");
  if (got.code !== 0) throw new Error(got.stderr);
  return JSON.parse(got.stdout) as ListedConnection[];
}

/** Sends bytes to a socket. @returns the answer. */
async function answerTo(path: string, text: string): Promise<string> {
  const socket = createConnection(path).setEncoding("utf8");
  socket.on("error", () => {});
  let got = "";
  socket.on("data", (chunk: string) => (got += chunk));
  socket.write(text);
  await once(socket, "close");
  return got;
}

/** Returns the expected result of a command that finds no server. */
const unserved = (dataDir: string): Finished => ({
  code: 1,
  stdout: "",
  stderr: `foyer: no server runs on ${dataDir}\n`,
});

void t.test("the list of connections", async (t) => {
  const server = await startServer(t, { processes: 1, env: { LIVE_AUTH_TIMEOUT: "600" } });
  const { dataDir } = server;
  const [{ pid } = { pid: 0 }] = server.processes;
  const none = { code: 0, stdout: "There are no connections.\n", stderr: "" };
  t.same(await connections(dataDir, "list"), none);
  t.same(await connections(dataDir, "list", "--json"), { ...none, stdout: "[]\n" });

  const before = Date.now();
  const silent = await server.connect();
  const ann = await server.person("ann", "admin");
  const { body } = await server.rest("POST", "demo/rooms/", { name: "Hall" });
  await ann.do("room.enter", { room: body.id });
  const [first, second] = await listed(dataDir);
  t.match(first, { world: "demo", user: null, rooms: [], closing: false });
  t.match(second, { world: "demo", user: ann.id, pid, rooms: [body.id], closing: false });
  t.match(second, { queued: 0, unsent: 0 });
  const opened = Date.parse(second!.since);
  t.ok(opened >= before && opened <= Date.now());

  const { stdout } = await connections(dataDir, "list");
  const lines = stdout.trimEnd().split("\n");
  t.match(lines[0], `${first!.id}\tdemo\tnot logged in\tsince ${first!.since}`);
  t.match(lines[1], `${second!.id}\tdemo\t${ann.id}\tsince`);
  t.match(lines[1], `\tprocess ${pid}\trooms: 1\tqueued: 0\t`);

  const all = ["demo", "*", "de*", "*mo", "d*m*o", "d**o", "demo*"];
  const others = ["dem", "emo", "demo*o", "dem*emo", "d*x*o", "d.*", ""];
  for (const pattern of all) t.equal((await listed(dataDir, pattern)).length, 2, pattern);
  for (const pattern of others) t.same(await listed(dataDir, pattern), [], pattern);
  t.ok(silent.isOpen);

  // Commands that access the data of a running server.
  t.match(await server.command("check"), { code: 0 });
  const archive = join(shortFolder(t), "all.tar");
  t.match(await server.command("backup", archive), { code: 0 });
  const empty = shortFolder(t);
  mkdirSync(join(empty, "control"));
  t.match(await foyer(empty, ["restore", archive]), { code: 0, stderr: "" });
});

void t.test("ending connections", async (t) => {
  const server = await startServer(t, { processes: 1, env: { LIVE_AUTH_TIMEOUT: "600" } });
  const { dataDir } = server;
  /** Connects clients, of which every other one never logs in. */
  const connect = async (count: number) => {
    const clients = [];
    for (let i = 0; i < count; i++) {
      clients.push(i % 2 ? await server.guest(`guest-${i}`) : await server.connect());
    }
    return clients;
  };

  await t.test("drop is silent", async (t) => {
    const clients = await connect(4);
    t.match(await connections(dataDir, "drop", "other"), { stdout: "0 connections dropped.\n" });
    const got = await connections(dataDir, "drop", "demo");
    t.same(got, { code: 0, stdout: "4 connections dropped.\n", stderr: "" });
    for (const client of clients) {
      t.same(await client.closed, { code: 1006 }, "no closing handshake");
      t.same(client.rest(), []);
    }
    t.same(await listed(dataDir), []);
  });

  // Timers never fire early, so a busy machine does not affect the bounds below.
  await t.test("reload is pushed, and the connection ends two seconds later", async (t) => {
    const clients = await connect(2);
    const started = performance.now();
    const got = await connections(dataDir, "reload", "--json");
    t.same(got, { code: 0, stdout: '{\n  "reloaded": 2\n}\n', stderr: "" });
    for (const client of clients) {
      t.same(await client.closed, { code: 1000 });
      t.same(client.rest(), [["connection.reload", {}]]);
    }
    t.ok(performance.now() - started >= 1900);
  });

  await t.test("a pause between two", async (t) => {
    const clients = await connect(4);
    const started = performance.now();
    const dropping = connections(dataDir, "drop", "de*", "--interval", "250");
    await clients[0]!.closed;
    t.ok(clients.at(-1)!.isOpen, "one after the other");
    t.match(await dropping, { code: 0, stdout: "4 connections dropped.\n" });
    t.ok(performance.now() - started > 3 * 250 - 50);
    for (const { closed } of clients) await closed;
  });

  for (const interval of ["-1", "x", "1.5", "60001", ""]) {
    const got = await connections(dataDir, "drop", "--interval", interval);
    t.match(got, { code: 2, stdout: "" }, interval);
  }
});

void t.test("what no command would send", async (t) => {
  const server = await startServer(t, { processes: 1, env: { LIVE_AUTH_TIMEOUT: "600" } });
  const { dataDir } = server;
  const [main] = server.processes;
  const client = await server.connect();
  t.equal(statSync(join(dataDir, "control")).mode & 0o777, 0o700);
  const path = socketOf(dataDir);
  t.equal(statSync(path).mode & 0o777, 0o600);
  const bad = [
    "\n",
    "garbage\n",
    "GET / HTTP/1.1\r\n\r\n",
    "null\n",
    "[]\n",
    "{}\n",
    '{"do":"stop"}\n',
    '{"do":"drop"}\n',
    '{"do":"drop","connections":"*"}\n',
    '{"do":"drop","connections":["x",null]}\n',
    '{"do":"drop","connections":[{"toString":1}]}\n',
    '{"do":"reload","connections":[[{"toString":1}]]}\n',
    "x".repeat(100_000),
  ];
  for (const text of bad) t.equal(await answerTo(path, text), "", text.slice(0, 40));
  const unknown = '{"do":"drop","connections":["x","*"]}\n';
  t.equal(await answerTo(path, unknown), '{"done":0}\n');

  // More connections than the socket accepts, all of them silent.
  const silent = Array.from({ length: 20 }, () => {
    const socket = createConnection(path);
    socket.on("error", () => {});
    t.teardown(() => socket.destroy());
    return socket;
  });
  await until(() => silent.filter(({ destroyed }) => destroyed).length >= 4);
  const stderr = /^foyer: process \d+-\w+ did not respond\n$/;
  t.match(await connections(dataDir, "list"), { code: 1, stderr });
  for (const socket of silent) socket.destroy();
  await until(async () => (await connections(dataDir, "list")).code === 0);
  t.equal((await server.call({ url: "/healthz" })).status, 200);
  t.ok(client.isOpen);
  main!.signal("SIGTERM");
  await main!.finished;
  t.same(readdirSync(join(dataDir, "control")), [], "nothing is left");
  t.same(await connections(dataDir, "list"), unserved(dataDir));
});

void t.test("a process with answers that no Foyer gives", async (t) => {
  const dataDir = shortFolder(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  mkdirSync(join(dataDir, "control"));
  let answer = "";
  const server = createServer((socket) => socket.end(answer));
  server.listen(join(dataDir, "control", "1-abc.sock"));
  await once(server, "listening");
  t.teardown(() => server.close());
  const end = '{"done":1}\n';
  for (const [text, reason] of [
    ["", "did not respond"],
    ["x\n", "did not respond"],
    ['{"done":', "did not respond"],
    ['{"done":\n', "runs another version of Foyer"],
    ['{"done":-1}\n', "runs another version of Foyer"],
    [`garbage\n${end}`, "runs another version of Foyer"],
    [`null\n${end}`, "runs another version of Foyer"],
    [`{"id":"a","world":{}}\n${end}`, "runs another version of Foyer"],
  ] as const) {
    answer = text;
    const stderr = `foyer: process 1-abc ${reason}\n`;
    t.same(await connections(dataDir, "list"), { code: 1, stdout: "", stderr }, text);
  }
});

void t.test("a server that is killed", async (t) => {
  const server = await startServer(t, { processes: 1 });
  const { dataDir } = server;
  const path = socketOf(dataDir);
  server.processes[0]!.signal("SIGKILL");
  await server.processes[0]!.finished;
  t.equal(socketOf(dataDir), path, "leaves its socket");
  for (const args of [["list"], ["drop"], ["reload", "--json"]]) {
    t.same(await connections(dataDir, ...args), unserved(dataDir), args.join(" "));
  }
  await startServer(t, { processes: 1, dataDir });
  t.not(socketOf(dataDir), path, "which the next one removes");
  t.match(await connections(dataDir, "list"), { code: 0 });
});

void t.test("several servers, and one that does not answer", async (t) => {
  const env = { LIVE_AUTH_TIMEOUT: "60" };
  const one = await startServer(t, { processes: 1, env });
  const { dataDir } = one;
  const two = await startServer(t, { processes: 1, env, dataDir });
  const clients = [await one.connect(), await two.connect()];
  const [stopped, other] = [one.processes[0]!, two.processes[0]!];
  const pids = (await listed(dataDir)).map(({ pid }) => pid).sort();
  t.same(pids, [stopped.pid, other.pid].sort(), "each server is asked");

  stopped.signal("SIGSTOP");
  t.teardown(() => stopped.signal("SIGCONT"));
  const got = await connections(dataDir, "drop");
  t.match(got, { code: 1, stdout: "1 connection dropped.\n" });
  t.match(got.stderr, new RegExp(`^foyer: process ${stopped.pid}-\\w+ did not`));
  t.same(await clients[1]!.closed, { code: 1006 });
  stopped.signal("SIGCONT");
  t.match(await connections(dataDir, "drop"), { code: 0, stdout: "1 connection dropped.\n" });
});

/** Starts a server on a folder, with warnings in its log. */
const startIn = async (t: Parameters<typeof startServer>[0], dataDir: string): Promise<Server> => {
  await putDatabase(dataDir, [worldOf("demo")]);
  return startServer(t, { processes: 1, dataDir, env: { LOG_LEVEL: "warn" } });
};

void t.test("where no socket can be", async (t) => {
  const long = join(shortFolder(t), "x".repeat(120));
  const server = await startIn(t, long);
  const warning = /foyer connections cannot reach this process: \S+ is too long/g;
  t.equal(server.processes[0]!.said.stdout.match(warning)?.length, 1, "a warning, once");
  t.equal((await server.call({ url: "/healthz" })).status, 200);
  t.same(await connections(long, "list"), unserved(long));

  const taken = shortFolder(t);
  writeFileSync(join(taken, "control"), "");
  const other = await startIn(t, taken);
  t.match(other.processes[0]!.said.stdout, /cannot reach this process: .*EEXIST/);
});

void t.test("a path that is too long, but not from here", async (t) => {
  const base = join(process.cwd(), ".tap");
  // One byte too long for a socket path, but short enough relative to the current directory.
  const socket = `/control/${process.pid}-123456.sock`;
  const dataDir = join(base, "x".repeat(Math.max(1, 104 - `${base}/${socket}`.length + 1)));
  t.teardown(() => rmSync(dataDir, { recursive: true, maxRetries: 20 }));
  const server = await startIn(t, dataDir);
  await server.connect();
  t.match(await listed(dataDir), [{ world: "demo", pid: server.processes[0]!.pid }]);
  await server.close();
});

void t.test("the log follows a websocket, and holds no secret", async (t) => {
  const server = await startServer(t, { processes: 1, env: { LOG_LEVEL: "trace" } });
  const { said } = server.processes[0]!;
  const token = server.tokenOf({ uid: "ann", traits: ["admin"] });
  const ann = await server.connect();
  ann.sendFrame("authenticate", { token: `${token}x` });
  ann.sendFrame("authenticate", { token: "text-of-a-bad-token" });
  ann.sendFrame("text-of-a-command", "text-of-an-id", { text: "text-of-a-payload" });
  ann.send("text-of-no-json");
  await ann.all();
  await ann.login({ token });
  await ann.do("user.update", { profile: { display_name: "text-of-a-name" } });
  await ann.do("announcement.create", { text: "text-of-an-announcement" });
  await ann.call("announcement.create", { text: 1, state: "text-of-a-state" });
  ann.ws.close(4000, "text-of-a-reason");
  const guest = await server.guest("text-of-a-client-id");
  guest.ws.send(JSON.stringify(["ping", "x".repeat(70_000)]));
  t.same(await guest.closed, { code: 1009 });

  type Line = { msg: string; connection?: string } & Record<string, unknown>;
  const lines = () =>
    said.stdout
      .split("\n")
      .filter((line) => line.startsWith('{"level"'))
      .map((line) => JSON.parse(line) as Line);
  const has = (msg: string) => lines().filter((line) => line.msg === msg);
  await until(() => has("websocket ended").length === 2);
  const [opened] = has("websocket opened");
  t.match(opened, { world: "demo", connection: String, level: 20 });
  const own = lines().filter((line) => line.connection === opened!.connection);
  t.match(own, [
    { msg: "websocket opened" },
    { msg: "websocket logged in", user: ann.id },
    { msg: "websocket ended", code: 4000 },
  ]);
  t.match(
    has("websocket ended").map(({ code }) => code),
    [4000, 1009],
  );
  t.notMatch(said.stdout, /text-of-/);
  for (const part of token.split(".").slice(1)) t.notMatch(said.stdout, part);
});
