import { randomBytes } from "node:crypto";
import type { JWTPayload } from "jose";
import { Cache } from "../../db/cache.js";
import type { FileRecords, Versioned, WorldStore } from "../../db/contract/store.js";
import { issuersOf } from "../../db/rules/world-rows.js";
import { ALGORITHMS, type TokenIssuer } from "../../schemas/issuers.js";
import type { World, WorldKey } from "../../schemas/worlds.js";
import { claimIn, type ForeignClaims, profileOf, traitsOf } from "./claims.js";
import {
  type Claims,
  claimsSignedBy,
  type Credentials,
  type Decode,
  expectPresent,
  guestOf,
  hasKey,
  type Identified,
  type Identify,
  IdentityError,
  isProfile,
  isSignedWith,
  type Named,
  readToken,
  readUid,
  type Unproven,
} from "./identity.js";
import { type KeySet, keySetOf, type KeySets } from "./key-sets.js";

// Identifies callers by a token or a client ID. Nothing here knows of HTTP: each
// transport parses its own headers or frames.

/** A token that a key of a world, or another issuer, signed. */
interface VerifiedToken extends Claims {
  readonly token: string;
  readonly named: Named;
  /** The world where it was verified first; others may have the same key. */
  readonly worldId: string;
  readonly key: WorldKey | TokenIssuer;
  /** The version of the keys of an issuer that has an address for them. */
  readonly keys?: string | undefined;
  /** The version of that world in which its key was seen last. */
  seenIn: string;
}

type Proof = Pick<VerifiedToken, "token" | "named" | "worldId" | "key" | "seenIn">;

/**
 * A verified token. All are written down in one place, field by field: copies of other
 * objects would each get a hidden class of their own, which takes more memory than they do.
 */
const verifiedBy = (
  claims: Claims & { readonly keys?: string | undefined },
  proof: Proof,
): VerifiedToken => ({
  tokenId: claims.tokenId,
  kiosk: claims.kiosk,
  pretalxId: claims.pretalxId,
  traits: claims.traits,
  profile: claims.profile,
  notBefore: claims.notBefore,
  expires: claims.expires,
  keys: claims.keys,
  token: proof.token,
  named: proof.named,
  worldId: proof.worldId,
  key: proof.key,
  seenIn: proof.seenIn,
});

/** What the tokens of a key name. */
const namesOfKeys = new WeakMap<WorldKey, Named>();

/** What a token names that this key proves. All tokens of a key share it. */
function namesIn(key: WorldKey): Named {
  let named = namesOfKeys.get(key);
  if (!named) {
    const { issuer, audience } = key;
    named = { issuer, audiences: [audience], isForeign: false };
    namesOfKeys.set(key, named);
  }
  return named;
}

/** A token that no key proved. */
interface RefusedToken {
  readonly named: Named;
  /** The versions of the worlds whose keys were tried. */
  readonly tried: string;
}

/** The bound for verified tokens, in characters. */
const MAX_VERIFIED = 8 * 1024 * 1024;

/** The bound for refused tokens, in characters. */
const MAX_REFUSED = 1024 * 1024;

/** The overhead of an entry, in characters. */
const ENTRY_OVERHEAD = 1000;

/** How many entries of issuers are tried for one token: a world may have named the issuer of another. */
const MAX_SOURCES = 20;

/** The length of a signature by HMAC-SHA256, in characters of base64url. */
const SIGNATURE = 43;

/** The signature identifies a token. A lookup by it takes less than half the time of a lookup by the whole token. */
const signatureOf = (token: string) => token.slice(-SIGNATURE);

/** Takes the place of a missing key when a signature is compared, so that a refusal takes the same time with and without a key. */
const decoy = randomBytes(32).toString("hex");

const refusal = new IdentityError("invalid", "The token was not signed with a key known here.");
const foreign = new IdentityError("foreign", "The token is of another world.");

/**
 * Makes the function that identifies callers by the keys of worlds.
 * @param worlds gives a world only if the token may belong to it. Otherwise the
 *   time of an answer would tell strangers whether a world exists.
 * @param foreignTokens verifies the tokens of other issuers.
 */
