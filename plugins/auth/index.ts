import jwt, { type Secret } from "@fastify/jwt";
import { createVerifier } from "fast-jwt";
import fp from "fastify-plugin";
import { ForeignTokens } from "./foreign-tokens.js";
import { LRUCache } from "lru-cache";
import { identification, type Identify } from "./identity.js";
import { KeySets } from "./key-sets.js";
import type { Jwt } from "./tokens.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Identifies a caller of any transport. */
    identify: Identify;
  }
}

/** Stands for a key of the server, which there is none of: each world has its own. */
const noKey: Secret = (_request, _token, done) =>
  done(new Error("A token is verified with a key of its world."), undefined);

/** How many keys have their verifier kept. */
const MAX_VERIFIERS = 1000;

/** Verifies by the secrets of worlds. To make a verifier takes as long as to verify a token. */
function verification(): Jwt["verify"] {
  type Verify = (token: string) => Record<string, unknown>;
  const verifiers = new LRUCache<string, Verify>({ max: MAX_VERIFIERS });
  return (token, { key }) => {
    let verify = verifiers.get(key);
    if (!verify) {
      verify = createVerifier({
        key,
        algorithms: ["HS256"],
        requiredClaims: ["iss", "aud", "exp"],
      }) as Verify;
      verifiers.set(key, verify);
    }
    return verify(token);
  };
}

/** Provides `app.identify`. The guard (guard.ts) calls it for every route that requires a caller. */
export default fp(
  async (app) => {
    await app.register(jwt, {
      // Public only, so that nothing can be signed, either.
      secret: { public: noKey },
      decode: { complete: true },
    });
    const ofWorlds: Jwt = {
      decode: (token) => app.jwt.decode(token),
      verify: verification(),
    };
    const { store, outbound, log } = app;
    const keySets = new KeySets({ outbound, warn: (line) => log.warn(line) });
    const foreignTokens = new ForeignTokens(keySets, store.files);
    app.decorate(
      "identify",
      identification(store.worlds, ofWorlds, foreignTokens),
    );
    for (const name of ["world", "caller", "callerId", "room", "uploader"]) {
      app.decorateRequest(name, null);
    }
  },
  { name: "auth", dependencies: ["engines", "outbound"] },
);
