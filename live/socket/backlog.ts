import type { Connection } from "./connection.js";

/** How long a client may read nothing while unsent data is waiting, in milliseconds. */
const STALL_TIMEOUT_MS = 30_000;

/** The progress of a connection with unsent data. */
interface Stall {
  /** Amount of data that the system had yet to send at the last check. */
  left: number;
  /** Number of consecutive checks without progress. */
  looks: number;
}

interface BacklogParts {
  /** Maximum number of bytes waiting for all connections together. */
  readonly most: number;
  /** Interval at which {@link Backlog.look} is called, in milliseconds. */
  readonly interval: number;
  /** Called with each connection that is ended to free memory for other connections. */
  readonly onFull: (connection: Connection) => void;
}

/**
 * The connections with unsent data. Ends connections whose clients read nothing. If the unsent data
 * of all connections together uses too much memory, ends the connections with the most unsent data.
 */
export class Backlog {
  readonly #parts: BacklogParts;
  readonly #stalls = new Map<Connection, Stall>();

  constructor(parts: BacklogParts) {
    this.#parts = parts;
  }

  /** Number of waiting bytes that are not shared between connections. */
  get size(): number {
    let size = 0;
    for (const connection of this.#stalls.keys()) size += connection.writer.kept;
    return size;
  }

  /** Adds a connection whose last write has not been sent completely. */
  add(connection: Connection): void {
    if (this.#stalls.has(connection)) return;
    this.#stalls.set(connection, { left: NaN, looks: 0 });
  }

  /**
   * Ends connections whose clients read nothing, or that use too much memory. Counts its calls
   * instead of reading the clock, because the clock does not stop while the process is suspended.
   */
  look(): void {
    const { most, interval } = this.#parts;
    for (const [connection, stall] of this.#stalls) {
      const { left } = connection.writer;
      if (left === 0) {
        this.#stalls.delete(connection);
      } else if (left !== stall.left) {
        stall.left = left;
        stall.looks = 0;
      } else if (++stall.looks * interval >= STALL_TIMEOUT_MS) {
        this.#stalls.delete(connection);
        connection.dropAsSlow();
      }
    }
    let excess = this.size - most;
    if (excess <= 0) return;
    const largest = [...this.#stalls.keys()].sort((a, b) => b.writer.kept - a.writer.kept);
    for (const connection of largest) {
      if (excess <= 0) return;
      excess -= connection.writer.kept;
      this.#stalls.delete(connection);
      this.#parts.onFull(connection);
      connection.drop();
    }
  }
}
