import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Writable } from "node:stream";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { pino } from "pino";
import type { Test } from "tap";
import { type ClientOptions, WebSocket } from "ws";
import { createApp } from "../../app.js";
import { type Config, type LiveLimits, loadConfig } from "../../config.js";
import { Client, type Json } from "../../conformance/client.js";
import type { Engines } from "../../db/contract/engines.js";
import type { Store } from "../../db/contract/store.js";
import { openEngines } from "../../db/open.js";
import { draftWorld } from "../../db/world-management.js";
import type { CallEngines } from "../../plugins/calls/engine.js";
import type { SetupKey } from "../../plugins/setup.js";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import type { TestWorld } from "../../testing.js";
import {
  Contract,
  Conversation,
  type LiveContract,
  liveContractOf,
  strictContract,
} from "./contracts.js";
import { putDatabase } from "./database.js";
import {
  type Answer,
  call,
  type Finished,
  foyer,
  keyOf,
  type Request,
  type ServerProcess,
  startFoyer,
  tokenOf,
} from "./helper.js";
import type { Links, OwnServers } from "./servers/stack.js";
import type { Engine } from "./shared.js";
import { chooseEngine, engineOf, enginesOf } from "./stack.js";
import { shortFolder, testdir } from "./testdir.js";

/** A user with a token. */
export interface Person {
  uid?: string | number;
  traits?: string[];
  profile?: Record<string, unknown>;
  pretalx_id?: string;
  /** Lifetime of the token, in seconds; an hour by default. */
  seconds?: number;
  /** `demo` by default. */
  world?: string;
}

/** Overrides for a test's server. The defaults are those of `foyer serve`. */
export interface ServerOptions {
  /**
   * The engine for its data: by default SQLite, or the one that `ENGINE` selects. Tests that
   * specify `"shared"` pass the option `{ skip: NO_SERVERS }`. `"own"` starts PostgreSQL, Valkey
   * and S3 for this test only. The test may kill these servers, or cut off individual processes
   * with {@link ServerNode.links}.
   */
  engine?: Engine | "own";
  /**
   * The number of processes. 0, the default, runs it in the test's process, where writes need no
   * thread. 1 runs it in a separate process. A higher number starts workers on SQLite, and nodes on
   * shared engines.
   */
  processes?: number;
  /** The worlds in its database; one {@link demo} by default. */
  worlds?: TestWorld[];
  /** A folder that already has a database. By default, a new one is created with {@link worlds}. */
  dataDir?: string;
  /** The people to connect before it resolves, by name or with more details. */
  people?: readonly string[] | Readonly<Record<string, Person>>;
  /** Environment variables, as an operator would set them. */
  env?: Record<string, string>;
  /** Arguments of `foyer serve`, if it runs in separate processes. */
  args?: readonly string[];

  // Only if the server runs in the test's process:

  /** Overrides of the configuration that {@link env} yields. */
  config?: Partial<Config>;
  /** Overrides of the websocket limits. By default, commands and messages are limited to 10,000 per second each. */
  limits?: Partial<LiveLimits>;
  /** Whether SQLite writes in a thread, as in `foyer serve`. */
  threads?: boolean;
  /** Wraps the application's store, for example with `Faults`. */
  faults?: { wrap(store: Store): Store };
  /** Engines that the test has already opened in {@link dataDir}. They are closed with the server. */
  engines?: Engines;
  /** Health metrics of engines shared by several machines. */
  health?: Engines["health"];
  /** How long a write waits for another process's lock, in milliseconds. */
  lockTimeout?: number;
  /** The key of the link that sets up the first event; none by default. */
  setup?: SetupKey;
  /** The engines for calls, instead of those that {@link env} names. */
  callEngines?: CallEngines;
  /** By default, {@link Server.log} receives warnings and errors. */
  logger?: FastifyBaseLogger;
  /** Registers additional plugins or routes, as an embedder would, before the application is ready. */
  extend?: (app: FastifyInstance) => void;
  /** Whether the test passes even if the server logs errors. */
  mayLogErrors?: boolean;
}

/** A process of a server. */
export interface ServerNode extends ServerProcess {
  readonly dataDir: string;
  /** Its proxies to the test's servers, with the engine `"own"`. */
  readonly links?: Links;
}

