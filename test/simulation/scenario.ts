import { Cluster, type Faults, NO_FAULTS } from "./cluster.js";
import { Random } from "./random.js";
import { Timeline } from "./timeline.js";

/** For how long faults happen, and how long everything may then take to settle, in milliseconds. */
const TROUBLE = 20_000;
const SETTLING = 8_000;

const WORLDS = ["sample", "summit", "expo"];

/** A thing that happens at some time. */
export type Step = { at: number } & (
  | { do: "write" | "follow" | "unfollow"; process: number; world: string }
  | { do: "pause"; process: number; duration: number }
  | { do: "kill"; process: number }
  | { do: "go back"; duration: number }
  | { do: "break"; faults: Faults }
);

/** Everything that happens in one run. It follows from a seed. */
export interface Scenario {
  seed: number;
  processes: number;
  steps: Step[];
}

export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed);
  const processes = 1 + random.below(3);
  const worlds = WORLDS.slice(0, 1 + random.below(WORLDS.length));
  const length = 50 + random.below(250);
  const goesBack = random.chance(0.4);
  const steps = Array.from({ length }, (): Step => {
    const at = random.between(0, TROUBLE);
    const process = random.below(processes);
    const world = random.pick(worlds);
    const kind = random.next();
    if (kind < 0.7) return { at, do: "write", process, world };
    if (kind < 0.8) return { at, do: "follow", process, world };
    if (kind < 0.84) return { at, do: "unfollow", process, world };
    if (kind < 0.88) {
      const duration = random.between(10, random.chance(0.2) ? 10_000 : 800);
      return { at, do: "pause", process, duration };
    }
    if (kind < 0.9) return { at, do: "kill", process };
    if (kind < 0.93 && goesBack) {
      return { at, do: "go back", duration: random.between(0, 3_000) };
    }
    return { at, do: "break", faults: faultsOf(random) };
  });
  return { seed, processes, steps: steps.sort((a, b) => a.at - b.at) };
}

function faultsOf(random: Random): Faults {
  const some = () => (random.chance(0.5) ? random.next() ** 2 : 0);
  return { lost: some(), doubled: some(), late: some(), failed: some() };
}

/** Runs a scenario. @returns the violations. */
export async function run({
  seed,
  processes,
  steps,
}: Scenario): Promise<string[]> {
  const timeline = new Timeline();
  const cluster = new Cluster(timeline, new Random(~seed), processes);
  for (const step of steps) {
    timeline.at(step.at, () => perform(cluster, step));
  }
  for (let at = 0; at < TROUBLE; at += 100) {
    timeline.at(at, () =>
      cluster.processes.forEach((process) => process.checkCurrent(1_000)),
    );
  }
  timeline.at(TROUBLE, () => (cluster.faults = NO_FAULTS));
  // The last paused step goes on, and the last failed read is repeated.
  await timeline.runUntil(TROUBLE + 10_000 + SETTLING);
  for (const process of cluster.processes) {
    process.checkSettled();
    process.close();
  }
  return cluster.violations;
}

function perform(cluster: Cluster, step: Step): void {
  switch (step.do) {
    case "write":
      cluster.write(cluster.processes[step.process]!, step.world);
      break;
    case "follow":
      cluster.processes[step.process]!.follow(step.world);
      break;
    case "unfollow":
      cluster.processes[step.process]!.unfollow(step.world);
      break;
    case "pause":
      cluster.processes[step.process]!.pause(step.duration);
      break;
    case "kill":
      cluster.processes[step.process]!.start();
      break;
    case "go back":
      cluster.goBack(step.duration);
      break;
    case "break":
      cluster.faults = step.faults;
  }
}
