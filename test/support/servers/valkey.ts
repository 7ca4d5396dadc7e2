import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import type { Test } from "tap";
import { until } from "../helper.js";
import { testdir } from "../testdir.js";
import { freePort } from "./port.js";

/** A Valkey or Redis of a test. */
export interface ValkeyServer {
  readonly url: string;
  readonly port: number;
  /** Its process, while it runs. */
  readonly pid: number;
  /** Ends it as a crash would: it keeps nothing. */
  stop(): Promise<void>;
  /** Starts it again on the same port, without data. */
  restart(): Promise<void>;
  /** Stops its answers, while its connections stay. */
  pause(): void;
  resume(): void;
}

const PROGRAMS = ["valkey-server", "redis-server"];

/** @throws {Error} if none is installed. */
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

/** Starts a Valkey or Redis for a test, on a free port unless one is given. */
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
