import rateLimit from "@fastify/rate-limit";
import type {
  FastifyInstance,
  FastifyRequest,
  onRequestAsyncHookHandler,
  RouteOptions,
} from "fastify";
import fp from "fastify-plugin";
import type { LoadLimits } from "../../config.js";
import type { Events } from "../../db/events.js";
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

/** Lets the events count, so that the calls to all nodes add up. */
const countsOf = (events: Events) =>
  class Counts {
    incr(
      key: string,
      done: (
        error: Error | null,
        result?: { current: number; ttl: number },
      ) => void,
      window: number,
    ): void {
      events.count(key, window).then(
        ({ count, ttl }) => done(null, { current: count, ttl }),
        (error: unknown) => done(error as Error),
      );
    }

    child(): Counts {
      return this;
    }
  };

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
    keyGenerator: (request) => `${what} ${keyOf(request)}`,
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
      store: countsOf(app.events),
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
  { name: "rate", dependencies: ["engines", "errors"] },
);
