import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { TypeFilter } from "../../schemas/plain/feed.js";
import type { FeedItem, FeedStore } from "./feed-items.js";
import { readPage } from "./page.js";

/** Maximum number of bytes of live entries buffered for a reader. */
export const MAX_BEHIND = 1024 * 1024;

const ENTRIES_PER_READ = 200;

/** Encodes items as server-sent events. */
export const encoded = (items: readonly FeedItem[]): Buffer =>
  Buffer.from(
    items.map(({ seq, type, json }) => `id: ${seq}\nevent: ${type}\ndata: ${json}\n\n`).join(""),
  );

/** A comment, which keeps proxies from closing the connection. */
const COMMENT = Buffer.from(":\n\n");

/** The part of a world feed's state that readers need. */
export interface Live {
  /** The number of the last entry sent to live readers. */
  readonly position: number;
}

/** One event stream. */
export class FeedReader {
  readonly filter: TypeFilter;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #world: string;
  readonly #socket: Socket;
  /** The number of the last entry that was sent or skipped. */
  #cursor: number;
  #isLive = false;
  #isOver = false;

  constructor(
    request: FastifyRequest,
    reply: FastifyReply,
    of: { world: string; cursor: number; filter: TypeFilter },
  ) {
    this.#request = request;
    this.#reply = reply;
    this.#world = of.world;
    this.#socket = request.raw.socket;
    this.#cursor = of.cursor;
    this.filter = of.filter;
    reply.raw.once("close", () => (this.#isOver = true));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The Authorization header. Readers with the same header have the same rights. */
  get credentials(): string {
    return this.#request.headers.authorization ?? "";
  }

  /** Sends the response headers. */
  begin(): void {
    const { raw } = this.#reply;
    this.#reply.hijack();
    // The body ends when the connection closes. With chunked encoding, each entry would take three
    // writes.
    raw.removeHeader("transfer-encoding");
    raw.writeHead(200, {
      ...(this.#reply.getHeaders() as Record<string, string>),
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      connection: "close",
      // Prevents nginx from buffering entries.
      "x-accel-buffering": "no",
    });
    raw.write(COMMENT);
  }

  /**
   * Whether the reader's token has expired.
   * @param now in milliseconds since 1970.
   */
  hasExpired(now: number): boolean {
    const { expires } = this.#request.caller;
    return expires !== undefined && now / 1000 >= expires;
  }

  /**
   * Re-checks the caller's rights.
   * @returns whether the caller is still admitted.
   */
  async isAdmitted(): Promise<boolean> {
    try {
      await this.#request.admission!(this.#request);
      return true;
    } catch {
      // If the store is unavailable, the reader is rejected, too; the client reconnects and
      // resumes.
      return false;
    }
  }

  /** Takes the caller of a reader with the same credentials, who was just checked and may have a new end. */
  shareCaller(other: FeedReader): void {
    this.#request.caller = other.#request.caller;
  }

  /** Sends the entries after the cursor, with backpressure, until the reader is live. */
  async catchUp(store: FeedStore, live: Live): Promise<void> {
    while (!this.#isOver) {
      const { items, cursor, more } = await readPage(
        store,
        this.#world,
        this.#cursor,
        this.filter,
        ENTRIES_PER_READ,
      );
      if (this.#isOver) return;
      this.#cursor = cursor;
      if (items.length > 0) this.#socket.write(encoded(items));
      if (!more && cursor >= live.position) {
        this.#isLive = true;
        return;
      }
      await this.#drained();
    }
  }

  /**
   * Sends the entries that have not been sent yet, once the reader is live.
   * @param items new entries that match the reader's filter.
   * @param bytes the same entries, encoded.
   */
  take(items: readonly FeedItem[], bytes: Buffer): void {
    // Until the reader is live, it reads new entries from the log.
    if (!this.#isLive || this.#isOver) return;
    const unsent = items.filter(({ seq }) => seq > this.#cursor);
    if (unsent.length === 0) return;
    this.#cursor = unsent.at(-1)!.seq;
    const socket = this.#socket;
    socket.write(unsent.length === items.length ? bytes : encoded(unsent));
    if (socket.writableLength > MAX_BEHIND) this.drop();
  }

  comment(): void {
    const socket = this.#socket;
    if (!this.#isOver && !socket.writableNeedDrain) socket.write(COMMENT);
  }

  /** Ends the stream after flushing. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reply.raw.end();
    // A client that does not read would keep the connection open.
    if (this.#socket.writableNeedDrain) this.drop();
  }

  /** Closes the connection without flushing, because the client is not reading. */
  drop(): void {
    this.#isOver = true;
    this.#reply.raw.destroy();
  }

  #drained(): Promise<void> {
    const socket = this.#socket;
    if (!socket.writableNeedDrain || this.#isOver) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        socket.off("drain", done).off("close", done);
        resolve();
      };
      socket.once("drain", done).once("close", done);
    });
  }
}
