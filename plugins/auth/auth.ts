import jwt from "@fastify/jwt";
import type { Secret } from "@fastify/jwt";
import fp from "fastify-plugin";
import { ForeignTokens, identification } from "./identification.js";
import type { Decode, Identify } from "./identity.js";
import { KeySets } from "./key-sets.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Identifies a caller on any transport. */
    identify: Identify;
  }
}

/** Placeholder for a server-wide key, which does not exist because each world has its own keys. */
const noKey: Secret = (_request, _token, done) =>
  done(new Error("A token is verified with a key of its world."), undefined);

/** Provides `app.identify`. The guard (guard.ts) calls it for every route that requires a caller. */
export default fp(
  async (app) => {
    await app.register(jwt, {
      // Set only a public key, so that the JWT plugin cannot sign tokens.
      secret: { public: noKey },
      decode: { complete: true },
    });
    const decode: Decode = (token) => app.jwt.decode(token);
    const { store, outbound, log } = app;
    const keySets = new KeySets({ outbound, warn: (line) => log.warn(line) });
    const foreignTokens = new ForeignTokens(keySets, store.files);
    const { worlds, invitations } = store;
    app.decorate("identify", identification(worlds, invitations, decode, foreignTokens));
    const names = ["world", "caller", "callerId", "callerState", "room"];
    for (const name of [...names, "uploader"]) app.decorateRequest(name, null);
  },
  { name: "auth", dependencies: ["engines", "outbound"] },
);
