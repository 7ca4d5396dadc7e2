import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import jwt from "@fastify/jwt";
import fp from "fastify-plugin";
import { Memory } from "../db/memory.js";
import type { Versioned } from "../db/store.js";
import type { World } from "../schemas/worlds.js";
import { lengthOf } from "../schemas/texts.js";
import { unauthenticated } from "./errors.js";

/** Somebody who proved to hold a token of a world. */
export interface Caller {
  readonly uid: string | undefined;
  readonly traits: ReadonlySet<string>;
  readonly profile: Record<string, unknown> | undefined;
}

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

/** What a token says, and which key proved it. */
interface Proven extends Caller {
  /** The header that was proven. */
  readonly header: string;
  /** Where it was proven first; perhaps not the only world with its key. */
  readonly worldId: string;
  /** The version of its world in which its key was seen last. */
  seenIn: string;
  readonly iss: string;
  readonly aud: string;
  readonly secret: string;
  /** From when on and until when it holds, in seconds since 1970. */
  readonly nbf: number;
  readonly exp: number;
}

/** A token before anything is proven. */
interface Decoded {
  header?: { alg?: unknown };
  payload?: { iss?: unknown; aud?: unknown } | null;
  signature?: string;
}

/** Takes the place of the key that is not there: a look for none takes as long as for one. */
const decoy = randomBytes(32).toString("hex");

/** How much is remembered of tokens, in characters. */
const MAX_REMEMBERED = 8 * 1024 * 1024;

/** The length of a signature by HMAC-SHA256, in characters of base64url. */
const SIGNATURE = 43;

/** The longest `uid`, in characters. */
const MAX_UID = 200;

/** Turns the Authorization header into a caller. */
export default fp(
  async (app) => {
    await app.register(jwt, {
      // Never used: each token is verified with the keys of its world.
      secret: randomBytes(32).toString("hex"),
      verify: {
        algorithms: ["HS256"],
        requiredClaims: ["iss", "aud", "exp"],
      },
    });

    // A signature is checked once, and its outcome remembered. The clock and the
    // keys of the world are asked again on every use.
    const remembered = new Memory<Proven>(MAX_REMEMBERED);

    /** Who sent just this header before. */
    function recall(header = ""): Proven | undefined {
      const known = remembered.get(endOf(header));
      return known?.header === header ? known : undefined;
    }

    // A world is read only if the token may be of it: how long an answer takes
    // says nothing of the world of the path to somebody who is not of it.
    async function callerOf(
      header: string | undefined,
      worldId: string,
    ): Promise<{ caller: Caller; world: Versioned<World> }> {
      const known = recall(header);
      if (known?.worldId === worldId) {
        const world = await app.store.worlds.get(worldId);
        if (world && signs(world, known)) return { caller: known, world };
      }
      const token = bearerOf(header);
      const { iss, aud } = known ?? claimsOf(token);
      const issuing = await worldsToAsk(worldId, iss, aud);
      for (const world of issuing) {
        if (known && signs(world, known)) return { caller: known, world };
        const proven = prove(header!, token, world, iss, aud);
        if (!proven) continue;
        remembered.set(endOf(header!), proven, 2 * header!.length + 1000);
        return { caller: proven, world };
      }
      if (issuing.length === 0) isSignedWith(decoy, token);
      throw unauthenticated("The token was not signed with a key known here.");
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
        decoded = app.jwt.decode(token, { complete: true });
      } catch {
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

    function prove(
      header: string,
      token: string,
      { value: world, version }: Versioned<World>,
      iss: string,
      aud: string,
    ): Proven | undefined {
      for (const { issuer, audience, secret } of world.config.JWT_secrets) {
        if (issuer !== iss || audience !== aud) continue;
        const claims = claimsSignedBy(secret, token);
        if (!claims) continue;
        return {
          ...readClaims(claims),
          header,
          worldId: world.id,
          iss,
          aud,
          secret,
          seenIn: version,
        };
      }
      return undefined;
    }

    app.decorateRequest("world", undefined);
    app.decorateRequest("caller", null as unknown as Caller);
    app.decorate("callerOf", callerOf);
  },
  { name: "auth", dependencies: ["errors", "store"] },
);

/** What tells headers apart, the signature, takes a fifth of the time to look for. */
const endOf = (header: string) => header.slice(-SIGNATURE);

function bearerOf(header: string | undefined): string {
  if (header === undefined) {
    throw unauthenticated("Authentication credentials were not provided.");
  }
  const token = /^Bearer +([\w.~+/=-]+)$/i.exec(header)?.[1];
  if (token === undefined) {
    throw unauthenticated(
      "The header must read: Authorization: Bearer <token>.",
    );
  }
  return token;
}

/**
 * Whether a token carries the signature of a secret, in a time that does not
 * depend on how wrong it is. To learn it from the library takes ten times as
 * long, which whoever sends bad tokens would like.
 */
function isSignedWith(secret: string, token: string): boolean {
  const end = token.lastIndexOf(".");
  const expected = createHmac("sha256", secret)
    .update(token.slice(0, end))
    .digest("base64url");
  const given = Buffer.from(token.slice(end + 1));
  return (
    given.length === expected.length &&
    timingSafeEqual(given, Buffer.from(expected))
  );
}

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

function readClaims({
  uid,
  traits = [],
  profile,
  nbf = 0,
  exp,
  iat = 0,
}: Record<string, unknown>): Omit<
  Proven,
  "header" | "worldId" | "iss" | "aud" | "secret" | "seenIn"
> {
  const times = [nbf, exp, iat];
  if (!times.every((time) => Number.isFinite(time))) {
    throw unauthenticated("The exp, nbf and iat of a token are numbers.");
  }
  if (
    !Array.isArray(traits) ||
    !traits.every((trait): trait is string => typeof trait === "string")
  ) {
    throw unauthenticated("The traits of a token are a list of strings.");
  }
  if (
    profile !== undefined &&
    (typeof profile !== "object" || profile === null || Array.isArray(profile))
  ) {
    throw unauthenticated("The profile of a token is an object.");
  }
  return {
    nbf: nbf as number,
    exp: exp as number,
    uid: readUid(uid),
    traits: new Set(traits),
    profile: profile as Record<string, unknown> | undefined,
  };
}

/** A number that JSON cannot hold exactly would make one user of several. */
function readUid(uid: unknown): string | undefined {
  if (uid === undefined) return undefined;
  const text =
    typeof uid === "number" && Math.abs(uid) <= Number.MAX_SAFE_INTEGER
      ? String(uid)
      : uid;
  if (
    typeof text !== "string" ||
    lengthOf(text) > MAX_UID ||
    !text.isWellFormed()
  ) {
    throw unauthenticated(
      `The uid of a token is a string or a number of at most ${MAX_UID} characters.`,
    );
  }
  return text;
}
