import { createHash } from "node:crypto";
import type { Counted } from "../bus.js";
import { Tally } from "../tally.js";
import type { Client } from "./link.js";

/** How long a count waits for Valkey, in milliseconds. */
const TIMEOUT = 200;

/** Counts keys in windows of time over all processes, and in this one while Valkey does not answer. */
export class Counts {
  readonly #prefix: string;
  readonly #client: () => Client | undefined;
  readonly #tally = new Tally();
  /** Whether Valkey has not answered in time, and not since. */
  #isLate = false;

  /**
   * @param prefix of the keys in Valkey.
   * @param client gives the connection; undefined while there is none.
   */
  constructor(prefix: string, client: () => Client | undefined) {
    this.#prefix = prefix;
    this.#client = client;
  }

  /** @param window in milliseconds. */
  async count(key: string, window: number): Promise<Counted> {
    // Count in this process, too: its count holds while Valkey does not answer.
    const own = this.#tally.count(key, window);
    const client = this.#client();
    if (!client || this.#isLate) return own;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Counted>((resolve) => {
      timer = setTimeout(() => {
        this.#isLate = true;
        resolve(own);
      }, TIMEOUT);
    });
    const counted = this.#shared(client, key, window)
      .catch(() => own)
      .finally(() => (this.#isLate = false));
    const result = await Promise.race([counted, late]);
    clearTimeout(timer);
    return result;
  }

  async #shared(client: Client, key: string, window: number): Promise<Counted> {
    // A key may be a secret, and of any length.
    const hash = createHash("sha256").update(key).digest("base64url");
    const name = `${this.#prefix}${window}:${hash}`;
    const [count, , ttl] = await client
      .multi()
      .incr(name)
      .pExpire(name, window, "NX")
      .pTTL(name)
      .execTyped();
    // Another client may have written there.
    if (!(count > 0 && ttl >= 0)) throw new Error("It counts wrongly.");
    return { count, ttl };
  }
}
