import { configOf } from "../stack.js";
import { Writable } from "node:stream";
import { pino } from "pino";
import type { Test } from "tap";
import { type ClientOptions, WebSocket } from "ws";
import { type LiveLimits, loadConfig } from "../../config.js";
import { Client, type Json } from "../../conformance/client.js";
import {
  startTestServer,
  type TestServer,
  type TestWorld,
} from "../../testing.js";
import { putPrepared } from "../database.js";
import { keyOf, tokenOf } from "../helper.js";
import { Conversation, type LiveContract, liveContractOf } from "./contract.js";
import { testdir } from "../testdir.js";

export { Client, type Frame, type Json } from "../../conformance/client.js";
export { soon } from "../../conformance/soon.js";

/** A user with a token. */
export interface Person {
  uid?: string | number;
  traits?: string[];
  profile?: Record<string, unknown>;
  pretalx_id?: string;
  /** For how many seconds from now the token is valid. */
  seconds?: number;
}

/** A server with websockets, and who talks to it. */
export interface LiveServer extends TestServer {
  readonly dataDir: string;
  readonly port: number;
  /** Every entry of the log from warnings on. */
  readonly log: Json[];
  /** Opens a websocket. */
  connect(world?: string, options?: ClientOptions): Promise<Client>;
  /** A token for a world. */
  tokenOf(person: Person, world?: string): string;
  /** Opens a websocket for a user with a token. */
  person(person: Person, world?: string): Promise<Client>;
  /** Opens a websocket for a user with the traits of an administrator. */
  admin(world?: string): Promise<Client>;
  /** Opens a websocket for a guest; a new one by default. */
  guest(clientId?: string | number, world?: string): Promise<Client>;
  /** Sends a request as an administrator. */
  rest(method: string, path: string, body?: unknown): Promise<RestAnswer>;
  /** Waits until everything is sent that follows from what was committed. */
  settled(world?: string): Promise<void>;
}

export interface RestAnswer {
  status: number;
  body: Json;
}

/** A world whose keys a test knows. */
export const demo = (overrides: Partial<TestWorld> = {}): TestWorld => ({
  id: "demo",
  ...overrides,
  config: { JWT_secrets: [keyOf(overrides.id ?? "demo")], ...overrides.config },
});

/** The contract of all these servers: to describe one takes longer than to connect. */
let contract: LiveContract | undefined;

/**
 * Starts a server with worlds. It is closed with the test, which fails if the server
 * logged an error.
 * @param limits what differs from the defaults.
 */
export async function startLive(
  t: Test,
  limits: Partial<LiveLimits> = {},
  worlds: TestWorld[] = [demo()],
): Promise<LiveServer> {
  const dataDir = testdir(t);
  await putPrepared(dataDir, `live ${JSON.stringify(worlds)}`, async (data) => {
    const first = await startTestServer({ config: await configOf(data) });
    for (const world of worlds) await first.createWorld(world);
    await first.close();
  });
  return serveLive(t, dataDir, limits);
}

/**
 * Starts a server like {@link startLive} on the engines of a data folder.
 * @param start starts it in another way.
 * @param mayFail whether the test passes although the server logs errors.
 */
