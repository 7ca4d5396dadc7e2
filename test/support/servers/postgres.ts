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

/** How a server stops: after its clients, without them, or as after a loss of power. */
export type StopMode = "smart" | "fast" | "immediate";

/** The databases of a server at a port of 127.0.0.1. */
export interface Databases {
  readonly port: number;
  /** The address of a database; `postgres` by default. */
  url(database?: string): string;
  /**
   * Creates a database.
   * @param template a database that it becomes a copy of; it must have no connections.
   * @returns its address.
   */
  createDatabase(name?: string, template?: string): Promise<string>;
  /** Runs statements as a superuser. @returns the rows of the last one. */
  run(statements: string, database?: string): Promise<unknown[]>;
}

/** A server that this process has started. */
export interface PostgresServer extends Databases {
  /** Its first process, while it runs. */
  readonly pid: number;
  /** Belongs to the user whom it runs as. */
  readonly folder: string;
  /** Stops it; `fast` by default. It can start again. */
  stop(mode?: StopMode): Promise<void>;
  /** Starts it again, on the same port, after it was stopped or killed. */
  start(): Promise<void>;
  /** Stops and starts it. */
  restart(mode?: StopMode): Promise<void>;
  /** Kills the first process with SIGKILL; all others end with it. */
  kill(): Promise<void>;
  /** Stops all its processes with SIGSTOP: connections stay open, and nothing answers. */
  pause(): void;
  resume(): void;
  /** Stops it for good and deletes its folder. */
  close(): Promise<void>;
}

export interface PostgresOptions {
  /** Whether it waits for the disk, as a server must that a loss of power may hit; false by default. */
  fsync?: boolean;
  /** Settings as in postgresql.conf. */
  settings?: Record<string, string>;
}

/** How long a server may take to start or stop, in milliseconds. */
const START_TIMEOUT_MS = 60_000;

const SIGNALS = { smart: "SIGTERM", fast: "SIGINT", immediate: "SIGQUIT" } as const;

/**
 * What ends the server when this process is gone, however it ended: it waits for the end of its
 * input. The processes may be paused, so they have to continue first.
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

/** Where the programs of PostgreSQL are, or undefined. Debian does not put them into PATH. */
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

/** PostgreSQL refuses to run as root: the user whom its package has made runs it then. */
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

/** @param portOf returns the port of the server, which a start may change. */
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

/** The databases of the server that test/support/servers/with.ts has started. */
export const sharedDatabases = (): Databases =>
  databasesAt(() => Number(new URL(process.env.STACK_POSTGRES!).port));

/**
 * Starts a server. It ends with this process at the latest.
 * @throws {Error} one line that says what to install, if there is no PostgreSQL.
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
  // The variables of this process may name other servers, and tap puts its own there.
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
        // Processes of single connections end at any time.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  /** Fails with what the server said if it ended or took too long. */
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
        // Processes of one that was killed end a moment later, and hold the memory until then.
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
    // The first process comes first: it starts the others.
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
    // Databases sort by language by default, as they do in the field.
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
    // Not before, as others could take it while the database is made.
    port = await freePort();
    await start();
  } catch (error) {
    await postgres.close();
    throw error;
  }
  return postgres;
}

/** Options of initdb for an order other than by code points, from version 15 on. */
function sorting(bin: string): string[] {
  const version = execFileSync(join(bin, "postgres"), ["--version"], { encoding: "utf8" });
  const major = Number(/(\d+)/.exec(version)?.[1]);
  return major >= 15 ? ["--locale-provider=icu", "--icu-locale=en-US"] : [];
}
