import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Random } from "../../simulation/random.js";
import { finished, PDF } from "../../files.js";
import {
  admin,
  foyerProcess,
  keyOf,
  rawRequest,
  spawnFoyer,
  startFoyer,
  tokenOf,
  until,
  worldOf,
  type ServerProcess,
} from "../../helper.js";
import { openStore } from "../../database.js";
import { testdir } from "../../testdir.js";
import { pathOf, request, upload } from "../requests.js";

// Damage on the disk is reported, to clients and to the operator, and
// nothing is done that would make it worse.

const database = (dataDir: string) => join(dataDir, "foyer.db");

/** A server that was killed, so that its log is there, with rooms and a file. */
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
  await send(server, PDF);
  server.signal("SIGKILL");
  await server.finished;
  t.ok(statSync(`${database(dataDir)}-wal`).size > 0);
  return dataDir;
}

const send = async (server: ServerProcess, bytes: string): Promise<string> =>
  pathOf(await upload(server, bytes));

/** Writes over bytes of a file. */
function scribble(path: string, at: number, bytes: Buffer): void {
  const file = openSync(path, "r+");
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

const noise = (length: number) => Buffer.alloc(length, 0xa5);

/** Copies a DATA_DIR, without the sockets that a killed server has left in it. */
const copyData = (from: string, to: string) =>
  cpSync(from, to, {
    recursive: true,
    filter: (path) => path !== join(from, "control"),
  });

void t.test("a database that cannot be opened is not replaced", async (t) => {
  const wrecked = await wreck(t);
  const cases: [string, (dataDir: string) => void, RegExp][] = [
    [
      "another header",
      // Its log may have the first page, and would bring it back.
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
    const { code, stdout, stderr } = await foyerProcess(
      t,
      dataDir,
      commands[i % 2]!,
      {
        LOG_LEVEL: "silent",
        PORT: "0",
      },
    );
    t.same([code, stdout], [1, ""], name);
    t.match(stderr, /^foyer: [^\n]+\n$/, `${name}: one line`);
    t.match(stderr, why, name);
    rmSync(dataDir, { recursive: true, force: true });
  }
});

void t.test("without the index of the log, nothing is lost", async (t) => {
  const dataDir = await wreck(t);
  rmSync(`${database(dataDir)}-shm`);
  const server = await startFoyer(t, dataDir);
  const answer = await fetch(
    `${server.address}/api/v1/worlds/demo/rooms/?search=the+last`,
    { headers: { authorization: admin("demo") } },
  );
  t.match(await answer.json(), { count: 1 });
});

void t.test("damage anywhere", async (t) => {
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

void t.test("a file behind its record", async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"], {
    LOG_LEVEL: "info",
  });
  const ofDemo = (await finished(dataDir)).length;
  const gone = await send(server, PDF);
  const cut = await send(server, PDF.padEnd(9_000_000, "x"));
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
