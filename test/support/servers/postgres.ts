import { execFile, execFileSync, spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  chownSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { freePort } from "./port.js";

// A PostgreSQL server for tests: in a temporary folder, on a free port of 127.0.0.1.

/** How a server stops: after its clients disconnect, by disconnecting them, or as if it lost power. */
export type StopMode = "smart" | "fast" | "immediate";

/** The databases of a server on a local port. */
export interface Databases {
  readonly port: number;
  /** Returns the address of a database; `postgres` by default. */
  url(database?: string): string;
  /**
   * Creates a database.
   * @param template the database to copy; it must not have any connections.
   * @returns its address.
   */
  createDatabase(name?: string, template?: string): Promise<string>;
  /** Runs statements as a superuser. @returns the rows of the last statement. */
  run(statements: string, database?: string): Promise<unknown[]>;
}

/** A server that this process has started. */
export interface PostgresServer extends Databases {
  /** Its main process, while running. */
  readonly pid: number;
  /** Owned by the user who runs the server. */
  readonly folder: string;
  /** Stops it, by default with `fast`. It can be restarted. */
  stop(mode?: StopMode): Promise<void>;
  /** Starts it on the same port after it was stopped or killed. */
  start(): Promise<void>;
  restart(mode?: StopMode): Promise<void>;
  /** Kills its main process with SIGKILL; the other processes end with it. */
  kill(): Promise<void>;
  /** Suspends all of its processes with SIGSTOP: connections stay open, but nothing answers. */
  pause(): void;
  resume(): void;
  /** Stops it permanently, and deletes its folder. */
  close(): Promise<void>;
}

export interface PostgresOptions {
  /** Whether it flushes writes to disk, which only matters if the machine may lose power; false by default. */
  fsync?: boolean;
  /** Settings as in postgresql.conf. */
  settings?: Record<string, string>;
}

/** Timeout for a start or a stop, in milliseconds. */
const START_TIMEOUT_MS = 60_000;

const SIGNALS = { smart: "SIGTERM", fast: "SIGINT", immediate: "SIGQUIT" } as const;

/**
 * Ends the server when this process is gone, however it ended: the script waits for its input to
 * close. The server's processes may be suspended, so the script resumes them first.
 */
const WATCHDOG = `
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
  others=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
  kill -QUIT "$pid" 2>/dev/null
  kill -CONT "$pid" $others 2>/dev/null
  for i in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.5
  done
  kill -KILL "$pid" $others 2>/dev/null
fi
rm -rf "$1"
`;

/** Returns the folder of PostgreSQL's programs, or undefined. Debian does not add it to PATH. */
function programs(): string | undefined {
  const debian = "/usr/lib/postgresql";
  const versions = existsSync(debian) ? readdirSync(debian) : [];
  return [
    ...(process.env.PATH ?? "").split(delimiter),
    ...versions
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(debian, version, "bin")),
  ].find((folder) => ["initdb", "postgres"].every((name) => existsSync(join(folder, name))));
}

/**
 * Returns the user to run PostgreSQL as. It refuses to run as root, so root runs it as the user
 * that its package creates.
 */
function user(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (option: string) =>
    Number(execFileSync("id", [option, "postgres"], { stdio: ["ignore", "pipe", "ignore"] }));
  try {
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    throw new Error(
      "PostgreSQL does not run as root, and there is no user `postgres`: `apt-get install postgresql` makes one.",
    );
  }
}

/** @param portOf returns the server's port, which may change on a start. */
function databasesAt(portOf: () => number): Databases {
  const url = (database = "postgres") => `postgres://foyer@127.0.0.1:${portOf()}/${database}`;
  async function run(statements: string, database?: string): Promise<unknown[]> {
    const client = new pg.Client({ connectionString: url(database) });
    client.on("error", () => {});
    await client.connect();
    try {
      const results = [await client.query(statements)].flat();
      return results.at(-1)!.rows as unknown[];
    } finally {
      await client.end();
    }
  }
  return {
    get port() {
      return portOf();
    },
    url,
    run,
    async createDatabase(name = `test-${randomUUID()}`, template = "template0") {
      await run(`CREATE DATABASE "${name}" TEMPLATE "${template}"`);
      return url(name);
    },
  };
}

/** Returns the databases of the server started by test/support/servers/with.ts. */
export const sharedDatabases = (): Databases =>
  databasesAt(() => Number(new URL(process.env.STACK_POSTGRES!).port));

/**
 * Starts a server, which ends no later than this process.
 * @throws {Error} with one line that says what to install, if PostgreSQL is missing.
 */
