import type { Socket } from "node:net";

/** How long a client may take nothing while something waits for it, in milliseconds. */
const LONGEST_STALL = 30_000;

/** How often {@link Stalls.look} is called, in milliseconds. */
export const LOOK = 5000;

/** The progress of a connection that has unsent data. */
interface Stall {
  /** How much the system had left to send. */
  left: number;
  /** In how many looks that has not changed. */
  looks: number;
}

/**
 * How much the system has left to send of the present write; 0 if nothing waits, and NaN if that
 * is not known.
 */
export function leftOf(socket: Socket): number {
  if (socket.destroyed || socket.writableLength === 0) return 0;
  // Data behind the present write counts when it is written. Node.js looks at the
  // same number to tell whether a socket is idle.
  const { _handle } = socket as unknown as {
    _handle?: { writeQueueSize?: number };
  };
  return _handle?.writeQueueSize || NaN;
}

/** Ends connections whose client takes nothing of an answer: what waits for them is in memory. */
export class Stalls {
  readonly #stalls = new WeakMap<Socket, Stall>();

  /**
   * @param connections of the server.
   * @param isOwed whether a connection waits for an answer.
   */
  constructor(
    private readonly connections: Iterable<Socket>,
    private readonly isOwed: (socket: Socket) => boolean,
  ) {}

  /**
   * Ends connections that take nothing. It counts its calls, as the clock also goes on while
   * the process is suspended.
   */
  look(): void {
    for (const socket of this.connections) {
      if (!this.isOwed(socket)) continue;
      const left = leftOf(socket);
      const stall = this.#stalls.get(socket);
      if (left === 0) this.#stalls.delete(socket);
      else if (stall?.left !== left) {
        this.#stalls.set(socket, { left, looks: 0 });
      } else if (++stall.looks * LOOK >= LONGEST_STALL) {
        socket.destroy();
      }
    }
  }
}
