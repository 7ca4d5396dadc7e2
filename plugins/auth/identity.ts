import { isUtf8 } from "node:buffer";
import { createHmac, timingSafeEqual } from "node:crypto";
import { Cache } from "../../db/cache.js";
import type { Versioned } from "../../db/contract/store.js";
import { issuersOf } from "../../db/rules/world-rows.js";
import { ALGORITHMS, type TokenIssuer } from "../../schemas/issuers.js";
import { MAX_LEVELS, MAX_PROFILE, MAX_VALUES } from "../../schemas/plain/limits.js";
import { lengthOf, trait, uid as uidText } from "../../schemas/plain/texts.js";
import { boundFault, unstorableIn } from "../../schemas/validate.js";
import type { World, WorldKey } from "../../schemas/worlds.js";
import { Stackless } from "../stackless.js";

// Who a caller is, and for how long. How a caller is identified is in identification.ts.

/** The credentials of a caller; with both, the token counts. */
export interface Credentials {
  readonly token?: string | undefined;
  readonly clientId?: string | undefined;
  /** Whether the token of a screen counts. Elsewhere it opens nothing. */
  readonly screens?: boolean;
  /** Whether the token may be of any world. */
  readonly anywhere?: boolean;
}

/** An identified caller. */
export interface Identity {
  /** The `uid` of a token. */
  readonly tokenId?: string | undefined;
  /** The name that a guest chose. */
  readonly clientId?: string | undefined;
  readonly traits: ReadonlySet<string>;
  readonly profile?: Record<string, unknown> | undefined;
  /** The id of the user in pretalx, which plans events. */
  readonly pretalxId?: string | undefined;
  /** The name of a screen, whose token this is. It has no `uid`. */
  readonly kiosk?: string | undefined;
  /** Until when it holds, in seconds since 1970; undefined for guests. */
  readonly expires?: number | undefined;
  /** The key or the other issuer that proved it; undefined for guests. */
  readonly key?: WorldKey | TokenIssuer | undefined;
}

/** A person, and the world that they belong to. */
export interface Identified {
  readonly identity: Identity;
  readonly world: Versioned<World>;
}

/**
 * Identifies a caller in a world.
 * @throws {IdentityError}
 */
export type Identify = (credentials: Credentials, worldId: string) => Promise<Identified>;

/** The clients choose their ids, and keep them. */
const CLIENT_ID = /^[\w.~-]{1,200}$/;

/**
 * The guest that a client ID names. A client ID proves nothing, so guests have no traits.
 * @throws {IdentityError} `malformed`.
 */
export function guestOf(clientId: string): Identity {
  if (!CLIENT_ID.test(clientId)) {
    throw new IdentityError("malformed", "The client ID is malformed.");
  }
  return { clientId, traits: new Set() };
}

/**
 * Whether an identity still holds in its world: it has not expired, and the
 * world still has the key that proved it. Rights are another question
 * (schemas/plain/permissions.ts).
 * @param world as it is now.
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
 * Whether a world has a key or an issuer. Until it changes, the key is the same object, so that no
 * text is compared.
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
 * Why a caller could not be identified. `missing`: there is no token, or its `uid` is
 * empty. `malformed`: it cannot be read. `invalid`: no key signed it, or its claims are not valid.
 * `expired`: its time is over. `foreign`: it belongs to another world, or to one
 * that does not exist.
 */
type IdentityProblem = "missing" | "malformed" | "invalid" | "expired" | "foreign";

