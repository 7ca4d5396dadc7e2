import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// `npm run soak`: mixed load on a built server for MINUTES (60), RATE (50)
// requests a second, and whether what it holds stays flat. Linux: it reads /proc.

const minutes = Number(process.env.MINUTES ?? 60);
const rate = Number(process.env.RATE ?? 50);

/** How often it looks, in milliseconds. */
const INTERVAL = 5000;

/** What flat means: by how much the last third may be above the one before. */
const FLAT = { rssRatio: 1.05, rssMiB: 8, descriptors: 8, walMiB: 16 };

interface Sample {
  seconds: number;
  rssMiB: number;
  descriptors: number;
  walMiB: number;
}

const odd: Record<string, number> = {};
const note = (what: string) => (odd[what] = (odd[what] ?? 0) + 1);

const dataDir = await mkdtemp(join(tmpdir(), "foyer-soak-"));
const server = spawn(
  process.execPath,
  [
    fileURLToPath(new URL("../cli/main.js", import.meta.url)),
    "serve",
    ...["--demo", "--no-people"],
    "--json",
  ],
  {
    env: { DATA_DIR: dataDir, PORT: "0", LOG_LEVEL: "error" },
    stdio: ["ignore", "pipe", "pipe"],
  },
);
let died = false;
server.once("exit", () => (died = true));
// Such as Node's warning of a leak.
server.stderr.on("data", (text) => note(`it said ${String(text).trim()}`));

const { address, token } = await printedBy(server);
const port = Number(new URL(address).port);
const rooms = `${address}/api/v1/worlds/sample/rooms/`;
const headers = { authorization: `Bearer ${token}` };
const asJson = { ...headers, "content-type": "application/json" };

const counts: Record<string, number> = {};
const took: number[] = [];

/** Sends a request, reads its answer, and notes what was not expected. */
async function ask(
  name: string,
  url: string,
  init: RequestInit,
  ...expected: number[]
): Promise<Response | undefined> {
  counts[name] = (counts[name] ?? 0) + 1;
  const started = performance.now();
  try {
    const answer = await fetch(url, {
      ...init,
      signal: AbortSignal.timeout(30_000),
    });
    const kept = answer.clone();
    await answer.arrayBuffer();
    took.push(performance.now() - started);
    if (!expected.includes(answer.status)) note(`${name} ${answer.status}`);
    return kept;
  } catch (error) {
    note(`${name} ${(error as Error).name}`);
    return undefined;
  }
}

function form(file: string, name: string): FormData {
  const made = new FormData();
  made.append("file", new Blob([Buffer.from(file, "base64")]), name);
  return made;
}

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PDF = Buffer.from("%PDF-1.7\n%%EOF\n").toString("base64");
const upload = `${address}/storage/upload/`;

/** Makes a room, changes it, reads it by its version, and deletes it. */
async function lifeOfRoom(): Promise<void> {
  const body = JSON.stringify({
    name: `Room ${randomUUID()}`,
    description: "d".repeat(2000),
    permission_config: { "room.view": [["admin", randomUUID().slice(0, 2)]] },
  });
  const made = await ask(
    "create",
    rooms,
    { method: "POST", headers: asJson, body },
    201,
  );
  const url = made?.headers.get("location");
  if (!url) return;
  const changed = JSON.stringify({ sorting_priority: 7 });
  const patch = { method: "PATCH", headers: asJson, body: changed };
  const etag = (await ask("change", url, patch, 200))?.headers.get("etag");
  const known = { ...headers, "if-none-match": etag ?? "" };
  await ask("read again", url, { headers: known }, 304);
  await ask("delete", url, { method: "DELETE", headers }, 204);
}

async function lifeOfFile(name: string, content: string): Promise<void> {
  const authorization = `Client soak-${Math.floor(Math.random() * 500)}`;
  const stored = await ask(
    "upload",
    upload,
    {
      method: "POST",
      headers: { authorization },
      body: form(content, name),
    },
    201,
  );
  if (stored?.status !== 201) return;
  const { url } = (await stored.json()) as { url: string };
  await ask("media", url, {}, 200);
}

/** A client that hangs up in the middle of a request or an answer. */
function hangUp(): void {
  counts["hang up"] = (counts["hang up"] ?? 0) + 1;
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    `POST /storage/upload/ HTTP/1.1\r\nHost: a\r\nAuthorization: Client x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 9999\r\n\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7\n`,
  );
  setTimeout(() => socket.destroy(), 200);
}

