import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { TypeFilter } from "../../schemas/plain/feed.js";
import type { FeedItem, FeedStore } from "./feed-items.js";
import { readPage } from "./page.js";

/** How many bytes of live entries may wait for a reader. */
export const MAX_BEHIND = 1024 * 1024;

/** How many old entries are read at a time. */
const ENTRIES_PER_READ = 200;

/** The events of an event stream. */
export const encoded = (items: readonly FeedItem[]): Buffer =>
  Buffer.from(
    items.map(({ seq, type, json }) => `id: ${seq}\nevent: ${type}\ndata: ${json}\n\n`).join(""),
  );

/** A comment, which keeps proxies awake. */
const COMMENT = Buffer.from(":\n\n");

/** What a reader needs to know of the live feed of its world. */
export interface Live {
  /** The number of the last entry that live readers got. */
  readonly position: number;
}

/** One event stream. */
export class Reader {
  readonly filter: TypeFilter;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #world: string;
  readonly #socket: Socket;
  /** The number of the last entry that was sent or looked at. */
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

  /** Equal for readers that have the same rights. */
  get credentials(): string {
    return this.#request.headers.authorization ?? "";
  }

  /** Sends the head of the answer. */
  begin(): void {
    const { raw } = this.#reply;
    this.#reply.hijack();
    // The body ends with the connection. In chunks, each entry would take three writes.
    raw.removeHeader("transfer-encoding");
    raw.writeHead(200, {
      ...(this.#reply.getHeaders() as Record<string, string>),
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
      connection: "close",
      // Otherwise nginx collects entries before it passes them on.
      "x-accel-buffering": "no",
    });
    raw.write(COMMENT);
  }

  /** Whether the token of the reader has expired. @param now in milliseconds since 1970. */
  hasExpired(now: number): boolean {
    const { expires } = this.#request.caller;
    return expires !== undefined && now / 1000 >= expires;
  }

  /** Checks the rights of the caller once more. @returns whether they still hold. */
  async isAdmitted(): Promise<boolean> {
    try {
      await this.#request.admission!(this.#request);
      return true;
    } catch {
      // Also if the store cannot tell: the client comes back, and resumes.
      return false;
    }
  }

  /** Sends the entries after the cursor, as fast as the client takes them, until the reader is live. */
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
   * Takes new entries of its types.
   * @param bytes these entries, encoded.
   */
  take(items: readonly FeedItem[], bytes: Buffer): void {
    // Otherwise it reads them from the log.
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

  /** Ends the stream after what was sent. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reply.raw.end();
    // A client that does not read would keep it open.
    if (this.#socket.writableNeedDrain) this.drop();
  }

  /** Ends the connection, as its client does not read. */
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