export async function startPostgres({
  fsync = false,
  settings = {},
}: PostgresOptions = {}): Promise<PostgresServer> {
  const bin = programs();
  if (bin === undefined) {
    throw new Error(
      "PostgreSQL is not installed: `apt-get install postgresql`, or put initdb and postgres into PATH.",
    );
  }
  const owner = user();
  const home = mkdtempSync(join(tmpdir(), "foyer-pg-"));
  if (owner.uid !== undefined) chownSync(home, owner.uid, owner.gid!);
  const data = join(home, "data");
  const log = join(home, "log");
  // This process's variables may point to other servers, and tap adds its own.
  const surroundings = { env: { PATH: process.env.PATH, LC_ALL: "C" }, cwd: home, ...owner };
  const watchdog = spawn("sh", ["-c", WATCHDOG, "sh", home], {
    ...surroundings,
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watchdog.unref();
  (watchdog.stdin as unknown as { unref(): void }).unref();

  let port = 0;
  let server: ChildProcess | undefined;
  const isAlive = () => server?.exitCode === null && server.signalCode === null;
  function signalAll(signal: NodeJS.Signals): void {
    const pid = server!.pid!;
    const children = `/proc/${pid}/task/${pid}/children`;
    const others = readFileSync(children, "utf8").split(" ").filter(Boolean);
    for (const one of [pid, ...others.map(Number)]) {
      try {
        process.kill(one, signal);
      } catch (error) {
        // The processes of individual connections may end at any time.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  /** Waits for a condition. Fails with the server's log if the server ended or took too long. */
  async function until(what: string, condition: () => boolean): Promise<void> {
    const ends = performance.now() + START_TIMEOUT_MS;
    while (!condition()) {
      const isOver = what === "start" && !isAlive();
      if (isOver || performance.now() > ends) {
        throw new Error(`PostgreSQL did not ${what}: ${readFileSync(log, "utf8").slice(-2000)}`);
      }
      await delay(10);
    }
  }

  function isReady(): boolean {
    try {
      const lines = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
      return lines[0] === String(server!.pid) && lines[7]?.trim() === "ready";
    } catch {
      return false;
    }
  }

  async function launch(): Promise<void> {
    const all: Record<string, string> = {
      listen_addresses: "127.0.0.1",
      port: String(port),
      unix_socket_directories: home,
      max_connections: "300",
      shared_buffers: "64MB",
      log_min_messages: "warning",
      ...(!fsync && { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
      ...settings,
    };
    const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    const output = openSync(log, "a");
    server = spawn(join(bin!, "postgres"), ["-D", data, ...options], {
      ...surroundings,
      stdio: ["ignore", output, output],
    });
    closeSync(output);
    server.unref();
    await until("start", isReady);
  }

  async function start(): Promise<void> {
    const ends = performance.now() + START_TIMEOUT_MS;
    for (;;) {
      try {
        return await launch();
      } catch (error) {
        // The child processes of a killed server end a moment later, and hold its shared memory
        // until then.
        const isHeld = /shared memory block/.test(String(error));
        if (!isHeld || performance.now() > ends) throw error;
        await delay(50);
      }
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (!isAlive()) return;
    server!.kill(signal);
    await until("stop", () => !isAlive());
  }

  const stop = (mode: StopMode = "fast") => end(SIGNALS[mode]);
  const postgres: PostgresServer = {
    ...databasesAt(() => port),
    get port() {
      return port;
    },
    get pid() {
      return server!.pid!;
    },
    folder: home,
    start,
    stop,
    async restart(mode) {
      await stop(mode);
      await start();
    },
    kill: () => end("SIGKILL"),
    // The main process is paused first, because it starts the others.
    pause: () => signalAll("SIGSTOP"),
    resume: () => signalAll("SIGCONT"),
    async close() {
      await stop("immediate");
      watchdog.ref();
      watchdog.stdin.end();
      if (watchdog.exitCode === null) await once(watchdog, "close");
      rmSync(home, { recursive: true, force: true });
    },
  };
  try {
    // Databases use a language-specific sort order, as is common in production.
    await promisify(execFile)(
      join(bin, "initdb"),
      [
        "-D",
        data,
        "-U",
        "foyer",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
        "--locale=C",
        ...sorting(bin),
      ],
      surroundings,
    );
    // Chosen late, because another process could take the port while initdb runs.
    port = await freePort();
    await start();
  } catch (error) {
    await postgres.close();
    throw error;
  }
  return postgres;
}

/** Returns initdb options for a sort order other than by code point, from version 15 on. */
function sorting(bin: string): string[] {
  const version = execFileSync(join(bin, "postgres"), ["--version"], { encoding: "utf8" });
  const major = Number(/(\d+)/.exec(version)?.[1]);
  return major >= 15 ? ["--locale-provider=icu", "--icu-locale=en-US"] : [];
}
