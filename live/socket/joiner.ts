/** Frames that are more together are not copied for one socket, in bytes. */
const COPIED = 16 * 1024;

/**
 * Joins the frames that are due to a socket into one piece, as one write costs less
 * than several. Many sockets of a room get the same frames in one pass: these are
 * joined once for all of them.
 */
export class Joiner {
  #last: readonly Buffer[] = [];
  #joined: Buffer | undefined;

  /**
   * @param frames at least two. They must not change any more.
   * @param size how many bytes they have.
   * @returns undefined if joining them costs more than it saves.
   */
  join(frames: readonly Buffer[], size: number): Buffer | undefined {
    const isSame = sameItems(frames, this.#last);
    if (!isSame) {
      this.#last = frames;
      this.#joined = undefined;
    }
    if (!this.#joined && (isSame || size <= COPIED)) {
      this.#joined = Buffer.concat(frames, size);
    }
    return this.#joined;
  }

  /** Keeps nothing in memory. */
  forget(): void {
    this.#last = [];
    this.#joined = undefined;
  }
}

function sameItems(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}
