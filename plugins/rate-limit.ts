import rateLimit from "@fastify/rate-limit";
import fp from "fastify-plugin";
import { LRUCache } from "lru-cache";
import { Refusal } from "./errors.js";

/** A client needs to know when to come again, and no more. */
export const quiet = {
  "x-ratelimit-limit": false,
  "x-ratelimit-remaining": false,
  "x-ratelimit-reset": false,
};

/** Tells when to come again. */
export const tooMany =
  (what: string) =>
  (_: unknown, { ttl }: { ttl: number }): Refusal =>
    new Refusal(429, `Too many ${what}. Try again later.`, {
      "retry-after": String(Math.ceil(ttl / 1000)),
    });

/** How many callers are counted at a time; the longest unseen are forgotten first. */
const MAX_CALLERS = 5000;

/**
 * What the rate limit counts in. Its own store goes by the clock, and once that
 * is set back would lock callers out for as long.
 */
export class Tally {
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

/**
 * A bound on the API calls of one token in a minute. It counts calls that were
 * let in: a token that is not known here cannot fill the memory.
 */
export default fp<{ perMinute: number }>(
  async (app, { perMinute }) => {
    await app.register(rateLimit, {
      global: false,
      store: Tally,
      addHeaders: quiet,
      addHeadersOnExceeding: quiet,
    });
    const limited = app.rateLimit({
      max: perMinute,
      timeWindow: "1 minute",
      // The signature is as good as the token, and short. It is what comes
      // last, in however many ways the rest of the header may be written.
      keyGenerator: ({ headers: { authorization = "" } }) =>
        authorization.slice(authorization.lastIndexOf(".") + 1),
      errorResponseBuilder: tooMany("requests"),
    });
    // Registered before `permissions`, whose hooks go in front of this one.
    app.addHook("onRoute", (route) => {
      if (!route.url.startsWith("/api/v1/")) return;
      if (route.config?.requires === "public") return;
      route.onRequest = [...[route.onRequest ?? []].flat(), limited];
    });
  },
  { name: "rate-limit", dependencies: ["errors"] },
);
