import { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import type { Random } from "../random.js";
import type { ProcessTime, Timeline } from "../timeline.js";

const TEXT = 0x1;
const PING = 0x9;

/** How long a client may take to confirm a close, in milliseconds. */
const CLOSE_TIMEOUT = 3000;

/** A client's end of a websocket. */
export interface ClientEnd {
  /** Receives a text frame. */
  received(text: string): void;
  /** Called when the connection is gone. @param code 1006 without a closing handshake. */
  closed(code: number): void;
}

/** A websocket between a client and a process, over an ordered connection. */
export class Link {
  readonly ws: WebSocket;
  /** The underlying socket. */
  readonly socket: Duplex;
  /** Receives each text frame as the server writes it. */
  onWritten: (text: string) => void = () => {};
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #time: ProcessTime;
  readonly #client: ClientEnd;
  readonly #ws = new ServerEnd(this);
  readonly #socket = new ServerSocket(this);
  /** Arrival time of the last delivery to each end. */
  #toClient = 0;
  #toServer = 0;
  /** The client reads nothing until this time. */
  #stalledUntil = 0;
  #isCut = false;
  #isClosed = false;
  /** The beginning of a frame that the server has not fully written yet. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(timeline: Timeline, random: Random, time: ProcessTime, client: ClientEnd) {
    this.#timeline = timeline;
    this.#random = random;
    this.#time = time;
    this.#client = client;
    this.ws = this.#ws as unknown as WebSocket;
    this.socket = this.#socket as unknown as Duplex;
  }

  /** Accepts the connection on the server. */
  open(act: () => void): void {
    this.#arriveAtServer(act);
  }

  /** Sends a message from the client. */
  send(text: string): void {
    this.#arriveAtServer(() => this.#ws.take(text));
  }

  /** Closes the connection from the client, or drops it silently. */
  leave(isSilent: boolean): void {
    this.#isCut = true;
    if (!isSilent) this.#arriveAtServer(() => this.destroyed(1001));
  }

  /** Makes the client read nothing for some time. */
  stall(duration: number): void {
    this.#stalledUntil = this.#timeline.now + duration;
    this.#timeline.at(this.#stalledUntil, () => this.#time.whenAwake(() => this.#socket.drain()));
  }

  get isStalled(): boolean {
    return this.#stalledUntil > this.#timeline.now;
  }

  /** Closes the connection after its process has died. */
  broken(): void {
    this.#arriveAtClient(() => this.#client.closed(1006));
  }

  /** Handles bytes that the server wrote. */
  wrote(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (;;) {
      const frame = firstFrame(this.#rest);
      if (!frame) break;
      const { opcode, content, size } = frame;
      this.#rest = this.#rest.subarray(size);
      if (opcode === PING) {
        if (!this.#isCut) this.#arriveAtServer(() => this.#ws.emit("pong"));
      }
      if (opcode !== TEXT) continue;
      const text = content.toString();
      this.onWritten(text);
      this.#arriveAtClient(() => this.#client.received(text));
    }
  }

  /** Starts the closing handshake from the server. */
  closing(code: number): void {
    this.#arriveAtClient(() => {
      this.#client.closed(code);
      this.#arriveAtServer(() => this.destroyed(code));
    });
    this.#time.after(CLOSE_TIMEOUT, () => this.destroyed(1006));
  }

  /** Ends the connection on the server. */
  destroyed(code: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroyed = true;
    this.#ws.emit("close", code);
  }

  /** Ends the connection from the server immediately, without a handshake. */
  terminated(): void {
    this.#arriveAtClient(() => this.#client.closed(1006));
    this.#socket.destroyed = true;
    this.#time.soon(() => this.destroyed(1006));
  }

  #arriveAtClient(act: () => void): void {
    const { now } = this.#timeline;
    const sent = Math.max(now, this.#stalledUntil);
    const arrival = sent + this.#random.between(0, 3);
    this.#toClient = Math.max(this.#toClient, arrival);
    this.#timeline.at(this.#toClient, () => {
      if (!this.#isCut) act();
    });
  }

  #arriveAtServer(act: () => void): void {
    const arrival = this.#timeline.now + this.#random.between(0, 3);
    this.#toServer = Math.max(this.#toServer, arrival);
    this.#timeline.at(this.#toServer, () =>
      this.#time.whenAwake(() => {
        if (!this.#isClosed) act();
      }),
    );
  }
}

/** The part of a websocket that the live layer uses. */
class ServerEnd extends EventEmitter {
  isPaused = false;
  readonly #link: Link;
  #waiting: string[] = [];

  constructor(link: Link) {
    super();
    this.#link = link;
  }

  take(text: string): void {
    if (this.isPaused) {
      this.#waiting.push(text);
      return;
    }
    const bytes = Buffer.from(text);
    this.emit("message", bytes, false);
    this.#link.socket.emit("data", bytes);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const text of waiting) this.take(text);
  }

  close(code: number): void {
    this.#link.closing(code);
  }

  terminate(): void {
    this.#link.terminated();
  }
}

/** The part of a socket that the live layer uses. */
class ServerSocket extends EventEmitter {
  destroyed = false;
  writableLength = 0;
  readonly #link: Link;

  constructor(link: Link) {
    super();
    this.#link = link;
  }

  get writable(): boolean {
    return !this.destroyed;
  }

  get writableNeedDrain(): boolean {
    return this.writableLength > 0;
  }

  write(bytes: Buffer): void {
    if (this.#link.isStalled) this.writableLength += bytes.length;
    this.#link.wrote(bytes);
  }

  drain(): void {
    if (this.#link.isStalled || this.writableLength === 0) return;
    this.writableLength = 0;
    this.emit("drain");
  }

  cork(): void {}

  uncork(): void {}
}

/** Returns the first frame in some bytes; undefined if it is incomplete. */
function firstFrame(bytes: Buffer): { opcode: number; content: Buffer; size: number } | undefined {
  if (bytes.length < 2) return undefined;
  const opcode = bytes[0]! & 0xf;
  const short = bytes[1]! & 0x7f;
  const head = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < head) return undefined;
  const length =
    head === 2 ? short : head === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const size = head + length;
  if (bytes.length < size) return undefined;
  return { opcode, content: bytes.subarray(head, size), size };
}
