import { configOf } from "../stack.js";
import { setTimeout as delay } from "node:timers/promises";
import { Writable } from "node:stream";
import { pino } from "pino";
import type { Test } from "tap";
import { type ClientOptions, WebSocket } from "ws";
import { type LiveLimits, loadConfig } from "../../config.js";
import {
  startTestServer,
  type TestServer,
  type TestWorld,
} from "../../testing.js";
import { putPrepared } from "../database.js";
import { keyOf, tokenOf } from "../helper.js";
import { Conversation, type LiveContract, liveContractOf } from "./contract.js";
import { testdir } from "../testdir.js";

/** How long a test waits for a frame, in milliseconds. */
const DEADLINE = 30_000;

/** A frame as JSON.parse gave it. */
export type Frame = [name: string, ...rest: unknown[]];

/** An object of JSON, whose fields a test looks into. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

/** How a connection ended. */
export interface Closed {
  code: number;
}

/** One websocket of a test. */
export class Client {
  /** What `authenticated` said. */
  hello: Json;
  /** The id of the user who logged in. */
  id = "";
  /** When the connection ended. */
  readonly closed: Promise<Closed>;
  /** What came and no test has taken yet. */
  readonly #queue: { frame: Frame; text: string }[] = [];
  /** Those who wait for a frame. */
  readonly #waiting = new Set<() => void>();
  #isClosed = false;
  #count = 0;

  constructor(
    readonly ws: WebSocket,
    /** Holds every frame against the AsyncAPI document. */
    readonly conversation: Conversation,
    /** Called when the server sends something that it should not. */
    public onFault: (message: string) => void,
  ) {
    ws.on("message", (data) => {
      const text = (data as Buffer).toString();
      try {
        this.conversation.received(text);
      } catch (error) {
        this.onFault((error as Error).message);
      }
      this.#queue.push({ frame: JSON.parse(text) as Frame, text });
      this.#wake();
    });
    ws.on("error", () => {});
    this.closed = new Promise((resolve) => {
      ws.once("close", (code) => {
        this.#isClosed = true;
        this.#wake();
        resolve({ code });
      });
    });
  }

  /** Whether the connection has not ended. */
  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Sends a message as it is. */
  send(data: string | Buffer): void {
    try {
      this.conversation.sent(data);
    } catch {
      // Nested too deep to be echoed: it is answered like a message without an id.
      this.conversation.sent(Buffer.alloc(0));
    }
    this.ws.send(data);
  }

  /** Sends an array as JSON. */
  sendFrame(...elements: unknown[]): void {
    this.send(JSON.stringify(elements));
  }

