import { setTimeout as delay } from "node:timers/promises";
import type { WebSocket } from "ws";
import type { Conversation } from "./contract.js";

/** Default timeout for a frame, in milliseconds. */
const FRAME_TIMEOUT_MS = 30_000;

/** A parsed frame. */
export type Frame = [name: string, ...rest: unknown[]];

/** A JSON value of unchecked shape. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** Describes how a connection was closed. */
export interface Closed {
  code: number;
}

/** A websocket that checks each received frame and queues it until a caller consumes it. */
export class Client {
  /** The data of the `authenticated` frame. */
  hello: Json;
  /** The id of the logged-in user. */
  id = "";
  /** Resolves when the connection is closed. */
  readonly closed: Promise<Closed>;
  /** Time at which the last frame arrived, in milliseconds since 1970. */
  lastReceivedAt = 0;
  /** Received frames that no caller has consumed yet. */
  readonly #queue: { frame: Frame; text: string }[] = [];
  /** Callbacks of callers waiting for a frame. */
  readonly #waiting = new Set<() => void>();
  #isClosed = false;
  #count = 0;

  constructor(
    readonly ws: WebSocket,
    /** Checks every frame against the AsyncAPI document. */
    readonly conversation: Conversation,
    /** Called when the server sends something invalid. */
    public onFault: (message: string) => void,
    /** Timeout for a frame, in milliseconds. */
    readonly timeout = FRAME_TIMEOUT_MS,
  ) {
    ws.on("message", (data) => this.#received((data as Buffer).toString()));
    ws.on("error", () => {});
    this.closed = new Promise((resolve) => {
      ws.once("close", (code) => {
        this.#isClosed = true;
        this.#wake();
        resolve({ code });
      });
    });
  }

  #received(text: string): void {
    this.lastReceivedAt = Date.now();
    try {
      this.conversation.received(text);
    } catch (error) {
      this.onFault((error as Error).message);
    }
    const frame = frameOf(text);
    if (frame) this.#queue.push({ frame, text });
    this.#wake();
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Sends a raw message. */
  send(data: string | Buffer): void {
    try {
      this.conversation.sent(data);
    } catch {
      // The message is nested too deeply to be echoed, so the server treats the message like a
      // message without an id.
      this.conversation.sent(Buffer.alloc(0));
    }
    this.ws.send(data);
  }

  /** Sends an array as JSON. */
  sendFrame(...elements: unknown[]): void {
    this.send(JSON.stringify(elements));
  }

  /** Sends a command, and returns the complete response frame. */
  async call(action: string, payload: unknown = null): Promise<Frame> {
    const id = ++this.#count;
    this.sendFrame(action, id, payload);
    return this.#take(
      `the answer to ${action}`,
      ({ length, 0: name, 1: echoed }) =>
        length === 3 && (name === "success" || name === "error") && echoed === id,
    );
  }

  /** Waits for the response to a command that was sent with an id. */
  answered(id: unknown): Promise<Frame> {
    return this.#take(
      `the answer with ${JSON.stringify(id)}`,
      (frame) => frame.length === 3 && frame[1] === id,
    );
  }

  /** Runs a command that must succeed, and returns its result. */
  async do(action: string, payload: unknown = null): Promise<Json> {
    const [name, , result] = await this.call(action, payload);
    if (name === "success") return result;
    const { code } = result as { code: string };
    throw Object.assign(new Error(`${action}: ${JSON.stringify(result)}`), { code });
  }

  /** Runs a command, and returns its error code, or `ok` if it succeeds. */
  async code(action: string, payload: unknown = null): Promise<string> {
    const [name, , result] = await this.call(action, payload);
    return name === "success" ? "ok" : (result as { code: string }).code;
  }

  /**
   * Logs in.
   * @returns the response: `authenticated` or an error.
   */
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

  /** Waits for the next frame of any kind. */
  frame(): Promise<Frame> {
    return this.#take("a frame", () => true);
  }

  /** Waits for the next `count` frames of any kind. */
  async frames(count: number): Promise<Frame[]> {
    const frames: Frame[] = [];
    while (frames.length < count) frames.push(await this.frame());
    return frames;
  }

  /** Returns the raw text of the next frame. */
  async text(): Promise<string> {
    const take = () => this.#queue.shift()!.text;
    return this.#until("a frame", () => true, take);
  }

  /** Waits for the next push with the given name, and returns its data. Other frames stay queued. */
  async next(name: string, matches: (data: Json) => boolean = () => true): Promise<Json> {
    const [, data] = await this.#take(
      name,
      (frame) => frame.length === 2 && frame[0] === name && matches(frame[1]),
    );
    return data;
  }

  /**
   * Consumes all received frames. Sends a ping first: frames that the server has already decided to
   * send arrive before the pong.
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

  /** Consumes all queued frames of a connection that has ended. */
  rest(): Frame[] {
    return this.#queue.splice(0).map(({ frame }) => frame);
  }

  /** Waits until the server has responded to a ping. Other frames stay queued. */
  async reached(): Promise<void> {
    const mark = `mark ${++this.#count}`;
    this.sendFrame("ping", mark);
    await this.#take("pong", ([name, data]) => name === "pong" && data === mark);
  }

  /** Waits until `count` frames are queued, the connection ends, or the timeout expires. */
  async gathers(count: number): Promise<void> {
    const ends = Date.now() + this.timeout;
    while (this.#queue.length < count && !this.#isOver(ends)) {
      await this.#woken(ends);
    }
  }

  /**
   * Waits for a push, and leaves it queued.
   * @returns whether the push arrived.
   */
  async sees(name: string, matches: (data: Json) => boolean): Promise<boolean> {
    const ends = Date.now() + this.timeout;
    const has = () =>
      this.#queue.some(({ frame }) => frame.length === 2 && frame[0] === name && matches(frame[1]));
    while (!has() && !this.#isOver(ends)) await this.#woken(ends);
    return has();
  }

  /** Returns the names of all received frames; see {@link all}. */
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
   * @param take receives the frame's index in the queue. `take` is called synchronously, before
   * other waiting callers can consume the frame.
   */
  async #until<T>(
    what: string,
    is: (frame: Frame) => boolean,
    take: (at: number) => T,
  ): Promise<T> {
    const ends = Date.now() + this.timeout;
    for (;;) {
      const at = this.#queue.findIndex(({ frame }) => is(frame));
      if (at >= 0) return take(at);
      if (this.#isOver(ends)) {
        const why = this.#isClosed ? "closed" : "too late";
        const came = this.#queue.map(({ text }) => text.slice(0, 200));
        throw new Error(`${what} did not come (${why}); but ${came.join()}`);
      }
      await this.#woken(ends);
    }
  }

  #isOver(ends: number): boolean {
    return this.#isClosed || Date.now() >= ends;
  }

  /** Waits until a frame arrives or the connection ends, but not beyond a deadline. */
  async #woken(ends: number): Promise<void> {
    const signal = new AbortController();
    await Promise.race([
      new Promise<void>((resolve) => this.#waiting.add(resolve)),
      delay(ends - Date.now(), undefined, signal).catch(() => {}),
    ]);
    signal.abort();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

/** Parses a frame. Returns undefined if the text is not a frame. */
function frameOf(text: string): Frame | undefined {
  try {
    const frame = JSON.parse(text) as unknown;
    return Array.isArray(frame) ? (frame as Frame) : undefined;
  } catch {
    return undefined;
  }
}

/** Awaits a promise, and rejects if the promise does not settle in time. */
export async function soon<T>(promise: Promise<T>, milliseconds = FRAME_TIMEOUT_MS): Promise<T> {
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
