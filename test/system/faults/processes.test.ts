import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { images, pngBomb, unfinished } from "../../files.js";
import {
  foyerProcess,
  startFoyer,
  until,
  type ServerProcess,
} from "../../helper.js";
import { freePort } from "../../servers/port.js";
import { testdir } from "../../testdir.js";
import { request, statusOf, upload } from "../requests.js";

// What is around the server fails: its log, its descriptors, other processes.

const ROOMS = "sample/rooms/";
const main = fileURLToPath(new URL("../../../cli/main.js", import.meta.url));
const linux = { skip: process.platform !== "linux" && "needs /proc" };

/** The status of a request; 0 where no answer came. */
const ask = (
  to: Pick<ServerProcess, "address" | "token">,
  method = "GET",
): Promise<number> =>
  statusOf(
    request(to, ROOMS, method, method === "POST" ? { name: "x" } : undefined),
  );

const send = (
  server: ServerProcess,
  bytes?: string | Buffer,
  name?: string,
): Promise<number> =>
  statusOf(upload(server, bytes, name, { connection: "close" }));

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
  // On a busy machine, its event loop may still be late at times.
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
  // With an image in its hands that it has not looked at.
  process.kill(first!, "SIGSTOP");
  const next = send(server, await images.png(), "a.png");
  await until(async () => (await unfinished(dataDir)).length > 0);
  process.kill(first!, "SIGKILL");
  t.equal(await next, 201, "another starts, and the image is not to blame");
  const slow = send(server, pngBomb(9000, 9000), "a.png");
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