export async function serveLive(
  t: Test,
  dataDir: string,
  limits: Partial<LiveLimits> = {},
  start = startTestServer,
  mayFail = false,
): Promise<LiveServer> {
  const defaults = loadConfig({});
  const log: Json[] = [];
  const lines = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      log.push(JSON.parse(line));
      done();
    },
  });
  const server = await start({
    config: {
      ...(await configOf(dataDir)),
      live: { ...defaults.live, ...limits },
      patience: { stop: 500, close: 500 },
      load: { ...defaults.load, eventLoopDelay: 0 },
    },
    logger: pino({ level: "warn" }, lines),
  });
  const clients = new Set<Client>();
  t.teardown(async () => {
    for (const { ws } of clients) ws.terminate();
    await server.close();
    const errors = log.filter(({ level }) => level >= 50);
    if (errors.length > 0 && !mayFail) throw new Error(JSON.stringify(errors));
  });
  const port = Number(new URL(server.baseUrl).port);
  let guests = 0;

  const open = (url: string, options: ClientOptions = {}): Promise<Client> => {
    // Most tests count bytes, and the content that they repeat takes few once it is compressed.
    const ws = new WebSocket(`ws://127.0.0.1:${port}${url}`, {
      perMessageDeflate: false,
      ...options,
    });
    contract ??= liveContractOf(server.app);
    const conversation = new Conversation(contract);
    const client = new Client(ws, conversation, (fault) => t.fail(fault));
    clients.add(client);
    return new Promise((resolve, reject) => {
      ws.once("open", () => resolve(client));
      ws.once("error", reject);
    });
  };
  const live: LiveServer = {
    ...server,
    dataDir,
    port,
    log,
    connect: (world = "demo", options) =>
      open(world.startsWith("/") ? world : `/ws/world/${world}/`, options),
    tokenOf({ seconds = 3600, ...claims }, world = "demo") {
      const exp = Math.floor(Date.now() / 1000) + seconds;
      return tokenOf(keyOf(world), { ...claims, exp });
    },
    async person(person, world = "demo") {
      const client = await live.connect(world);
      const token = live.tokenOf(person, world);
      const answer = await client.login({ token });
      if (answer[0] === "authenticated") return client;
      throw new Error(JSON.stringify(answer));
    },
    admin: (world) =>
      live.person({ uid: "admin", traits: ["admin", "api"] }, world),
    async guest(clientId = `guest-${++guests}`, world = "demo") {
      const client = await live.connect(world);
      const answer = await client.login({ client_id: clientId });
      if (answer[0] === "authenticated") return client;
      throw new Error(JSON.stringify(answer));
    },
    async rest(method, path, body) {
      const world = path.split("/", 1)[0]!;
      const token = live.tokenOf({ traits: ["admin", "api"] }, world);
      const answer = await fetch(`${server.baseUrl}/api/v1/worlds/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      const isJson = text !== "";
      return { status: answer.status, body: isJson ? JSON.parse(text) : null };
    },
    async settled(world = "demo") {
      const { lines } = server.app.live;
      const ended = (place: string) =>
        new Promise<void>((resolve) =>
          lines.inOrder(place, async () => resolve()),
        );
      const { store } = server.app;
      const rooms = await store.rooms.all(world, { page: 1, pageSize: 500 });
      await Promise.all(
        [world, ...rooms.map(({ value }) => value.id)].map(ended),
      );
    },
  };
  return live;
}

/** Sends commands all at once. @returns the codes of their answers. */
export async function codesOf(
  client: Client,
  commands: [action: string, payload: object][],
): Promise<string[]> {
  commands.forEach(([action, payload], i) =>
    client.sendFrame(action, `c${i}`, payload),
  );
  const codes: string[] = [];
  for (const i of commands.keys()) {
    const [name, , result] = await client.answered(`c${i}`);
    codes.push(name === "success" ? "ok" : (result as { code: string }).code);
  }
  return codes;
}

/** Creates a room by REST. @returns its id. */
export async function makeRoom(
  { app }: LiveServer,
  draft: Record<string, unknown> = {},
  world = "demo",
): Promise<string> {
  const { value } = await app.store.rooms.create(world, {
    name: "Main stage",
    ...draft,
  });
  return value.id;
}

/**
 * Makes the clock stand still by which the server counts rates, and how long ago it
 * pushed what changes often, so that a test may take as long as it takes.
 * @returns a function that lets it run again.
 */
export function holdRates(t: Test): () => void {
  const now = performance.now();
  const { restore } = t.intercept(performance, "now", { value: () => now });
  return restore;
}