/** A caller could not be identified; the message is a sentence for the client. */
export class IdentityError extends Stackless {
  constructor(
    readonly reason: IdentityProblem,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Reads the parts of a token, without a look at its signature.
 * @throws an error if they are no JSON in base64url.
 */
export type Decode = (token: string) => Decoded | null;

/** The issuer and audience that a token names. Several keys may share them. */
export type Issuer = Pick<WorldKey, "issuer" | "audience">;

/** What a token names before anything is proven. */
export interface Named {
  readonly issuer: string;
  readonly audiences: readonly string[];
  /** Whether it is signed as other issuers sign, and not with a key of a world. */
  readonly isForeign: boolean;
}

/** The claims of a token. */
export interface Claims {
  readonly tokenId: string | undefined;
  readonly traits: ReadonlySet<string>;
  readonly profile: Record<string, unknown> | undefined;
  /** The id of the user in pretalx, which plans events. */
  readonly pretalxId: string | undefined;
  /** The name of a screen. Its token has no `uid`. */
  readonly kiosk?: string | undefined;
  /** From when on and until when it holds, in seconds since 1970. */
  readonly notBefore: number;
  readonly expires: number;
}

/** The parts of a token. */
interface Decoded {
  header?: Record<string, unknown>;
  payload?: Record<string, unknown> | null;
  signature?: string;
}

/** A token that was read, before anything is proven. */
export interface Unproven {
  readonly named: Named;
  readonly header: Record<string, unknown>;
  readonly payload: Record<string, unknown>;
}

const malformed = (message = "The token is malformed.") => new IdentityError("malformed", message);

const invalid = (message: string, reason: IdentityProblem = "invalid") =>
  new IdentityError(reason, message);

/** The characters of a token in a header (RFC 6750, section 2.1). */
const TOKEN = /^[\w.~+/=-]+$/;

/** How many traits a token may carry. */
const MAX_TRAITS = 1000;

/** How many audiences a token may name. */
const MAX_AUDIENCES = 20;

/**
 * Reads a token, before its signature is checked. This reports
 * every fault that can be seen without a key. A later report would reveal whether
 * some world has such an issuer.
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
  // The library replaces other bytes, which would make one user of several
  // (RFC 7519, section 7.2, step 10).
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
  // One entry of a list suffices (RFC 7519, section 4.1.3).
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
 * The claims of a token, if this secret signed it. It takes the time of one HMAC: the library
 * would read the token once more.
 * @param unproven the same token, which says that it is signed with HS256.
 * @throws {IdentityError} `expired` or `invalid`, if the secret signed it and it is not valid.
 */
export function claimsSignedBy(
  secret: string,
  token: string,
  { header, payload }: Unproven,
): Claims | undefined {
  if (!isSignedWith(secret, token)) return undefined;
  // RFC 7515, section 4.1.11: Foyer understands none of these extensions.
  if (header.crit !== undefined) {
    throw invalid("The header of the token has critical extensions.");
  }
  if (payload.exp === undefined) throw invalid("The token has no exp.");
  const claims = readClaims(payload);
  expectPresent(claims);
  return claims;
}

/**
 * Checks the time for which a token holds.
 * @throws {IdentityError} `expired` or `invalid`, outside of it.
 */
export function expectPresent({ notBefore, expires }: Pick<Claims, "notBefore" | "expires">): void {
  const now = Date.now() / 1000;
  if (now >= expires) throw invalid("The token has expired.", "expired");
  if (now < notBefore) throw invalid("The token is not valid yet.");
}

/**
 * Whether a secret signed a token. The time does not depend on where signatures
 * differ. The library takes ten times as long to refuse a token, which would help an
 * attacker who floods the server with bad ones.
 */
export function isSignedWith(secret: string, token: string): boolean {
  const end = token.lastIndexOf(".");
  const expected = createHmac("sha256", secret).update(token.slice(0, end)).digest("base64url");
  const given = Buffer.from(token.slice(end + 1));
  return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected));
}

/**
 * Reads verified claims. Claims that are stored with a user are bounded: any holder
 * of a world's key signs tokens, not only the operator.
 * @throws {IdentityError} `invalid` if a claim has the wrong type, is too large,
 *   or could not be stored and read back unchanged.
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
    notBefore: nbf as number,
    expires: exp as number,
  };
}

/** The bound for traits that are shared, in characters. */
const MAX_SHARED = 1024 * 1024;

/** The memory of a set beside its texts, in characters. */
const SET_OVERHEAD = 200;

const shared = new Cache<ReadonlySet<string>>(MAX_SHARED);

/** Traits as a set. Most people of an event have the same ones, and share it. */
function sharedTraits(traits: readonly string[]): ReadonlySet<string> {
  const name = JSON.stringify(traits);
  let set = shared.get(name);
  if (!set) {
    set = new Set(traits);
    shared.set(name, set, 2 * name.length + SET_OVERHEAD);
  }
  return set;
}

/** A trait that no rule can name is accepted, and grants nothing. */
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
    // First, as others fail on deep nesting.
    unstorableIn(profile) === undefined &&
    boundFault(profile, MAX_PROFILE) === undefined
  );
}

/**
 * Reads the `uid` of a token. A number beyond exact integers is refused: it would make one
 * user of several. So would an empty text.
 * @throws {IdentityError} `missing` if it is empty, `invalid` if it is no uid.
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

/** Values that are no ids are left out: the token has other uses. */
function readPretalxId(id: unknown): string | undefined {
  const text = typeof id === "number" ? String(id) : id;
  return isText(text, uidText.maxLength) && text !== "" ? text : undefined;
}

const isText = (text: unknown, maxLength: number): text is string =>
  typeof text === "string" &&
  !text.includes("\0") &&
  text.isWellFormed() &&
  lengthOf(text) <= maxLength;
