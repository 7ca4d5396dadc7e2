import { variablesOf } from "../stack.js";
import { once } from "node:events";
import { createConnection, createServer } from "node:net";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { loadConfig } from "../../config.js";
import { startServer } from "../../server.js";
import { foyer, keyOf, tokenOf, until, worldOf } from "../helper.js";
import { putDatabase } from "../database.js";
import { listed, Person, shortFolder, socketOf } from "../system/person.js";

/** A server in this process, with the world `sample`. */
async function start(
  t: Test,
  dataDir: string,
  env: Record<string, string> = {},
) {
  await putDatabase(dataDir, [worldOf("sample")]);
  const server = await startServer(
    loadConfig({
      ...(await variablesOf(dataDir)),
      PORT: "0",
      LOG_LEVEL: "silent",
      ...env,
    }),
  );
  t.teardown(() => server.stop());
  return { ...server, port: Number(new URL(server.address).port) };
}

/** What a process answers to some bytes. */
async function answerTo(path: string, text: string): Promise<string> {
  const socket = createConnection(path).setEncoding("utf8");
  socket.on("error", () => {});
  let got = "";
  socket.on("data", (chunk: string) => (got += chunk));
  socket.write(text);
  await once(socket, "close");
  return got;
}

void t.test("who is connected", async (t) => {
  const dataDir = shortFolder(t);
  const server = await start(t, dataDir);
  const run = (...args: string[]) => foyer(dataDir, ["connections", ...args]);
  t.same(await run("list"), {
    code: 0,
    stdout: "There are no connections.\n",
    stderr: "",
  });
  t.match(await run("list", "--json"), { code: 0, stdout: "[]\n" });

  const before = Date.now();
  const silent = await Person.connect(t, server.port);
  const person = await Person.connect(t, server.port);
  const token = tokenOf(keyOf("sample"), { uid: "ann", traits: ["admin"] });
  await person.logIn({ token });
  const { id: room } = await server.app.store.rooms
    .create("sample", { name: "Hall" })
    .then(({ value }) => value);
  await person.call("room.enter", { room });
  const [first, second] = await listed(dataDir);
  t.match(first, { world: "sample", user: null, rooms: [], closing: false });
  t.match(second, {
    ...{ world: "sample", user: person.user, pid: process.pid },
    ...{ rooms: [room], queued: 0, unsent: 0, closing: false },
  });
  const opened = Date.parse(second!.since);
  t.ok(opened >= before && opened <= Date.now());

  const { stdout } = await run("list");
  const lines = stdout.trimEnd().split("\n");
  t.match(
    lines[0],
    `${first!.id}\tsample\tnot logged in\tsince ${first!.since}`,
  );
  t.match(lines[1], `${second!.id}\tsample\t${person.user}\tsince`);
  t.match(lines[1], `\tprocess ${process.pid}\trooms: 1\tqueued: 0\t`);

  const patterns: [pattern: string, count: number][] = [
    ["sample", 2],
    ["*", 2],
    ["sam*", 2],
    ["*ple", 2],
    ["s*m*e", 2],
    ["s**e", 2],
    ["sample*", 2],
    ["sampl", 0],
    ["ample", 0],
    ["sample*e", 0],
    ["sam*mple", 0],
    ["s*x*e", 0],
    ["s.*", 0],
    ["", 0],
  ];
  for (const [pattern, count] of patterns) {
    const got = await run("list", pattern, "--json");
    t.equal((JSON.parse(got.stdout) as []).length, count, pattern);
  }
  t.equal(silent.closed, undefined);
});

void t.test("ending connections", async (t) => {
  const dataDir = shortFolder(t);
  const server = await start(t, dataDir);
  const run = (...args: string[]) => foyer(dataDir, ["connections", ...args]);
  const connect = async (count: number) => {
    const people: Person[] = [];
    for (let i = 0; i < count; i++) {
      const person = await Person.connect(t, server.port);
      // Every other one does not log in.
      if (i % 2) await person.logIn({ client_id: `guest-${i}` });
      person.pushes.length = 0;
      people.push(person);
    }
    return people;
  };

  await t.test("drop is silent", async (t) => {
    const people = await connect(4);
    t.match(await run("drop", "other"), { stdout: "0 connections dropped.\n" });
    const got = await run("drop", "sample");
    t.same(got, { code: 0, stdout: "4 connections dropped.\n", stderr: "" });
    for (const person of people) {
      t.equal(await person.ended(), 1006, "no closing handshake");
      t.same(person.pushes, []);
    }
    t.same(await listed(dataDir), []);
  });

  await t.test(
    "reload is pushed, and the connection ends two seconds later",
    async (t) => {
      const people = await connect(2);
      const started = Date.now();
      const got = await run("reload", "--json");
      t.match(got, { code: 0, stderr: "" });
      t.same(JSON.parse(got.stdout), { reloaded: 2 });
      for (const person of people) {
        await person.pushed("connection.reload");
        t.equal(await person.ended(), 1000);
        const after = person.closed!.at - started;
        t.ok(after >= 1900 && after < 20_000, `${after} ms`);
        t.same(person.pushes, [["connection.reload", {}]]);
      }
    },
  );

  await t.test("a pause between two", async (t) => {
    const people = await connect(4);
    const started = performance.now();
    const dropping = run("drop", "sam*", "--interval", "250");
    await people[0]!.ended();
    t.equal(people.at(-1)!.closed, undefined, "one after the other");
    t.match(await dropping, { code: 0, stdout: "4 connections dropped.\n" });
    const took = performance.now() - started;
    t.ok(took > 3 * 250 - 50, `three pauses are over after ${took} ms`);
    for (const person of people) await person.ended();
  });

  for (const interval of ["-1", "x", "1.5", "60001", ""]) {
    const got = await run("drop", "--interval", interval);
    t.match(got, { code: 2, stdout: "" }, interval);
  }
});

