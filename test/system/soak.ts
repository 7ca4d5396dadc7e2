import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

// `npm run soak`: puts mixed load on a server for MINUTES (60), at RATE (50) requests per second,
// and checks that its resource usage stays flat. Requires Linux, because it reads /proc.

const minutes = Number(process.env.MINUTES ?? 60);
const rate = Number(process.env.RATE ?? 50);
/** Interval between samples, in milliseconds. */
const INTERVAL = 5000;
/** Maximum increase of the median from the second third to the last. */
const FLAT = { rssRatio: 1.05, rssMiB: 8, descriptors: 8, walMiB: 16 };

const odd: Record<string, number> = {};
const note = (what: string) => (odd[what] = (odd[what] ?? 0) + 1);

const dataDir = await mkdtemp(join(tmpdir(), "foyer-soak-"));
const command = fileURLToPath(new URL("../../bundle/foyer.js", import.meta.url));
const server = spawn(process.execPath, [command, "serve", "--demo", "--no-people", "--json"], {
  env: { DATA_DIR: dataDir, PORT: "0", LOG_LEVEL: "error" },
  stdio: ["ignore", "pipe", "pipe"],
});
const ended = once(server, "exit").then(() => note("the server ended"));
// For example, Node.js warns about a leak.
server.stderr.on("data", (text) => note(`it printed ${String(text).trim()}`));
const output = createInterface(server.stdout);
const [first] = (await Promise.race([once(output, "line"), ended])) as [string];
output.on("line", (line) => note(`it logged ${line}`));
const { address, token } = JSON.parse(first) as { address: string; token: string };

const rooms = `${address}/api/v1/worlds/sample/rooms/`;
const headers = { authorization: `Bearer ${token}` };
const asJson = { ...headers, "content-type": "application/json" };
const counts: Record<string, number> = {};
const times: number[] = [];

/** Sends a request, reads its answer, and records an unexpected status. */
async function ask(
  name: string,
  url: string,
  init: RequestInit,
  ...expected: number[]
): Promise<Response | undefined> {
  counts[name] = (counts[name] ?? 0) + 1;
  const started = performance.now();
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(30_000) });
    const kept = answer.clone();
    await answer.arrayBuffer();
    times.push(performance.now() - started);
    if (!expected.includes(answer.status)) note(`${name} ${answer.status}`);
    return kept;
  } catch (error) {
    note(`${name} ${(error as Error).name}`);
    return undefined;
  }
}

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const upload = `${address}/storage/upload/`;

/** Creates a room, updates it, reads it conditionally, and deletes it. */
async function lifeOfRoom(): Promise<void> {
  const body = JSON.stringify({
    name: `Room ${randomUUID()}`,
    description: "d".repeat(2000),
    permission_config: { "room.view": [["admin", randomUUID().slice(0, 2)]] },
  });
  const made = await ask("create", rooms, { method: "POST", headers: asJson, body }, 201);
  const url = made?.headers.get("location");
  if (!url) return;
  const patch = { method: "PATCH", headers: asJson, body: '{"sorting_priority":7}' };
  const etag = (await ask("change", url, patch, 200))?.headers.get("etag");
  const known = { ...headers, "if-none-match": etag ?? "" };
  await ask("read again", url, { headers: known }, 304);
  await ask("delete", url, { method: "DELETE", headers }, 204);
}

async function lifeOfFile(name: string, content: Buffer): Promise<void> {
  const authorization = `Client soak-${Math.floor(Math.random() * 500)}`;
  const body = new FormData();
  body.append("file", new Blob([content as BlobPart]), name);
  const init = { method: "POST", headers: { authorization }, body };
  const stored = await ask("upload", upload, init, 201);
  if (stored?.status !== 201) return;
  await ask("media", ((await stored.json()) as { url: string }).url, {}, 200);
}

/** Hangs up in the middle of a request. */
async function hangUp(): Promise<void> {
  counts["hang up"] = (counts["hang up"] ?? 0) + 1;
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write(
    `POST /storage/upload/ HTTP/1.1\r\nHost: a\r\nAuthorization: Client x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 9999\r\n\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7\n`,
  );
  await delay(200);
  socket.destroy();
}