export function identification(
  worlds: Pick<WorldStore, "get" | "issuing">,
  decode: Decode,
  foreignTokens: ForeignTokens,
): Identify {
  // The clock and the keys of the world are checked again on every use.
  const verified = new Cache<VerifiedToken>(MAX_VERIFIED);
  // A client with a bad token tends to repeat it: without this cache each
  // repetition would cost a seventh more.
  const refused = new Cache<RefusedToken>(MAX_REFUSED);

  async function identify(credentials: Credentials, worldId: string): Promise<Identified> {
    const { token, clientId, screens = false } = credentials;
    if (token === undefined) return identifyGuest(clientId, worldId);
    const found = await identifyBearer(token, worldId, credentials);
    if (found.identity.kiosk !== undefined && !screens) throw foreign;
    return found;
  }

  async function identifyBearer(
    token: string,
    worldId: string,
    { anywhere = false }: Credentials,
  ): Promise<Identified> {
    const known = knownBy(token);
    if (known?.worldId === worldId) {
      const world = await worlds.get(worldId);
      if (world && isHeldBy(world, known)) return { identity: known, world };
    }
    const identified = await findProof(token, worldId, known);
    if (!anywhere && identified.world.value.id !== worldId) throw foreign;
    return identified;
  }

  function knownBy(token: string): VerifiedToken | undefined {
    const found = verified.get(signatureOf(token));
    return found?.token === token ? found : undefined;
  }

  async function identifyGuest(clientId: string | undefined, worldId: string): Promise<Identified> {
    if (clientId === undefined) {
      throw new IdentityError("missing", "Authentication credentials were not provided.");
    }
    const identity = guestOf(clientId);
    const world = await worlds.get(worldId);
    if (!world) throw foreign;
    return { identity, world };
  }

  /** Finds a world that proves the token, the expected one if there are several. */
  async function findProof(
    token: string,
    worldId: string,
    known: VerifiedToken | undefined,
  ): Promise<Identified> {
    const before = known ? undefined : refused.get(token);
    let unproven: Unproven | undefined;
    const read = () => (unproven ??= readToken(token, decode));
    const named = known?.named ?? before?.named ?? read().named;
    const issuing = await worldsOf(named, worldId);
    for (const world of issuing) {
      if (known && isHeldBy(world, known)) return { identity: known, world };
    }
    if (named.isForeign) return findForeignProof(token, named, issuing);
    const tried = issuing.map(({ version }) => version).join();
    if (before?.tried === tried) throw refusal;
    // Thousands of worlds may share one key.
    const failed = new Set<string>();
    for (const world of issuing) {
      const identity = verify(token, read(), world, failed);
      if (identity) return { identity: remembered(identity), world };
    }
    if (issuing.length === 0) isSignedWith(decoy, token);
    const entry = { named, tried };
    refused.set(token, entry, 2 * token.length + tried.length + ENTRY_OVERHEAD);
    throw refusal;
  }

  function remembered(identity: VerifiedToken): VerifiedToken {
    const { token } = identity;
    verified.set(signatureOf(token), identity, 2 * token.length + ENTRY_OVERHEAD);
    return identity;
  }

  /** Whether a world still proves a token, by keys that are not too old. */
  function isHeldBy(world: Versioned<World>, known: VerifiedToken): boolean {
    const { key, keys } = known;
    return isProvenBy(world, known) && foreignTokens.isCurrent(key, keys);
  }

  /** The same for a token of another issuer. Its refusal depends on keys elsewhere, and is not kept. */
  async function findForeignProof(
    token: string,
    named: Named,
    issuing: readonly Versioned<World>[],
  ): Promise<Identified> {
    const tried = new Set<string>();
    for (const { value } of issuing) {
      for (const key of issuersOf(value.config)) {
        if (key.issuer !== named.issuer) continue;
        if (!named.audiences.includes(key.audience)) continue;
        const source = JSON.stringify(key);
        if (tried.has(source) || tried.size === MAX_SOURCES) continue;
        tried.add(source);
        const claims = await foreignTokens.verify(token, key, value.id);
        // Meanwhile the world may have removed the issuer.
        const world = claims && (await worlds.get(value.id));
        if (!world || !hasKey(world.value, key)) continue;
        const seenIn = world.version;
        const proof = { token, named, key, worldId: value.id, seenIn };
        return { identity: remembered(verifiedBy(claims, proof)), world };
      }
    }
    throw refusal;
  }

  /** The worlds to which such a token may belong, the expected one first. */
  async function worldsOf(
    { issuer, audiences }: Named,
    worldId: string,
  ): Promise<Versioned<World>[]> {
    const lists = await Promise.all(audiences.map((audience) => worlds.issuing(issuer, audience)));
    const isExpected = ({ value }: Versioned<World>) => Number(value.id === worldId);
    return lists.flat().sort((a, b) => isExpected(b) - isExpected(a));
  }

  /** @param failed the secrets that did not sign the token; further ones are added. */
  function verify(
    token: string,
    unproven: Unproven,
    { value: world, version }: Versioned<World>,
    failed: Set<string>,
  ): VerifiedToken | undefined {
    const { named } = unproven;
    for (const key of world.config.JWT_secrets) {
      if (key.issuer !== named.issuer) continue;
      if (!named.audiences.includes(key.audience)) continue;
      if (failed.has(key.secret)) continue;
      const claims = claimsSignedBy(key.secret, token, unproven);
      if (claims) {
        const proof = { token, key, worldId: world.id, seenIn: version };
        return verifiedBy(claims, { ...proof, named: namesIn(key) });
      }
      failed.add(key.secret);
    }
    return undefined;
  }

  return identify;
}

