import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { Test } from "tap";
import { Random } from "../protocol/simulation/random.js";
import { openStore } from "../support/database.js";
import { finished, images, PDF, pngBomb, unfinished } from "../support/files.js";
import {
  admin,
  foyerProcess,
  keyOf,
  rawRequest,
  type ServerProcess,
  spawnFoyer,
  startFoyer,
  tokenOf,
  until,
  worldOf,
} from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { freePort } from "../support/servers/port.js";
import { mountDisk, noMount } from "../support/small-disk.js";
import { testdir } from "../support/testdir.js";
import { pathOf, request, statusOf, upload } from "./requests.js";

// Sets the machine's clock while a server is running.

// Makes the disk itself fail, using a small disk, and a tracer that makes system calls fail and
// records their order.

const MIB = 1024 * 1024;
const isRoot = process.getuid?.() === 0;

type Body = { count?: number; detail?: string };

/** Lists the rooms, or creates one. */
async function call(server: ServerProcess, body?: unknown) {
  const method = body === undefined ? "GET" : "POST";
  const answer = await request(server, "sample/rooms/", method, body);
  return { status: answer.status, body: answer.body as Body };
}

const sendFile = (...file: Parameters<typeof upload>): Promise<number> => statusOf(upload(...file));

/** Fills a disk. @returns a function that frees the space. */
function fill(disk: string): () => void {
  const path = join(disk, "filler");
  for (let size = MIB; size >= 512; size /= 2) {
    for (;;) {
      try {
        writeFileSync(path, Buffer.alloc(size), { flag: "a" });
      } catch {
        break;
      }
    }
  }
  return () => rmSync(path);
}

void t.test("a disk that is full, and has room again", { skip: noMount() }, async (t) => {
  const disk = mkdtempSync(join(tmpdir(), "foyer-"));
  t.teardown(() => rmdirSync(disk));
  mountDisk(t, disk, 8);
  const dataDir = join(disk, "data");
  const server = await startFoyer(t, dataDir, ["--demo"]);
  const free = fill(disk);
  const room = { name: "x", description: "words ".repeat(10_000) };
  let made = 6;
  let last = await call(server, room);
  for (; last.status === 201; last = await call(server, room)) made++;
  t.equal(last.status, 503);
  t.match(last.body.detail, /disk is full/);
  t.match(await call(server), { status: 200, body: { count: made } });
  const kept = await finished(dataDir);
  const large = Buffer.alloc(9 * MIB);
  const png = Buffer.concat([await images.png(), large]);
  for (const [bytes, name] of [
    [PDF, "a.pdf"],
    [Buffer.concat([Buffer.from(PDF), large]), "a.pdf"],
    [png, "a.png"],
  ] as const) {
    const got = await upload(server, bytes, name);
    t.match(got, { status: 503, body: { detail: /disk is full/ } });
    t.match(got.retryAfter, /^\d+$/);
    t.strictSame(await unfinished(dataDir), [], name);
  }
  t.strictSame(await finished(dataDir), kept);

  const backup = await foyerProcess(t, dataDir, ["backup", join(disk, "a.tar")]);
  t.equal(backup.code, 1);
  t.match(backup.stderr, /^foyer: [^\n]*(full|ENOSPC)[^\n]*\n$/);

  free();
  t.equal((await call(server, room)).status, 201, "it goes on by itself");
  t.equal(await sendFile(server), 201);
  server.signal("SIGTERM");
  t.equal((await server.finished).code, 0);

  const freeAgain = fill(disk);
  const start = await foyerProcess(t, dataDir, ["serve"], { PORT: "0" });
  t.equal(start.code, 1);
  t.match(start.stderr, /^foyer: [^\n]*disk[^\n]*\n$/, "why it does not start");
  freeAgain();
  t.match(await foyerProcess(t, dataDir, ["check"]), { code: 0 });
});

const traced = {
  skip:
    (!isRoot && "only root can trace") ||
    (spawnSync("strace", ["-V"]).status !== 0 && "there is no strace"),
};

