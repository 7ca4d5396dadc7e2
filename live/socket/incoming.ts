import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { constants, inflateRawSync } from "node:zlib";
import type { RawData, WebSocket } from "ws";
import { type Clock, detach } from "../../db/runtime.js";
import { Close } from "./frame.js";

// Handles compressed messages (RFC 7692). The ws library could do so as well, but would keep a
// compressor of 100 KB per connection, and use a thread even for a message of a hundred bytes.

const NAME = "permessage-deflate";

/**
 * The response to an offer of compression. Neither side refers to earlier messages, so neither side
 * has to keep them.
 */
export const ACCEPTED = `${NAME}; server_no_context_takeover; client_no_context_takeover`;

/** The parameters that this server supports in an offer. A client may use any of these parameters. */
const KNOWN =
  /^(?:server_no_context_takeover|client_no_context_takeover|client_max_window_bits(?:="?(?:[89]|1[0-5])"?)?|server_max_window_bits="?15"?)$/;

/** Whether a client offers compression that this server supports. */
export function offersDeflate({ headers }: IncomingMessage): boolean {
  const offers = headers["sec-websocket-extensions"];
  if (!offers?.includes(NAME)) return false;
  return offers.split(",").some((offer) => {
    const [name, ...parameters] = offer.split(";").map((text) => text.trim());
    if (name !== NAME) return false;
    const names = parameters.map((text) => text.split("=", 1)[0]);
    return parameters.every((text) => KNOWN.test(text)) && new Set(names).size === names.length;
  });
}

/** The end of a compressed message, which the sender omits (RFC 7692, section 7.2.2). */
const TAIL = Buffer.from([0, 0, 0xff, 0xff]);

type Done = (error: Error | null, bytes?: Buffer) => void;

/**
 * Inflates the messages of one connection, one at a time, because a chunk of a few KB may contain a
 * thousand messages that are large when inflated.
 */
export class Inflation {
  /** Maximum size of a message, in bytes. */
  most: number;
  /** Closes the connection. */
  onFault: (code: 1007 | 1009) => void = () => {};
  /** Whether the connection currently accepts no message. */
  isFull = (): boolean => false;
  #parts: Buffer[] = [];
  #waiting: (() => void) | undefined;

  constructor(most: number) {
    this.most = most;
  }

  /** Registers this object with a websocket, like the library's own extensions. */
  attach(ws: WebSocket): void {
    const { _extensions } = ws as unknown as {
      _extensions: Record<string, Inflation>;
    };
    _extensions[NAME] = this;
  }