/** What is done, and how often of all times. */
const mix: [weight: number, act: () => unknown][] = [
  [30, () => ask("list", rooms, { headers }, 200)],
  [10, () => ask("search", `${rooms}?search=stage`, { headers }, 200)],
  [20, () => ask("world", rooms.replace(/rooms\/$/, ""), { headers }, 200)],
  [8, lifeOfRoom],
  [4, () => lifeOfFile("a.pdf", PDF)],
  [1, () => lifeOfFile("a.png", PNG)],
  [5, () => ask("no file", upload, { method: "POST", headers }, 400, 403)],
  [
    8,
    () => {
      // Each is new: what is remembered of tokens has to be bounded.
      const authorization = `${headers.authorization.slice(0, -20)}${randomUUID().slice(0, 20)}`;
      return ask("bad token", rooms, { headers: { authorization } }, 401);
    },
  ],
  [4, () => ask("nowhere", `${address}/${randomUUID()}`, {}, 404)],
  [
    4,
    () =>
      ask(
        "bad body",
        rooms,
        { method: "POST", headers: asJson, body: `{"x${randomUUID()}":1}` },
        400,
      ),
  ],
  [5, hangUp],
];
const total = mix.reduce((sum, [weight]) => sum + weight, 0);

function next(): unknown {
  let at = Math.random() * total;
  return mix.find(([weight]) => (at -= weight) < 0)?.[1]();
}

async function look(seconds: number): Promise<Sample> {
  const proc = `/proc/${server.pid}`;
  const status = await readFile(`${proc}/status`, "utf8");
  const wal = await stat(join(dataDir, "foyer.db-wal")).catch(() => undefined);
  return {
    seconds,
    rssMiB: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
    descriptors: (await readdir(`${proc}/fd`)).length,
    walMiB: (wal?.size ?? 0) / 1024 / 1024,
  };
}

const median = (values: number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** Why what was seen is not flat; the first third is for warming up. */
function faultsOf(samples: Sample[]): string[] {
  const third = Math.floor(samples.length / 3);
  const middle = samples.slice(third, 2 * third);
  const last = samples.slice(2 * third);
  const of = (key: keyof Sample) =>
    [middle, last].map((part) => median(part.map((one) => one[key]))) as [
      number,
      number,
    ];
  const [rss, rssLast] = of("rssMiB");
  const [open, openLast] = of("descriptors");
  const wal = Math.max(...samples.map(({ walMiB }) => walMiB));
  const faults: string[] = [];
  if (!(rssLast <= Math.max(rss * FLAT.rssRatio, rss + FLAT.rssMiB)))
    faults.push(`memory grew from ${rss} to ${rssLast} MiB`);
  if (!(openLast <= open + FLAT.descriptors))
    faults.push(`descriptors grew from ${open} to ${openLast}`);
  if (!(wal <= FLAT.walMiB)) faults.push(`the log grew to ${wal} MiB`);
  if (died) faults.push("the server ended");
  for (const [what, times] of Object.entries(odd))
    faults.push(`${what}: ${times} times`);
  return faults;
}

const started = performance.now();
const seconds = () => (performance.now() - started) / 1000;
const load = setInterval(() => void next(), 1000 / rate);
const samples: Sample[] = [];
try {
  while (seconds() < minutes * 60 && !died) {
    await new Promise((resolve) => setTimeout(resolve, INTERVAL));
    const sample = await look(Math.round(seconds()));
    samples.push(sample);
    if (samples.length % 12 === 0) console.log(JSON.stringify(sample));
  }
} finally {
  clearInterval(load);
}
took.sort((a, b) => a - b);
const quantile = (q: number) =>
  Math.round((took[Math.floor(took.length * q)] ?? NaN) * 10) / 10;
const faults = faultsOf(samples);
console.log(
  JSON.stringify(
    {
      minutes: Math.round(seconds() / 6) / 10,
      answers: took.length,
      milliseconds: { p50: quantile(0.5), p99: quantile(0.99) },
      counts,
      first: samples[0],
      middle: samples[Math.floor(samples.length / 2)],
      last: samples.at(-1),
    },
    null,
    2,
  ),
);
console.log(faults.length === 0 ? "flat" : `not flat: ${faults.join("; ")}`);
process.exitCode = faults.length === 0 ? 0 : 1;

server.kill("SIGTERM");
if (!died) await new Promise((resolve) => server.once("exit", resolve));
await rm(dataDir, { recursive: true });
process.exit();

/** What `serve --json` says once it serves. */
async function printedBy(
  child: ChildProcess,
): Promise<{ address: string; token: string }> {
  let said = "";
  const output = child.stdout!.iterator({ destroyOnReturn: false });
  for await (const chunk of output) {
    said += String(chunk);
    const json = /^\{\n[^]*?^\}$/m.exec(said)?.[0];
    if (json !== undefined) {
      child.stdout!.resume();
      return JSON.parse(json) as { address: string; token: string };
    }
  }
  throw new Error("The server ended before it served.");
}
