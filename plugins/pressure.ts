import underPressure from "@fastify/under-pressure";
import type { onRequestHookHandler } from "fastify";
import fp from "fastify-plugin";
import type { LoadLimits } from "../config.js";
import { Refusal } from "./errors.js";

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

    /** A bound on how many requests of some routes are under way at a time. */
    function atMost(max: number, what: string): onRequestHookHandler {
      let underWay = 0;
      return (_request, reply, done) => {
        if (underWay >= max) {
          done(tooBusy(`${max} ${what} are under way`));
          return;
        }
        underWay++;
        let counted = true;
        const over = () => {
          if (counted) underWay--;
          counted = false;
        };
        // It was answered (an injected request never closes), or its client went away.
        reply.raw.once("finish", over);
        reply.raw.once("close", over);
        done();
      };
    }

    const bounds: [path: string, bound: onRequestHookHandler][] = [];
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
        if (!route.url.startsWith(path)) continue;
        // Before the caller is asked for: that is work, too.
        route.onRequest = [bound, ...[route.onRequest ?? []].flat()];
      }
    });

    if (limits.eventLoopDelay === 0) return;
    await app.register(underPressure, {
      maxEventLoopDelay: limits.eventLoopDelay,
      // It takes an interval without two turns of the loop for an endless
      // delay: in one that is too short, any pause would be.
      sampleInterval: 2 * limits.eventLoopDelay,
      pressureHandler: async ({ routeOptions: { url } }) => {
        // Whoever restarts what is unwell, or measures it, has to get through.
        if (url === "/healthz" || url === "/metrics") return;
        throw tooBusy(`the event loop is late`);
      },
    });
  },
  { name: "pressure", dependencies: ["errors", "permissions"] },
);
