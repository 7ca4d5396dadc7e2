import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { constants, inflateRawSync } from "node:zlib";
import type { RawData, WebSocket } from "ws";
import { type Clock, detach } from "../../db/runtime.js";
import { Close } from "./frame.js";

// Takes compressed messages (RFC 7692). The library can, too, but it would keep a compressor
// of 100 KB for a connection, and use a thread for each message of a hundred bytes.

const NAME = "permessage-deflate";

/** The answer to an offer. Neither side refers to earlier messages, so neither keeps any. */
export const ACCEPTED = `${NAME}; server_no_context_takeover; client_no_context_takeover`;

/** The parameters of an offer that this server can meet, of which a client may use any. */
const KNOWN =
  /^(?:server_no_context_takeover|client_no_context_takeover|client_max_window_bits(?:="?(?:[89]|1[0-5])"?)?|server_max_window_bits="?15"?)$/;

/** Whether a client offers compression that this server takes. */
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

/** The end of a message that its sender leaves out (RFC 7692, section 7.2.2). */
const TAIL = Buffer.from([0, 0, 0xff, 0xff]);

type Done = (error: Error | null, bytes?: Buffer) => void;

/**
 * Inflates the messages of one connection, one at a time: a chunk of a few KB may hold a
 * thousand messages that are large.
 */
export class Inflation {
  /** The largest message, in bytes. */
  most: number;
  /** Closes the connection. */
  onFault: (code: 1007 | 1009) => void = () => {};
  /** Whether the connection takes no message now. */
  isFull = (): boolean => false;
  #parts: Buffer[] = [];
  #waiting: (() => void) | undefined;

  constructor(most: number) {
    this.most = most;
  }

  /** Lets a websocket use it, as the extensions of the library are used. */
  attach(ws: WebSocket): void {
    const { _extensions } = ws as unknown as {
      _extensions: Record<string, Inflation>;
    };
    _extensions[NAME] = this;
  }

  /** Takes a fragment of a message. @param isLast whether it is complete. */
  decompress(bytes: Buffer, isLast: boolean, done: Done): void {
    this.#parts.push(bytes);
    this.#waiting = () => {
      if (isLast) this.#inflate(done);
      else done(null, Buffer.alloc(0));
    };
    this.goOn();
  }

  /** The connection may take a message again. */
  goOn(): void {
    if (!this.#waiting) return;
    // The library goes on with the next message in this call, and expects it later.
    const later = Promise.resolve().then(() => {
      const take = this.#waiting;
      if (!take || this.isFull()) return;
      this.#waiting = undefined;
      take();
    });
    detach(later);
  }

  /** The library calls it when the connection ends. */
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

/** How many messages may wait before the socket is no longer read. */
const MAX_WAITING = 64;

/** How many frames of one chunk may be none to carry out before reading rests. */
const MAX_IDLE_FRAMES = 64;

/** How long reading rests then, in milliseconds. */
const READ_PAUSE_MS = 1000;

interface IncomingPorts {
  readonly clock: Clock;
  readonly metrics: { received(): void } | undefined;
}

/** The connection that takes the messages. */
interface Owner {
  readonly ended: boolean;
  /** Undefined before the login. */
  readonly login: unknown;
  /** The largest message that it takes, in bytes. */
  readonly maxFrame: number;
  /** Answers a ping. */
  pong(content: Buffer): void;
  /** A message came while none was carried out. */
  carryOut(): void;
  close(code: number): void;
}

/**
 * Reads the messages of a websocket, which wait until they are carried out. It reads on
 * as long as few of them wait, so a client that sends without end fills its own memory.
 */
export class Incoming {
  readonly #ws: WebSocket;
  readonly #inflation: Inflation | undefined;
  readonly #ports: IncomingPorts;
  readonly #owner: Owner;
  /** Texts of messages; undefined for binary frames. */
  readonly #waiting: (string | undefined)[] = [];
  /** The length of all texts that wait. */
  #waitingSize = 0;
  /** Whether a message is carried out. */
  busy = false;
  /** When the last frame came, on the clock. */
  lastFrame: number;
  /** How many bytes came since the last message was complete; -1 in the chunk that completed it. */
  #collected = 0;
  /** How many frames of the present chunk were none to carry out. */
  #idleFrames = 0;
  /** Reading rests, as the client sends frames that have no use. */
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

  /** How many messages wait. */
  get count(): number {
    return this.#waiting.length;
  }

  /** Takes out the first message. */
  take(): string | undefined {
    const text = this.#waiting.shift();
    this.#waitingSize -= text?.length ?? 0;
    // Emptied like this, a list gives its memory back. Most people are idle.
    if (!this.#waiting.length) this.#waiting.length = 0;
    return text;
  }

  /** Forgets the messages that wait. What is left to read is thrown away. */
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
    if (!this.busy) this.#owner.carryOut();
    this.readIfRoom();
  };

  /** Runs after ws has taken a chunk. */
  readonly #onData = ({ length }: Buffer): void => {
    this.#collected = this.#collected < 0 ? 0 : this.#collected + length;
    // ws would collect up to its own limit, which is for users with more rights.
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
   * Reads on, or stops: for at most one message of the largest size, and before
   * login for any. What is then in memory is this, and a chunk that came with it.
   */
  readIfRoom(): void {
    const isFull = this.#isFull;
    if (!isFull) this.#inflation?.goOn();
    const stops = this.#resting || isFull;
    if (stops === this.#ws.isPaused) return;
    if (stops) this.#ws.pause();
    else this.#ws.resume();
  }
}

/** The text of a message. Bytes that are no UTF-8 are treated as a binary frame. */
function textOf(bytes: Buffer): string | undefined {
  const text = bytes.toString("utf8");
  return text.includes("\ufffd") && !isUtf8(bytes) ? undefined : text;
}
