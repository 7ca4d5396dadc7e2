import type {
  FastifyInstance,
  FastifyRequest,
  onRequestAsyncHookHandler,
} from "fastify";
import fp from "fastify-plugin";
import type { Versioned } from "../db/store.js";
import {
  allows,
  type PermissionConfig,
  type PermissionKey,
} from "../schemas/plain/permissions.js";
import type { Room } from "../schemas/rooms.js";
import { forbidden } from "./errors.js";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * What a caller needs beside `world.api` to use a route under `/api/v1/`:
     * every one of these keys, on the room if the path names one. `public`
     * lets everybody in.
     */
    requires?: readonly PermissionKey[] | "public";
  }
  interface FastifyInstance {
    /**
     * Sets `request.caller`, `request.world`, and `request.room` where the path names one.
     * @param requires what the caller needs beside `world.api`.
     * @throws {Refusal} 401 or 403.
     */
    authorize(
      request: FastifyRequest,
      requires: readonly PermissionKey[],
    ): Promise<void>;
  }
  interface FastifyRequest {
    /** What the caller needs beside `world.api`; undefined where nobody is asked. */
    requires: readonly PermissionKey[] | undefined;
    /** The room that the path names; set on every route that names one. */
    room: Versioned<Room>;
  }
}

/** What the path of a guarded route names. */
interface Named {
  world_id: string;
  room_id?: string;
}

const guarded = new WeakSet<FastifyInstance>();

/**
 * Has every route that is added from now on guarded by what it requires, before
 * its body is read. plugins/validation.ts asks again when the body is there, as
 * it may take minutes. With a route under `/api/v1/` that declares nothing, the
 * server does not start.
 * Called before anything else, so that no route can come too early for it.
 */
export function guardRoutes(app: FastifyInstance): void {
  if (guarded.has(app)) return;
  guarded.add(app);
  app.addHook("onRoute", (route) => {
    if (!route.url.startsWith("/api/v1/")) return;
    const requires = route.config?.requires;
    if (requires === undefined) {
      throw new Error(
        `${String(route.method)} ${route.url} does not declare what it requires (config.requires)`,
      );
    }
    if (requires === "public") return;
    const guard: onRequestAsyncHookHandler = async (request, reply) => {
      request.requires = requires;
      await app.authorize(request, requires);
      // What one caller may see is not for a cache that serves others.
      reply.header("cache-control", "private, no-cache");
    };
    route.onRequest = [guard, ...[route.onRequest ?? []].flat()];
  });
}

/** Decides what a caller may do. */
export default fp(
  async (app) => {
    app.decorateRequest("requires", undefined);
    app.decorateRequest("room", null as unknown as Versioned<Room>);

    app.decorate(
      "authorize",
      async (request: FastifyRequest, requires: readonly PermissionKey[]) => {
        const { world_id, room_id } = request.params as Named;
        const { caller, world } = await app.callerOf(
          request.headers.authorization,
          world_id,
        );
        const { id, permission_config } = world.value;
        if (id !== world_id) throw forbidden();
        request.caller = caller;
        request.world = world;
        if (!allows("world.api", caller.traits, permission_config)) {
          throw forbidden();
        }
        let nearest: PermissionConfig | undefined;
        if (room_id !== undefined) {
          const room = await app.store.rooms.get(id, room_id);
          if (!room) throw forbidden();
          request.room = room;
          nearest = room.value.permission_config;
        }
        for (const key of requires) {
          if (!allows(key, caller.traits, permission_config, nearest)) {
            throw forbidden();
          }
        }
      },
    );
  },
  { name: "permissions", dependencies: ["auth", "errors", "engines"] },
);
