import { setTimeout as delay } from "node:timers/promises";
import type { WebSocket } from "ws";
import type { Conversation } from "./contract.js";

/** How long a client waits for a frame by default, in milliseconds. */
const FRAME_TIMEOUT_MS = 30_000;

/** A frame as JSON.parse gave it. */
export type Frame = [name: string, ...rest: unknown[]];

/** A JSON value, whose fields the caller reads. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

/** How a connection ended. */
export interface Closed {
  code: number;
}

/** One websocket. It checks each frame that comes, and keeps it until a caller takes it. */
export class Client {
  /** The data of `authenticated`. */
  hello: Json;
  /** The id of the user who logged in. */
  id = "";
  /** When the connection ended. */
  readonly closed: Promise<Closed>;
  /** When the last frame came, in milliseconds since 1970. */
  lastCame = 0;
  /** The frames that came and that no caller has taken yet. */
  readonly #queue: { frame: Frame; text: string }[] = [];
  /** The callers that wait for a frame. */
  readonly #waiting = new Set<() => void>();
  #isClosed = false;
  #count = 0;

  constructor(
    readonly ws: WebSocket,
    /** Holds every frame against the AsyncAPI document. */
    readonly conversation: Conversation,
    /** Called when the server sends something that it should not. */
    public onFault: (message: string) => void,
    /** How long it waits for a frame, in milliseconds. */
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
    this.lastCame = Date.now();
    try {
      this.conversation.received(text);
    } catch (error) {
      this.onFault((error as Error).message);
    }
    const frame = frameOf(text);
    if (frame) this.#queue.push({ frame, text });
    this.#wake();
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
        length === 3 && (name === "success" || name === "error") && echoed === id,
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
    const { code } = result as { code: string };
    throw Object.assign(new Error(`${action}: ${JSON.stringify(result)}`), { code });
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

  /** The next frame of any kind. */
  frame(): Promise<Frame> {
    return this.#take("a frame", () => true);
  }

  /** The next frames of any kind. */
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
  async next(name: string, matches: (data: Json) => boolean = () => true): Promise<Json> {
    const [, data] = await this.#take(
      name,
      (frame) => frame.length === 2 && frame[0] === name && matches(frame[1]),
    );
    return data;
  }

  /**
   * Takes all frames that have come. Frames that the server has already decided to send
   * come before the answer to a ping.
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

  /** Waits until the server answers a ping. Everything else stays for later. */
  async reached(): Promise<void> {
    const mark = `mark ${++this.#count}`;
    this.sendFrame("ping", mark);
    await this.#take("pong", ([name, data]) => name === "pong" && data === mark);
  }

  /** Waits until so many frames have come, for as long as the connection lives and its timeout allows. */
  async gathers(count: number): Promise<void> {
    const ends = Date.now() + this.timeout;
    while (this.#queue.length < count && !this.#isOver(ends)) {
      await this.#woken(ends);
    }
  }

  /**
   * Waits for a push, which stays for later.
   * @returns whether it came.
   */
  async sees(name: string, matches: (data: Json) => boolean): Promise<boolean> {
    const ends = Date.now() + this.timeout;
    const has = () =>
      this.#queue.some(({ frame }) => frame.length === 2 && frame[0] === name && matches(frame[1]));
    while (!has() && !this.#isOver(ends)) await this.#woken(ends);
    return has();
  }

  /** The names of the frames that have come; see {@link all}. */
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

  /** Waits until a frame comes or the connection ends, but not beyond a time. */
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

/** A frame; undefined if the text is none. */
function frameOf(text: string): Frame | undefined {
  try {
    const frame = JSON.parse(text) as unknown;
    return Array.isArray(frame) ? (frame as Frame) : undefined;
  } catch {
    return undefined;
  }
}

/** Fails unless a promise settles soon. */
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