  /** Sends a command, and waits for its answer: the whole frame. */
  async call(action: string, payload: unknown = null): Promise<Frame> {
    const id = ++this.#count;
    this.sendFrame(action, id, payload);
    return this.#take(
      `the answer to ${action}`,
      ({ length, 0: name, 1: echoed }) =>
        length === 3 &&
        (name === "success" || name === "error") &&
        echoed === id,
    );
  }

  /** The answer to a command that was sent with an id. */
  answered(id: unknown): Promise<Frame> {
    return this.#take(
      `the answer with ${JSON.stringify(id)}`,
      (frame) => frame.length === 3 && frame[1] === id,
    );
  }

  /** The result of a command that must succeed. */
  async do(action: string, payload: unknown = null): Promise<Json> {
    const [name, , result] = await this.call(action, payload);
    if (name === "success") return result;
    throw new Error(`${action}: ${JSON.stringify(result)}`);
  }

  /** The code of a command that must fail; `ok` if it does not. */
  async code(action: string, payload: unknown = null): Promise<string> {
    const [name, , result] = await this.call(action, payload);
    return name === "success" ? "ok" : (result as { code: string }).code;
  }

  /** Logs in. @returns the answer: `authenticated` or an error. */
  async login(payload: object): Promise<Frame> {
    this.sendFrame("authenticate", payload);
    const answer = await this.#take("the answer to authenticate", ([name]) =>
      ["authenticated", "error"].includes(name),
    );
    if (answer[0] === "authenticated") {
      this.hello = answer[1];
      this.id = this.hello["user.config"].id as string;
    }
    return answer;
  }

  /** The next frame, of whatever kind. */
  frame(): Promise<Frame> {
    return this.#take("a frame", () => true);
  }

  /** The next frames, of whatever kind. */
  async frames(count: number): Promise<Frame[]> {
    const frames: Frame[] = [];
    while (frames.length < count) frames.push(await this.frame());
    return frames;
  }

  /** The text of the next frame. */
  async text(): Promise<string> {
    const take = () => this.#queue.shift()!.text;
    return this.#until("a frame", () => true, take);
  }

  /** The data of the next push of a name; others stay for later. */
  async next(
    name: string,
    matches: (data: Json) => boolean = () => true,
  ): Promise<Json> {
    const [, data] = await this.#take(
      name,
      (frame) =>
        frame.length === 2 && frame[0] === name && matches(frame[1] as Json),
    );
    return data;
  }

  /**
   * Takes everything that has come. What the server has decided to send before comes
   * before the answer to a ping.
   */
  async all(): Promise<Frame[]> {
    const mark = `mark ${++this.#count}`;
    this.sendFrame("ping", mark);
    const before = await this.#until(
      "pong",
      ([name, data]) => name === "pong" && data === mark,
      (at) => this.#queue.splice(0, at + 1).slice(0, -1),
    );
    return before.map(({ frame }) => frame);
  }

  /** Takes everything that has come by now, for a connection that has ended. */
  rest(): Frame[] {
    return this.#queue.splice(0).map(({ frame }) => frame);
  }

  /** The names of what has come; see {@link all}. */
  async names(): Promise<string[]> {
    return (await this.all()).map(([name]) => name);
  }

  close(): void {
    this.ws.close();
  }

  async #take(what: string, is: (frame: Frame) => boolean): Promise<Frame> {
    return this.#until(what, is, (at) => this.#queue.splice(at, 1)[0]!.frame);
  }

  /**
   * Waits for a frame.
   * @param take gets where it is in the queue. It is called at once, as others may
   *   wait as well.
   */
  async #until<T>(
    what: string,
    is: (frame: Frame) => boolean,
    take: (at: number) => T,
  ): Promise<T> {
    const ends = Date.now() + DEADLINE;
    for (;;) {
      const at = this.#queue.findIndex(({ frame }) => is(frame));
      if (at >= 0) return take(at);
      const left = ends - Date.now();
      if (this.#isClosed || left <= 0) {
        const why = this.#isClosed ? "closed" : "too late";
        const came = this.#queue.map(({ text }) => text.slice(0, 200));
        throw new Error(`${what} did not come (${why}); but ${came.join()}`);
      }
      const signal = new AbortController();
      await Promise.race([
        new Promise<void>((resolve) => this.#waiting.add(resolve)),
        delay(left, undefined, signal).catch(() => {}),
      ]);
      signal.abort();
    }
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

/** Somebody with a token. */
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
  /** Opens a websocket for somebody with a token. */
  person(person: Person, world?: string): Promise<Client>;
  /** Opens a websocket for somebody with the traits of an administrator. */
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
    const ws = new WebSocket(`ws://127.0.0.1:${port}${url}`, options);
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
      const { effects } = server.app.live;
      const ended = (place: string) =>
        new Promise<void>((resolve) =>
          effects.inOrder(place, async () => resolve()),
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

/** Fails unless a promise settles soon. */
export async function soon<T>(
  promise: Promise<T>,
  milliseconds = DEADLINE,
): Promise<T> {
  const signal = new AbortController();
  const late = delay(milliseconds, undefined, signal).then(() => {
    throw new Error(`not within ${milliseconds} ms`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([promise, late]);
  } finally {
    signal.abort();
  }
}
