import { readdirSync, readFileSync } from "node:fs";
import { CALLERS, callersOf } from "./event.js";
import { load } from "./load.js";
import { rooms } from "./scene.js";
import { newEvent, startFoyer } from "./servers.js";

/** A value that is measured once, without a reference. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  goal: string;
}

const TOKENS = 100_000;
const REQUESTS = 1_000_000;
const MIB = 1024;

/** The resident memory of a process, in MiB. */
export function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / MIB;
}

/** How many ticks of the clock a second has in `/proc`, on all Linux of today: `man 7 time`. */
const TICKS = 100;

/** The processor time of a process and its ended children, in seconds. */
export function processorTimeOf(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  let nanoseconds = 0;
  for (const task of readdirSync(tasks)) {
    const [time] = readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(
      " ",
    );
    nanoseconds += Number(time);
  }
  // The name of the program comes first, in brackets, and may have spaces.
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!;
  const [ofUsers, ofSystem] = stat.split(" ").slice(13, 15).map(Number);
  return nanoseconds / 1e9 + (ofUsers! + ofSystem!) / TICKS;
}

/** A process and its children. */
export function treeOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  const children = readFileSync(file, "utf8").split(" ").filter(Boolean);
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))];
}

/** Measures memory under load, and the memory of a second process. */
export async function figures(): Promise<Figure[]> {
  const dataDir = await newEvent({ bench: { rooms: 100, halfHidden: true } });
  const server = await startFoyer(dataDir);
  const requests = callersOf("bench", { count: TOKENS }).map(
    (authorization) => ({ path: rooms, headers: { authorization } }),
  );
  const held: number[] = [];
  for (let sent = 0; sent < REQUESTS;) {
    const asked = { requests, connections: CALLERS, seconds: 10 };
    sent += Math.round(10 * (await load(server.port, asked)).rate);
    held.push(residentOf(server.pid));
  }
  await server.stop();
  const half = held.slice(0, Math.ceil(held.length / 2));
  return [
    {
      name: "memory, most of a million requests with 100,000 tokens",
      value: Math.max(...held),
      unit: "MiB",
      goal: "flat",
    },
    {
      name: "most of their second half, compared with the first",
      value: Math.max(...held.slice(half.length)) / Math.max(...half),
      unit: "",
      goal: "≤ 1.1",
    },
    {
      name: "GET world a second, WORKERS=2 to 1",
      value: await twoWorkers(),
      unit: "",
      goal: "stated",
    },
  ];
}

/** The ratio of requests a second with two workers to one. The client shares their cores. */
async function twoWorkers(): Promise<number> {
  const dataDir = await newEvent({ bench: { rooms: 100 } });
  const requests = callersOf("bench").map((authorization) => ({
    path: "/api/v1/worlds/bench/",
    headers: { authorization },
  }));
  const rates = new Map<string, number[]>();
  for (let round = 0; round < 5; round++) {
    for (const workers of ["1", "2"]) {
      const server = await startFoyer(dataDir, { WORKERS: workers });
      const asked = { requests, connections: CALLERS, seconds: 2 };
      await load(server.port, asked);
      const { rate } = await load(server.port, asked);
      await server.stop();
      rates.set(workers, [...(rates.get(workers) ?? []), rate]);
    }
  }
  const [one, two] = ["1", "2"].map(
    (workers) => rates.get(workers)!.toSorted((a, b) => a - b)[2]!,
  );
  return two! / one!;
}
