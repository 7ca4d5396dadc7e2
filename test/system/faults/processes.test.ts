import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { images, PDF, pngBomb, unfinished } from "../../files.js";
import {
  foyerProcess,
  startFoyer,
  until,
  type ServerProcess,
} from "../../helper.js";
import { testdir } from "../../testdir.js";

// What is around the server fails: its log, its descriptors, other processes.

const rooms = "/api/v1/worlds/sample/rooms/";
const main = fileURLToPath(new URL("../../../cli/main.js", import.meta.url));
const linux = { skip: process.platform !== "linux" && "needs /proc" };

/** A request on a connection of its own; 0 where no answer came. */
async function ask(
  { address, token }: Pick<ServerProcess, "address" | "token">,
  method = "GET",
): Promise<number> {
  try {
    const answer = await fetch(address + rooms, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        connection: "close",
        "content-type": "application/json",
      },
      ...(method === "POST" && { body: '{"name":"x"}' }),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

async function upload(
  { address }: Pick<ServerProcess, "address">,
  name: string,
  bytes: string | Buffer,
): Promise<number> {
  const form = new FormData();
  form.append("file", new Blob([bytes as BlobPart]), name);
  try {
    const answer = await fetch(`${address}/storage/upload/`, {
      method: "POST",
      headers: { authorization: "Client x", connection: "close" },
      body: form,
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

/** The child processes of a process that do something. */
const childrenOf = (pid: number): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "latin1");
        const [state, parent] = stat
          .slice(stat.lastIndexOf(")") + 2)
          .split(" ");
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
    const other = await freePort();
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
    // More lines than a pipe holds.
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

async function freePort(): Promise<string> {
  const { createServer } = await import("node:net");
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return String(port);
}

void t.test("output without a reader", async (t) => {
  const dataDir = testdir(t);
  await foyerProcess(t, dataDir, [
    ...["world", "create", "a", "--title", "A", "--domain", "a.test"],
  ]);
  const run = (redirect: string) =>
    spawnSync(
      "sh",
      ["-c", `"$0" "$1" world show a ${redirect}`, process.execPath, main],
      {
        env: { DATA_DIR: dataDir, PATH: process.env.PATH },
        encoding: "utf8",
      },
    );
  t.equal(run("| true").stderr, "", "a pipe that is closed");
  const full = run("> /dev/full");
  t.match(full.stderr, /^foyer: ENOSPC[^\n]*\n$/);
  t.equal(full.status, 1);
});

void t.test("no more file descriptors", linux, async (t) => {
  if (spawnSync("prlimit", ["--version"]).status !== 0) {
    t.comment("there is no prlimit");
    return;
  }
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"], {
    // Sampled often, as the look at the event loop once ended the server here.
    MAX_EVENT_LOOP_DELAY: "100",
  });
  const png = await images.png();
  const limit = (most: number) =>
    spawnSync("prlimit", [`--pid=${server.pid}`, `--nofile=${most}:4096`]);
  const open = () => readdirSync(`/proc/${server.pid}/fd`).length;
  const seen = new Map<number, number>();
  const note = (status: number) =>
    seen.set(status, (seen.get(status) ?? 0) + 1);

  for (const spare of [1, 2, 3, 4, 6, 8, 12, 20]) {
    limit(open() + spare);
    const work = Array.from({ length: 60 }, (_, i) =>
      [
        () => ask(server),
        () => ask(server, "POST"),
        () => upload(server, "a.pdf", PDF),
        () => upload(server, "a.png", png),
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
  // On a busy machine, its event loop may still be late at times.
  for (const work of [
    () => ask(server, "POST"),
    () => upload(server, "a.pdf", PDF),
    () => upload(server, "a.png", png),
  ]) {
    await until(async () => (await work()) === 201);
  }
  t.pass("and when there are more again, it goes on");
  server.signal("SIGTERM");
  t.equal((await server.finished).code, 0);
  t.strictSame(await unfinished(dataDir), []);
  t.match(await foyerProcess(t, dataDir, ["check"]), { code: 0 });
});

/** A process that holds the lock of all writers. */
async function holder(t: Test, dataDir: string) {
  const module = JSON.stringify(import.meta.resolve("better-sqlite3"));
  const child = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import Database from ${module};
       const db = new Database(${JSON.stringify(join(dataDir, "foyer.db"))});
       db.exec("BEGIN IMMEDIATE");
       process.stdout.write("held");
       process.on("SIGTERM", () => { db.exec("COMMIT"); process.exit(); });
       setInterval(() => {}, 1000);`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  t.teardown(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

void t.test("a process that stands still with the lock", async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"]);
  t.equal(await ask(server, "POST"), 201);
  const other = await holder(t, dataDir);
  other.kill("SIGSTOP");
  let answered = false;
  const waiting = ask(server, "POST").finally(() => (answered = true));
  const reads: number[] = [];
  while (!answered) reads.push(await ask(server));
  // One that waits for the lock takes as long as the write, and is refused, too.
  t.ok(reads.length > 1, `${reads.length} reads went on`);
  t.same([...new Set(reads)], [200], "and none waited for the lock");
  t.equal(await waiting, 503);
  other.kill("SIGCONT");
  other.kill("SIGTERM");
  await once(other, "exit");
  t.equal(await ask(server, "POST"), 201, "when it goes on");
});

void t.test("the process of images", linux, async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"]);
  t.equal(await upload(server, "a.png", await images.png()), 201);
  const [first] = childrenOf(server.pid);
  // With an image in its hands that it has not looked at.
  process.kill(first!, "SIGSTOP");
  const next = upload(server, "a.png", await images.png());
  await until(async () => (await unfinished(dataDir)).length > 0);
  process.kill(first!, "SIGKILL");
  t.equal(await next, 201, "another starts, and the image is not to blame");
  const slow = upload(server, "a.png", pngBomb(9000, 9000));
  await until(async () =>
    (await unfinished(dataDir)).some((path) => !path.endsWith(".note")),
  );
  const children = childrenOf(server.pid);
  t.equal(children.length, 1);
  server.signal("SIGKILL");
  t.equal(await slow, 0);
  await until(() => !children.some(lives));
  t.pass("it does not outlive the server");
});
