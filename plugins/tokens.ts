import { createHmac, timingSafeEqual } from "node:crypto";
import { lengthOf, trait, uid as uidText } from "../schemas/plain/texts.js";
import { unstorableIn } from "../schemas/validate.js";
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

/** How many traits a token may carry. */
const MAX_TRAITS = 1000;

/** The largest `profile`, in bytes of JSON. */
const MAX_PROFILE = 16 * 1024;

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
 * Reads verified claims. Claims that are stored with a user have bounds: a
 * token comes from whoever holds a key of a world, not from the operator.
 * @throws {Refusal} 401 when a claim has the wrong type, is too large, or could
 *   not be stored and read back as it was sent.
 */
export function readClaims(claims: Record<string, unknown>): Claims {
  const { uid, traits = [], profile, nbf = 0, exp, iat = 0 } = claims;
  const times = [nbf, exp, iat];
  if (!times.every((time) => Number.isFinite(time))) {
    throw unauthenticated("The exp, nbf and iat of a token are numbers.");
  }
  if (!areTraits(traits)) {
    throw unauthenticated(
      `The traits of a token are a list of at most ${MAX_TRAITS} strings of at most ${trait.maxLength} characters.`,
    );
  }
  if (profile !== undefined && !isProfile(profile)) {
    throw unauthenticated(
      `The profile of a token is an object of at most ${MAX_PROFILE / 1024} KiB that could be stored.`,
    );
  }
  return {
    nbf: nbf as number,
    exp: exp as number,
    uid: readUid(uid),
    traits: new Set(traits),
    profile,
  };
}

/** A trait that no rule can ask for grants nothing, and is taken all the same. */
function areTraits(traits: unknown): traits is string[] {
  return (
    Array.isArray(traits) &&
    traits.length <= MAX_TRAITS &&
    traits.every((text) => isText(text, trait.maxLength))
  );
}

function isProfile(profile: unknown): profile is Record<string, unknown> {
  return (
    typeof profile === "object" &&
    profile !== null &&
    !Array.isArray(profile) &&
    // Before its size is taken: JSON.stringify fails on deep nesting.
    unstorableIn(profile) === undefined &&
    Buffer.byteLength(JSON.stringify(profile)) <= MAX_PROFILE
  );
}

/** A number that JSON cannot hold exactly would make one user of several. */
function readUid(uid: unknown): string | undefined {
  if (uid === undefined) return undefined;
  const text =
    typeof uid === "number" && Math.abs(uid) <= Number.MAX_SAFE_INTEGER
      ? String(uid)
      : uid;
  if (!isText(text, uidText.maxLength)) {
    throw unauthenticated(
      `The uid of a token is a string or a number of at most ${uidText.maxLength} characters, without NUL.`,
    );
  }
  return text;
}

const isText = (text: unknown, maxLength: number): text is string =>
  typeof text === "string" &&
  !text.includes("\0") &&
  text.isWellFormed() &&
  lengthOf(text) <= maxLength;
