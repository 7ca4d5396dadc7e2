import rateLimit from "@fastify/rate-limit";
import type {
  FastifyInstance,
  FastifyRequest,
  onRequestAsyncHookHandler,
  RouteOptions,
} from "fastify";
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

/** A client only needs `Retry-After`. */
const quiet = {
  "x-ratelimit-limit": false,
  "x-ratelimit-remaining": false,
  "x-ratelimit-reset": false,
};

/** How many callers are counted at a time; those unseen for longest are forgotten first. */
const MAX_CALLERS = 5000;

/**
 * The counts of the rate limit. The library's own store uses the system clock: if
 * that is set back, it would lock callers out for as long.
 */
class Tally {
  readonly #counts = new LRUCache<string, { current: number; since: number }>({
    max: MAX_CALLERS,
  });

  incr(
    key: string,
    done: (error: null, result: { current: number; ttl: number }) => void,
    timeWindow: number,
  ): void {
    const now = performance.now();
    let count = this.#counts.get(key);
    if (!count || now - count.since >= timeWindow) {
      count = { current: 0, since: now };
      this.#counts.set(key, count);
    }
    count.current++;
    done(null, { current: count.current, ttl: count.since + timeWindow - now });
  }

  child(): Tally {
    return new Tally();
  }
}

/** What is limited for whom. */
export interface RateLimit {
  perMinute: number;
  /** What the client is told to send less of. */
  what: string;
  /** Who counts as one. */
  keyOf: (request: FastifyRequest) => string;
}

/** Makes a hook of a route that answers 429 to whoever sends more. */
export function limitRate(
  app: FastifyInstance,
  { perMinute, what, keyOf }: RateLimit,
): onRequestAsyncHookHandler {
  const hook = app.rateLimit({
    max: perMinute,
    timeWindow: "1 minute",
    keyGenerator: keyOf,
    errorResponseBuilder: (_, { ttl }) =>
      new Refusal(429, `Too many ${what}. Try again later.`, {
        "retry-after": String(Math.ceil(ttl / 1000)),
      }),
  });
  // For those who print the hooks of a route.
  return Object.defineProperty(hook, "name", { value: "limitRate" });
}

/** Bounds the API calls of one token in a minute. */
export default fp<{ load?: LoadLimits | undefined }>(
  async (app, { load }) => {
    await app.register(rateLimit, {
      global: false,
      store: Tally,
      addHeaders: quiet,
      addHeadersOnExceeding: quiet,
    });
    const perMinute = load?.perMinute;
    if (!perMinute) return;
    const limitCaller = limitRate(app, {
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
