import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect as connectSocket } from "node:net";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createSigner, type SignerOptions } from "fast-jwt";
import type { FastifyInstance } from "fastify";
import type { Test } from "tap";
import { run } from "../../cli/run.js";
import { defaultPermissionConfig, type PermissionConfig } from "../../schemas/plain/permissions.js";
import type { World, WorldKey } from "../../schemas/worlds.js";
import { contractOf } from "./contracts.js";
import { variablesOf } from "./stack.js";

/** Returns a key for a world, different for each id. */
export const keyOf = (id: string): WorldKey => ({
  issuer: `${id}-issuer`,
  audience: `${id}-audience`,
  secret: `${id}-secret-`.padEnd(40, "x"),
});

/** Returns a world as `foyer world create` creates it, with some overrides. */
export const worldOf = (id: string, overrides: Partial<World> = {}): World => ({
  id,
  title: `The ${id}`,
  domain: `${id}.example.org`,
  config: { JWT_secrets: [keyOf(id)] },
  permission_config: defaultPermissionConfig,
  ...overrides,
});

/** Signs a token. Omits claims that are undefined. */
export function tokenOf(
  key: WorldKey,
  claims: Record<string, unknown> = {},
  options: Partial<SignerOptions & { key: string }> = {},
): string {
  const sign = createSigner({ key: key.secret, algorithm: "HS256", ...options });
  return sign({
    iss: key.issuer,
    aud: key.audience,
    exp: Math.floor(Date.now() / 1000) + 3600,
    ...claims,
  });
}

/** Returns an authorization header for the world `id` with these traits. */
export const bearer = (id: string, ...traits: string[]): string =>
  `Bearer ${tokenOf(keyOf(id), { traits })}`;

/** Returns the authorization header of someone who may do everything in the world `id`. */
export const admin = (id: string): string => bearer(id, "admin", "api");

export interface Request {
  method?: string;
  url: string;
  as?: string | undefined;
  headers?: Record<string, string>;
  /** Sent as JSON, except for a string or bytes, which are sent unchanged. */
  body?: unknown;
}

export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  /** The parsed JSON body; undefined if it is empty. */
  body: unknown;
  text: string;
}

