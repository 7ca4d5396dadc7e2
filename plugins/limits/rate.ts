import type {
  FastifyInstance,
  FastifyRequest,
  onRequestAsyncHookHandler,
  RouteOptions,
} from "fastify";
import fp from "fastify-plugin";
import type { LoadLimits } from "../../config.js";
import { Refusal } from "../http/errors.js";

declare module "fastify" {
  interface FastifyInstance {
    /** The hook that counts the calls of a route; undefined if nothing bounds them. */
    limitOf?(route: RouteOptions): onRequestAsyncHookHandler | undefined;
  }
}

/** How long the calls of a caller add up, in milliseconds. */
const MINUTE = 60_000;

/** A rate limit: what it counts, and per which caller. */
export interface RateLimit {
  perMinute: number;
  /** The noun for the sentence of the refusal. */
  what: string;
  /** The key under which calls count together. */
  keyOf: (request: FastifyRequest) => string;
}

/**
 * Makes a hook of a route that answers 429 to a caller who sends more. With Valkey, the calls
 * to all nodes add up.
 */
export function limitRate(
  { events }: Pick<FastifyInstance, "events">,
  { perMinute, what, keyOf }: RateLimit,
): onRequestAsyncHookHandler {
  return async function limitRate(request) {
    const key = `${what} ${keyOf(request)}`;
    const { count, ttl } = await events.count(key, MINUTE);
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