  /**
   * Receives a fragment of a message.
   * @param isLast whether the message is complete.
   */
  decompress(bytes: Buffer, isLast: boolean, done: Done): void {
    this.#parts.push(bytes);
    this.#waiting = () => {
      if (isLast) this.#inflate(done);
      else done(null, Buffer.alloc(0));
    };
    this.resume();
  }

  /** Continues once the connection accepts messages again. */
  resume(): void {
    if (!this.#waiting) return;
    // The library continues with the next message within this call, and expects the call to be
    // asynchronous.
    const later = Promise.resolve().then(() => {
      const take = this.#waiting;
      if (!take || this.isFull()) return;
      this.#waiting = undefined;
      take();
    });
    detach(later);
  }

  /** Called by the library when the connection ends. */
  cleanup(): void {
    this.#parts = [];
    this.#waiting = undefined;
  }

  #inflate(done: Done): void {
    const bytes = Buffer.concat([...this.#parts, TAIL]);
    this.#parts = [];
    let message: Buffer;
    try {
      message = inflateRawSync(bytes, {
        finishFlush: constants.Z_SYNC_FLUSH,
        maxOutputLength: this.most,
      });
    } catch (error) {
      const { code } = error as { code?: string };
      this.onFault(code === "ERR_BUFFER_TOO_LARGE" ? 1009 : 1007);
      return done(new Error("A compressed message cannot be taken."));
    }
    done(null, message);
  }
}

/** Maximum number of waiting messages before the socket is paused. */
const MAX_WAITING = 64;

/** Maximum number of frames without a message in one chunk. If there are more, reading is paused. */
const MAX_IDLE_FRAMES = 64;

/** How long reading is paused after a chunk with too many frames without a message, in milliseconds. */
const READ_PAUSE_MS = 1000;

interface IncomingPorts {
  readonly clock: Clock;
  readonly metrics: { received(): void } | undefined;
}

/** The connection that receives the messages. */
interface Owner {
  readonly ended: boolean;
  /** Undefined before login. */
  readonly login: unknown;
  /** Maximum size of a message that the connection accepts, in bytes. */
  readonly maxFrame: number;
  /** Responds to a ping. */
  pong(content: Buffer): void;
  /** Called when a message arrives while no message is being handled. */
  handleWaiting(): void;
  close(code: number): void;
}

/**
 * Reads the messages of a websocket, and queues them until they are handled. Stops reading while
 * too many messages are queued, so that the remaining data from a client that sends endlessly stays
 * in the client's memory.
 */
export class Incoming {
  readonly #ws: WebSocket;
  readonly #inflation: Inflation | undefined;
  readonly #ports: IncomingPorts;
  readonly #owner: Owner;
  /** The text of each queued message; undefined for a binary frame. */
  readonly #waiting: (string | undefined)[] = [];
  /** Total length of the queued messages, in characters. */
  #waitingSize = 0;
  /** Whether a message is being handled. */
  busy = false;
  /** When the last frame arrived, on the clock. */
  lastFrame: number;
  /** Number of bytes received since the last complete message; -1 in the chunk that completed a message. */
  #collected = 0;
  /** Number of frames in the current chunk that carry no message to handle. */
  #idleFrames = 0;
  /** Whether reading is paused because the client sends useless frames. */
  #resting = false;

  constructor(
    ws: WebSocket,
    socket: Duplex,
    ports: IncomingPorts,
    owner: Owner,
    inflation: Inflation | undefined,
  ) {
    this.#ws = ws;
    this.#ports = ports;
    this.#owner = owner;
    this.#inflation = inflation;
    this.lastFrame = ports.clock.now();
    if (inflation) {
      inflation.onFault = (code) => owner.close(code);
      inflation.isFull = () => this.#isFull;
    }
    ws.on("message", this.#receive);
    ws.on("ping", this.#onPing);
    ws.on("pong", this.#onPong);
    socket.on("data", this.#onData);
  }

  /** Number of queued messages. */
  get count(): number {
    return this.#waiting.length;
  }

  /** Removes and returns the first queued message. */
  take(): string | undefined {
    const text = this.#waiting.shift();
    this.#waitingSize -= text?.length ?? 0;
    // Setting the length releases the list's memory, which matters because most people are idle.
    if (!this.#waiting.length) this.#waiting.length = 0;
    return text;
  }

  /** Drops the queued messages. Data that arrives later is discarded. */
  end(): void {
    this.#waiting.length = 0;
    this.#waitingSize = 0;
    this.readIfRoom();
  }

  readonly #onPong = (): void => {
    this.lastFrame = this.#ports.clock.now();
    this.#idleFrames++;
  };

  readonly #onPing = (content: Buffer): void => {
    this.#onPong();
    if (!this.#owner.ended) this.#owner.pong(content);
  };

  readonly #receive = (data: RawData, isBinary: boolean): void => {
    this.lastFrame = this.#ports.clock.now();
    this.#collected = -1;
    this.#ports.metrics?.received();
    if (this.#owner.ended) {
      this.#idleFrames++;
      return;
    }
    const bytes = data as Buffer;
    if (bytes.length > this.#owner.maxFrame) {
      this.#owner.close(Close.tooLarge);
      return;
    }
    const text = isBinary ? undefined : textOf(bytes);
    this.#waiting.push(text);
    this.#waitingSize += text?.length ?? 0;
    if (!this.busy) this.#owner.handleWaiting();
    this.readIfRoom();
  };

  /** Runs after ws has processed a chunk. */
  readonly #onData = ({ length }: Buffer): void => {
    this.#collected = this.#collected < 0 ? 0 : this.#collected + length;
    // Without this check, ws would collect a message up to ws's own limit, which is meant for users
    // with more rights.
    const { maxFrame } = this.#owner;
    if (this.#collected > 2 * maxFrame) this.#owner.close(Close.tooLarge);
    if (this.#idleFrames > MAX_IDLE_FRAMES) this.#rest();
    this.#idleFrames = 0;
  };

  #rest(): void {
    this.#resting = true;
    this.readIfRoom();
    this.#ports.clock.after(READ_PAUSE_MS, () => {
      this.#resting = false;
      this.readIfRoom();
    });
  }

  get #isFull(): boolean {
    if (this.#owner.ended) return false;
    return (
      this.#waiting.length >= MAX_WAITING ||
      this.#waitingSize > this.#owner.maxFrame ||
      (this.busy && !this.#owner.login)
    );
  }

  /**
   * Resumes or pauses reading. At most one message of maximum size may be queued, and none before
   * login. So memory holds at most that message, and the chunk in which it arrived.
   */
  readIfRoom(): void {
    const isFull = this.#isFull;
    if (!isFull) this.#inflation?.resume();
    const stops = this.#resting || isFull;
    if (stops === this.#ws.isPaused) return;
    if (stops) this.#ws.pause();
    else this.#ws.resume();
  }
}

/** Returns the text of a message. Invalid UTF-8 is treated as a binary frame. */
function textOf(bytes: Buffer): string | undefined {
  const text = bytes.toString("utf8");
  return text.includes("\ufffd") && !isUtf8(bytes) ? undefined : text;
}
