import { randomFillSync } from "node:crypto";

/** Randomness for unguessable names. A simulation passes its own. */
export interface Random {
  /** An id: 96 random bits in base64url. */
  id(): string;
}

/** The length of an id in bytes: 96 random bits cannot be guessed. */
const SIZE = 12;

/** Random bytes for 64 ids: a call to get some takes twenty times as long as an id of the pool. */
const pool = Buffer.allocUnsafe(64 * SIZE);
let used = pool.length;

/** The chance of this process. */
export const processRandom: Random = {
  /** Unlike a UUID, which Node.js joins of parts, it is one string in memory. */
  id() {
    if (used === pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const id = pool.toString("base64url", used, used + SIZE);
    used += SIZE;
    return id;
  },
};
