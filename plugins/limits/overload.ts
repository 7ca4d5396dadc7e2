import type { onRequestHookHandler, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import type { LoadLimits } from "../../config.js";
import { uploader } from "../auth/uploader.js";
import { Refusal } from "../http/errors.js";
import { watchEventLoop } from "./event-loop.js";

declare module "fastify" {
  interface FastifyRequest {
    /**
     * Keeps the slot of a request beyond its response; set on routes with a bound.
     * @returns a function that gives the slot back; call it once.
     */
    hold(): () => void;
  }
}

/** The least time between two lines of the log about an overload, in milliseconds. */
const LOG_INTERVAL = 10_000;

/** Makes the refusal of a server that is too busy. */
type TooBusy = (why: string) => Refusal;

/**
 * Answers 503 when there is more work than can be done soon: a client that is told
 * to come back is better off than one in an endless queue. A bound that is off
 * costs a request nothing.
 */
export default fp<{ limits: LoadLimits }>(
  async (app, { limits }) => {
    let lastLogged = -Infinity;

    const tooBusy: TooBusy = (why) => {
      const now = performance.now();
      if (now - lastLogged > LOG_INTERVAL) {
        lastLogged = now;
        app.log.warn(`turning requests away: ${why}`);
      }
      return new Refusal(503, "The server is too busy. Try again soon.", {
        "retry-after": "1",
      });
    };

    app.decorateRequest("hold", null as never);
    const { requests, uploads, eventLoopDelay } = limits;
    const boundWrites = requests && boundBy(requests, "writes", tooBusy);
    const boundUploads = uploads && boundBy(uploads, "uploads", tooBusy);
    app.addHook("onRoute", (route) => {
      // A read needs no slot: it is answered in one turn of the event loop, and
      // searches have a queue of their own (db/sqlite/searcher.ts).
      if (route.method === "GET" || route.method === "HEAD") return;
      const requires = route.config?.requires;
      if (Array.isArray(requires) && boundWrites) boundWrites(route);
      if (requires === uploader && boundUploads) boundUploads(route);
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
 * @returns applies the bound to a route.
 */
function boundBy(
  max: number,
  what: string,
  tooBusy: TooBusy,
): (route: RouteOptions) => void {
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
    // "finish" when it was answered, as an injected request never closes;
    // "close" when the client disconnected.
    reply.raw.once("finish", close);
    reply.raw.once("close", close);
    done();
  };

  return (route) => {
    // Before the guard: to identify a caller is work, too.
    route.onRequest = [takeSlot, ...[route.onRequest ?? []].flat()];
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
