import type { IncomingMessage } from "node:http";
import { constants, inflateRawSync } from "node:zlib";
import type { WebSocket } from "ws";
import { detach } from "../../db/detach.js";

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
    return (
      parameters.every((text) => KNOWN.test(text)) &&
      new Set(names).size === names.length
    );
  });
}

/** The end of a message that its sender leaves out (RFC 7692, section 7.2.2). */
const REST = Buffer.from([0, 0, 0xff, 0xff]);

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
    const bytes = Buffer.concat([...this.#parts, REST]);
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
