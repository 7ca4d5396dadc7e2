import t from "tap";
import { type Faults, faultsOf, NO_FAULTS } from "./faulty-bus.js";
import { Random } from "./random.js";
import { ReplicaCluster } from "./replica-cluster.js";
import { indexes, play, seedOf } from "./seeds.js";
import { Timeline } from "./timeline.js";

const INDEXES = indexes(300);

/** For how long faults happen, and how long copies may then take to agree, in milliseconds. */
const TROUBLE = 20_000;
const SETTLING = 10_000;

/** The longest pause of a process, in milliseconds. */
const LONGEST_PAUSE = 15_000;

/** How many items need several messages. */
const MANY = 1200;

const SCOPES = ["", "sample", "summit"];

/** A thing that happens at some time. */
type Step = { at: number } & (
  | { do: "put" | "delete"; process: number; scope: string; key: string }
  /** It puts so many items that they do not fit into one message. */
  | { do: "fill"; process: number; scope: string }
  | { do: "follow" | "unfollow"; process: number; scope: string }
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
  const keys = 1 + random.below(20);
  const isLarge = random.chance(0.2);
  const steps = Array.from({ length }, (): Step => {
    const at = random.between(0, TROUBLE);
    const process = random.below(processes);
    const scope = random.pick(SCOPES);
    const key = `k${random.below(keys)}`;
    const kind = random.next();
    if (kind < 0.5) return { at, do: "put", process, scope, key };
    if (kind < 0.7) return { at, do: "delete", process, scope, key };
    if (kind < 0.84) return { at, do: "follow", process, scope };
    if (kind < 0.9) return { at, do: "unfollow", process, scope };
    if (kind < 0.93) {
      const longest = random.chance(0.2) ? LONGEST_PAUSE : 800;
      return {
        at,
        do: "pause",
        process,
        duration: random.between(10, longest),
      };
    }
    if (kind < 0.945) return { at, do: "kill", process };
    if (kind < 0.955) return { at, do: "slander", process };
    if (kind < 0.96 && isLarge) return { at, do: "fill", process, scope };
    return { at, do: "break", faults: faultsOf(random) };
  });
  return { seed, processes, steps: steps.sort((a, b) => a.at - b.at) };
}

/** Plays a scenario. @returns the violations. */
function run({ seed, processes, steps }: Scenario): string[] {
  const timeline = new Timeline();
  const cluster = new ReplicaCluster(timeline, new Random(~seed), processes);
  for (const step of steps) {
    timeline.at(step.at, () => perform(cluster, step));
  }
  timeline.at(TROUBLE, () => (cluster.bus.faults = NO_FAULTS));
  timeline.runAtOnce(TROUBLE + LONGEST_PAUSE + SETTLING);
  cluster.checkSettled();
  return cluster.violations;
}

function perform(cluster: ReplicaCluster, step: Step): void {
  if (step.do === "break") {
    cluster.bus.faults = step.faults;
    return;
  }
  const process = cluster.processes[step.process]!;
  switch (step.do) {
    case "put":
    case "delete":
      return process[step.do](step.scope, step.key);
    case "fill":
      for (let i = 0; i < MANY; i++) process.put(step.scope, `m${i}`);
      return;
    case "follow":
    case "unfollow":
      return process[step.do](step.scope);
    case "pause":
      return process.pause(step.duration);
    case "kill":
      return cluster.kill(step.process);
    case "slander":
      return cluster.bus.end(process.name, 0);
  }
}

void t.test("copies agree with the owners", { timeout: 0 }, (t) =>
  play(t, INDEXES, { scenarioOf, run }),
);

void t.test("a scenario happens again as it did", async (t) => {
  const seed = seedOf(INDEXES[0]!);
  t.same(scenarioOf(seed), scenarioOf(seed));
  t.same(run(scenarioOf(seed)), run(scenarioOf(seed)));
});
