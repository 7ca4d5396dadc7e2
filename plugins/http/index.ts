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
import rate from "../limits/request-rate.js";
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

// The order in which a request is processed: `parts` lists the stages of every request, and
// `hooksOf` the stages added by its route. A part with a `plugin` adds its hooks at its position in
// the list. The guard runs a second time in the JSON parser (plugins/validation.ts), once the body
// has arrived.

export interface HttpOptions {
  /** The URL at which clients reach the server, if the server is behind a proxy. */
  publicUrl?: string | undefined;
  /** The origins whose pages may call the API; none by default. */
  corsOrigins?: string[] | "*" | undefined;
  /** Maximum time that `close` waits for requests in flight, in milliseconds. */
  closeTimeout: number;
  /** Load limits; none by default. */
  load?: LoadLimits | undefined;
  /** Enables request metrics; off by default. */
  metrics?: { gather?: Gather } | undefined;
  /** Omits the parts that only an API needs. */
  bare?: boolean;
}

type Plugin = FastifyPluginAsync<HttpOptions>;

/** A hook, or a plugin that may add hooks. */
type Part = (
  { onRequest: onRequestHookHandler } | { plugin: Plugin | FastifyPluginCallback<HttpOptions> }
) & {
  /** Whether a port without the API also needs this part. */
  bare: boolean;
  /** The part's purpose, and the reason for its position. */
  why: string;
};

/** Imported lazily, so that a server without metrics starts faster. */
const metrics = fp<HttpOptions>(async (app, { metrics }) => {
  if (metrics) await app.register(import("../metrics.js"), metrics);
});

/** The stages of every request. Hooks of the same kind run in this order. */
const parts: readonly Part[] = [
  // Parts without request hooks.
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

/** Registers the HTTP stages shared by all routes. */
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

/** Returns a route's own hooks, which run after the hooks shared by all requests. */
function hooksOf(app: FastifyInstance, route: RouteOptions) {
  const mayHaveBody = route.method !== "GET" && route.method !== "HEAD";
  const isCall = route.url.startsWith("/api/v1/");
  // Routes added by an embedder have no operation id.
  const isOperation = isCall && route.schema?.operationId !== undefined;
  return {
    onRequest: [
      // 503 if too many requests are in flight. This hook precedes the guard, because identifying a
      // caller also takes work.
      app.slotOf?.(route),
      // 401 and 403.
      guardOf(app, route),
      // 429. Only admitted calls are counted, so unknown tokens cannot exhaust memory.
      app.limitOf?.(route),
      route.onRequest,
    ],
    preParsing: [
      // 415 for an unsupported charset or content coding.
      mayHaveBody && isCall && refuseCoded,
      route.preParsing,
      // After all hooks that may reject the request, and before the body is read.
      mayHaveBody && askForBody,
    ],
    preValidation: [
      // 400 for unknown query parameters.
      isOperation && refuseUnknown(route.schema?.querystring as TObject),
      route.preValidation,
    ],
    preHandler: [
      // 412 for a precondition on a resource without versions.
      mayHaveBody && isOperation && !isConditional(route) && unversioned,
      route.preHandler,
    ],
  };
}

const composed = new WeakSet<FastifyInstance>();

/**
 * Adds the hooks to every route registered after this call. The server does not start if a route
 * lacks `requires`, or if a route was registered before this call, because hooks can no longer be
 * added to that route.
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

/** The output of Fastify's `printRoutes` if there are no routes. */
const NO_ROUTES = "(empty tree)";
