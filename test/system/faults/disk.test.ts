import { spawn, spawnSync } from "node:child_process";
import {
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { finished, images, PDF, unfinished } from "../../files.js";
import {
  foyerProcess,
  startFoyer,
  until,
  type ServerProcess,
} from "../../helper.js";
import { testdir } from "../../testdir.js";
import { request, statusOf, upload } from "../requests.js";

// The disk itself fails, by real means: a small one, and a tracer between the
// server and the system that lets calls fail, and tells their order.

const MIB = 1024 * 1024;
const isRoot = process.getuid?.() === 0;

type Body = { count?: number; detail?: string };

/** Asks for the rooms, or creates one. */
async function call(server: ServerProcess, body?: unknown) {
  const method = body === undefined ? "GET" : "POST";
  const answer = await request(server, "sample/rooms/", method, body);
  return { status: answer.status, body: answer.body as Body };
}

const send = (...file: Parameters<typeof upload>): Promise<number> =>
  statusOf(upload(...file));

/** A disk of some MiB, for as long as the test takes. */
function smallDisk(t: Test, size: number): string | undefined {
  const path = mkdtempSync(join(tmpdir(), "foyer-"));
  t.teardown(() => {
    spawnSync("umount", ["-l", path]);
    rmdirSync(path);
  });
  const args = ["-t", "tmpfs", "-o", `size=${size}m`, "tmpfs", path];
  if (spawnSync("mount", args).status === 0) return path;
  t.comment("only root can mount a small disk");
  return undefined;
}

/** Leaves no room on it. @returns a function that makes some again. */
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

void t.test("a disk that is full, and has room again", async (t) => {
  const disk = smallDisk(t, 8);
  if (disk === undefined) return;
  const dataDir = join(disk, "data");
  const server = await startFoyer(t, dataDir, ["--demo"]);
  const free = fill(disk);
  const room = { name: "x", description: "words ".repeat(10_000) };
  let made = 6;
  let last = await call(server, room);
  for (; last.status === 201; last = await call(server, room)) made++;
  t.equal(last.status, 503);
  t.match(last.body.detail, /no room on the disk/);
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
    t.match(got, { status: 503, body: { detail: /no room on the disk/ } });
    t.match(got.retryAfter, /^\d+$/);
    t.strictSame(await unfinished(dataDir), [], name);
  }
  t.strictSame(await finished(dataDir), kept);

  const backup = await foyerProcess(t, dataDir, [
    "backup",
    join(disk, "a.tar"),
  ]);
  t.equal(backup.code, 1);
  t.match(backup.stderr, /^foyer: [^\n]*(full|ENOSPC)[^\n]*\n$/);

  free();
  t.equal((await call(server, room)).status, 201, "it goes on by itself");
  t.equal(await send(server), 201);
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

/** Traces a process until it is let go. */
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
  t.equal(await send(server), 201);
  for (const fault of ["fsync,fdatasync", "pwrite64"]) {
    const heal = await trace(
      ...([t, server.pid, "-o", "/dev/null"] as const),
      ...["-e", `trace=${fault}`, "-e", `inject=${fault}:error=EIO`],
    );
    const { status, body } = await call(server, { name: "lost" });
    t.equal(status, 503, fault);
    t.match(body.detail, /unknown whether|cannot be used/);
    t.equal(await send(server), 503, fault);
    t.equal((await call(server)).status, 200, "reads go on");
    await heal();
    t.equal((await call(server, { name: fault })).status, 201, "and it heals");
    t.equal(await send(server), 201);
  }
  server.signal("SIGKILL");
  await server.finished;
  const next = await startFoyer(t, dataDir);
  t.strictSame(await unfinished(dataDir), [], "what was in doubt is swept");
  next.signal("SIGTERM");
  await next.finished;
  t.match(await foyerProcess(t, dataDir, ["check"]), { code: 0 });
});

void t.test(
  "the order in which an upload goes to the disk",
  traced,
  async (t) => {
    const folder = testdir(t);
    const server = await startFoyer(t, join(folder, "data"), ["--demo"]);
    // What is made once is there.
    t.equal(await send(server), 201);
    const log = join(folder, "log");
    const calls =
      "mkdir,fsync,fdatasync,rename,renameat,renameat2,write,writev";
    const stop = await trace(
      ...([t, server.pid, "-y", "-s", "40", "-o", log] as const),
      ...["-e", `trace=${calls}`],
    );
    t.equal(await send(server), 201);
    await stop();
    const lines = readFileSync(log, "utf8").split("\n");
    const at = (pattern: RegExp) =>
      lines.findIndex((line) => pattern.test(line));
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
    // The bytes may go beside the note and its folder.
    const [bytes, note, synced, ...rest] = found.map(([, line]) => line);
    t.ok(note! < synced!, "in this order");
    const order = [Math.max(bytes!, synced!), ...rest];
    t.strictSame(
      order,
      [...order].sort((a, b) => a - b),
    );
  },
);
