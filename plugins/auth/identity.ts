import { isUtf8 } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { Cache } from "../../db/cache.js";
import type { Versioned } from "../../db/contract/store.js";
import type { InvitationName, InvitationStanding } from "../../db/contract/invitation-store.js";
import { grantOf, invitationIn } from "../../db/rules/invitation-rows.js";
import { issuersOf } from "../../db/rules/world-rows.js";
import { ALGORITHMS, type TokenIssuer } from "../../schemas/issuers.js";
import { MAX_LEVELS, MAX_PROFILE, MAX_VALUES } from "../../schemas/plain/limits.js";
import { lengthOf, trait, uid as uidText } from "../../schemas/plain/texts.js";
import { boundFault, unstorableIn } from "../../schemas/validate.js";
import type { World, WorldKey } from "../../schemas/worlds.js";
import { Stackless } from "../stackless.js";

// Callers' identities and the tokens that prove the identities. identification.ts identifies
// callers.

/** A caller's credentials. The token takes precedence over the client ID. */
export interface Credentials {
  readonly token?: string | undefined;
  readonly clientId?: string | undefined;
  /** Whether screen tokens are accepted. By default, screen tokens are refused. */
  readonly screens?: boolean;
  /** Whether tokens from other worlds are also accepted. */
  readonly anywhere?: boolean;
}

/** An identified caller. */
export interface Identity {
  /** The token's `uid`. */
  readonly tokenId?: string | undefined;
  /** The client ID that a guest chose. */
  readonly clientId?: string | undefined;
  readonly traits: ReadonlySet<string>;
  readonly profile?: Record<string, unknown> | undefined;
  /** The id of the user in pretalx, an event planning tool. */
  readonly pretalxId?: string | undefined;
  /** The name of the screen, if the token belongs to a screen. Screen tokens have no `uid`. */
  readonly kiosk?: string | undefined;
  /** Expiry, in seconds since 1970; undefined for guests. */
  readonly expires?: number | undefined;
  /** The world's key or the issuer entry that verified the token; undefined for guests. */
  readonly key?: WorldKey | TokenIssuer | undefined;
  /** The invitation that the token names, which decides what the token grants. */
  readonly invitation?: InvitationName | undefined;
}

/** An identified caller, and the caller's world. */
export interface Identified {
  readonly identity: Identity;
  readonly world: Versioned<World>;
}

/**
 * Identifies a caller in a world.
 * @throws {IdentityError} if the caller cannot be identified.
 */
export type Identify = (credentials: Credentials, worldId: string) => Promise<Identified>;

/** The format of client IDs. Clients choose their own ids and keep them. */
const CLIENT_ID = /^[\w.~-]{1,200}$/;

/**
 * Returns the identity of a guest with this client ID. A client ID proves nothing, so guests have
 * no traits.
 * @throws {IdentityError} `malformed`.
 */
export function guestOf(clientId: string): Identity {
  if (!CLIENT_ID.test(clientId)) {
    throw new IdentityError("malformed", "The client ID is malformed.");
  }
  return { clientId, traits: new Set() };
}

/**
 * Whether an identity is still valid in its world: it has not expired, and the world still has the
 * key that verified the token. Permissions are checked separately (schemas/plain/permissions.ts).
 * @param world the current version.
 * @param now in milliseconds since 1970.
 */
export function stillHolds(
  { expires, key }: Identity,
  { value }: Versioned<World>,
  now = Date.now(),
): boolean {
  if (expires !== undefined && now / 1000 >= expires) return false;
  return key === undefined || hasKey(value, key);
}

/**
 * Returns the identity of a token that names an invitation, with what the invitation grants now, or
 * undefined if the token no longer stands.
 * @param identity the identity in the token.
 * @param standing the invitation; undefined if there is none with this id in the token's world.
 */
export function grantedIdentity(
  { tokenId, profile, pretalxId, expires = Infinity, key, invitation }: Identity,
  standing: InvitationStanding | undefined,
  { config }: World,
): Identity | undefined {
  const grant = grantOf(standing, invitation!, tokenId, config);
  if (!grant) return undefined;
  const ends = grant.ends === null ? expires : Math.min(expires, grant.ends / 1000);
  const traits = sharedTraits(grant.traits);
  return { tokenId, traits, profile, pretalxId, expires: ends, key, invitation };
}

/**
 * Whether a world has a key or an issuer. The key is the same object until the world changes, so
 * most checks compare no strings.
 */
export function hasKey({ config }: World, key: WorldKey | TokenIssuer): boolean {
  if (!("secret" in key)) {
    const issuers = issuersOf(config);
    if (issuers.includes(key)) return true;
    const text = JSON.stringify(key);
    return issuers.some((it) => JSON.stringify(it) === text);
  }
  return (
    config.JWT_secrets.includes(key) ||
    config.JWT_secrets.some(
      ({ issuer, audience, secret }) =>
        secret === key.secret && issuer === key.issuer && audience === key.audience,
    )
  );
}

