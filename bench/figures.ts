import { readdirSync, readFileSync } from "node:fs";

/** A value that is measured once, without a reference. */
export interface Figure {
  name: string;
  value: number;
  unit: string;
  goal: string;
}

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
