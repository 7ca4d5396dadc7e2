import type { TObject } from "@sinclair/typebox";
import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyPluginCallback,
  onRequestHookHandler,
  RouteOptions,
} from "fastify";
import fp from "fastify-plugin";
import type { LoadLimits } from "../../config.js";
import { guardOf } from "../auth/guard.js";
import overload from "../limits/overload.js";
import rate from "../limits/rate.js";
import requestLog from "../logging.js";
import type { Gather } from "../gather.js";
import { isConditional, unversioned } from "../replies.js";
import { refuseCoded, refuseUnknown } from "../validation.js";
import { guardBodyLimits } from "./body-limits.js";
import connections from "./connections.js";
import { awaitTurn, refuseWhileStopping } from "./connections.js";
import cors from "./cors.js";
import errorHandler from "./error-handler.js";
import baseUrl from "./base-url.js";
import protocol, { addHeaders, askForBody, refuseAmbiguous, refuseUnrouted } from "./protocol.js";
import serialization from "./serialization.js";

// The order of a request: `parts` lists the stages of every request, and `hooksOf` the
// stages that its route adds. A part with a `plugin` adds its hooks at its place in the
// list. The guard decides a second time in the JSON parser (plugins/validation.ts), once
// the body has arrived.

export interface HttpOptions {
  /** Where clients reach the server, if a proxy hides it. */
  publicUrl?: string | undefined;
  /** The origins whose pages may call; none by default. */
  corsOrigins?: string[] | "*" | undefined;
  /** How long `close` waits for requests in flight, in milliseconds. */
  closeTimeout: number;
  /** Bounds on load; none by default. */
  load?: LoadLimits | undefined;
  /** Measures each request; by default none is. */
  metrics?: { gather?: Gather } | undefined;
  /** Leaves out the parts that only an API needs. */
  bare?: boolean;
}

type Plugin = FastifyPluginAsync<HttpOptions>;

/** A hook, or a plugin that may add some. */
type Part = (
  { onRequest: onRequestHookHandler } | { plugin: Plugin | FastifyPluginCallback<HttpOptions> }
) & {
  /** Whether a port without the API needs it, too. */
  bare: boolean;
  /** What it does, and why it has this place. */
  why: string;
};

/** Imported if needed, so that a server without metrics starts faster. */
const metrics = fp<HttpOptions>(async (app, { metrics }) => {
  if (metrics) await app.register(import("../metrics.js"), metrics);
});

/** The stages of every request. The hooks of one kind run in this order. */
const parts: readonly Part[] = [
  // Without hooks of a request.
  { plugin: errorHandler, bare: true, why: "gives every error its shape" },
  {
    plugin: protocol,
    bare: true,
    why: "sees what Node.js would answer in a shape of its own",
  },
  {
    plugin: connections,
    bare: true,
    why: "waits for the answers in flight when the server stops",
  },
  { plugin: serialization, bare: false, why: "compiles the schemas of answers" },
  { plugin: baseUrl, bare: false, why: "gives handlers the base of links" },
  // onRequest
  {
    onRequest: refuseAmbiguous,
    bare: true,
    why: "400, 415 for ambiguous headers; it must know of a request before the parser reads the next one",
  },
  {
    onRequest: addHeaders,
    bare: true,
    why: "gives every answer its headers; the answers of all later parts need them",
  },
  {
    onRequest: awaitTurn,
    bare: false,
    why: "holds a request until its turn, or 429; from here on a request may take resources",
  },
  {
    plugin: cors,
    bare: false,
    why: "answers preflights; a page can read the refusals of all later parts",
  },
  { onRequest: refuseUnrouted, bare: true, why: "404 and 405, before the body is read" },
  {
    onRequest: refuseWhileStopping,
    bare: true,
    why: "503 while the server stops; an unknown path stays a 404",
  },
  { plugin: overload, bare: false, why: "503 while the event loop is late" },
  { plugin: rate, bare: false, why: "counts callers, for the hooks of routes below" },
  // onResponse
  { plugin: requestLog, bare: false, why: "logs each answer at level debug" },
  { plugin: metrics, bare: false, why: "measures each answer" },
];

/** Everything that HTTP asks of the server, on any route. */
export default fp<HttpOptions>(
  async (app, options) => {
    for (const part of parts) {
      if (options.bare && !part.bare) continue;
      if ("onRequest" in part) app.addHook("onRequest", part.onRequest);
      else await app.register(part.plugin as Plugin, options);
    }
  },
  { name: "http" },
);

/** The hooks of a route, which run after the hooks of every request. */
function hooksOf(app: FastifyInstance, route: RouteOptions) {
  const mayHaveBody = route.method !== "GET" && route.method !== "HEAD";
  const isCall = route.url.startsWith("/api/v1/");
  // Routes that a program adds beside Foyer's have no such name.
  const isOperation = isCall && route.schema?.operationId !== undefined;
  return {
    onRequest: [
      // 503 if too many are under way. Before the guard: to identify a caller is work, too.
      app.slotOf?.(route),
      // 401 and 403.
      guardOf(app, route),
      // 429. Only calls that the guard let in count: an unknown token cannot fill the memory.
      app.limitOf?.(route),
      route.onRequest,
    ],
    preParsing: [
      // 415 for another charset or coding.
      mayHaveBody && isCall && refuseCoded,
      route.preParsing,
      // After every hook that may refuse, and before the body is read.
      mayHaveBody && askForBody,
    ],
    preValidation: [
      // 400 for parameters that it does not have.
      isOperation && refuseUnknown(route.schema?.querystring as TObject),
      route.preValidation,
    ],
    preHandler: [
      // 412 for a version of what has none.
      mayHaveBody && isOperation && !isConditional(route) && unversioned,
      route.preHandler,
    ],
  };
}

const composed = new WeakSet<FastifyInstance>();

/**
 * Gives every route that is added from now on its hooks. A route without `requires` stops
 * the start, and so does a route that was added before, as no hook can reach it any more.
 */
export function composeRoutes(app: FastifyInstance): void {
  if (composed.has(app)) return;
  composed.add(app);
  if (app.printRoutes({ commonPrefix: false }) !== NO_ROUTES) {
    throw new Error(
      `Routes were added before Foyer could guard them. Add them after "await app.register(foyer)", or in a plugin:\n${app.printRoutes({ commonPrefix: false })}`,
    );
  }
  app.decorateRequest("admission", undefined);
  app.addHook("onRoute", function (route) {
    const { onRequest, preParsing, preValidation, preHandler } = hooksOf(this, route);
    route.onRequest = onRequest.flat().filter((hook) => !!hook);
    route.preParsing = preParsing.flat().filter((hook) => !!hook);
    route.preValidation = preValidation.flat().filter((hook) => !!hook);
    route.preHandler = preHandler.flat().filter((hook) => !!hook);
  });
  guardBodyLimits(app);
}

/** How Fastify prints that there are no routes. */
const NO_ROUTES = "(empty tree)";