/** Each token is new, because the token cache must stay bounded. */
const badToken = () => {
  const authorization = `${headers.authorization.slice(0, -20)}${randomUUID().slice(0, 20)}`;
  return ask("bad token", rooms, { headers: { authorization } }, 401);
};
const badBody = () =>
  ask("bad body", rooms, { method: "POST", headers: asJson, body: `{"x${randomUUID()}":1}` }, 400);

const mix: [weight: number, act: () => unknown][] = [
  [30, () => ask("list", rooms, { headers }, 200)],
  [10, () => ask("search", `${rooms}?search=stage`, { headers }, 200)],
  [20, () => ask("world", rooms.replace(/rooms\/$/, ""), { headers }, 200)],
  [8, lifeOfRoom],
  [4, () => lifeOfFile("a.pdf", Buffer.from("%PDF-1.7\n%%EOF\n"))],
  [1, () => lifeOfFile("a.png", Buffer.from(PNG, "base64"))],
  [5, () => ask("no file", upload, { method: "POST", headers }, 400, 403)],
  [8, badToken],
  [4, () => ask("nowhere", `${address}/${randomUUID()}`, {}, 404)],
  [4, badBody],
  [5, hangUp],
];
const acts = mix.flatMap(([weight, act]) => Array.from({ length: weight }, () => act));

async function sample() {
  const proc = `/proc/${server.pid}`;
  const status = await readFile(`${proc}/status`, "utf8");
  const wal = await stat(join(dataDir, "foyer.db-wal")).catch(() => undefined);
  return {
    rssMiB: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
    descriptors: (await readdir(`${proc}/fd`)).length,
    walMiB: (wal?.size ?? 0) / 1024 / 1024,
  };
}
type Sample = Awaited<ReturnType<typeof sample>>;

const quantile = (values: number[], q: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * q)] ?? NaN;

/** Returns why the samples are not flat. Ignores the first third, in which the server warms up. */
function faultsOf(samples: Sample[]): string[] {
  const third = Math.floor(samples.length / 3);
  const medians = (key: keyof Sample) =>
    [samples.slice(third, 2 * third), samples.slice(2 * third)].map((part) =>
      quantile(
        part.map((one) => one[key]),
        0.5,
      ),
    ) as [number, number];
  const [rss, rssLast] = medians("rssMiB");
  const [open, openLast] = medians("descriptors");
  const wal = Math.max(...samples.map(({ walMiB }) => walMiB));
  const faults = Object.entries(odd).map(([what, times]) => `${what}: ${times} times`);
  if (!(rssLast <= Math.max(rss * FLAT.rssRatio, rss + FLAT.rssMiB))) {
    faults.push(`memory grew from ${rss} to ${rssLast} MiB`);
  }
  if (!(openLast <= open + FLAT.descriptors)) {
    faults.push(`descriptors grew from ${open} to ${openLast}`);
  }
  if (!(wal <= FLAT.walMiB)) faults.push(`the log grew to ${wal} MiB`);
  return faults;
}

const load = setInterval(() => void acts[Math.floor(Math.random() * acts.length)]!(), 1000 / rate);
const samples: Sample[] = [];
try {
  for (let left = (minutes * 60_000) / INTERVAL; left > 0 && server.exitCode === null; left--) {
    await delay(INTERVAL);
    samples.push(await sample());
    if (samples.length % 12 === 0) console.log(JSON.stringify(samples.at(-1)));
  }
} finally {
  clearInterval(load);
}
const faults = faultsOf(samples);
const milliseconds = { p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
console.log(JSON.stringify({ answers: times.length, milliseconds, counts }, null, 2));
console.log(faults.length === 0 ? "flat" : `not flat: ${faults.join("; ")}`);
server.kill("SIGTERM");
await ended;
await rm(dataDir, { recursive: true });
process.exit(faults.length === 0 ? 0 : 1);
