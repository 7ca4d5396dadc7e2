import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyInstance, onRequestHookHandler, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import type { LoadLimits } from "../../config.js";
import { Refusal } from "../http/errors.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * Counts this route's requests as uploads, like requests to routes that hold large bodies. By
     * default, a call other than GET or HEAD counts as a write.
     */
    slot?: "uploads";
  }
  interface FastifyInstance {
    /**
     * Limits the number of a route's requests in flight.
     * @returns the hook that claims a slot, or undefined if the route has no limit.
     */
    slotOf?(route: RouteOptions): onRequestHookHandler | undefined;
  }
  interface FastifyRequest {
    /**
     * Keeps a request's slot beyond its response; set on routes with a limit.
     * @returns a function that releases the slot, and must be called only once.
     */
    hold(): () => void;
  }
}

/** Minimum time between two log lines about an overload, in milliseconds. */
const LOG_INTERVAL_MS = 10_000;

/** Creates the refusal that an overloaded server sends. */
type TooBusy = (why: string) => Refusal;

/**
 * Responds with 503 when more work is pending than can be done soon: a client is better off
 * retrying than waiting in an endless queue. A disabled limit adds no cost to requests.
 */
export default fp<{ load?: LoadLimits | undefined }>(
  async (app, { load }) => {
    if (!load) return;
    let lastLogged = -Infinity;

    const tooBusy: TooBusy = (why) => {
      const now = performance.now();
      if (now - lastLogged > LOG_INTERVAL_MS) {
        lastLogged = now;
        app.log.warn(`turning requests away: ${why}`);
      }
      return new Refusal(503, "The server is too busy. Try again soon.", { "retry-after": "1" });
    };

    app.decorateRequest("hold", null as never);
    const { requests, uploads, eventLoopDelay } = load;
    const boundWrites = requests ? boundBy(requests, "writes", tooBusy) : undefined;
    // A client that reads its response slowly must not block other reads.
    const boundReads = requests
      ? boundBy(requests, "reads", tooBusy, { untilAnswered: false })
      : undefined;
    const boundUploads = uploads ? boundBy(uploads, "uploads", tooBusy) : undefined;
    app.decorate("slotOf", (route: RouteOptions) => {
      const { requires, holdsLargeBody, slot } = route.config ?? {};
      if (route.method === "GET" || route.method === "HEAD") {
        // On SQLite, a read needs no slot: it is handled in one turn of the event loop, and
        // searches have a separate queue (db/engines/sqlite/engine/searcher.ts).
        if (!app.sharedHealth || !Array.isArray(requires)) return undefined;
        return boundReads?.(route);
      }
      if (slot === "uploads" || holdsLargeBody) return boundUploads?.(route);
      return Array.isArray(requires) ? boundWrites?.(route) : undefined;
    });

    if (eventLoopDelay === 0) return;
    const delay = watchEventLoop(app, 2 * eventLoopDelay);
    app.addHook("onRequest", function refuseWhenLate(request, _reply, done) {
      if (delay() <= eventLoopDelay) return done();
      const { url = "" } = request.routeOptions;
      // Health checks and metrics scrapes must succeed on an overloaded server.
      if (["/healthz", "/metrics"].includes(url)) return done();
      done(tooBusy("the event loop is late"));
    });
  },
  { name: "overload", dependencies: ["errors"] },
);

/**
 * Limits the number of requests in flight for some routes. A request is in flight until its
 * response has been closed and its handler has settled, because a handler keeps working after the
 * client disconnects.
 * @param options.untilAnswered whether a request keeps its slot until its response is closed. If
 * false, a request keeps its slot only until its handler settles or its client disconnects.
 * @returns a function that applies the limit to a route, and returns the hook that claims a slot.
 */
function boundBy(
  max: number,
  what: string,
  tooBusy: TooBusy,
  { untilAnswered = true } = {},
): (route: RouteOptions) => onRequestHookHandler {
  let underWay = 0;

  const claimSlot: onRequestHookHandler = (request, reply, done) => {
    if (underWay >= max) {
      done(tooBusy(`${max} ${what} are under way`));
      return;
    }
    underWay++;
    let holders = 1;
    const release = () => {
      if (--holders === 0) underWay--;
    };
    request.hold = () => {
      holders++;
      return release;
    };
    let closed = false;
    const close = () => {
      if (!closed) release();
      closed = true;
    };
    if (!untilAnswered) request.hold = () => close;
    // `finish` fires when the response has been sent; an injected request never emits `close`.
    // `close` fires when the client has disconnected.
    reply.raw.once("finish", close);
    reply.raw.once("close", close);
    done();
  };

  return (route) => {
    const { handler } = route;
    route.handler = function (request, reply) {
      const release = request.hold();
      try {
        const result: unknown = handler.call(this, request, reply);
        if (result instanceof Promise) result.then(release, release);
        else release();
        return result;
      } catch (error) {
        release();
        throw error;
      }
    };
    return claimSlot;
  };
}

/** Sampling interval for the event loop delay, in milliseconds. */
const SAMPLE_INTERVAL_MS = 10;

/**
 * Measures the event loop's delay. @fastify/under-pressure does the same, but also reads the memory
 * usage in a timer. Reading the memory usage throws when no file descriptors are left, which would
 * terminate the server.
 * @param interval the averaging period, in milliseconds. A period with fewer than two turns of the
 * loop counts as an infinite delay, so with a short period, any pause would count as an overload.
 * @returns the average delay in the last period, in milliseconds.
 */
export function watchEventLoop(app: FastifyInstance, interval: number): () => number {
  const histogram = monitorEventLoopDelay({ resolution: SAMPLE_INTERVAL_MS });
  histogram.enable();
  let delay = 0;
  const timer = setInterval(() => {
    const { mean } = histogram;
    delay = Number.isNaN(mean) ? Infinity : mean / 1e6 - SAMPLE_INTERVAL_MS;
    histogram.reset();
  }, interval).unref();
  app.addHook("onClose", async () => {
    clearInterval(timer);
    histogram.disable();
  });
  return () => delay;
}