/**
 * Whether a world has the key that a token was verified with.
 * @throws {IdentityError} `expired` or `invalid`, outside the time of the token.
 */
function isProvenBy({ value, version }: Versioned<World>, token: VerifiedToken): boolean {
  expectPresent(token);
  if (token.seenIn === version) return true;
  if (!hasKey(value, token.key)) return false;
  token.seenIn = version;
  return true;
}

/** The claims of a token that another issuer signed. */
interface ForeignToken extends Claims {
  /** The version of the keys at the address of the issuer. */
  readonly keys: string | undefined;
}

/** How many keys are tried for a token that does not name one. */
const MAX_TRIES = 10;

/** There is no key for the header of a token. */
const NO_KEY = Symbol("no key");

/** Verifies tokens that other issuers signed. */
export class ForeignTokens {
  readonly #keySets: KeySets;
  readonly #files: Pick<FileRecords, "has">;
  /** The keys that worlds hold themselves, by their entries. */
  readonly #inline = new WeakMap<TokenIssuer, Promise<KeySet>>();

  constructor(keySets: KeySets, files: Pick<FileRecords, "has">) {
    this.#keySets = keySets;
    this.#files = files;
  }

  /** Whether the issuer of a token still has the keys that proved it, as far as is known. */
  isCurrent(key: WorldKey | TokenIssuer, keys: string | undefined): boolean {
    if ("secret" in key || key.jwks_url === undefined) return true;
    return keys !== undefined && this.#keySets.isCurrent(key.jwks_url, keys);
  }

  /**
   * The claims of a token, if this issuer signed it for the world.
   * @throws {IdentityError} `expired` or `invalid`, if it did and the token is not valid.
   */
  async verify(
    token: string,
    issuer: TokenIssuer,
    worldId: string,
  ): Promise<ForeignToken | undefined> {
    const { jwks_url: url } = issuer;
    let set = await this.#keysOf(issuer);
    let payload = set && (await payloadOf(token, issuer, set));
    if (set && url !== undefined && payload === NO_KEY) {
      set = await this.#keySets.getNewer(url, set);
      payload = set && (await payloadOf(token, issuer, set));
    }
    if (payload === undefined || payload === NO_KEY) return undefined;
    const claims = await this.#claimsOf(payload, issuer, worldId);
    return { ...claims, keys: url === undefined ? undefined : set?.version };
  }

  async #keysOf(issuer: TokenIssuer): Promise<KeySet | undefined> {
    if (issuer.jwks_url !== undefined) {
      return this.#keySets.get(issuer.jwks_url);
    }
    let made = this.#inline.get(issuer);
    if (!made) this.#inline.set(issuer, (made = keySetOf(issuer.jwks)));
    return made.catch(() => undefined);
  }

  async #claimsOf(
    payload: ForeignClaims,
    { issuer, uid = "sub", traits, trusted = false }: TokenIssuer,
    worldId: string,
  ): Promise<Claims> {
    const { exp, nbf = 0, profile } = payload;
    const given = readUid(claimIn(payload, uid) ?? undefined);
    const id = trusted || given === undefined ? given : `${issuer}#${given}`;
    return {
      tokenId: id,
      // It would name a user of pretalx, of which the issuer knows nothing.
      pretalxId: undefined,
      traits: traitsOf(payload, traits),
      // A `profile` of OpenID Connect is the address of a page.
      profile: isProfile(profile) ? profile : await profileOf(payload, worldId, this.#files),
      notBefore: nbf as number,
      expires: exp as number,
    };
  }
}

/**
 * The payload of a token, if one of the keys signed it. The library compares issuer and
 * audience, and refuses a critical header that it does not know.
 * @throws {IdentityError} `expired` or `invalid`, if one did and the token is not valid.
 */
async function payloadOf(
  token: string,
  { issuer, audience, algorithms = [...ALGORITHMS] }: TokenIssuer,
  { choose }: KeySet,
): Promise<JWTPayload | typeof NO_KEY | undefined> {
  const { errors, jwtVerify } = await import("jose");
  const options = { issuer, audience, algorithms, requiredClaims: ["exp"] };
  try {
    try {
      return (await jwtVerify(token, choose, options)).payload;
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      let tries = 0;
      for await (const key of error) {
        if (++tries > MAX_TRIES) return undefined;
        try {
          return (await jwtVerify(token, key, options)).payload;
        } catch (failure) {
          const isOther = failure instanceof errors.JWSSignatureVerificationFailed;
          if (!isOther) throw failure;
        }
      }
      return undefined;
    }
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return NO_KEY;
    if (error instanceof errors.JWTExpired) {
      throw new IdentityError("expired", "The token has expired.");
    }
    if (error instanceof errors.JWTClaimValidationFailed) {
      throw new IdentityError("invalid", `The ${error.claim} of the token is not valid.`);
    }
    // Another signature, a key that cannot be read, or a header that is not supported.
    return undefined;
  }
}