void t.test("what no command would send", async (t) => {
  const dataDir = shortFolder(t);
  const server = await start(t, dataDir);
  const person = await Person.connect(t, server.port);
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
    `${"x".repeat(100_000)}`,
  ];
  for (const text of bad)
    t.equal(await answerTo(path, text), "", text.slice(0, 40));
  const unknown = '{"do":"drop","connections":["x","*"]}\n';
  t.equal(await answerTo(path, unknown), '{"done":0}\n');

  // As many as are taken, and some more, that say nothing.
  const silent = Array.from({ length: 20 }, () => {
    const socket = createConnection(path);
    socket.on("error", () => {});
    t.teardown(() => socket.destroy());
    return socket;
  });
  await until(() => silent.filter(({ destroyed }) => destroyed).length >= 4);
  t.match(await foyer(dataDir, ["connections", "list"]), {
    code: 1,
    stderr: /^foyer: process \d+-\w+ did not answer\n$/,
  });
  for (const socket of silent) socket.destroy();
  await until(async () => {
    const got = await foyer(dataDir, ["connections", "list"]);
    return got.code === 0;
  });
  t.equal((await fetch(`${server.address}/healthz`)).status, 200);
  t.equal(person.closed, undefined);
  await server.stop();
  t.same(readdirSync(join(dataDir, "control")), [], "nothing is left");
});

void t.test("a process with answers that no Foyer gives", async (t) => {
  const dataDir = shortFolder(t);
  await putDatabase(dataDir, [worldOf("sample")]);
  mkdirSync(join(dataDir, "control"));
  let answer = "";
  const server = createServer((socket) => socket.end(answer));
  const path = join(dataDir, "control", "1-abc.sock");
  server.listen(path);
  await once(server, "listening");
  t.teardown(() => server.close());
  const end = '{"done":1}\n';
  for (const [text, reason] of [
    ["", "did not answer"],
    ["x\n", "did not answer"],
    ['{"done":', "did not answer"],
    ['{"done":\n', "is of another Foyer"],
    ['{"done":-1}\n', "is of another Foyer"],
    [`garbage\n${end}`, "is of another Foyer"],
    [`null\n${end}`, "is of another Foyer"],
    [`{"id":"a","world":{}}\n${end}`, "is of another Foyer"],
  ] as const) {
    answer = text;
    t.match(
      await foyer(dataDir, ["connections", "list"]),
      { code: 1, stderr: `foyer: process 1-abc ${reason}\n` },
      text,
    );
  }
});

void t.test("data that is looked at while a server runs", async (t) => {
  const dataDir = shortFolder(t);
  await start(t, dataDir);
  t.match(await foyer(dataDir, ["check"]), { code: 0 });
  const archive = join(shortFolder(t), "all.tar");
  t.match(await foyer(dataDir, ["backup", archive]), { code: 0 });
  const empty = shortFolder(t);
  mkdirSync(join(empty, "control"));
  t.match(await foyer(empty, ["restore", archive]), { code: 0, stderr: "" });
});

void t.test("a path that is too long, but not from here", async (t) => {
  const base = join(process.cwd(), ".tap");
  const socket = `/control/${process.pid}-123456.sock`;
  // One byte longer than a socket may have, and shorter without this directory.
  const name = "x".repeat(Math.max(1, 104 - `${base}/${socket}`.length + 1));
  const dataDir = join(base, name);
  mkdirSync(dataDir, { recursive: true });
  t.teardown(() => rmSync(dataDir, { recursive: true }));
  const server = await start(t, dataDir);
  await Person.connect(t, server.port);
  t.match(await listed(dataDir), [{ world: "sample", pid: process.pid }]);
  await server.stop();
});