/**
 * Reasons why a caller could not be identified. `missing`: there is no token, or its `uid` is
 * empty. `malformed`: the token or client ID cannot be parsed. `invalid`: no key signed the token,
 * or its claims are not valid. `expired`: the token is no longer valid. `foreign`: the token
 * belongs to another world, or the world does not exist.
 */
type IdentityProblem = "missing" | "malformed" | "invalid" | "expired" | "foreign";

/** Thrown if a caller could not be identified. The message is a sentence for the client. */
export class IdentityError extends Stackless {
  constructor(
    readonly reason: IdentityProblem,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Decodes the parts of a token without verifying its signature.
 * @throws {Error} if the parts are not JSON in base64url.
 */
export type Decode = (token: string) => Decoded | null;

/** The issuer and audience that a token names. Several keys may have the same issuer and audience. */
export type Issuer = Pick<WorldKey, "issuer" | "audience">;

/** Claims read from a token before it is verified. */
export interface UnverifiedClaims {
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Whether the token's algorithm is used by other issuers rather than by world keys. */
  readonly isForeign: boolean;
}

/** The verified claims of a token. */
export interface Claims {
  readonly tokenId: string | undefined;
  readonly traits: ReadonlySet<string>;
  readonly profile: Record<string, unknown> | undefined;
  /** The id of the user in pretalx, an event planning tool. */
  readonly pretalxId: string | undefined;
  /** The name of the screen, if the token belongs to a screen. Screen tokens have no `uid`. */
  readonly kiosk?: string | undefined;
  /** The invitation that the token names. Only tokens signed with a world's key name one. */
  readonly invitation: InvitationName | undefined;
  /** The period of validity, in seconds since 1970. */
  readonly notBefore: number;
  readonly expires: number;
}

interface Decoded {
  header?: Record<string, unknown>;
  payload?: Record<string, unknown> | null;
  signature?: string;
}

/** A parsed token that has not been verified. */
export interface Unproven {
  readonly named: UnverifiedClaims;
  readonly header: Record<string, unknown>;
  readonly payload: Record<string, unknown>;
}

const malformed = (message = "The token is malformed.") => new IdentityError("malformed", message);

const invalid = (message: string, reason: IdentityProblem = "invalid") =>
  new IdentityError(reason, message);

/** The characters allowed for a token in a header (RFC 6750, section 2.1). */
const TOKEN = /^[\w.~+/=-]+$/;

const MAX_TRAITS = 1000;

const MAX_AUDIENCES = 20;

/**
 * Parses a token before its signature is checked, and reports every fault that can be detected
 * without a key. Reporting these faults later would reveal whether some world has the token's
 * issuer.
 * @throws {IdentityError} `malformed`.
 */
export function readToken(token: string, decode: Decode): Unproven {
  if (!TOKEN.test(token)) throw malformed();
  let decoded: Decoded | null;
  try {
    decoded = decode(token);
  } catch {
    throw malformed();
  }
  // The library replaces invalid bytes, which could map several users to one `uid` (RFC 7519,
  // section 7.2, step 10).
  const text = token.slice(token.indexOf(".") + 1, token.lastIndexOf("."));
  if (!isUtf8(Buffer.from(text, "base64url"))) throw malformed();
  const { header = {} } = decoded ?? {};
  const { alg } = header;
  const isForeign = foreignAlgorithms.includes(alg);
  if (alg !== "HS256" && !isForeign) {
    throw malformed(
      `The algorithm of a token must be HS256, or ${ALGORITHMS.join(", ")} for tokens of other issuers.`,
    );
  }
  if (!decoded?.signature) throw malformed("The token is not signed.");
  const payload = decoded.payload ?? {};
  const { iss, aud } = payload;
  // If `aud` is a list, one matching entry is enough (RFC 7519, section 4.1.3).
  const audiences: unknown[] = Array.isArray(aud) ? aud : [aud];
  if (
    typeof iss !== "string" ||
    audiences.length === 0 ||
    audiences.length > MAX_AUDIENCES ||
    !audiences.every((it): it is string => typeof it === "string")
  ) {
    throw malformed(
      `The token must name one iss, and one aud or a list of at most ${MAX_AUDIENCES}.`,
    );
  }
  return { named: { issuer: iss, audiences, isForeign }, header, payload };
}

const foreignAlgorithms: readonly unknown[] = ALGORITHMS;

/**
 * Returns a token's claims, or undefined if this secret did not sign the token. Costs a single
 * HMAC, whereas the library would parse the token a second time.
 * @param unproven the same token in parsed form. Its algorithm must be HS256.
 * @throws {IdentityError} `expired` or `invalid`, if the secret signed the token but the token is
 * not valid.
 */
export function claimsSignedBy(
  secret: string,
  token: string,
  { header, payload }: Unproven,
): Claims | undefined {
  if (!isSignedWith(secret, token)) return undefined;
  // Foyer supports no critical extensions (RFC 7515, section 4.1.11).
  if (header.crit !== undefined) {
    throw invalid("The token's header has critical extensions.");
  }
  if (payload.exp === undefined) throw invalid("The token has no exp.");
  const claims = readClaims(payload);
  expectPresent(claims);
  return claims;
}

/**
 * Checks a token's period of validity.
 * @throws {IdentityError} `expired` after the period, or `invalid` before it.
 */
export function expectPresent({ notBefore, expires }: Pick<Claims, "notBefore" | "expires">): void {
  const now = Date.now() / 1000;
  if (now >= expires) throw invalid("The token has expired.", "expired");
  if (now < notBefore) throw invalid("The token is not valid yet.");
}

/**
 * Whether a secret signed a token. Compares signatures in constant time. The library takes ten
 * times as long to reject a token, which would help an attacker who floods the server with bad
 * tokens.
 */
export function isSignedWith(secret: string, token: string): boolean {
  const end = token.lastIndexOf(".");
  const expected = createHmac("sha256", secret).update(token.slice(0, end)).digest("base64url");
  const given = Buffer.from(token.slice(end + 1));
  return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected));
}

