import type { FastifyInstance, RouteOptions } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The route intends to hold a body in memory that is larger than the `bodyLimit` of the server. */
    holdsLargeBody?: true;
  }
}

/** The types whose inherited parsers (Fastify's and the one of `validation`) hold a whole body in memory. */
const INHERITED = ["application/json", "text/plain"];

const guarded = new WeakSet<FastifyInstance>();

/**
 * Stops the start if a route raises `bodyLimit` and inherits a parser that holds
 * a whole body in memory: a client could fill the memory with a type of body
 * that the route never asked for. A route for large bodies either removes the
 * parsers of its scope and reads a stream, or declares `config.holdsLargeBody`.
 * Call it before the first route is added.
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
  // A scope may remove a parser after it has added the route.
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
