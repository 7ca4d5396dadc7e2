import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import jwt from "@fastify/jwt";
import fp from "fastify-plugin";
import { Cache } from "../db/cache.js";
import type { Versioned } from "../db/store.js";
import type { World } from "../schemas/worlds.js";
import { unauthenticated } from "./errors.js";
import { bearerOf, type Claims, isSignedWith, readClaims } from "./tokens.js";

/** Somebody who proved to hold a token of a world. */
export type Caller = Pick<Claims, "uid" | "traits" | "profile">;

declare module "fastify" {
  interface FastifyInstance {
    /**
     * Who sent an `Authorization: Bearer` header, and the world whose key signed it.
     * @param worldId where the caller is expected; it may still be of another.
     * @throws {Refusal} 401.
     */
    callerOf(
      header: string | undefined,
      worldId: string,
    ): Promise<{ caller: Caller; world: Versioned<World> }>;
  }
  interface FastifyRequest {
    /** The world that the request is for, if the caller is of it. */
    world: Versioned<World> | undefined;
    /** Who is calling; set on every route that asks for a permission. */
    caller: Caller;
  }
}

/** A header that was seen before, and where its token says that it is from. */
interface Seen {
  readonly header: string;
  readonly iss: string;
  readonly aud: string;
}

/** What a token says, and which key proved it. */
interface Proven extends Seen, Claims {
  /** Where it was proven first; perhaps not the only world with its key. */
  readonly worldId: string;
  /** The version of its world in which its key was seen last. */
  seenIn: string;
  readonly secret: string;
}

/** A token that no key proved. */
interface Refused extends Seen {
  /** The versions of the worlds whose keys were tried. */
  readonly tried: string;
}

/** A token before anything is proven. */
interface Decoded {
  header?: { alg?: unknown };
  payload?: { iss?: unknown; aud?: unknown } | null;
  signature?: string;
}

/** Takes the place of the key that is not there: a look for none takes as long as for one. */
const decoy = randomBytes(32).toString("hex");

/** How much is remembered of tokens that were proven, and of others, in characters. */
const MAX_PROVEN = 8 * 1024 * 1024;
const MAX_REFUSED = 1024 * 1024;

/** The length of a signature by HMAC-SHA256, in characters of base64url. */
const SIGNATURE = 43;

/** Made once: whoever comes with bad tokens comes with many. */
const unproven = unauthenticated(
  "The token was not signed with a key known here.",
);

