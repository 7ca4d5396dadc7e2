import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import type { Test } from "tap";
import { until } from "../helper.js";
import { testdir } from "../testdir.js";
import { freePort } from "./port.js";

/** A test's Valkey or Redis server. */
export interface ValkeyServer {
  readonly url: string;
  readonly port: number;
  /** Its process id, while running. */
  readonly pid: number;
  /** Kills it, as in a crash: it keeps no data. */
  stop(): Promise<void>;
  /** Restarts it on the same port, without data. */
  restart(): Promise<void>;
  /** Suspends it; connections stay open. */
  pause(): void;
  resume(): void;
}

const PROGRAMS = ["valkey-server", "redis-server"];

/** @throws {Error} if neither is installed. */
function program(): string {
  const found = PROGRAMS.find((name) => spawnSync(name, ["--version"]).error === undefined);
  if (found) return found;
  throw new Error("This test needs Valkey or Redis 7: install valkey-server or redis-server.");
}

const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write("PING\r\n"));
    socket.once("data", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

/** Starts Valkey or Redis for a test, by default on a free port. */
export async function startValkey(t: Test, options: { port?: number } = {}): Promise<ValkeyServer> {
  const command = program();
  const dir = testdir(t);
  const port = options.port ?? (await freePort());
  let child: ChildProcess | undefined;

  async function stop(): Promise<void> {
    if (!child) return;
    const over = once(child, "exit");
    child.kill("SIGKILL");
    child = undefined;
    await over;
  }
  async function restart(): Promise<void> {
    await stop();
    const flags = { port, bind: "127.0.0.1", dir, save: "", appendonly: "no" };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const started = spawn(command, args, { stdio: "ignore" });
    child = started;
    await until(async () => {
      if (started.exitCode !== null) throw new Error(`${command} has ended.`);
      return answers(port);
    });
  }
  t.teardown(stop);
  await restart();
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child!.pid!;
    },
    stop,
    restart,
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
  };
}
