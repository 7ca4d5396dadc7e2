import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

// `npm run bench store <dist of another build> [rounds] [postgres://…]` compares the
// processor time of writes with the other build, alternately.

const [, , , other, rounds = "7", url] = process.argv;
if (!other) {
  process.stderr.write("Name the folder dist of another build.\n");
  process.exit(2);
}
const own = fileURLToPath(new URL("../../", import.meta.url));
const worker = fileURLToPath(new URL("./worker.js", import.meta.url));
const run = promisify(execFile);

async function figuresOf(dist: string): Promise<Record<string, number>> {
  const args = [worker, dist, ...(url ? [url] : [])];
  const { stdout } = await run(process.execPath, args);
  return JSON.parse(stdout) as Record<string, number>;
}

const ratios = new Map<string, number[]>();
const times = new Map<string, number[]>();
for (let round = 0; round < Number(rounds); round++) {
  const sides = round % 2 === 0 ? [other, own] : [own, other];
  const first = await figuresOf(sides[0]!);
  const second = await figuresOf(sides[1]!);
  const [before, after] = round % 2 === 0 ? [first, second] : [second, first];
  for (const [name, time] of Object.entries(after)) {
    ratios.set(name, [...(ratios.get(name) ?? []), time / before[name]!]);
    times.set(name, [...(times.get(name) ?? []), time]);
  }
}

const median = (values: number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
for (const [name, values] of ratios) {
  const low = Math.min(...values).toFixed(2);
  const high = Math.max(...values).toFixed(2);
  process.stdout.write(
    `${name.padEnd(30)} ${median(values).toFixed(2)} (${low} to ${high}) of the other build; ${median(times.get(name)!).toFixed(0)} µs\n`,
  );
}
