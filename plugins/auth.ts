import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import jwt from "@fastify/jwt";
import type { FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { LRUCache } from "lru-cache";
import type { Versioned } from "../db/store.js";
import type { World } from "../schemas/worlds.js";
import { lengthOf } from "../schemas/values.js";
import { unauthenticated } from "./errors.js";

/** Somebody who proved to hold a token of a world. */
export interface Caller {
  /** The world whose key signed the token. */
  readonly worldId: string;
  readonly uid: string | undefined;
  readonly traits: ReadonlySet<string>;
  readonly profile: Record<string, unknown> | undefined;
}

declare module "fastify" {
  interface FastifyInstance {
    /** Sets `request.world` and `request.caller`, or answers 401. */
    authenticate(request: FastifyRequest): Promise<void>;
    /**
     * Who sent an `Authorization: Bearer` header; known at once when it was
     * proven before.
     * @param world where the caller is expected; it may still be of another.
     * @throws {Refusal} 401.
     */
    callerOf(
      header: string | undefined,
      world: World | undefined,
    ): Caller | Promise<Caller>;
  }
  interface FastifyRequest {
    /** The world that the path names, if there is one. */
    world: Versioned<World> | undefined;
    /** Who is calling; set on every route that asks for a permission. */
    caller: Caller;
  }
}

/** What a token says, and which key of which world proved it. */
interface Proven extends Caller {
  readonly iss: string;
  readonly aud: string;
  readonly secret: string;
  /** From when on and until when it holds, in seconds since 1970. */
  readonly nbf: number;
  readonly exp: number;
}

/** How much is remembered of tokens, in characters; the oldest are forgotten first. */
const MAX_REMEMBERED = 8 * 1024 * 1024;

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

    // A signature is checked once, and its outcome remembered by the header. The
    // clock and the keys of the world are asked again on every use.
    const remembered = new LRUCache<string, Proven>({
      maxSize: MAX_REMEMBERED,
      sizeCalculation: (_, header) => 2 * header.length + 1000,
    });

    function callerOf(
      header = "",
      world: World | undefined,
    ): Caller | Promise<Caller> {
      const known = remembered.get(header);
      return known && world?.id === known.worldId && signs(world, known)
        ? known
        : askedFor(header, world, known);
    }

    async function askedFor(
      header: string,
      world: World | undefined,
      known: Proven | undefined,
    ): Promise<Caller> {
      const token = bearerOf(header);
      const { iss, aud } = known ?? claimsOf(token);
      for (const issuer of await worldsToAsk(world, iss, aud)) {
        if (known && signs(issuer, known)) {
          return { ...known, worldId: issuer.id };
        }
        const proven = prove(token, issuer, iss, aud);
        if (!proven) continue;
        remembered.set(header, proven);
        return proven;
      }
      throw unauthenticated("The token was not signed with a key known here.");
    }

    /** The world of the path first; then the others that such a token may be of. */
    async function worldsToAsk(
      world: World | undefined,
      iss: string,
      aud: string,
    ): Promise<World[]> {
      const issuing = await app.store.worlds.issuing(iss, aud);
      return issuing
        .map(({ value }) => value)
        .sort(
          (a, b) => Number(b.id === world?.id) - Number(a.id === world?.id),
        );
    }

    /** What a token says of where it comes from, before anything is proven. */
    function claimsOf(token: string): { iss: string; aud: string } {
      let claims: { iss?: unknown; aud?: unknown } | null;
      try {
        claims = app.jwt.decode(token);
      } catch {
        throw unauthenticated("The token is malformed.");
      }
      const { iss, aud } = claims ?? {};
      if (typeof iss !== "string" || typeof aud !== "string") {
        throw unauthenticated("The token must name one iss and one aud.");
      }
      return { iss, aud };
    }

    function prove(
      token: string,
      world: World,
      iss: string,
      aud: string,
    ): Proven | undefined {
      for (const key of world.config.JWT_secrets) {
        if (key.issuer !== iss || key.audience !== aud) continue;
        if (!isSignedWith(key.secret, token)) continue;
        let claims: Record<string, unknown>;
        try {
          claims = app.jwt.verify(token, { key: key.secret });
        } catch (error) {
          const { code, message } = error as Error & { code?: string };
          if (code === "FAST_JWT_INVALID_KEY") continue;
          throw unauthenticated(message);
        }
        return {
          ...readClaims(claims),
          worldId: world.id,
          iss,
          aud,
          secret: key.secret,
        };
      }
      return undefined;
    }

    app.decorateRequest("world", undefined);
    app.decorateRequest("caller", null as unknown as Caller);
    app.decorate("callerOf", callerOf);
    app.decorate("authenticate", async (request: FastifyRequest) => {
      const { world_id } = request.params as { world_id: string };
      request.world = await app.store.worlds.get(world_id);
      const caller = callerOf(
        request.headers.authorization,
        request.world?.value,
      );
      request.caller = caller instanceof Promise ? await caller : caller;
    });
  },
  { name: "auth", dependencies: ["errors", "store"] },
);

function bearerOf(header: string): string {
  if (header === "") {
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
function signs(world: World, { iss, aud, secret, nbf, exp }: Proven): boolean {
  const now = Date.now() / 1000;
  if (now >= exp) throw unauthenticated("The token has expired.");
  if (now < nbf) throw unauthenticated("The token is not valid yet.");
  return world.config.JWT_secrets.some(
    (key) =>
      key.secret === secret && key.issuer === iss && key.audience === aud,
  );
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
  "worldId" | "iss" | "aud" | "secret"
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
