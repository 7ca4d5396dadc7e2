import type { Connection } from "./connection.js";

/** How long a client may take nothing while something waits for it, in milliseconds. */
const STALL_TIMEOUT_MS = 30_000;

/** The progress of a connection that has unsent data. */
interface Stall {
  /** How much the system had left to send. */
  left: number;
  /** In how many looks that has not changed. */
  looks: number;
}

interface BacklogParts {
  /** How many bytes may wait for all connections together. */
  readonly most: number;
  /** How often {@link Backlog.look} is called, in milliseconds. */
  readonly interval: number;
  /** Gets connections that are ended to free memory for the others. */
  readonly onFull: (connection: Connection) => void;
}

/**
 * The connections with unsent data. It ends a connection whose client takes nothing. When
 * all of them keep too much in memory, it ends the ones that keep most.
 */
export class Backlog {
  readonly #parts: BacklogParts;
  readonly #stalls = new Map<Connection, Stall>();

  constructor(parts: BacklogParts) {
    this.#parts = parts;
  }

  /** How many bytes wait that no other connection shares. */
  get size(): number {
    let size = 0;
    for (const connection of this.#stalls.keys()) size += connection.writer.kept;
    return size;
  }

  /** Takes a connection whose client did not read a whole write at once. */
  add(connection: Connection): void {
    if (this.#stalls.has(connection)) return;
    this.#stalls.set(connection, { left: NaN, looks: 0 });
  }

  /**
   * Ends connections that take nothing, or keep too much. It counts its calls, as the
   * clock also goes on while the process is suspended.
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
