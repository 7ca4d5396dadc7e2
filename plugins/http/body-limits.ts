import type { FastifyInstance, RouteOptions } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route deliberately buffers a body larger than the server's `bodyLimit`. */
    holdsLargeBody?: true;
  }
}

/** The content types whose inherited parsers (Fastify's and the `validation` plugin's) buffer the whole body. */
const INHERITED = ["application/json", "text/plain"];

const guarded = new WeakSet<FastifyInstance>();

/**
 * Prevents the server from starting if a route raises `bodyLimit` but inherits a parser that
 * buffers the whole body: a client could exhaust memory with a content type that the route never
 * asked for. A route for large bodies must either remove its scope's parsers and read a stream, or
 * declare `config.holdsLargeBody`. Call this before adding the first route.
 */
export function guardBodyLimits(app: FastifyInstance): void {
  if (guarded.has(app)) return;
  guarded.add(app);
  const raised: { scope: FastifyInstance; route: RouteOptions }[] = [];
  app.addHook("onRoute", function (route) {
    const { bodyLimit = 0, config } = route;
    const most = app.initialConfig.bodyLimit!;
    if (bodyLimit <= most || config?.holdsLargeBody) return;
    raised.push({ scope: this, route });
  });
  // Deferred, because a scope may remove a parser after adding the route.
  app.addHook("onReady", async () => {
    for (const { scope, route } of raised) {
      const type = INHERITED.find((type) => scope.hasContentTypeParser(type));
      if (type === undefined) continue;
      throw new Error(
        `${String(route.method)} ${route.url} raises bodyLimit and would hold a body of ${type} in memory (remove the parser, or declare config.holdsLargeBody)`,
      );
    }
  });
}
