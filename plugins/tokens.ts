import { createHmac, timingSafeEqual } from "node:crypto";
import { lengthOf } from "../schemas/texts.js";
import { unauthenticated } from "./errors.js";

/** What a token says of who holds it, and when. */
export interface Claims {
  readonly uid: string | undefined;
  readonly traits: ReadonlySet<string>;
  readonly profile: Record<string, unknown> | undefined;
  /** From when on and until when it holds, in seconds since 1970. */
  readonly nbf: number;
  readonly exp: number;
}

/** The longest `uid`, in characters. */
const MAX_UID = 200;

/**
 * The token of an `Authorization: Bearer` header.
 * @throws {Refusal} 401.
 */
export function bearerOf(header: string): string {
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
export function isSignedWith(secret: string, token: string): boolean {
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

/**
 * What verified claims say.
 * @throws {Refusal} 401, when they are of another kind than they may be.
 */
export function readClaims({
  uid,
  traits = [],
  profile,
  nbf = 0,
  exp,
  iat = 0,
}: Record<string, unknown>): Claims {
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
