import type { FastifyRequest, onRequestAsyncHookHandler } from "fastify";
import fp from "fastify-plugin";
import type { Visitor, Versioned } from "../db/store.js";
import { allows } from "../schemas/plain/permissions.js";
import type { World } from "../schemas/worlds.js";
import { Refusal } from "./errors.js";

declare module "fastify" {
  interface FastifyInstance {
    /**
     * Sets `request.world` by the host and `request.uploader` by the
     * Authorization header, or answers 403 with no body.
     */
    admitUploader: onRequestAsyncHookHandler;
  }
  interface FastifyRequest {
    /** Who uploads; set where `admitUploader` ran. */
    uploader: Visitor;
  }
}

/** The client named itself, and keeps the name. */
const CLIENT_ID = /^Client +([\w.~-]{1,200})$/i;

/** Decides who may upload. */
export default fp(
  async (app) => {
    app.decorateRequest("uploader", null as unknown as Visitor);

    app.decorate("admitUploader", async (request: FastifyRequest) => {
      const world = await app.store.worlds.at(request.host.toLowerCase());
      const uploader = world && (await uploaderOf(request, world));
      if (!uploader || !mayUpload(uploader, world)) throw new Refusal(403, "");
      request.world = world;
      request.uploader = uploader;
    });

    async function uploaderOf(
      { headers: { authorization } }: FastifyRequest,
      { value: world }: Versioned<World>,
    ): Promise<Visitor | undefined> {
      const clientId = CLIENT_ID.exec(authorization ?? "")?.[1];
      if (clientId !== undefined) return { clientId, traits: new Set() };
      try {
        const { caller, world: of } = await app.callerOf(
          authorization,
          world.id,
        );
        const { uid, traits, profile } = caller;
        if (of.value.id !== world.id || !uid) return undefined;
        return { tokenId: uid, traits, profile };
      } catch (error) {
        // Here a bad token is no different from no right to upload.
        if (error instanceof Refusal) return undefined;
        throw error;
      }
    }
  },
  { name: "uploaders", dependencies: ["auth", "errors", "engines"] },
);

function mayUpload({ traits }: Visitor, { value }: Versioned<World>): boolean {
  return (
    allows("world.view", traits, value.permission_config) &&
    allows("file.upload", traits, value.permission_config)
  );
}
