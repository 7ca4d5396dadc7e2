import { LRUCache } from "lru-cache";
import type { Counted } from "./bus.js";

/** How many keys are counted at a time; the least recently counted is forgotten first. */
const MAX_KEYS = 5000;

/**
 * Counts keys in windows of time, in this process. It uses a clock that is never set
 * back: otherwise a window could last for as long as the clock was set back.
 */
export class Tally {
  readonly #counts = new LRUCache<string, { count: number; since: number }>({
    max: MAX_KEYS,
  });

  /** @param window in milliseconds. */
  count(key: string, window: number): Counted {
    const now = performance.now();
    let known = this.#counts.get(key);
    if (!known || now - known.since >= window) {
      known = { count: 0, since: now };
      this.#counts.set(key, known);
    }
    known.count++;
    return { count: known.count, ttl: known.since + window - now };
  }
}