/** Sends a request to the application without a socket. */
export async function call(
  app: FastifyInstance,
  { method = "GET", url, as, headers = {}, body }: Request,
): Promise<Answer> {
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const answer = await app.inject({
    method: method as "GET",
    url,
    headers: {
      host: "localhost:8375",
      ...(as !== undefined && { authorization: as }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { payload: raw ? Buffer.from(body) : JSON.stringify(body) }),
  });
  const text = answer.body;
  const isJson = /json/.test(String(answer.headers["content-type"]));
  const got: Answer = {
    status: answer.statusCode,
    headers: answer.headers as Answer["headers"],
    body: text !== "" && isJson ? (JSON.parse(text) as unknown) : undefined,
    text,
  };
  contractOf(app).check(method, url, got);
  return got;
}

/** Returns the default rules with some changes. */
export const rules = (changes: PermissionConfig): PermissionConfig => ({
  ...defaultPermissionConfig,
  ...changes,
});

/** Maximum time that a test waits for anything, in milliseconds, however busy the machine is. */
const TIMEOUT_MS = 120_000;

/**
 * Waits until a condition holds.
 * @returns the number of checks that failed, 10 ms apart; see {@link SOON}.
 * @throws {Error} if it never does. The test then fails and cleans up.
 */
export async function until(condition: () => boolean | Promise<boolean>): Promise<number> {
  // Not `performance.now`, which some tests replace.
  const deadline = process.uptime() + TIMEOUT_MS / 1000;
  let checks = 0;
  while (!(await condition())) {
    if (process.uptime() > deadline) {
      throw new Error(`Not so after ${TIMEOUT_MS} ms: ${String(condition)}`);
    }
    checks++;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return checks;
}

/**
 * The number of failed checks of {@link until} within which something holds that is promised within
 * a second. A busy machine slows the checks down as much as what they wait for.
 */
export const SOON = 100;

export async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** A raw socket, for bytes that no HTTP client would send. */
export interface Wire {
  send(text: string): void;
  /** Returns the next answer; rejects if the peer hangs up before it is complete. */
  answer(): Promise<RawAnswer>;
  /** Declares that the next answer responds to a HEAD request. */
  expectNoBody(): void;
  hangUp(): void;
}

/** Makes an application listen on a free port, and returns the port. */
export async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ host: "127.0.0.1", port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** Counts a server's connections. */
export const connectionsOf = ({ server }: FastifyInstance): Promise<number> =>
  new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );

/**
 * Connects to a local port. The socket is closed with the test.
 * @param options.paused whether to leave everything that is received unread.
 */
export function dial(t: Test, port: number, { paused = false }: { paused?: boolean } = {}): Wire {
  const socket = connectSocket(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  let received = Buffer.alloc(0);
  let ended = false;
  let bodiless = false;
  let wake = () => {};
  socket.on("data", (bytes) => {
    received = Buffer.concat([received, bytes]);
    wake();
  });
  if (paused) socket.pause();
  // A reset after a complete answer does not matter; `answer` reports an earlier one.
  socket.on("error", () => {});
  socket.on("close", () => {
    ended = true;
    wake();
  });

  function take(): RawAnswer | undefined {
    const end = received.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const [first = "", ...lines] = received.toString("latin1", 0, end).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 2)];
      }),
    );
    const start = end + 4;
    const length = bodiless ? 0 : Number(headers["content-length"] ?? 0);
    const stop = start + length;
    if (received.length < stop) return undefined;
    const text = received.toString("utf8", start, stop);
    received = received.subarray(stop);
    bodiless = false;
    return { status: Number(first.split(" ")[1]), headers, text };
  }

  return {
    send: (text) => void socket.write(text),
    expectNoBody: () => void (bodiless = true),
    hangUp: () => void socket.destroy(),
    async answer() {
      for (;;) {
        const answer = take();
        if (answer) return answer;
        if (ended) throw new Error("The connection ended without an answer.");
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

/** Sends a text over a new connection, and reads one answer. */
export async function ask(t: Test, port: number, text: string): Promise<RawAnswer> {
  const wire = dial(t, port);
  wire.send(text);
  return wire.answer();
}

/** Returns the text of an HTTP request, for {@link Wire.send}. */
export const rawRequest = (line: string, headers: Record<string, string> = {}, body = ""): string =>
  [
    `${line} HTTP/1.1`,
    ...Object.entries({ Host: "localhost", ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    "",
    body,
  ].join("\r\n");

/** The bundled command, as released. It starts in half the time of the separate modules. */
export const bundled = fileURLToPath(new URL("../../bundle/foyer.js", import.meta.url));

/** The command as separate modules. */
export const modules = fileURLToPath(new URL("../../cli/main.js", import.meta.url));

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  /** Output so far. */
  readonly said: { stdout: string; stderr: string };
  /** Resolves once the process has ended. */
  readonly finished: Promise<Finished>;
  readonly pid: number;
  signal(name: NodeJS.Signals): void;
}

/**
 * Starts `foyer` as an operator would, in a separate process that ends with the test.
 * @param env its complete environment; it inherits no variable of this process.
 * @param input its standard input.
 * @param main the path of the command.
 */
export function spawnFoyer(
  t: Test,
  args: readonly string[],
  env: Record<string, string>,
  input = "",
  main = bundled,
): Running {
  // Through `env`, because tap injects a loader into the environment of every child, which takes
  // longer to load than Foyer.
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const child = spawn("env", ["-i", ...variables, process.execPath, main, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  // The process may end without reading its input.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  t.teardown(() => child.kill("SIGKILL"));
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8");
    child[stream].on("data", (text: string) => (said[stream] += text));
  }
  const finished = new Promise<Finished>((resolve) => {
    child.once("close", (code) => resolve({ code, ...said }));
  });
  return { said, finished, pid: child.pid!, signal: (name) => child.kill(name) };
}

/**
 * Runs a `foyer` command on a data folder to completion, in this process: a separate process would
 * take many times as long as most commands.
 * @param env its complete environment; it inherits no variable of this process.
 * @param input its standard input.
 */
export async function foyer(
  dataDir: string,
  args: readonly string[],
  env: Record<string, string> = {},
  input = "",
): Promise<Finished> {
  const said = { stdout: "", stderr: "" };
  const collect = (name: keyof typeof said) =>
    new Writable({
      decodeStrings: false,
      write(text: string, _encoding, done) {
        said[name] += text;
        done();
      },
    });
  const code = await run(args, {
    env: { ...(await variablesOf(dataDir)), ...env },
    stdin: Readable.from([Buffer.from(input)]),
    stdout: collect("stdout"),
    stderr: collect("stderr"),
  });
  return { code, ...said };
}

/** Like {@link foyer}, in a separate process. */
export async function foyerProcess(
  t: Test,
  dataDir: string,
  args: readonly string[],
  env: Record<string, string> = {},
  input?: string,
): Promise<Finished> {
  const variables = { ...(await variablesOf(dataDir)), ...env };
  return spawnFoyer(t, args, variables, input).finished;
}

/** A server in a separate process. */
export interface ServerProcess extends Running {
  /** The address for clients: PUBLIC_URL, if that is set. */
  address: string;
  /** The address at which it listens. */
  local: string;
  port: number;
  /** A token for the demo world, with `--demo`. */
  token: string;
}

/** Starts `foyer serve --json` on a free port, and waits until it serves. */
export async function startFoyer(
  t: Test,
  dataDir: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
  main = bundled,
): Promise<ServerProcess> {
  // With PUBLIC_URL, only the log contains the port.
  const log = { LOG_LEVEL: "PUBLIC_URL" in env ? "info" : "silent" };
  const variables = { ...(await variablesOf(dataDir)), PORT: "0", ...log, ...env };
  // Simulated people only run in tests that request them.
  const still = args.includes("--demo") ? ["--no-people"] : [];
  const command = ["serve", "--json", ...still, ...args];
  const running = spawnFoyer(t, command, variables, "", main);
  let over: Finished | undefined;
  void running.finished.then((finished) => (over = finished));
  // The log is written to the same stream, one line per entry.
  const printed = () => /^\{"address":.*$/m.exec(running.said.stdout)?.[0];
  await until(() => over !== undefined || printed() !== undefined);
  const json = printed();
  if (json === undefined) throw new Error(`It ended: ${over?.stderr}`);
  const { address: published, token = "" } = JSON.parse(json) as {
    address: string;
    token?: string;
  };
  const listening = /"msg":"Server listening at (http:[^"]+)"/.exec(running.said.stdout);
  const local = listening?.[1] ?? published;
  return { ...running, address: published, local, port: Number(new URL(local).port), token };
}

/** Whether a process is stopped, or gone (proc(5)). */
function isStopped(pid: number): boolean {
  try {
    return /\) [TZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

/**
 * Stops processes until they get SIGCONT, and waits until they have stopped: before that, they may
 * accept a connection that they never answer.
 */
export async function suspend(pids: readonly number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  await until(() => pids.every(isStopped));
}
