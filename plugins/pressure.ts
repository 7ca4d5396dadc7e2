import { monitorEventLoopDelay } from "node:perf_hooks";
import type {
  FastifyInstance,
  onRequestHookHandler,
  RouteOptions,
} from "fastify";
import fp from "fastify-plugin";
import type { LoadLimits } from "../config.js";
import { Refusal } from "./errors.js";

declare module "fastify" {
  interface FastifyRequest {
    /**
     * Keeps the slot of a request beyond its response; set on routes with a bound.
     * @returns gives it back, once.
     */
    hold(): () => void;
  }
}

/** The log names an overload this often at most, in milliseconds. */
const LOG_INTERVAL = 10_000;

/**
 * Turns work away when there is more than can be done soon: a client that is
 * told to come again is better off than one in a queue without end. Each bound
 * that is off costs a request nothing.
 */
export default fp<{ limits: LoadLimits }>(
  async (app, { limits }) => {
    let lastLogged = -Infinity;

    function tooBusy(why: string): Refusal {
      const now = performance.now();
      if (now - lastLogged > LOG_INTERVAL) {
        lastLogged = now;
        app.log.warn(`turning requests away: ${why}`);
      }
      return new Refusal(503, "The server is too busy. Try again soon.", {
        "retry-after": "1",
      });
    }

    /**
     * Bounds how many requests of some routes are under way at a time. One is
     * until its response is closed and its handler has settled: a client that
     * goes away leaves its work behind.
     */
    function atMost(max: number, what: string): (route: RouteOptions) => void {
      let underWay = 0;
      const enter: onRequestHookHandler = (request, reply, done) => {
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
        // It was answered (an injected request never closes), or its client went away.
        reply.raw.once("finish", close);
        reply.raw.once("close", close);
        done();
      };
      return (route) => {
        // Before the caller is asked for: that is work, too.
        route.onRequest = [enter, ...[route.onRequest ?? []].flat()];
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
      };
    }

    app.decorateRequest("hold", null as never);
    const bounds: [path: string, bound: (route: RouteOptions) => void][] = [];
    if (limits.requests > 0) {
      bounds.push(["/api/v1/", atMost(limits.requests, "writes")]);
    }
    if (limits.uploads > 0) {
      bounds.push(["/storage/upload/", atMost(limits.uploads, "uploads")]);
    }
    app.addHook("onRoute", (route) => {
      // What only reads is answered in the turn of the event loop that took it
      // from its socket: it never is under way beside another.
      if (route.method === "GET" || route.method === "HEAD") return;
      for (const [path, bound] of bounds) {
        if (route.url.startsWith(path)) bound(route);
      }
    });

    const { eventLoopDelay: most } = limits;
    if (most === 0) return;
    const delay = watchEventLoop(app, 2 * most);
    app.addHook("onRequest", (request, _reply, done) => {
      if (delay() <= most) return done();
      const { url = "" } = request.routeOptions;
      // Whoever restarts what is unwell, or measures it, has to get through.
      if (["/healthz", "/metrics"].includes(url)) return done();
      done(tooBusy("the event loop is late"));
    });
  },
  { name: "pressure", dependencies: ["errors", "permissions"] },
);

/** How often the event loop is looked at, in milliseconds. */
const RESOLUTION = 10;

/**
 * Measures the event loop. @fastify/under-pressure does the same, but asks for
 * the memory as well, which fails when there are no more file descriptors: in a
 * timer, where that ends the server.
 * @param interval over how many milliseconds; one without two turns of the loop
 *   is an endless delay, so in one that is too short any pause would be.
 * @returns how many milliseconds it was late in the last interval, on average.
 */
function watchEventLoop(app: FastifyInstance, interval: number): () => number {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  histogram.enable();
  let delay = 0;
  const timer = setInterval(() => {
    const { mean } = histogram;
    delay = Number.isNaN(mean) ? Infinity : mean / 1e6 - RESOLUTION;
    histogram.reset();
  }, interval).unref();
  app.addHook("onClose", async () => {
    clearInterval(timer);
    histogram.disable();
  });
  return () => delay;
}
