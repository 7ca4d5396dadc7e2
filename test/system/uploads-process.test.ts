import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  rawRequest,
  startFoyer,
  until,
  type ServerProcess,
} from "../helper.js";
import {
  fileForm,
  finished,
  GUEST,
  images,
  PDF,
  pngBomb,
  unfinished,
} from "../files.js";
import { filesOf } from "../listed.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";
import { pathOf, upload } from "./requests.js";

// Uploads to a server in a process of its own: killed, short of disk, weighed.

const MIB = 1024 * 1024;
/** What a server may grow by, in MiB. */
const BOUND = 96;
const path = "/storage/upload/";

/** Sends the beginning of an upload, and waits until some of it is on the disk. */
async function begin(t: Test, { port }: ServerProcess, dataDir: string) {
  const { headers, body } = fileForm("a.pdf", PDF.padEnd(4 * MIB, "x"));
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  t.teardown(() => socket.destroy());
  socket.write(
    rawRequest(`POST ${path}`, {
      ...headers,
      Authorization: GUEST,
      "Content-Length": String(body.length),
    }),
  );
  socket.write(body.subarray(0, 2 * MIB));
  await until(async () => (await unfinished(dataDir)).length > 0);
  return { socket, rest: body.subarray(2 * MIB) };
}

void t.test("a kill leaves nothing behind", async (t) => {
  const dataDir = testdir(t);
  const first = await startFoyer(t, dataDir, ["--demo"]);
  const half = await begin(t, first, dataDir);
  t.equal(half.socket.destroyed, false);

  // Some are answered, and some are somewhere on the way.
  const links: string[] = [];
  let sent = 0;
  const png = await images.png();
  const rush = Promise.allSettled(
    Array.from({ length: 8 }, async (_, i) => {
      for (;;) {
        sent++;
        const answer =
          i % 4 === 0
            ? await upload(first, png, "a.png")
            : await upload(first, PDF.padEnd(200_000, `${sent} `));
        links.push(pathOf(answer));
      }
    }),
  );
  await until(() => links.length >= 20);
  first.signal("SIGKILL");
  await first.finished;
  await rush;
  t.ok(sent > links.length, "it had more to do");
  t.ok((await unfinished(dataDir)).length > 0, "something lies about");

  const second = await startFoyer(t, dataDir);
  t.strictSame(await unfinished(dataDir), [], "it is swept at the start");
  const whole = await Promise.all(
    links.map(async (link) => {
      const answer = await fetch(second.address + link);
      return answer.status === 200 && (await answer.arrayBuffer()).byteLength;
    }),
  );
  t.ok(whole.every(Boolean), "what was answered is there");
  const store = openStore(t, dataDir);
  const records = await filesOf(store, "sample");
  await store.close();
  t.strictSame(
    (await finished(dataDir)).sort(),
    records.map(({ key }) => join(dataDir, "media", key)).sort(),
    "what is there is recorded, and nothing else",
  );
  for (const { key, size } of records) {
    const bytes = await readFile(join(dataDir, "media", key));
    t.equal(bytes.length, size);
  }
  t.equal((await upload(second)).status, 201);
});

void t.test("a stop lets an upload finish", async (t) => {
  const dataDir = testdir(t);
  const server = await startFoyer(t, dataDir, ["--demo"]);
  const ofDemo = (await finished(dataDir)).length;
  const { socket, rest } = await begin(t, server, dataDir);
  server.signal("SIGTERM");
  await until(async () => {
    const answer = await fetch(`${server.address}/healthz`).catch(() => null);
    return answer?.status !== 200;
  });
  socket.write(rest);
  const [answer] = (await once(socket, "data")) as [Buffer];
  t.match(answer.toString(), /^HTTP\/1.1 201 /);
  t.equal((await server.finished).code, 0);
  t.equal((await finished(dataDir)).length, ofDemo + 1);
  t.strictSame(await unfinished(dataDir), []);
});

void t.test(
  "150 MiB of files at once do not fill the memory",
  { skip: process.platform !== "linux" && "reads /proc" },
  async (t) => {
    const dataDir = testdir(t);
    const server = await startFoyer(t, dataDir, ["--demo"]);
    const kib = (name: string) =>
      Number(
        new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(
          readFileSync(`/proc/${server.pid}/status`, "utf8"),
        )?.[1],
      );
    const body = Buffer.from(PDF.padEnd(10 * MIB, "x"));
    // The first of each kind loads what all others use, too.
    t.equal((await upload(server)).status, 201);
    t.equal((await upload(server, await images.png(), "a.png")).status, 201);
    const before = kib("VmRSS");
    const answers = await Promise.all(
      Array.from({ length: 15 }, () => upload(server, body)),
    );
    t.ok(answers.every(({ status }) => status === 201));
    const grown = (kib("VmHWM") - before) / 1024;
    t.comment(`it grew by ${grown.toFixed(1)} MiB at most`);
    // What a chunk of a body was in is garbage as soon as it is on the disk. V8
    // collects that when it is as much as twice its young generation: 32 MiB
    // with Node.js 20, 64 with 26, however much is sent.
    t.ok(grown < BOUND, `${grown} MiB`);

    // What unfolds does so elsewhere: this one to 300 MB.
    const bomb = await upload(server, pngBomb(9000, 9000), "a.png");
    t.equal(bomb.status, 201, "81 million pixels fit");
    const unfolded = (kib("VmHWM") - before) / 1024;
    t.ok(unfolded < BOUND, `${unfolded} MiB`);
  },
);
