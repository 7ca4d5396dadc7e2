import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { processorTimeOf, residentOf } from "../figures.js";
import { medianOf, say, short } from "../rounds.js";
import { newFolder } from "../servers.js";

// `npm run bench start` measures the processor time from the start of a server to its first
// answer. Each of ROUNDS rounds starts, in random order, the reference, and Foyer with the demo
// world on an empty folder and then once more on the same one. In the last round, each server is
// idle for IDLE seconds, and then its memory is measured.

const ROUNDS = Number(process.env.ROUNDS ?? 20);
const IDLE = Number(process.env.IDLE ?? 60);

/** How long other servers run, in seconds: the next start needs what Foyer keeps after one. */
const SETTLED = 4;

/** One start of a server. */
interface Start {
  /** Processor time until the first answer, in milliseconds. */
  cost: number;
  /** Resident memory when it has been idle, in MiB. */
  idle: number;
}

const reference = [join(import.meta.dirname, "reference.js")];
const foyer = [join(import.meta.dirname, "../../bundle/foyer.js"), "serve"];

/** A port that is free now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** @param seconds how long the server is idle. */
async function start(
  args: string[],
  dataDir: string,
  seconds: number,
): Promise<Start> {
  const port = await freePort();
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, PORT: String(port), DATA_DIR: dataDir },
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const url = `http://127.0.0.1:${port}/healthz`;
  while (!(await fetch(url).catch(() => undefined))?.ok) {
    if (child.exitCode !== null) throw new Error("The server ended.");
    await pause(5);
  }
  const cost = processorTimeOf(child.pid!) * 1000;
  await pause(seconds * 1000);
  const idle = residentOf(child.pid!);
  child.kill();
  await ended;
  process.off("exit", kill);
  return { cost, idle };
}

const demo = [...foyer, "--demo"];
const servers = [
  { name: "Fastify and better-sqlite3", args: reference },
  { name: "Foyer, first start", args: demo },
  { name: "Foyer, next start", args: demo },
];
const FIRST = 1;
const NEXT = 2;

/** The servers in random order, but that a next start comes after the first one. */
function shuffled(): number[] {
  const order = servers
    .map((_, at) => ({ at, rank: Math.random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ at }) => at);
  const [first, next] = [order.indexOf(FIRST), order.indexOf(NEXT)];
  order[Math.min(first, next)] = FIRST;
  order[Math.max(first, next)] = NEXT;
  return order;
}

const all: Start[][] = [];
for (let round = 1; round <= ROUNDS; round++) {
  const dataDir = newFolder();
  const starts: Start[] = [];
  for (const at of shuffled()) {
    const seconds = round === ROUNDS ? Math.max(IDLE, SETTLED) : SETTLED;
    starts[at] = await start(servers[at]!.args, dataDir, seconds);
  }
  all.push(starts);
  say(`round ${round}`);
}
say("");
const last = all.at(-1)!;
console.table(
  servers.map(({ name }, at) => {
    const ratios = all
      .map((starts) => starts[at]!.cost / starts[0]!.cost)
      .sort((a, b) => a - b);
    const { idle } = last[at]!;
    return {
      server: name,
      "processor time, ms": short(medianOf(all.map((one) => one[at]!.cost))),
      ratio: short(medianOf(ratios)),
      spread: `${short(ratios[0]!)} to ${short(ratios.at(-1)!)}`,
      [`idle for ${IDLE} s, MiB`]: short(idle),
      "of the reference": short(idle / last[0]!.idle),
    };
  }),
);