/** A running server, its addresses, and its connected clients. */
export interface Server {
  /** The first address: `http://127.0.0.1:<port>`. */
  readonly baseUrl: string;
  readonly port: number;
  /** The addresses of all its nodes. */
  readonly baseUrls: readonly string[];
  readonly dataDir: string;
  /** The connected {@link ServerOptions.people}, by name. */
  readonly people: Readonly<Record<string, Client>>;
  /** All log entries at level `warn` or above, if it runs in the test's process. */
  readonly log: Json[];
  /** @throws {Error} if it runs in separate processes. */
  readonly app: FastifyInstance;
  /** @throws {Error} if it runs in separate processes. */
  readonly store: Store;
  /** All routes, as the router lists them (`GET /healthz`), if it runs in the test's process. */
  readonly routes: ReadonlySet<string>;
  /** Its processes; empty if it runs in the test's process. */
  readonly processes: readonly ServerNode[];
  /** @throws {Error} if its engine is not `"own"`. */
  readonly own: OwnServers;
  /**
   * Starts another node on its engines.
   * @param env overrides for this node.
   */
  startNode(env?: Record<string, string>): Promise<ServerNode>;
  /**
   * Sends a request, without a socket if it runs in the test's process.
   * @throws {Error} if the OpenAPI document does not allow the answer.
   */
  readonly call: (request: Request) => Promise<Answer>;
  /** Sends a request for `/api/v1/worlds/<path>` as an administrator. */
  readonly rest: (
    method: string,
    path: string,
    body?: unknown,
  ) => Promise<{ status: number; body: Json }>;
  readonly tokenOf: (person: Person) => string;
  /**
   * Opens a websocket to each node in turn. Validates each frame against the AsyncAPI document.
   * @param world the id of a world, or the path of an address.
   * @param baseUrl the address of a node, or of a proxy in front of it.
   */
  readonly connect: (world?: string, options?: ClientOptions, baseUrl?: string) => Promise<Client>;
  /** Connects a user with a token. A string is used as both the `uid` and the display name. */
  readonly person: (person: Person | string, ...traits: string[]) => Promise<Client>;
  /** Connects a user with the traits of an administrator. */
  readonly admin: (world?: string) => Promise<Client>;
  /** Connects a guest, by default a new one. */
  readonly guest: (clientId?: string | number, world?: string) => Promise<Client>;
  /**
   * Waits until everything that follows from committed writes has been sent. Only if it runs in the
   * test's process.
   */
  readonly settled: (world?: string) => Promise<void>;
  /** Runs a `foyer` command on its data, in the test's process. */
  readonly command: (...args: string[]) => Promise<Finished>;
  /** Stops all of its processes, or one of them, with a signal, and restarts them at the same addresses. */
  readonly restart: (signal?: NodeJS.Signals, index?: number) => Promise<void>;
  /** Closes it before the end of the test. */
  readonly close: () => Promise<void>;
}

/** A world with known keys. */
export const demo = (overrides: Partial<TestWorld> = {}): TestWorld => ({
  id: "demo",
  ...overrides,
  config: { JWT_secrets: [keyOf(overrides.id ?? "demo")], ...overrides.config },
});

/** High enough for tests of anything but limits. */
const UNLIMITED = { messagesPerSecond: 10_000, commandsPerSecond: 10_000 };

/**
 * Starts a server for a test. The server is closed with the test, which fails if the server logged
 * an error, or sent a frame or an answer that its AsyncAPI and OpenAPI documents do not allow.
 */
