import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { processorTimeOf, residentOf } from "../figures.js";
import { medianOf, rounds, say, short } from "../rounds.js";
import { newFolder } from "../servers.js";

// `npm run bench start` measures the processor time from the start of a server to its first
// answer, and its memory when it has been idle for IDLE seconds. Each round starts the
// reference, then Foyer with the demo world: on an empty folder, and once more on the same one.

const IDLE = Number(process.env.IDLE ?? 60);

/** One start of a server. */
interface Start {
  /** Processor time until the first answer, in milliseconds. */
  cost: number;
  /** Resident memory in the end, in MiB. */
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

async function start(args: string[], dataDir: string): Promise<Start> {
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
  await pause(IDLE * 1000);
  const idle = residentOf(child.pid!);
  child.kill();
  await ended;
  process.off("exit", kill);
  return { cost, idle };
}

const sides = {
  "Fastify and better-sqlite3": [] as Start[],
  "Foyer, first start": [] as Start[],
  "Foyer, next start": [] as Start[],
};
for (let round = 1; round <= rounds; round++) {
  const dataDir = newFolder();
  const demo = [...foyer, "--demo"];
  const made = [
    await start(reference, dataDir),
    await start(demo, dataDir),
    await start(demo, dataDir),
  ];
  Object.values(sides).forEach((starts, at) => starts.push(made[at]!));
  say(`round ${round}`);
}
say("");
const base = sides["Fastify and better-sqlite3"];
console.table(
  Object.entries(sides).map(([server, starts]) => {
    /** The median value, and the median ratio to the reference in the same round. */
    const figures = (name: keyof Start) => [
      short(medianOf(starts.map((one) => one[name]))),
      short(medianOf(starts.map((one, at) => one[name] / base[at]![name]))),
    ];
    const [cost, ofCost] = figures("cost");
    const [idle, ofIdle] = figures("idle");
    return {
      server,
      "processor time, ms": cost,
      "to the reference": ofCost,
      [`idle for ${IDLE} s, MiB`]: idle,
      "of the reference": ofIdle,
    };
  }),
);
