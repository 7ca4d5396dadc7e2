import rateLimit from "@fastify/rate-limit";
import fp from "fastify-plugin";
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

/**
 * A bound on the API calls of one token in a minute. It counts calls that were
 * let in: a token that is not known here cannot fill the memory.
 */
export default fp<{ perMinute: number }>(
  async (app, { perMinute }) => {
    await app.register(rateLimit, {
      global: false,
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
