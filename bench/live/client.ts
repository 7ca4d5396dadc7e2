import { connect, type Socket } from "node:net";

/** How many bytes of a frame show its kind. */
const START = 40;

/** The callbacks of a client. */
export interface ClientListener {
  /** A whole frame has arrived. @param kind its name, the first word of the array. */
  frame(client: Client, kind: string, bytes: number): void;
  /** The connection has ended. */
  end(client: Client, why: string): void;
}

/** Reads into the same memory for all clients: a read is over before the next begins. */
const shared = Buffer.allocUnsafe(256 * 1024);

const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

/**
 * A websocket client that costs little, so that thousands fit in one process: it
 * reads the name of each frame and skips the rest.
 */
export class Client {
  /** When it began to connect, in milliseconds of `performance.now()`. */
  readonly begun = performance.now();
  readonly #socket: Socket;
  readonly #listener: ClientListener;
  /** The start of a frame that is too short to show its kind. */
  #start: Buffer | undefined;
  #kind = "";
  #bytes = 0;
  /** How many bytes of the present frame are still to come. */
  #rest = 0;
  #upgraded = false;

  constructor(
    readonly index: number,
    port: number,
    path: string,
    listener: ClientListener,
  ) {
    this.#listener = listener;
    this.#socket = connect({
      port,
      host: "127.0.0.1",
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (length) => {
          this.#read(shared, 0, length);
          return true;
        },
      },
    });
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    );
    this.#socket.on("error", ({ message }) => listener.end(this, message));
    this.#socket.on("end", () => listener.end(this, "The server closed."));
  }

  /** Sends a text. Its mask is zero, which costs nothing to apply. */
  send(text: string): void {
    const size = Buffer.byteLength(text);
    const head = size < 126 ? 2 : 4;
    const frame = Buffer.alloc(head + 4 + size);
    frame[0] = 0x81;
    frame[1] = 0x80 | (head === 2 ? size : 126);
    if (head === 4) frame.writeUInt16BE(size, 2);
    frame.write(text, head + 4);
    this.#socket.write(frame);
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer, from: number, to: number): void {
    if (this.#start) {
      const start = Buffer.concat([this.#start, bytes.subarray(from, to)]);
      this.#start = undefined;
      this.#read(start, 0, start.length);
      return;
    }
    let at = from;
    if (!this.#upgraded) {
      const end = bytes.subarray(from, to).indexOf("\r\n\r\n");
      if (end < 0) {
        this.#keep(bytes, from, to);
        return;
      }
      const status = bytes.toString("latin1", from + 9, from + 12);
      if (status !== "101") this.#listener.end(this, `HTTP ${status}`);
      this.#upgraded = true;
      this.#listener.frame(this, "upgraded", 0);
      at = from + end + 4;
    }
    while (at < to) {
      if (this.#rest > 0) {
        const skipped = Math.min(this.#rest, to - at);
        this.#rest -= skipped;
        at += skipped;
        if (this.#rest > 0) return;
        this.#listener.frame(this, this.#kind, this.#bytes);
        continue;
      }
      const next = this.#begin(bytes, at, to);
      if (next === undefined) {
        this.#keep(bytes, at, to);
        return;
      }
      at = next;
    }
  }

  /** The memory is used again, so the rest is copied. */
  #keep(bytes: Buffer, from: number, to: number): void {
    this.#start = Buffer.from(bytes.subarray(from, to));
  }

  /** Reads the head of a frame. @returns where its content begins; undefined if more has to come. */
  #begin(bytes: Buffer, at: number, to: number): number | undefined {
    if (to - at < 2) return undefined;
    const opcode = bytes[at]! & 15;
    let size = bytes[at + 1]!;
    let head = 2;
    if (size === 126) {
      head = 4;
      if (to - at < head) return undefined;
      size = bytes.readUInt16BE(at + 2);
    } else if (size === 127) {
      head = 10;
      if (to - at < head) return undefined;
      size = Number(bytes.readBigUInt64BE(at + 2));
    }
    const content = at + head;
    if (to - content < Math.min(size, START)) return undefined;
    this.#bytes = head + size;
    this.#rest = size;
    if (opcode === 9) {
      this.#socket.write(pong);
      this.#kind = "ping";
    } else if (opcode === 8) {
      this.#kind = `close ${size > 1 ? bytes.readUInt16BE(content) : ""}`;
    } else {
      const start = bytes.toString(
        "latin1",
        content,
        content + Math.min(size, START),
      );
      this.#kind = start.slice(2, start.indexOf('"', 2));
      // An error is worth reading.
      if (this.#kind === "error") {
        this.#kind = `error ${bytes.toString("latin1", content, Math.min(to, content + size))}`;
      }
    }
    if (size === 0) this.#listener.frame(this, this.#kind, this.#bytes);
    return content;
  }
}