/**
 * Validates signed claims. Limits the claims that are stored with a user, because any holder of a
 * world's key can sign tokens, not only the operator.
 * @throws {IdentityError} `invalid` if a claim has the wrong type, is too large, or could not be
 * stored and read back unchanged.
 */
function readClaims(claims: Record<string, unknown>): Claims {
  const { uid, traits = [], profile, nbf = 0, exp, iat = 0 } = claims;
  const times = [nbf, exp, iat];
  if (!times.every((time) => Number.isFinite(time))) {
    throw invalid("The exp, nbf and iat of a token are numbers.");
  }
  if (!areTraits(traits)) {
    throw invalid(
      `The traits of a token are a list of at most ${MAX_TRAITS} strings of at most ${trait.maxLength} characters.`,
    );
  }
  if (profile !== undefined && !isProfile(profile)) {
    throw invalid(
      `The profile of a token is an object of at most ${MAX_PROFILE / 1024} KiB, ${MAX_VALUES} values and ${MAX_LEVELS} levels that could be stored.`,
    );
  }
  const kiosk = readUid(claims.kiosk);
  return {
    tokenId: kiosk === undefined ? readUid(uid) : undefined,
    kiosk,
    pretalxId: readPretalxId(claims.pretalx_id),
    traits: sharedTraits(traits),
    profile,
    invitation: kiosk === undefined ? invitationIn(claims.jti) : undefined,
    notBefore: nbf as number,
    expires: exp as number,
  };
}

/** Maximum total size of the shared trait sets, in characters. */
const MAX_SHARED = 1024 * 1024;

/** Estimated memory that a set needs in addition to its strings, in characters. */
const SET_OVERHEAD = 200;

const shared = new Cache<ReadonlySet<string>>(MAX_SHARED);

/** Returns traits as a set. Most of an event's attendees have the same traits and share one set. */
export function sharedTraits(traits: readonly string[]): ReadonlySet<string> {
  const name = JSON.stringify(traits);
  let set = shared.get(name);
  if (!set) {
    set = new Set(traits);
    shared.set(name, set, 2 * name.length + SET_OVERHEAD);
  }
  return set;
}

/** Whether a value is a valid list of traits. A trait that no rule can name is accepted, but grants nothing. */
function areTraits(traits: unknown): traits is string[] {
  return (
    Array.isArray(traits) &&
    traits.length <= MAX_TRAITS &&
    traits.every((text) => isText(text, trait.maxLength))
  );
}

export function isProfile(profile: unknown): profile is Record<string, unknown> {
  return (
    typeof profile === "object" &&
    profile !== null &&
    !Array.isArray(profile) &&
    // Must run first, because the other checks fail on deep nesting.
    unstorableIn(profile) === undefined &&
    boundFault(profile, MAX_PROFILE) === undefined
  );
}

/**
 * Validates a token's `uid`. Rejects numbers beyond the range of exact integers, because rounding
 * could map several users to one `uid`. Rejects empty strings, because several users could share
 * the empty `uid`.
 * @throws {IdentityError} `missing` if the `uid` is empty, or `invalid` if it is not a uid.
 */
export function readUid(uid: unknown): string | undefined {
  if (uid === undefined) return undefined;
  const text =
    typeof uid === "number" && Math.abs(uid) <= Number.MAX_SAFE_INTEGER ? String(uid) : uid;
  if (!isText(text, uidText.maxLength)) {
    throw invalid(
      `The uid of a token is a string or a number of at most ${uidText.maxLength} characters, without NUL.`,
    );
  }
  if (text === "") throw invalid("The uid of the token is empty.", "missing");
  return text;
}

/** Returns a pretalx user id. Invalid ids are ignored, because a token is usable without a pretalx id. */
function readPretalxId(id: unknown): string | undefined {
  const text = typeof id === "number" ? String(id) : id;
  return isText(text, uidText.maxLength) && text !== "" ? text : undefined;
}

const isText = (text: unknown, maxLength: number): text is string =>
  typeof text === "string" &&
  !text.includes("\0") &&
  text.isWellFormed() &&
  lengthOf(text) <= maxLength;
