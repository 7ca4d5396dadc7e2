import type { FastifyRequest, onRequestAsyncHookHandler, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import { LRUCache } from "lru-cache";
import type { LoadLimits } from "../../config.js";
import { Refusal } from "../http/errors.js";

declare module "fastify" {
  interface FastifyInstance {
    /** The hook that counts the calls of a route; undefined if nothing bounds them. */
    limitOf?(route: RouteOptions): onRequestAsyncHookHandler | undefined;
  }
}

/** How long the calls of a caller add up, in milliseconds. */
const MINUTE_MS = 60_000;

/** How many keys are counted at a time; the least recently counted is forgotten first. */
const MAX_KEYS = 5000;

/**
 * Counts keys in windows of time, in this process. It uses a clock that is never set
 * back: otherwise a window could last for as long as the clock was set back.
 */
export class Tally {
  readonly #counts = new LRUCache<string, { count: number; since: number }>({ max: MAX_KEYS });

  /**
   * Counts a key once more. The window begins with the first count.
   * @param window in milliseconds.
   * @returns the count, and after how many milliseconds the window ends.
   */
  count(key: string, window: number): { count: number; ttl: number } {
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

/** A rate limit: what it counts, and per which caller. */
export interface RateLimit {
  perMinute: number;
  /** The noun for the sentence of the refusal. */
  what: string;
  /** The key under which calls count together. */
  keyOf: (request: FastifyRequest) => string;
}

/** Makes a hook of a route that answers 429 to a caller who sends more to this process. */
export function limitRate({ perMinute, what, keyOf }: RateLimit): onRequestAsyncHookHandler {
  const tally = new Tally();
  return async function limitRate(request) {
    const { count, ttl } = tally.count(keyOf(request), MINUTE_MS);
    if (count <= perMinute) return;
    throw new Refusal(429, `Too many ${what}. Try again later.`, {
      "retry-after": String(Math.ceil(ttl / 1000)),
    });
  };
}

/** Bounds the API calls of one token in a minute. */
export default fp<{ load?: LoadLimits | undefined }>(
  async (app, { load }) => {
    const perMinute = load?.perMinute;
    if (!perMinute) return;
    const limitCaller = limitRate({
      perMinute,
      what: "requests",
      // The signature stands for the token, and is short. It comes last,
      // however the rest of the header is written.
      keyOf: ({ headers: { authorization = "" } }) =>
        authorization.slice(authorization.lastIndexOf(".") + 1),
    });
    app.decorate("limitOf", ({ config }: RouteOptions) =>
      Array.isArray(config?.requires) ? limitCaller : undefined,
    );
  },
  { name: "rate", dependencies: ["errors"] },
);
