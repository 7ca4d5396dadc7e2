import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { type EventSize, fill } from "./event.js";

/** A server of a benchmark, on this machine. */
export interface Running {
  port: number;
  pid: number;
  /** The time from its start to its first answer, in milliseconds. */
  started: number;
  stop(): Promise<void>;
}

// NODE_FLAGS=--cpu-prof shows where the time goes.
const flags = process.env.NODE_FLAGS?.split(" ") ?? [];

const main = join(import.meta.dirname, "../bundle/foyer.js");
const bare = join(import.meta.dirname, "bare.js");

/** An empty folder that is deleted when the process exits. */
export function newFolder(): string {
  process.setMaxListeners(50);
  const folder = mkdtempSync(join(tmpdir(), "foyer-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Creates a data folder with these worlds. */
export async function newEvent(
  worlds: Record<string, EventSize>,
): Promise<string> {
  const dataDir = newFolder();
  await fill(dataDir, worlds);
  return dataDir;
}

/**
 * Starts Foyer as `foyer serve` does.
 * @param program the command, by default the bundle of this build.
 */
export async function startFoyer(
  dataDir: string,
  env: NodeJS.ProcessEnv = {},
  program = main,
): Promise<Running> {
  const begun = performance.now();
  const child = spawn(process.execPath, [...flags, program, "serve"], {
    env: {
      ...process.env,
      PORT: "0",
      DATA_DIR: dataDir,
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout);
  const port = await portIn(lines);
  child.stdout.resume();
  const health = await fetch(`http://127.0.0.1:${port}/healthz`);
  await health.arrayBuffer();
  return running(child, port, performance.now() - begun);
}

async function portIn(lines: Interface): Promise<number> {
  for await (const line of lines) {
    // The first line names the other servers.
    const port = /istening.*127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port) return Number(port);
  }
  throw new Error("Foyer ended before it listened.");
}

/** An answer that is always the same. */
export interface Constant {
  headers: Record<string, string>;
  text: string;
}

/** The answers of the bare server. */
export interface Constants {
  world: Constant;
  room: Constant;
}

/** Starts the reference. */
export async function startBare(constants: Constants): Promise<Running> {
  const file = join(newFolder(), "constants.json");
  writeFileSync(file, JSON.stringify(constants));
  return startProgram(bare, [file]);
}

/** Starts a program that tells its parent its port. */
export async function startProgram(
  program: string,
  args: string[] = [],
): Promise<Running> {
  const begun = performance.now();
  const child = fork(program, args, { execArgv: flags });
  const { port } = await Promise.race([
    once(child, "message").then(([message]) => message as { port: number }),
    endOf(child),
  ]);
  return running(child, port, performance.now() - begun);
}

/** Rejects when a process ends. */
async function endOf(child: ChildProcess): Promise<never> {
  await once(child, "exit");
  throw new Error("The server ended before it listened.");
}

function running(child: ChildProcess, port: number, started: number): Running {
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  return {
    port,
    pid: child.pid!,
    started,
    async stop() {
      process.off("exit", kill);
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}
