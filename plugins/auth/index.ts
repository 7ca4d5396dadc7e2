import { randomBytes } from "node:crypto";
import jwt from "@fastify/jwt";
import fp from "fastify-plugin";
import { identification, type Identify } from "./identity.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Says who somebody is, whatever transport they come by. */
    identify: Identify;
  }
}

/** Provides `app.identify`. The guard (guard.ts) calls it for every route that requires a caller. */
export default fp(
  async (app) => {
    await app.register(jwt, {
      // Never used: each token is verified with the keys of its world.
      secret: randomBytes(32).toString("hex"),
      decode: { complete: true },
      verify: {
        algorithms: ["HS256"],
        requiredClaims: ["iss", "aud", "exp"],
      },
    });
    app.decorate("identify", identification(app.store.worlds, app.jwt));
    for (const name of ["world", "caller", "room", "uploader"]) {
      app.decorateRequest(name, null);
    }
  },
  { name: "auth", dependencies: ["engines"] },
);
