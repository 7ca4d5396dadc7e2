import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createSigner } from "fast-jwt";

/** The `dist` of this build. */
export const OWN_BUILD = fileURLToPath(new URL("../", import.meta.url));

/** The id of the world of every benchmark. */
export const WORLD = "bench";

/** The command-line options of all benchmarks. */
export interface Options {
  /** The `dist` of another build to compare with. */
  against?: string;
  rounds: number;
  /** Duration of one measurement, in seconds. */
  seconds: number;
  people: number;
  /** The URL of a PostgreSQL server. */
  database?: string;
  /** Parts of the names of the measurements to run; if empty, all of them run. */
  wanted: string[];
}

/** Parses the command line. Exits with 2 if an option is invalid. */
export function readOptions(defaults: Partial<Options> & { least?: number }): Options {
  // Exits so that an interrupted benchmark also stops its servers.
  process.once("SIGTERM", () => process.exit(1));
  const text = { type: "string" } as const;
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { against: text, rounds: text, seconds: text, people: text, database: text },
    });
    const people = Number(values.people ?? defaults.people ?? 0);
    const { least = 0 } = defaults;
    if (!(people >= least)) throw new Error(`--people is at least ${least}.`);
    return {
      people,
      against: values.against && resolve(values.against),
      rounds: Number(values.rounds ?? defaults.rounds ?? 5),
      seconds: Number(values.seconds ?? defaults.seconds ?? 4),
      database: values.database,
      wanted: positionals,
    };
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

export const isWanted = ({ wanted }: Options, name: string): boolean =>
  wanted.length === 0 || wanted.some((part) => name.includes(part));

/** Creates an empty folder that is deleted when the process exits. */
export function newFolder(): string {
  process.setMaxListeners(100);
  const folder = mkdtempSync(join(tmpdir(), "foyer-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A server process on this machine. */
export interface Server {
  port: number;
  pid: number;
  stop(): Promise<void>;
}

/** Node.js options for the servers: `NODE_FLAGS=--cpu-prof` creates profiles. */
const flags = process.env.NODE_FLAGS?.split(" ") ?? [];

/**
 * Starts a program and waits until it prints its port.
 * @throws {Error} if it exits before that.
 */
async function start(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Server> {
  const child = spawn(process.execPath, [...flags, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const stop = async () => {
    process.off("exit", kill);
    await end(child);
  };
  for await (const line of createInterface(child.stdout)) {
    const port = /istening.*127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (!port) continue;
    child.stdout.resume();
    return { port: Number(port), pid: child.pid!, stop };
  }
  throw new Error(`${args.join(" ")} ended before it listened.`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill();
  await ended;
}

/**
 * Starts a reference of `references.ts`.
 * @param kind the name of the reference.
 */
export const startReference = (kind: string, args: string[] = []): Promise<Server> =>
  start([join(import.meta.dirname, "references.js"), kind, ...args]);

/** The key that signs the tokens of a world. */
interface SigningKey {
  issuer: string;
  audience: string;
  secret: string;
}

/** Foyer with the world {@link WORLD}. It is set up by commands and requests only, so any build can be measured. */
export interface Foyer extends Server {
  dataDir: string;
  /** Signs a token. */
  token(uid: string | undefined, traits: string[]): string;
  /** Restarts it with the same data and port. */
  restart(): Promise<void>;
}

/** Disables the rate limits per user, which would distort a benchmark. */
const UNLIMITED = { LIVE_COMMANDS_PER_SECOND: "1000000", LIVE_MESSAGES_PER_SECOND: "1000000" };

/**
 * Starts Foyer with a new data folder.
 * @param build the `dist` of the build.
 */
export async function startFoyer(build: string): Promise<Foyer> {
  const dataDir = newFolder();
  const program = join(build, "bundle/foyer.js");
  const create = ["world", "create", WORLD, "--title", "The event"];
  const made = execFileSync(
    process.execPath,
    [program, ...create, "--domain", "bench.example.org", "--json"],
    { env: { ...process.env, DATA_DIR: dataDir }, encoding: "utf8" },
  );
  const { config } = JSON.parse(made) as {
    config: { JWT_secrets: SigningKey[] };
  };
  const [key] = config.JWT_secrets;
  const sign = createSigner({ key: key!.secret, algorithm: "HS256" });
  const expires = Math.floor(Date.now() / 1000) + 24 * 3600;
  const serve = (port: number) =>
    start([program, "serve"], { PORT: String(port), DATA_DIR: dataDir, ...UNLIMITED });
  let server = await serve(0);
  return {
    dataDir,
    get port() {
      return server.port;
    },
    get pid() {
      return server.pid;
    },
    stop: () => server.stop(),
    token: (uid, traits) =>
      sign({
        iss: key!.issuer,
        aud: key!.audience,
        exp: expires,
        traits,
        ...(uid !== undefined && { uid }),
      }),
    async restart() {
      const { port } = server;
      await server.stop();
      server = await serve(port);
    },
  };
}

/**
 * Creates rooms through the API.
 * @returns their ids.
 */
export async function makeRooms(foyer: Foyer, count: number): Promise<string[]> {
  const ids: string[] = [];
  const authorization = `Bearer ${foyer.token("host", ["admin", "api"])}`;
  for (let n = 0; n < count; n++) {
    const answer = await fetch(`http://127.0.0.1:${foyer.port}/api/v1/worlds/${WORLD}/rooms/`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({
        name: `Hall ${n}`,
        description: "Where people meet.",
        module_config: [
          { type: "livestream.native", config: {} },
          { type: "chat.native", config: { volatile: true } },
          { type: "question", config: { active: true } },
          { type: "poll", config: { active: true } },
        ],
      }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    ids.push(((await answer.json()) as { id: string }).id);
  }
  return ids;
}

/** Returns the processor time of a process, including all its threads and exited children, in seconds. */
export function processorTimeOf(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  let nanoseconds = 0;
  for (const task of readdirSync(tasks)) {
    const [time] = readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ");
    nanoseconds += Number(time);
  }
  // Skips the program name, which comes first, in parentheses, and may contain spaces.
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!;
  const [user, system] = stat.split(" ").slice(13, 15).map(Number);
  // There are 100 ticks per second: `man 7 time`.
  return nanoseconds / 1e9 + (user! + system!) / 100;
}

/** Returns the resident memory of a process, in KiB. */
export function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
}

/** Returns the median. */
export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/**
 * Returns a percentile.
 * @param part a fraction, such as 0.95.
 */
export function percentileOf(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

/** Measures each side once per round, in random order, so that background load affects all sides alike. */
export async function inTurns<Side>(
  sides: readonly Side[],
  rounds: number,
  measure: (side: Side) => Promise<number>,
): Promise<number[][]> {
  const values = sides.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    const order = sides
      .map((_, at) => ({ at, rank: Math.random() }))
      .sort((a, b) => a.rank - b.rank);
    for (const { at } of order) values[at]!.push(await measure(sides[at]!));
  }
  return values;
}

/** Prints the figures of one side, and their ratio to those of another side in the same rounds. */
export function report(
  name: string,
  own: readonly number[],
  unit: string,
  to?: { name: string; values: readonly number[] },
): void {
  let line = `${name.padEnd(56)} ${medianOf(own).toPrecision(3)} ${unit}`;
  if (to) {
    const ratios = own.map((value, round) => value / to.values[round]!);
    const [low, high] = [Math.min(...ratios), Math.max(...ratios)];
    line += `, ${medianOf(ratios).toFixed(2)} of ${to.name} (${low.toFixed(2)} to ${high.toFixed(2)})`;
  }
  console.log(line);
}