/** Traces a process. @returns a function that detaches the tracer. */
async function trace(t: Test, pid: number, ...args: string[]) {
  const child = spawn("strace", ["-f", "-p", String(pid), ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  t.teardown(() => child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (text: Buffer) => (said += text.toString()));
  await until(() => said.includes("attached"));
  const ended = new Promise((resolve) => child.once("close", resolve));
  return async () => {
    child.kill("SIGINT");
    await ended;
  };
}

void t.test("a disk with faults", traced, async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"]);
  t.equal((await call(server, { name: "before" })).status, 201);
  t.equal(await sendFile(server), 201);
  for (const fault of ["fsync,fdatasync", "pwrite64"]) {
    const args = ["-o", "/dev/null", "-e", `trace=${fault}`, "-e", `inject=${fault}:error=EIO`];
    const heal = await trace(t, server.pid, ...args);
    const { status, body } = await call(server, { name: "lost" });
    t.equal(status, 503, fault);
    t.match(body.detail, /unknown whether|cannot be used/);
    t.equal(await sendFile(server), 503, fault);
    t.equal((await call(server)).status, 200, "reads go on");
    await heal();
    t.equal((await call(server, { name: fault })).status, 201, "and it heals");
    t.equal(await sendFile(server), 201);
  }
  server.signal("SIGKILL");
  await server.finished;
  const next = await startFoyer(t, dataDir);
  t.strictSame(await unfinished(dataDir), [], "what was in doubt is swept");
  next.signal("SIGTERM");
  await next.finished;
  t.match(await foyerProcess(t, dataDir, ["check"]), { code: 0 });
});

void t.test("the order in which an upload goes to the disk", traced, async (t) => {
  const folder = testdir(t);
  const server = await startFoyer(t, join(folder, "data"), ["--demo"]);
  // The first upload creates everything that is only created once.
  t.equal(await sendFile(server), 201);
  const log = join(folder, "log");
  const calls = "mkdir,fsync,fdatasync,rename,renameat,renameat2,write,writev";
  const stop = await trace(t, server.pid, "-y", "-s", "40", "-o", log, "-e", `trace=${calls}`);
  t.equal(await sendFile(server), 201);
  await stop();
  const lines = readFileSync(log, "utf8").split("\n");
  const at = (pattern: RegExp) => lines.findIndex((line) => pattern.test(line));
  const steps: [string, RegExp][] = [
    ["the bytes", /fsync\(.*work\/[^/]+\/[0-9a-f-]{36}>/],
    ["the note", /mkdir\(.*\.note"/],
    ["its folder", /fsync\(.*work\/[0-9a-f-]{36}>/],
    ["its place", /rename.*work.*media\/pub/],
    ["the folder of that", /fsync\(.*media\/pub\/sample>/],
    ["the record", /f(data)?sync\(.*foyer\.db-wal>/],
    ["the answer", /HTTP\/1\.1 201/],
  ];
  const found = steps.map(([name, pattern]) => [name, at(pattern)] as const);
  t.comment(JSON.stringify(found));
  for (const [name, line] of found) t.ok(line >= 0, name);
  // The bytes may be written concurrently with the note and its folder.
  const [bytes, note, synced, ...rest] = found.map(([, line]) => line);
  t.ok(note! < synced!, "in this order");
  const order = [Math.max(bytes!, synced!), ...rest];
  t.strictSame(
    order,
    [...order].sort((a, b) => a - b),
  );
});

// Damage on the disk is reported to clients and to the operator, and nothing makes it worse.

const database = (dataDir: string) => join(dataDir, "foyer.db");

/** Creates the data of a killed server, including its log, with rooms and a file. */
async function wreck(t: Test): Promise<string> {
  const dataDir = join(testdir(t), "server");
  const store = openStore(t, dataDir);
  await store.worlds.create(worldOf("demo"));
  for (let i = 0; i < 300; i++) {
    const description = "words ".repeat(100);
    await store.rooms.create("demo", { name: `Room ${i}`, description });
  }
  await store.close();
  const server = await startFoyer(t, dataDir);
  const token = tokenOf(keyOf("demo"), { traits: ["admin", "api"] });
  const to = { address: server.address, token };
  const name = "the last";
  const post = await request(to, "demo/rooms/", "POST", { name });
  t.equal(post.status, 201);
  await linkOf(server, PDF);
  server.signal("SIGKILL");
  await server.finished;
  t.ok(statSync(`${database(dataDir)}-wal`).size > 0);
  return dataDir;
}

const linkOf = async (server: ServerProcess, bytes: string): Promise<string> =>
  pathOf(await upload(server, bytes));

/** Overwrites bytes in a file. */
function scribble(path: string, at: number, bytes: Buffer): void {
  const file = openSync(path, "r+");
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

const noise = (length: number) => Buffer.alloc(length, 0xa5);

/** Copies a DATA_DIR, without the sockets that a killed server left behind. */
const copyData = (from: string, to: string) =>
  cpSync(from, to, { recursive: true, filter: (path) => path !== join(from, "control") });

const nightly = { skip: !NIGHT && "SQLite alone; other faults of disk and process are tried" };

void t.test("a database that cannot be opened is not replaced", nightly, async (t) => {
  const wrecked = await wreck(t);
  const cases: [string, (dataDir: string) => void, RegExp][] = [
    [
      "another header",
      // The log may contain the first page, and would restore it.
      (dir) => {
        for (const end of ["-wal", "-shm"]) rmSync(database(dir) + end);
        scribble(database(dir), 0, noise(100));
      },
      /file is not a database/,
    ],
    [
      "an empty database, and its log",
      (dir) => truncateSync(database(dir), 0),
      /foyer\.db is missing, but its log exists/,
    ],
    [
      "no database, and its log",
      (dir) => rmSync(database(dir)),
      /foyer\.db is missing, but its log exists/,
    ],
    [
      "no database, and files",
      (dir) => {
        for (const end of ["", "-wal", "-shm"]) rmSync(database(dir) + end);
      },
      /foyer\.db is missing, but uploaded files exist/,
    ],
    [
      "a restore that was killed",
      (dir) => {
        rmSync(dir, { recursive: true });
        mkdirSync(join(dir, "restore"), { recursive: true });
      },
      /a restore into it has not finished/,
    ],
    [
      "half a database",
      (dir) => {
        for (const end of ["-wal", "-shm"]) rmSync(database(dir) + end);
        truncateSync(database(dir), 4096);
      },
      /malformed/,
    ],
  ];
  const commands = [["serve"], ["world", "list"]];
  for (const [i, [name, damage, why]] of cases.entries()) {
    const dataDir = join(t.testdirName, "damaged");
    copyData(wrecked, dataDir);
    damage(dataDir);
    const { code, stdout, stderr } = await foyerProcess(t, dataDir, commands[i % 2]!, {
      LOG_LEVEL: "silent",
      PORT: "0",
    });
    t.same([code, stdout], [1, ""], name);
    t.match(stderr, /^foyer: [^\n]+\n$/, `${name}: one line`);
    t.match(stderr, why, name);
    rmSync(dataDir, { recursive: true, force: true });
  }
});

void t.test("damage anywhere", nightly, async (t) => {
  const wrecked = await wreck(t);
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.comment(`SEED=${seed}`);
  const random = new Random(seed);
  const told: Record<string, number> = {};
  for (let round = 0; round < Number(process.env.ROUNDS ?? 3); round++) {
    const dataDir = join(t.testdirName, "damaged");
    copyData(wrecked, dataDir);
    const path = database(dataDir) + random.pick(["", "", "-wal"]);
    for (let i = 0; i < 1 + random.below(20); i++) {
      const length = 1 + random.below(2000);
      const at = random.below(statSync(path).size - length);
      scribble(path, at, noise(length));
    }
    const name = `round ${round}`;
    const start = spawnFoyer(t, ["serve", "--json"], {
      DATA_DIR: dataDir,
      PORT: "0",
      LOG_LEVEL: "silent",
    });
    let over = false;
    void start.finished.then(() => (over = true));
    await until(() => over || start.said.stdout.includes("address"));
    if (over) {
      const { code, stderr } = await start.finished;
      t.same(code, 1, name);
      t.match(stderr, /^foyer: [^\n]+\n$/, `${name}: one line`);
      told["no start"] = (told["no start"] ?? 0) + 1;
    } else {
      const { address } = JSON.parse(start.said.stdout) as { address: string };
      const rooms = `${address}/api/v1/worlds/demo/rooms/`;
      const headers = { authorization: admin("demo") };
      for (let page = 1; page < 8; page++) {
        const { status } = await fetch(`${rooms}?page=${page}`, { headers });
        told[status] = (told[status] ?? 0) + 1;
      }
      const { status } = await fetch(rooms, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: '{"name":"x"}',
      });
      t.ok([201, 401, 403, 500, 503].includes(status), `${name}: ${status}`);
      t.equal((await fetch(`${address}/healthz`)).status, 200, name);
      start.signal("SIGTERM");
      const { code, stderr } = await start.finished;
      t.same([code, stderr], [0, ""], `${name}: it stops in good order`);
    }
    const check = await foyerProcess(t, dataDir, ["check"]);
    t.match(check.stderr, /^(foyer: [^\n]+\n)?$/, `${name}: no stack`);
    rmSync(dataDir, { recursive: true });
  }
  t.comment(`answers: ${JSON.stringify(told)}`);
});

void t.test("a file behind its record", nightly, async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"], { LOG_LEVEL: "info" });
  const ofDemo = (await finished(dataDir)).length;
  const gone = await linkOf(server, PDF);
  const cut = await linkOf(server, PDF.padEnd(9_000_000, "x"));
  const path = (link: string) => join(dataDir, link);

  const socket = connect(server.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  let received = "";
  let closed = false;
  socket.on("close", () => (closed = true));
  socket.write(rawRequest(`GET ${cut}`) + rawRequest("GET /healthz"));
  await until(() => socket.bytesWritten > 0);
  await new Promise((resolve) => socket.once("readable", resolve));
  truncateSync(path(cut), 1000);
  socket.on("data", (bytes) => (received += bytes.toString("latin1")));
  await until(() => closed);
  t.notMatch(received, /"status":"ok"/, "nothing else is taken for the rest");
  await until(() => /ended early/.test(server.said.stdout));

  rmSync(path(gone));
  t.equal((await fetch(server.address + gone)).status, 404);
  await until(() => /is recorded, and is missing/.test(server.said.stdout));
  const check = await foyerProcess(t, dataDir, ["check"]);
  t.equal(check.code, 1);
  t.match(check.stdout, new RegExp(`${gone.slice(7)} is missing`));
  t.match(check.stdout, /has 1000 bytes, but its record says 9000000/);
  writeFileSync(path(gone), PDF);
  t.equal((await fetch(server.address + gone)).status, 200, "put back");
  t.equal((await finished(dataDir)).length, ofDemo + 2);
  t.ok(existsSync(path(cut)));
});

// Faults in the server's surroundings: its log, its file descriptors, and other processes.

const ROOMS = "sample/rooms/";
const main = fileURLToPath(new URL("../../cli/main.js", import.meta.url));
const linux = { skip: process.platform !== "linux" && "needs /proc" };

/** Returns the status of a request; 0 if there is no answer. */
const ask = (to: Pick<ServerProcess, "address" | "token">, method = "GET"): Promise<number> =>
  statusOf(request(to, ROOMS, method, method === "POST" ? { name: "x" } : undefined));

const send = (server: ServerProcess, bytes?: string | Buffer, name?: string): Promise<number> =>
  statusOf(upload(server, bytes, name, { connection: "close" }));

/** Returns the running child processes of a process. */
const childrenOf = (pid: number): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "latin1");
        const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return Number(parent) === pid && state !== "Z";
      } catch {
        return false;
      }
    })
    .map(Number);

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

void t.test("a log that cannot be written", linux, async (t) => {
  const dataDir = testdir(t, { fifo: {} });
  const first = await startFoyer(t, dataDir, ["--demo"]);
  const { token } = first;
  first.signal("SIGTERM");
  await first.finished;
  const fifo = join(dataDir, "log");
  spawnSync("mkfifo", [fifo]);

  for (const [name, log] of [
    ["on a full disk", () => openSync("/dev/full", "w")],
    ["closed", () => "pipe" as const],
    ["without a reader", () => openSync(fifo, "r+")],
  ] as const) {
    const other = String(await freePort());
    const stdout = log();
    const child = spawn(process.execPath, [main, "serve"], {
      env: { DATA_DIR: dataDir, PORT: other, LOG_LEVEL: "debug" },
      stdio: ["ignore", stdout, "pipe"],
    });
    t.teardown(() => child.kill("SIGKILL"));
    let stderr = "";
    child.stderr!.on("data", (text: Buffer) => (stderr += text.toString()));
    if (stdout === "pipe") child.stdout!.destroy();
    const there = { address: `http://127.0.0.1:${other}`, token };
    await until(async () => (await ask(there)) === 200);
    // Logs more lines than a pipe can hold.
    for (let i = 0; i < 10; i++) {
      const many = Array.from({ length: 40 }, () => ask(there));
      const bad = (await Promise.all(many)).filter((status) => status !== 200);
      t.same(bad, [], name);
    }
    t.equal(await ask(there, "POST"), 201, name);
    child.kill("SIGTERM");
    const [code] = (await once(child, "exit")) as [number];
    t.same([code, stderr], [0, ""], `${name}: it stops in good order`);
  }
});

const limited = {
  skip: spawnSync("prlimit", ["--version"]).status !== 0 && "there is no prlimit",
};

void t.test("no more file descriptors", limited, async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"], {
    // Samples often, because sampling the event loop once crashed the server here.
    MAX_EVENT_LOOP_DELAY: "100",
  });
  const png = await images.png();
  const limit = (most: number) =>
    spawnSync("prlimit", [`--pid=${server.pid}`, `--nofile=${most}:4096`]);
  const open = () => readdirSync(`/proc/${server.pid}/fd`).length;
  const seen = new Map<number, number>();
  const note = (status: number) => seen.set(status, (seen.get(status) ?? 0) + 1);

  for (const spare of [1, 2, 3, 4, 6, 8, 12, 20]) {
    limit(open() + spare);
    const work = Array.from({ length: 60 }, (_, i) =>
      [
        () => ask(server),
        () => ask(server, "POST"),
        () => send(server),
        () => send(server, png, "a.png"),
      ][i % 4]!(),
    );
    for (const status of await Promise.all(work)) note(status);
    limit(4096);
    await until(async () => (await ask(server)) === 200);
  }
  t.comment(`answers: ${JSON.stringify(Object.fromEntries(seen))}`);
  t.strictSame(
    [...seen.keys()].filter((s) => ![0, 200, 201, 500, 503].includes(s)),
    [],
  );
  // On a busy machine, the event loop may still lag occasionally.
  for (const work of [
    () => ask(server, "POST"),
    () => send(server),
    () => send(server, png, "a.png"),
  ]) {
    await until(async () => (await work()) === 201);
  }
  t.pass("and when there are more again, it goes on");
  server.signal("SIGTERM");
  t.equal((await server.finished).code, 0);
  t.strictSame(await unfinished(dataDir), []);
  t.match(await foyerProcess(t, dataDir, ["check"]), { code: 0 });
});

void t.test("the process of images", linux, async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"]);
  t.equal(await send(server, await images.png(), "a.png"), 201);
  const [first] = childrenOf(server.pid);
  // Stopped with an image that it has not processed yet.
  process.kill(first!, "SIGSTOP");
  const next = send(server, await images.png(), "a.png");
  await until(async () => (await unfinished(dataDir)).length > 0);
  process.kill(first!, "SIGKILL");
  t.equal(await next, 201, "another starts, and the image is not to blame");
  const slow = send(server, pngBomb(9000, 9000), "a.png");
  await until(async () => (await unfinished(dataDir)).some((path) => !path.endsWith(".note")));
  const children = childrenOf(server.pid);
  t.equal(children.length, 1);
  server.signal("SIGKILL");
  t.equal(await slow, 0);
  await until(() => !children.some(lives));
  t.pass("it does not outlive the server");
});
