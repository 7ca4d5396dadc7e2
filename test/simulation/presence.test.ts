import t from "tap";
import { type Faults, faultsOf, NO_FAULTS } from "./faulty-bus.js";
import { PresenceCluster } from "./presence-cluster.js";
import { Random } from "./random.js";
import { indexes, play } from "./seeds.js";
import { Timeline } from "./timeline.js";

const INDEXES = indexes(200);

/** For how long faults happen, and how long all may then take to agree, in milliseconds. */
const TROUBLE = 20_000;
const SETTLING = 25_000;

/** The longest pause of a process, in milliseconds. */
const LONGEST_PAUSE = 15_000;

const ROOMS = ["stage", "lounge", "hall"];

/** A thing that happens at some time. */
type Step = { at: number } & (
  | { do: "open"; process: number; id: string; user: string }
  | { do: "close"; process: number; id: string }
  | { do: "enter" | "leave"; process: number; id: string; room: string }
  | { do: "watch" | "unwatch"; process: number; room: string }
  | { do: "pause"; process: number; duration: number }
  | { do: "kill" | "slander"; process: number }
  | { do: "break"; faults: Faults }
);

/** Everything that happens in one run. It follows from a seed. */
interface Scenario {
  seed: number;
  processes: number;
  steps: Step[];
}

function scenarioOf(seed: number): Scenario {
  const random = new Random(seed);
  const processes = 2 + random.below(3);
  const length = 50 + random.below(250);
  const people = 1 + random.below(12);
  const steps = Array.from({ length }, (): Step => {
    const at = random.between(0, TROUBLE);
    const process = random.below(processes);
    const id = `c${random.below(2 * people)}`;
    const room = random.pick(ROOMS);
    const kind = random.next();
    if (kind < 0.25) {
      return { at, do: "open", process, id, user: `u${random.below(people)}` };
    }
    if (kind < 0.4) return { at, do: "close", process, id };
    if (kind < 0.65) return { at, do: "enter", process, id, room };
    if (kind < 0.77) return { at, do: "leave", process, id, room };
    if (kind < 0.85) return { at, do: "watch", process, room };
    if (kind < 0.9) return { at, do: "unwatch", process, room };
    if (kind < 0.93) {
      const longest = random.chance(0.2) ? LONGEST_PAUSE : 800;
      const duration = random.between(10, longest);
      return { at, do: "pause", process, duration };
    }
    if (kind < 0.945) return { at, do: "kill", process };
    if (kind < 0.955) return { at, do: "slander", process };
    return { at, do: "break", faults: faultsOf(random) };
  });
  return { seed, processes, steps: steps.sort((a, b) => a.at - b.at) };
}

/** Plays a scenario. @returns the violations. */
function run({ seed, processes, steps }: Scenario): string[] {
  const timeline = new Timeline();
  const cluster = new PresenceCluster(timeline, new Random(~seed), processes);
  for (const step of steps) {
    timeline.at(step.at, () => perform(cluster, step));
  }
  timeline.at(TROUBLE, () => (cluster.bus.faults = NO_FAULTS));
  timeline.runAtOnce(TROUBLE + LONGEST_PAUSE + SETTLING);
  cluster.checkSettled();
  return cluster.violations;
}

function perform(cluster: PresenceCluster, step: Step): void {
  if (step.do === "break") {
    cluster.bus.faults = step.faults;
    return;
  }
  const process = cluster.processes[step.process]!;
  switch (step.do) {
    case "open":
      return process.do(() => process.open(step.id, step.user));
    case "close":
      return process.do(() => process.close(step.id));
    case "enter":
    case "leave":
      return process.do(() => process.move(step.do, step.id, step.room));
    case "watch":
    case "unwatch":
      return process.do(() => process[step.do](step.room));
    case "pause":
      return process.pause(step.duration);
    case "kill":
      return cluster.kill(step.process);
    case "slander":
      return cluster.bus.end(process.name, 0);
  }
}

void t.test("numbers for all, names where needed", { timeout: 0 }, (t) =>
  play(t, INDEXES, { scenarioOf, run }),
);
