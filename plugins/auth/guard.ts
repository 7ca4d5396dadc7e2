import type {
  FastifyInstance,
  FastifyRequest,
  onRequestAsyncHookHandler,
} from "fastify";
import type { PermissionKey } from "../../schemas/plain/permissions.js";
import { cacheControl } from "../http/cache-control.js";
import { authorize } from "./authorization.js";

/**
 * Lets a request pass, or throws what refuses it. It runs before the body is
 * read, and perhaps again after it.
 */
export type Admission = (request: FastifyRequest) => void | Promise<void>;

/**
 * Whom a route lets in: everybody; callers of the world in its path who have
 * `world.api` and each of these keys, on the room if the path names one; or those
 * whom a function admits.
 */
export type Requirement = "public" | readonly PermissionKey[] | Admission;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whom the route lets in. Without it the server does not start. */
    requires?: Requirement;
  }
  interface FastifyRequest {
    /** What admitted the request; undefined on public routes. */
    admission: Admission | undefined;
  }
}

/** On an instance: the requirement of routes that declare none themselves. */
const kRequires = Symbol("what routes require");

type Scope = FastifyInstance & { [kRequires]?: Requirement | undefined };

const guarded = new WeakSet<FastifyInstance>();

/**
 * Guards every route that is added from now on by what it declares in
 * `config.requires`. A route that declares nothing stops the start, and so does
 * one that was added before, as no hook can reach it any more.
 */
export function guardRoutes(app: FastifyInstance): void {
  if (guarded.has(app)) return;
  guarded.add(app);
  if (app.printRoutes({ commonPrefix: false }) !== NO_ROUTES) {
    throw new Error(
      `Routes were added before Foyer could guard them. Add them after "await app.register(foyer)", or in a plugin:\n${app.printRoutes({ commonPrefix: false })}`,
    );
  }
  app.decorateRequest("admission", undefined);
  app.addHook("onRoute", function (this: Scope, route) {
    const requires = route.config?.requires ?? this[kRequires];
    if (requires === undefined) {
      throw new Error(
        `${String(route.method)} ${route.url} does not declare what it requires (config.requires)`,
      );
    }
    if (requires === "public") return;
    const guard =
      typeof requires === "function" ? guardBy(requires) : guardCalls(requires);
    route.onRequest = [guard, ...[route.onRequest ?? []].flat()];
  });
}

/** How Fastify prints that there are no routes. */
const NO_ROUTES = "(empty tree)";

function guardBy(admission: Admission): onRequestAsyncHookHandler {
  return async function guard(request) {
    request.admission = admission;
    await admission(request);
  };
}

function guardCalls(
  requires: readonly PermissionKey[],
): onRequestAsyncHookHandler {
  const admission = (request: FastifyRequest) => authorize(request, requires);
  return async function guard(request, reply) {
    request.admission = admission;
    await admission(request);
    // A shared cache must not give one caller what another may see.
    reply.header("cache-control", cacheControl.private);
  };
}

/**
 * Declares a requirement for the routes that a library adds, which cannot declare it.
 * @param register registers the library on `app`, and resolves when it is loaded.
 */
export async function routesRequire(
  app: FastifyInstance,
  requires: Requirement,
  register: () => PromiseLike<unknown>,
): Promise<void> {
  const scope: Scope = app;
  const before = scope[kRequires];
  scope[kRequires] = requires;
  await register();
  scope[kRequires] = before;
}
