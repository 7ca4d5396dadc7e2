import type { Clock } from "../../db/log/clock.js";

/**
 * For how long pushes and answers may wait that were made before rights were lost, in
 * milliseconds: as long as a change of rights may take to be applied.
 */
const LONGEST = 1000;

/** A piece that waits to be sent. */
interface Held {
  /** One or more frames. */
  readonly piece: Buffer;
  readonly frames: number;
  /** When it was made. */
  readonly at: number;
}

/** Pieces that wait for the answer to the present message of a connection, or for the end of a doubt. */
export class HeldPieces {
  readonly #clock: Clock;
  #pieces: Held[] = [];
  #size = 0;
  /** When its user was last seen to have lost a right. */
  #lostAt = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#pieces.length;
  }

  /** The bytes of all pieces. */
  get size(): number {
    return this.#size;
  }

  add(piece: Buffer, frames: number): void {
    this.#pieces.push({ piece, frames, at: this.#clock.now() });
    this.#size += piece.length;
  }

  /** Lets the last piece leave before all others. */
  putLastFirst(): void {
    this.#pieces.unshift(this.#pieces.pop()!);
  }

  /** Takes out the first pieces. */
  take(count: number): readonly Held[] {
    const taken = this.#pieces.splice(0, count);
    for (const { piece } of taken) this.#size -= piece.length;
    return taken;
  }

  clear(): void {
    this.#pieces = [];
    this.#size = 0;
  }

  /** The user has lost a right. */
  noteLoss(): void {
    this.#lostAt = this.#clock.now();
  }

  /** Whether any piece may show something of which its user lost sight long ago. */
  get isOutdated(): boolean {
    return this.#pieces.some(({ at }) => this.isOld(at));
  }

  /** Whether something that was made at some time may show what its user lost sight of long ago. */
  isOld(at: number): boolean {
    return this.#clock.now() - at > LONGEST && at <= this.#lostAt;
  }
}