export async function startServer(t: Test, options: ServerOptions = {}): Promise<Server> {
  const { processes = 0 } = options;
  // Workers place sockets in it, and socket paths must be short.
  const dataDir = options.dataDir ?? (processes > 0 ? shortFolder(t) : testdir(t));
  const { engine } = options;
  const own = engine === "own" ? await (await import("./servers/stack.js")).startOwn(t) : undefined;
  if (engine !== undefined) chooseEngine(dataDir, own?.env ?? (engine as Engine));
  if (options.dataDir === undefined) {
    const worlds = (options.worlds ?? [demo()]).map(({ id, title, domain, config, ...rest }) => {
      const draft = draftWorld({ id, title: title ?? id, domain: domain ?? `${id}.localhost` });
      return { ...draft, ...rest, config: { ...draft.config, ...config } };
    });
    await putDatabase(dataDir, worlds);
  }
  const host =
    processes === 0
      ? await startHere(dataDir, options)
      : await startProcesses(t, dataDir, processes, options, own);
  const { baseUrls } = host;
  const clients = new Set<Client>();
  let closed: Promise<void> | undefined;
  const close = async () => {
    for (const { ws } of clients) ws.terminate();
    await host.close();
  };
  t.teardown(() => (closed ??= close()));
  let turn = 0;
  let guests = 0;

  async function logIn(world: string, credentials: object): Promise<Client> {
    const client = await server.connect(world);
    const answer = await client.login(credentials);
    if (answer[0] === "authenticated") return client;
    throw new Error(JSON.stringify(answer));
  }

  const people: Record<string, Client> = {};
  const server: Server = {
    baseUrl: baseUrls[0]!,
    port: Number(new URL(baseUrls[0]!).port),
    baseUrls,
    dataDir,
    people,
    log: host.log,
    routes: host.routes,
    processes: host.processes,
    get own() {
      if (!own) throw new Error("The engine of this server is not its own.");
      return own;
    },
    startNode: (env = {}) => host.startNode(env),
    get app() {
      return here(host.app);
    },
    get store() {
      return here(host.app).store;
    },
    call: (request) => host.call(request),
    async rest(method, path, body) {
      const token = server.tokenOf({ traits: ["admin", "api"], world: path.split("/", 1)[0]! });
      const url = `/api/v1/worlds/${path}`;
      const answer = await server.call({ method, url, as: `Bearer ${token}`, body });
      return { status: answer.status, body: answer.body ?? null };
    },
    tokenOf({ seconds = 3600, world = "demo", ...claims }) {
      const exp = Math.floor(Date.now() / 1000) + seconds;
      return tokenOf(keyOf(world), { ...claims, exp });
    },
    async connect(world = "demo", more = {}, baseUrl = baseUrls[turn++ % baseUrls.length]!) {
      const path = world.startsWith("/") ? world : `/ws/world/${world}/`;
      const address = baseUrl.replace("http", "ws");
      // Many tests count bytes, and compression would shrink repeated content to almost nothing.
      const conversation = new Conversation(await host.liveContract());
      const ws = new WebSocket(address + path, { perMessageDeflate: false, ...more });
      const client = new Client(ws, conversation, (fault) => t.fail(fault));
      clients.add(client);
      await once(ws, "open");
      return client;
    },
    person(person, ...traits) {
      const whole =
        typeof person === "string"
          ? { uid: person, traits, profile: { display_name: person } }
          : person;
      return logIn(whole.world ?? "demo", { token: server.tokenOf(whole) });
    },
    admin: (world = "demo") => server.person({ uid: "admin", traits: ["admin", "api"], world }),
    guest: (clientId = `guest-${++guests}`, world = "demo") =>
      logIn(world, { client_id: clientId }),
    async settled(world = "demo") {
      const { live, store } = server.app;
      const rooms = await store.rooms.all(world, { page: 1, pageSize: 500 });
      const ended = (place: string) =>
        new Promise<void>((resolve) => live.outboxes.at(place).add(async () => resolve()));
      await Promise.all([world, ...rooms.map(({ value }) => value.id)].map(ended));
    },
    command: (...args) => foyer(dataDir, args),
    restart: (signal = "SIGTERM", index) => host.restart(signal, index),
    close: () => (closed ??= close()),
  };
  // Not enumerable, because these getters throw when a test spreads the server.
  for (const name of ["own", ...(host.app ? [] : ["app", "store"])]) {
    Object.defineProperty(server, name, { enumerable: false });
  }
  const { people: wanted = {} } = options;
  const named: [string, Person | string][] = isList(wanted)
    ? wanted.map((name) => [name, name])
    : Object.entries(wanted);
  for (const [name, person] of named) people[name] = await server.person(person);
  return server;
}

const isList = (people: NonNullable<ServerOptions["people"]>): people is readonly string[] =>
  Array.isArray(people);

/** The parts of a server that {@link startServer} needs, however the server runs. */
interface Host {
  readonly baseUrls: readonly string[];
  readonly app?: FastifyInstance;
  readonly log: Json[];
  readonly routes: ReadonlySet<string>;
  readonly processes: readonly ServerNode[];
  startNode(env: Record<string, string>): Promise<ServerNode>;
  call(request: Request): Promise<Answer>;
  liveContract(): Promise<LiveContract>;
  restart(signal: NodeJS.Signals, index?: number): Promise<void>;
  close(): Promise<void>;
}

function here(app: FastifyInstance | undefined): FastifyInstance {
  if (!app) throw new Error("The server runs in processes of its own.");
  return app;
}

