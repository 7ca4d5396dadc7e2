import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyInstance, onRequestHookHandler, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import type { LoadLimits } from "../../config.js";
import { Refusal } from "../http/errors.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Its requests count among the uploads, as those of routes that hold large bodies do. By default a call is a write. */
    slot?: "uploads";
  }
  interface FastifyInstance {
    /**
     * Bounds how many requests of a route are under way.
     * @returns the hook that takes a slot; undefined if the route has no bound.
     */
    slotOf?(route: RouteOptions): onRequestHookHandler | undefined;
  }
  interface FastifyRequest {
    /**
     * Keeps the slot of a request beyond its response; set on routes with a bound.
     * @returns a function that gives the slot back; call it once.
     */
    hold(): () => void;
  }
}

/** The least time between two lines of the log about an overload, in milliseconds. */
const LOG_INTERVAL_MS = 10_000;

/** Makes the refusal of a server that is too busy. */
type TooBusy = (why: string) => Refusal;

/**
 * Answers 503 when there is more work than can be done soon: a client that is told
 * to come back is better off than one in an endless queue. A bound that is off
 * costs a request nothing.
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
    // A client that reads its answer slowly keeps no other one from reading.
    const boundReads = requests
      ? boundBy(requests, "reads", tooBusy, { untilAnswered: false })
      : undefined;
    const boundUploads = uploads ? boundBy(uploads, "uploads", tooBusy) : undefined;
    app.decorate("slotOf", (route: RouteOptions) => {
      const { requires, holdsLargeBody, slot } = route.config ?? {};
      if (route.method === "GET" || route.method === "HEAD") {
        // On SQLite, a read needs no slot: it is answered in one turn of the event loop, and
        // searches have a queue of their own (db/engines/sqlite/engine/searcher.ts).
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
      // Supervisors and scrapers must get through to an overloaded server.
      if (["/healthz", "/metrics"].includes(url)) return done();
      done(tooBusy("the event loop is late"));
    });
  },
  { name: "overload", dependencies: ["errors"] },
);

/**
 * Bounds how many requests of some routes are under way at a time. A request is
 * under way until its response is closed and its handler has settled: a client
 * that disconnects leaves its work behind.
 * @param options.untilAnswered whether it keeps its slot until its response is closed; otherwise
 *   until its handler has settled, or its client has left.
 * @returns applies the bound to a route, and gives the hook that takes a slot.
 */
function boundBy(
  max: number,
  what: string,
  tooBusy: TooBusy,
  { untilAnswered = true } = {},
): (route: RouteOptions) => onRequestHookHandler {
  let underWay = 0;

  const takeSlot: onRequestHookHandler = (request, reply, done) => {
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
    // "finish" when it was answered, as an injected request never closes;
    // "close" when the client disconnected.
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
    return takeSlot;
  };
}

/** How often the delay of the event loop is sampled, in milliseconds. */
const SAMPLE_INTERVAL_MS = 10;

/**
 * Measures the delay of the event loop. @fastify/under-pressure does so, too, but
 * it also asks for the memory, in a timer; that throws when there are no file
 * descriptors left, and would end the server.
 * @param interval over how many milliseconds to average. An interval without two
 *   turns of the loop counts as an endless delay, so a short one would make an
 *   overload of any pause.
 * @returns the average delay in the last interval, in milliseconds.
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
