import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import type { Store } from "../db/contract/store.js";
import { type Admission, tokenIn } from "./auth/guard.js";
import { unauthenticated } from "./http/errors.js";
import { networkOf } from "./limits/guests.js";
import { limitRate } from "./limits/request-rate.js";

declare module "fastify" {
  interface FastifyInstance {
    /** First-run setup: a single link sets up the server's first event. */
    readonly setup: Setup;
  }
}

/** The contents of the setup link. */
export interface SetupKey {
  readonly secret: string;
  /** Expiry, in milliseconds since 1970. */
  readonly ends: number;
}

/** Lifetime of a setup link, in milliseconds. */
const HOUR_MS = 3_600_000;

/** Maximum number of wrong secrets per minute from one network. */
const ATTEMPTS_PER_MINUTE = 30;

/** Generates a key of 256 random bits that is valid for an hour. */
export const freshSetupKey = (): SetupKey => ({
  secret: randomBytes(32).toString("base64url"),
  ends: Date.now() + HOUR_MS,
});

/** Whether a server has no world yet. */
export const isNew = async ({ worlds }: Pick<Store, "worlds">) =>
  (await worlds.list({ limit: 1 })).length === 0;

/** Lets a single caller set up an event, once. */
export class Setup {
  readonly #store: Store;
  readonly #key: SetupKey | undefined;
  #isTaken = false;

  /** @param key undefined if there is nothing to set up. */
  constructor(store: Store, key: SetupKey | undefined) {
    this.#store = store;
    this.#key = key;
  }

  /** Whether a secret may set up an event now. */
  async admits(secret: string): Promise<boolean> {
    const { secret: own, ends } = this.#key ?? freshSetupKey();
    const fits = timingSafeEqual(digestOf(secret), digestOf(own));
    if (!fits || this.#isTaken || Date.now() >= ends) return false;
    return isNew(this.#store);
  }

  /**
   * Sets up an event, unless another caller is setting up or has already set up an event. After a
   * failure, the link remains valid.
   * @throws {Refusal} 401 if another caller is setting up or has already set up an event.
   */
  async once<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isTaken) throw used();
    this.#isTaken = true;
    try {
      return await work();
    } catch (error) {
      this.#isTaken = false;
      throw error;
    }
  }
}

const digestOf = (text: string) => createHash("sha256").update(text).digest();

/** Builds the refusal for an expired or used link. A wrong link receives the same refusal. */
export const used = () =>
  unauthenticated(
    "This link has been used, or an hour has passed. Restart the server to get another.",
  );

/** Creates the guard that admits the bearer of the link, and limits the rate of wrong secrets. */
export function setupGuard(app: { setup: Setup }): Admission {
  const limit = limitRate({
    perMinute: ATTEMPTS_PER_MINUTE,
    what: "attempts",
    keyOf: ({ ip }) => networkOf(ip) ?? "here",
  }) as unknown as (request: FastifyRequest) => Promise<void>;
  return async (request) => {
    const secret = tokenIn(request.headers.authorization);
    if (secret !== undefined && (await app.setup.admits(secret))) return;
    await limit(request);
    throw secret === undefined
      ? unauthenticated("Authentication credentials were not provided.")
      : used();
  };
}

export default fp<{ key?: SetupKey | undefined }>(
  async (app, { key }) => {
    app.decorate("setup", new Setup(app.store, key));
  },
  { name: "setup", dependencies: ["engines"] },
);