/** Turns the Authorization header into a caller. */
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

    // A signature is checked once, and its outcome remembered. The clock and the
    // keys of the world are asked again on every use.
    const proven = new Cache<Proven>(MAX_PROVEN);
    const refused = new Cache<Refused>(MAX_REFUSED);

    // A world is read only if the token may be of it: how long an answer takes
    // says nothing of the world of the path to somebody who is not of it.
    async function callerOf(
      header: string | undefined,
      worldId: string,
    ): Promise<{ caller: Caller; world: Versioned<World> }> {
      if (header === undefined) {
        throw unauthenticated("Authentication credentials were not provided.");
      }
      const known = recall(proven, header);
      if (known?.worldId === worldId) {
        const world = await app.store.worlds.get(worldId);
        if (world && signs(world, known)) return { caller: known, world };
      }
      const unknown = recall(refused, header);
      const { iss, aud } = known ?? unknown ?? claimsOf(bearerOf(header));
      const issuing = await worldsToAsk(worldId, iss, aud);
      if (unknown?.tried === versionsOf(issuing)) throw unproven;
      // Worlds may share a key, and thousands of them one.
      const failed = new Set<string>();
      for (const world of issuing) {
        if (known && signs(world, known)) return { caller: known, world };
        const caller = prove({ header, iss, aud }, world, failed);
        if (!caller) continue;
        remember(proven, caller);
        return { caller, world };
      }
      if (issuing.length === 0) isSignedWith(decoy, bearerOf(header));
      const tried = versionsOf(issuing);
      remember(refused, { header, iss, aud, tried }, tried.length);
      throw unproven;
    }

    /** The world where the caller is expected first; then the others that such a token may be of. */
    async function worldsToAsk(
      worldId: string,
      iss: string,
      aud: string,
    ): Promise<Versioned<World>[]> {
      const issuing = await app.store.worlds.issuing(iss, aud);
      const isExpected = ({ value }: Versioned<World>) =>
        Number(value.id === worldId);
      return issuing.toSorted((a, b) => isExpected(b) - isExpected(a));
    }

    /**
     * What a token says of where it comes from, before anything is proven. What
     * is wrong with it without a look at any key is said here: later, it would
     * tell whether some world here has such an issuer.
     */
    function claimsOf(token: string): { iss: string; aud: string } {
      let decoded: Decoded | null;
      try {
        decoded = app.jwt.decode(token);
      } catch {
        throw unauthenticated("The token is malformed.");
      }
      // The library replaces other bytes, which would make one user of several
      // (RFC 7519, section 7.2, step 10).
      const [, payload = ""] = token.split(".");
      if (!isUtf8(Buffer.from(payload, "base64url"))) {
        throw unauthenticated("The token is malformed.");
      }
      if (decoded?.header?.alg !== "HS256") {
        throw unauthenticated("The algorithm of a token must be HS256.");
      }
      if (!decoded.signature) {
        throw unauthenticated("The token is not signed.");
      }
      const { iss, aud } = decoded.payload ?? {};
      if (typeof iss !== "string" || typeof aud !== "string") {
        throw unauthenticated("The token must name one iss and one aud.");
      }
      return { iss, aud };
    }

    /**
     * What a token says, if this secret signed it.
     * @throws {Refusal} 401, when it did and the token is no good.
     */
    function claimsSignedBy(
      key: string,
      token: string,
    ): Record<string, unknown> | undefined {
      if (!isSignedWith(key, token)) return undefined;
      try {
        return app.jwt.verify(token, { key });
      } catch (error) {
        const { code = "", message } = error as Error & { code?: string };
        if (code === "FAST_JWT_INVALID_KEY") return undefined;
        throw unauthenticated(
          code.startsWith("FAST_JWT_")
            ? message
            : "The exp, nbf and iat of a token are times.",
        );
      }
    }

    /** @param failed the secrets that did not sign it, to which others are added. */
    function prove(
      { header, iss, aud }: Seen,
      { value: world, version }: Versioned<World>,
      failed: Set<string>,
    ): Proven | undefined {
      for (const { issuer, audience, secret } of world.config.JWT_secrets) {
        if (issuer !== iss || audience !== aud || failed.has(secret)) continue;
        const claims = claimsSignedBy(secret, bearerOf(header));
        if (!claims) {
          failed.add(secret);
          continue;
        }
        return {
          ...readClaims(claims),
          header,
          iss,
          aud,
          worldId: world.id,
          seenIn: version,
          secret,
        };
      }
      return undefined;
    }

    app.decorateRequest("world", undefined);
    app.decorateRequest("caller", null as unknown as Caller);
    app.decorate("callerOf", callerOf);
  },
  { name: "auth", dependencies: ["errors", "engines"] },
);

/** Whether a world still holds the key that a token was proven with, now that the token holds. */
function signs(
  { value: world, version }: Versioned<World>,
  proven: Proven,
): boolean {
  const { iss, aud, secret, nbf, exp, seenIn } = proven;
  const now = Date.now() / 1000;
  if (now >= exp) throw unauthenticated("The token has expired.");
  if (now < nbf) throw unauthenticated("The token is not valid yet.");
  if (seenIn === version) return true;
  const held = world.config.JWT_secrets.some(
    (key) =>
      key.secret === secret && key.issuer === iss && key.audience === aud,
  );
  if (held) proven.seenIn = version;
  return held;
}

/** What tells headers apart, the signature, takes less than half the time to look for. */
const keyOf = (header: string) => header.slice(-SIGNATURE);

function recall<S extends Seen>(
  memory: Cache<S>,
  header: string,
): S | undefined {
  const seen = memory.get(keyOf(header));
  return seen?.header === header ? seen : undefined;
}

/** @param more characters that it holds beside what all hold. */
function remember<S extends Seen>(memory: Cache<S>, seen: S, more = 0): void {
  const { header } = seen;
  memory.set(keyOf(header), seen, 2 * header.length + 1000 + more);
}

const versionsOf = (worlds: Versioned<World>[]) =>
  worlds.map(({ version }) => version).join();
