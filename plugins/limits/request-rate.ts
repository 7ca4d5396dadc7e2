import type { FastifyRequest, onRequestAsyncHookHandler, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import { LRUCache } from "lru-cache";
import type { LoadLimits } from "../../config.js";
import { Refusal } from "../http/errors.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Returns the hook that limits the calls to a route, or undefined if the route has no limit. */
    limitOf?(route: RouteOptions): onRequestAsyncHookHandler | undefined;
  }
}

/** Length of the window in which a caller's calls are counted, in milliseconds. */
const MINUTE_MS = 60_000;

/** Maximum number of keys counted. The least recently counted key is evicted first. */
const MAX_KEYS = 5000;

/**
 * Counts keys in time windows, in this process. Uses a monotonic clock, because setting back the
 * wall clock would prolong a window.
 */
export class Tally {
  readonly #counts = new LRUCache<string, { count: number; since: number }>({ max: MAX_KEYS });

  /**
   * Increments a key's count. The window begins with the first count.
   * @param window in milliseconds.
   * @returns the count, and the number of milliseconds until the window ends.
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

  /** Like {@link count}, without incrementing the count. */
  peek(key: string, window: number): { count: number; ttl: number } {
    const now = performance.now();
    const known = this.#counts.peek(key);
    if (!known || now - known.since >= window) return { count: 0, ttl: 0 };
    return { count: known.count, ttl: known.since + window - now };
  }
}

/** A limit on calls per minute and key. */
export interface RateLimit {
  perMinute: number;
  /** Noun for the calls, used in the refusal's message. */
  what: string;
  /** Returns the key under which a call is counted. */
  keyOf: (request: FastifyRequest) => string;
}

/** Creates a route hook that responds with 429 to callers who exceed the limit in this process. */
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

/** Limits the number of API calls per minute for each token. */
export default fp<{ load?: LoadLimits | undefined }>(
  async (app, { load }) => {
    const perMinute = load?.perMinute;
    if (!perMinute) return;
    const limitCaller = limitRate({
      perMinute,
      what: "requests",
      // The signature is short and identifies the token. The signature is always at the end of the
      // header, regardless of how the rest of the header is formatted.
      keyOf: ({ headers: { authorization = "" } }) =>
        authorization.slice(authorization.lastIndexOf(".") + 1),
    });
    app.decorate("limitOf", ({ config }: RouteOptions) =>
      Array.isArray(config?.requires) ? limitCaller : undefined,
    );
  },
  { name: "rate", dependencies: ["errors"] },
);