async function startHere(dataDir: string, options: ServerOptions): Promise<Host> {
  const {
    env = {},
    config,
    limits,
    faults,
    health,
    lockTimeout,
    setup,
    extend,
    callEngines,
  } = options;
  const log: Json[] = [];
  const lines = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      log.push(JSON.parse(line));
      done();
    },
  });
  const given = loadConfig(env);
  const engines =
    options.engines ??
    (await openEngines({
      ...(await enginesOf(dataDir)),
      dataDir,
      prepares: !options.threads,
      ...(lockTimeout !== undefined && { lockTimeout }),
    }));
  const { store } = engines;
  const app = createApp({
    config: {
      ...given,
      dataDir,
      drainTimeoutsMs: { stop: 500, close: 500 },
      // The machine is busy with other tests.
      load: { ...given.load, eventLoopDelay: 0 },
      ...config,
      live: { ...given.live, ...UNLIMITED, ...config?.live, ...limits },
    },
    engines: {
      ...engines,
      store: faults ? faults.wrap(store) : store,
      ...(health && { health }),
    },
    logger: options.logger ?? pino({ level: "warn" }, lines),
    ...(setup && { setup }),
    ...(callEngines && { callEngines }),
  });
  const routes = new Set<string>();
  app.addHook("onRoute", ({ method, url }) => {
    for (const name of [method].flat()) routes.add(`${name} ${url}`);
  });
  extend?.(app);
  try {
    await app.listen({ host: "127.0.0.1", port: 0 });
  } catch (error) {
    await app.close();
    throw error;
  }
  const { port } = app.server.address() as AddressInfo;
  return {
    baseUrls: [`http://127.0.0.1:${port}`],
    app,
    log,
    routes,
    processes: [],
    startNode: () => Promise.reject(new Error("The server runs in the process of the test.")),
    call: (request) => call(app, request),
    liveContract: async () => liveContractOf(app),
    restart: () => Promise.reject(new Error("The server runs in the process of the test.")),
    async close() {
      await app.close();
      const errors = log.filter(({ level }) => level >= 50);
      if (errors.length > 0 && !options.mayLogErrors) throw new Error(JSON.stringify(errors));
    },
  };
}

async function startProcesses(
  t: Test,
  dataDir: string,
  count: number,
  { env = {}, args = [], ...rest }: ServerOptions,
  own: OwnServers | undefined,
): Promise<Host> {
  const shared = engineOf(dataDir) !== "sqlite";
  const variables = {
    LIVE_MESSAGES_PER_SECOND: "10000",
    LIVE_COMMANDS_PER_SECOND: "10000",
    ...(!shared && count > 1 && { WORKERS: String(count) }),
    ...env,
  };
  const only = [
    "config",
    "limits",
    "faults",
    "engines",
    "extend",
    "setup",
    "logger",
    "callEngines",
  ] as const;
  const wrong = only.filter((name) => rest[name] !== undefined);
  if (wrong.length > 0) throw new Error(`In the process of the test only: ${wrong.join()}`);
  async function startNode(more: Record<string, string>): Promise<ServerNode> {
    const all = { ...variables, ...more };
    if (!own) return { ...(await startFoyer(t, dataDir, args, all)), dataDir };
    const { ownOfNode } = await import("./servers/stack.js");
    const node = await ownOfNode(t, own);
    const started = await startFoyer(t, node.dataDir, args, { ...node.variables, ...all });
    // Tests kill nodes with signals, so an exit code means that the process failed.
    void started.finished.then(({ code, stderr }) => {
      if (code) t.fail(`a node ended with ${code}: ${stderr}`);
    });
    return { ...started, ...node };
  }
  const nodes = Array.from({ length: shared ? count : 1 }, () => startNode({}));
  const processes = await Promise.all(nodes);
  const baseUrls = processes.map(({ local }) => local);
  const chosen = (index?: number) => processes.filter((_, i) => i === (index ?? i));
  async function end(signal: NodeJS.Signals, index?: number): Promise<void> {
    for (const one of chosen(index)) one.signal(signal);
    await Promise.all(chosen(index).map(({ finished }) => finished));
  }
  const document = async (name: string) => {
    const answer = await fetch(`${baseUrls[0]}/api/v1/${name}.json`);
    return (await answer.json()) as JsonObject;
  };
  let contract: Promise<Contract> | undefined;
  let live: Promise<LiveContract> | undefined;
  let turn = 0;
  return {
    baseUrls,
    log: [],
    routes: new Set(),
    processes,
    startNode,
    async call({ method = "GET", url, as, headers = {}, body }) {
      const raw = typeof body === "string" || body instanceof Uint8Array;
      const response = await fetch(baseUrls[turn++ % baseUrls.length]! + url, {
        method,
        headers: {
          ...(as !== undefined && { authorization: as }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: raw ? (body as string) : JSON.stringify(body) }),
      });
      const text = await response.text();
      const isJson = /json/.test(response.headers.get("content-type") ?? "");
      const answer: Answer = {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: isJson && text !== "" ? (JSON.parse(text) as unknown) : undefined,
        text,
      };
      contract ??= document("openapi").then((found) => new Contract(found));
      (await contract).check(method, url, answer);
      return answer;
    },
    liveContract: () => (live ??= document("asyncapi").then(strictContract)),
    async restart(signal, index) {
      await end(signal, index);
      await Promise.all(
        chosen(index).map(async (old) => {
          processes[processes.indexOf(old)] = await startNode({ PORT: `${old.port}` });
        }),
      );
    },
    // The test's servers may be down, and nodes would wait for them.
    close: () => end(own ? "SIGKILL" : "SIGTERM"),
  };
}
