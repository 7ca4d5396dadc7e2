import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { CALLERS, callersOf } from "./event.js";
import { load, type Outcome, type Sent } from "./load.js";
import { rooms, type Scene } from "./scene.js";
import { newEvent, newFolder, type Running, startFoyer } from "./servers.js";

const run = promisify(execFile);
const here = import.meta.dirname;

/** A server, with the rooms that 32 callers write to. */
interface Desk extends Running {
  desks: string[];
}

let shim: Promise<NodeJS.ProcessEnv> | undefined;
let slow: Promise<Desk> | undefined;

/** An environment in which every sync takes 4 ms. It needs a C compiler. */
function slowly(): Promise<NodeJS.ProcessEnv> {
  return (shim ??= (async () => {
    const library = join(newFolder(), "slow-sync.so");
    const source = join(here, "../../bench/slow-sync.c");
    await run("cc", ["-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"]);
    return { LD_PRELOAD: library };
  })());
}

/** Foyer on a slow disk. */
export function slowDisk(scene: Scene): Promise<Desk> {
  return (slow ??= (async () => {
    const dataDir = await newEvent({ bench: { rooms: 100 } });
    const server = await startFoyer(dataDir, await slowly());
    scene.alsoStop(server);
    const [authorization] = callersOf("bench");
    const answer = await fetch(`http://127.0.0.1:${server.port}${rooms}`, {
      headers: { authorization: authorization! },
    });
    const { results } = (await answer.json()) as { results: { id: string }[] };
    const desks = results.slice(0, CALLERS / 2).map(({ id }) => id);
    return { ...server, desks };
  })());
}

/** How many writes a second that disk allows when each has a commit of its own. */
export async function oneCommitEach(seconds: number): Promise<number> {
  const { stdout } = await run(
    process.execPath,
    [join(here, "one-by-one.js"), String(seconds)],
    { env: { ...process.env, ...(await slowly()) } },
  );
  return Number(stdout);
}

/**
 * Reads of one room, alone and then beside 32 writers.
 * @param disk the disk of this machine, or the slow one.
 */
export async function besideWrites(
  scene: Scene,
  disk: "fast" | "slow",
  seconds: number,
): Promise<{ alone: Outcome; beside: Outcome }> {
  const { port, desks } =
    disk === "slow" ? await slowDisk(scene) : { ...scene.foyer, ...scene };
  const callers = callersOf("bench", { traits: ["backstage"] });
  const headers = callers.map((authorization) => ({ authorization }));
  const reads = {
    requests: headers.map((header) => ({
      path: `${rooms}${desks[0]!}/`,
      headers: header,
    })),
    connections: CALLERS,
    seconds,
  };
  const writes = Array.from({ length: 50 }, (_, priority) =>
    desks.slice(1).map((id, n): Sent => ({
      method: "PATCH",
      path: `${rooms}${id}/`,
      headers: { "content-type": "application/json", ...headers[n]! },
      body: JSON.stringify({ sorting_priority: priority }),
    })),
  ).flat();
  const alone = await load(port, reads);
  const writing = load(port, {
    requests: writes,
    connections: CALLERS / 2,
    seconds: seconds + 1,
  });
  const [beside] = await Promise.all([load(port, reads), writing]);
  return { alone, beside };
}
