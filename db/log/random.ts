import { randomFillSync } from "node:crypto";

/** Chance, as the code sees it that needs names which nobody can guess. A simulation passes its own. */
export interface Random {
  /** An id: 96 random bits in base64url. */
  id(): string;
}

/** How long an id is, in bytes: nobody can guess 96 random bits. */
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
