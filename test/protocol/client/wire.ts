import { WebSocket } from "ws";
import type { SocketClass } from "../../../client/index.js";
import type { Json } from "../../../conformance/client.js";
import { until } from "../../support/helper.js";

/** The network's treatment of a client's frame. */
export type Fate =
  /** The frame and its response arrive. */
  | "arrives"
  /** The connection breaks before the frame arrives. */
  | "lost"
  /** The frame arrives, but the connection breaks before the response. */
  | "unanswered"
  /** The frame arrives, but from then on the client receives nothing. */
  | "ignored"
  /** The frame arrives, but its response is lost. The connection stays open. */
  | "unheard"
  /** The frame is lost. The connection stays open. */
  | "swallowed"
  /** The client receives an error, as from a busy server. The server receives the frame only if it `arrives`. */
  | { readonly error: string; readonly arrives?: boolean };

type Frame = unknown[];

/** The same options as the client's, so that promises settle between two frames. */
const OPTIONS = { closeTimeout: 1000, allowSynchronousEvents: false };

/** A network between clients and a real server that a test can interrupt. */
export class Wire {
  /** Whether new connections fail. */
  isDown = false;
  attempts = 0;
  readonly sent: Frame[] = [];
  /** The names of successful commands. */
  readonly #answered: string[] = [];
  /** Decides the fate of a frame by its name. A frame is held until the returned promise resolves. */
  fate: (name: string, payload: Json) => Fate | Promise<Fate> = () => "arrives";
  /** Modifies a frame from the server, or drops it by returning undefined. */
  change: (frame: Frame) => Frame | undefined = (frame) => frame;
  readonly #sockets = new Set<Wired>();
  /** The `WebSocket` option for clients that use this wire. */
  readonly socketClass: SocketClass;

  constructor() {
    const opened = (socket: Wired) => {
      this.attempts++;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      if (this.isDown) socket.terminate();
    };
    const meet = (frame: Frame) => {
      this.sent.push(frame);
      return this.fate(String(frame[0]), frame[2] ?? {});
    };
    const came = (frame: Frame, command: string | undefined) => {
      if (command && frame[0] === "success") this.#answered.push(command);
      return this.change(frame);
    };
    this.socketClass = class extends Wired {
      constructor(url: string) {
        super(url, meet, came);
        opened(this);
      }
    } as unknown as SocketClass;
  }

  get names(): unknown[] {
    return this.sent.map(([name]) => name);
  }

  count(name: string): number {
    return this.names.filter((it) => it === name).length;
  }

  /** Waits until a command has succeeded this many times in total. */
  async answers(name: string, times = 1): Promise<void> {
    await until(() => this.#answered.filter((it) => it === name).length >= times);
  }

  drop(): void {
    for (const socket of this.#sockets) socket.terminate();
  }

  /** Breaks all connections, and prevents new ones until {@link restore}. */
  cut(): void {
    this.isDown = true;
    this.drop();
  }

  restore(): void {
    this.isDown = false;
  }

  /** Closes the connections with a code and reason, as if the server had. */
  close(code: number, reason = ""): void {
    for (const socket of this.#sockets) {
      socket.emit("close", code, Buffer.from(reason));
      socket.terminate();
    }
  }

  /** Delivers frames that the server has not sent. Text and bytes are passed on unchanged. */
  async deliver(...frames: (Frame | string | Buffer)[]): Promise<void> {
    for (const frame of frames) {
      await new Promise(setImmediate);
      for (const socket of this.#sockets) socket.take(frame);
    }
  }
}

/** The WebSocket of a {@link Wire}. */
class Wired extends WebSocket {
  /** The names of unanswered commands, by id. */
  readonly #open = new Map<unknown, string>();
  readonly #muted = new Set<unknown>();
  /** The id of the command whose response breaks the connection. */
  #breaking: unknown;
  #isDeaf = false;
  /** Sent frames whose fate is pending. */
  #line: Promise<void> | undefined;

  constructor(
    url: string,
    readonly meet: (frame: Frame) => Fate | Promise<Fate>,
    readonly came: (frame: Frame, command?: string) => Frame | undefined,
  ) {
    super(url, OPTIONS);
  }

  override send(data: string): void {
    const frame = JSON.parse(data) as Frame;
    const fate = this.meet(frame);
    if (!this.#line && !(fate instanceof Promise)) {
      return this.#pass(frame, data, fate);
    }
    const before = this.#line ?? Promise.resolve();
    this.#line = before.then(async () => this.#pass(frame, data, await fate));
  }

  #pass(frame: Frame, data: string, fate: Fate): void {
    const [name] = frame;
    const isLogin = name === "authenticate";
    const id = isLogin ? "authenticated" : frame[1];
    if (fate === "lost") return this.terminate();
    if (fate === "swallowed" || this.readyState !== this.OPEN) return;
    if (typeof fate === "object") {
      const problem = { code: fate.error, message: "No." };
      setImmediate(() => this.take(isLogin ? ["error", problem] : ["error", id, problem]));
      if (!fate.arrives) return;
    }
    if (fate === "unheard" || typeof fate === "object") this.#muted.add(id);
    if (fate === "unanswered") this.#breaking = id;
    if (fate === "ignored") this.#isDeaf = true;
    this.#open.set(id, String(name));
    super.send(data);
  }

  override emit(event: string, ...values: unknown[]): boolean {
    if (event !== "message") return super.emit(event, ...values);
    if (this.#isDeaf) return false;
    const frame = JSON.parse(String(values[0])) as Frame;
    const id = frame.length === 3 ? frame[1] : frame[0];
    if (this.#breaking !== undefined && this.#breaking === id) {
      this.terminate();
      this.#isDeaf = true;
      return false;
    }
    if (this.#muted.delete(id)) return false;
    const changed = this.came(frame, this.#open.get(id));
    this.#open.delete(id);
    return changed !== undefined && this.take(changed);
  }

  take(frame: Frame | string | Buffer): boolean {
    const isBinary = frame instanceof Buffer;
    const data = isBinary
      ? frame
      : Buffer.from(typeof frame === "string" ? frame : JSON.stringify(frame));
    return super.emit("message", data, isBinary);
  }
}
