import { spawn } from "node:child_process";
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

/** A key for a world: tests make as many as they like, all different. */
export const keyOf = (id: string): WorldKey => ({
  issuer: `${id}-issuer`,
  audience: `${id}-audience`,
  secret: `${id}-secret-`.padEnd(40, "x"),
});

/** A world as `foyer world create` makes it, with whatever a test wants different. */
export const worldOf = (id: string, overrides: Partial<World> = {}): World => ({
  id,
  title: `The ${id}`,
  domain: `${id}.example.org`,
  config: { JWT_secrets: [keyOf(id)] },
  permission_config: defaultPermissionConfig,
  ...overrides,
});

/** Signs a token. Claims that are undefined are left out. */
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

/** A token for the world `id` with these traits. */
export const bearer = (id: string, ...traits: string[]): string =>
  `Bearer ${tokenOf(keyOf(id), { traits })}`;

/** Who may do everything in the world `id`. */
export const admin = (id: string): string => bearer(id, "admin", "api");

export interface Request {
  method?: string;
  url: string;
  as?: string | undefined;
  headers?: Record<string, string>;
  /** Sent as JSON, unless it is a string or bytes, which go out as they are. */
  body?: unknown;
}

export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  /** The JSON of the body; undefined when it is empty. */
  body: unknown;
  text: string;
}

/** Sends one request into the application, without a socket. */
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

/** Rules that differ from the defaults in some keys. */
export const rules = (changes: PermissionConfig): PermissionConfig => ({
  ...defaultPermissionConfig,
  ...changes,
});

/** How long a test waits for anything at most, in milliseconds, however busy the machine is. */
const PATIENCE = 120_000;

/**
 * Waits until something is so.
 * @throws {Error} if it does not become so. The test then fails, with its clean-up.
 */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  // Some tests replace `performance.now`.
  const deadline = process.uptime() + PATIENCE / 1000;
  while (!(await condition())) {
    if (process.uptime() > deadline) {
      throw new Error(`Not so after ${PATIENCE} ms: ${String(condition)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  text: string;
}

/** A socket, for what no HTTP client would send. */
export interface Wire {
  send(text: string): void;
  /** The next answer; rejects when the other side hangs up before it is whole. */
  answer(): Promise<RawAnswer>;
  /** The next answer is one to a HEAD. */
  expectNoBody(): void;
  hangUp(): void;
}

/** Lets an application listen on a port that is free, and names it. */
export async function listen(app: FastifyInstance): Promise<number> {
  await app.listen({ host: "127.0.0.1", port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** How many connections a server has. */
export const connectionsOf = ({ server }: FastifyInstance): Promise<number> =>
  new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );

/**
 * Opens a socket to a port of this machine, closed with the test.
 * @param options.paused whether it reads nothing of what is sent to it.
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
  // A reset after a whole answer is no news, and before it `answer` tells.
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

/** Sends a text over a connection of its own, and reads one answer. */
export async function ask(t: Test, port: number, text: string): Promise<RawAnswer> {
  const wire = dial(t, port);
  wire.send(text);
  return wire.answer();
}

/** The text of an HTTP request, for {@link Wire.send}. */
export const rawRequest = (line: string, headers: Record<string, string> = {}, body = ""): string =>
  [
    `${line} HTTP/1.1`,
    ...Object.entries({ Host: "localhost", ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    ),
    "",
    body,
  ].join("\r\n");

/** The command as it ships, which starts in half the time of its modules. */
export const bundled = fileURLToPath(new URL("../../bundle/foyer.js", import.meta.url));

/** The command as its modules. */
export const modules = fileURLToPath(new URL("../../cli/main.js", import.meta.url));

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  /** What it has said so far. */
  readonly said: { stdout: string; stderr: string };
  /** When it has ended. */
  readonly finished: Promise<Finished>;
  readonly pid: number;
  signal(name: NodeJS.Signals): void;
}

/**
 * Starts `foyer` as an operator does, in a process of its own that does not
 * outlive the test.
 * @param env all the variables it sees; none of this process's gets through.
 * @param input what it reads on stdin.
 * @param main the path of the command.
 */
export function spawnFoyer(
  t: Test,
  args: readonly string[],
  env: Record<string, string>,
  input = "",
  main = bundled,
): Running {
  // By way of env, as tap puts a loader into the environment of every child,
  // which takes longer to load than Foyer.
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const child = spawn("env", ["-i", ...variables, process.execPath, main, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  // It may end without having read it.
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
 * Runs a command of `foyer` on a data folder to its end, in this process: a
 * process of its own takes many times as long as most commands.
 * @param env all the variables it sees; none of this process's gets through.
 * @param input what it reads on stdin.
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

/** Like {@link foyer}, in a process of its own. */
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

/** A server in a process of its own. */
export interface ServerProcess extends Running {
  address: string;
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
  const variables = { ...(await variablesOf(dataDir)), PORT: "0", LOG_LEVEL: "silent", ...env };
  // Simulated people come to the tests that ask for them.
  const still = args.includes("--demo") ? ["--no-people"] : [];
  const command = ["serve", "--json", ...still, ...args];
  const running = spawnFoyer(t, command, variables, "", main);
  let over: Finished | undefined;
  void running.finished.then((finished) => (over = finished));
  // The log goes to the same stream, one line an entry.
  const printed = () => /^\{"address":.*$/m.exec(running.said.stdout)?.[0];
  await until(() => over !== undefined || printed() !== undefined);
  const json = printed();
  if (json === undefined) throw new Error(`It ended: ${over?.stderr}`);
  const { address, token = "" } = JSON.parse(json) as {
    address: string;
    token?: string;
  };
  return { ...running, address, port: Number(new URL(address).port), token };
}
