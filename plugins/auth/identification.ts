import { randomBytes } from "node:crypto";
import type { JWTPayload } from "jose";
import { Cache } from "../../db/cache.js";
import type { InvitationStanding, InvitationStore } from "../../db/contract/invitation-store.js";
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
  grantedIdentity,
  guestOf,
  hasKey,
  type Identified,
  type Identify,
  type Identity,
  IdentityError,
  isProfile,
  isSignedWith,
  type UnverifiedClaims,
  readToken,
  readUid,
  type Unproven,
} from "./identity.js";
import { type KeySet, keySetOf, type KeySets } from "./key-sets.js";

// Identifies callers by token or client ID. Independent of HTTP: each transport parses its own
// headers or frames.

/** A token signed with a world's key or by another issuer. */
interface VerifiedToken extends Claims {
  readonly token: string;
  readonly named: UnverifiedClaims;
  /** The world in which the token was first verified; other worlds may have the same key. */
  readonly worldId: string;
  readonly key: WorldKey | TokenIssuer;
  /** The version of the issuer's keys, if the keys were fetched from an address. */
  readonly keys?: string | undefined;
  /** The version of the world in which the key was last seen. */
  seenIn: string;
  /** What the token's invitation last granted. */
  granted: Granted | undefined;
}

/** What an invitation granted a token, and the states of the invitation and of the world that this follows from. */
interface Granted {
  readonly standing: InvitationStanding;
  readonly version: string;
  readonly identity: Identity;
}

/** A verified token, and the world that verified it. */
interface Proven extends Identified {
  readonly identity: VerifiedToken;
}

type Proof = Pick<VerifiedToken, "token" | "named" | "worldId" | "key" | "seenIn">;

/**
 * Builds a verified token. All verified tokens are built here, field by field: copies of various
 * objects would each get their own hidden class, which uses more memory than the objects
 * themselves.
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
  invitation: claims.invitation,
  notBefore: claims.notBefore,
  expires: claims.expires,
  keys: claims.keys,
  token: proof.token,
  named: proof.named,
  worldId: proof.worldId,
  key: proof.key,
  seenIn: proof.seenIn,
  granted: undefined,
});

/** The unverified claims shared by all tokens that are signed with a key, by key. */
const namesOfKeys = new WeakMap<WorldKey, UnverifiedClaims>();

/** Returns the issuer and audience in a key's tokens. All of the key's tokens share one object. */
function namesIn(key: WorldKey): UnverifiedClaims {
  let named = namesOfKeys.get(key);
  if (!named) {
    const { issuer, audience } = key;
    named = { issuer, audiences: [audience], isForeign: false };
    namesOfKeys.set(key, named);
  }
  return named;
}

/** A token that matched no key. */
interface RefusedToken {
  readonly named: UnverifiedClaims;
  /** The versions of the worlds whose keys were tried. */
  readonly tried: string;
}

/** Maximum total size of cached verified tokens, in characters. */
const MAX_VERIFIED = 8 * 1024 * 1024;

/** Maximum total size of cached refused tokens, in characters. */
const MAX_REFUSED = 1024 * 1024;

/** Estimated overhead of a cache entry, in characters. */
const ENTRY_OVERHEAD = 1000;

/** Maximum number of issuer entries tried per token, because any world may list another world's issuer. */
const MAX_SOURCES = 20;

/** The length of an HMAC-SHA256 signature in base64url characters. */
const SIGNATURE = 43;

/**
 * Returns a token's signature, which identifies the token. A lookup by signature takes less than
 * half as long as a lookup by the whole token.
 */
const signatureOf = (token: string) => token.slice(-SIGNATURE);

/** Stand-in for a missing key in signature checks, so that a refusal takes the same time with and without a key. */
const decoy = randomBytes(32).toString("hex");

const refusal = new IdentityError("invalid", "The token was not signed with a key known here.");
const ended = new IdentityError("invalid", "The link no longer works. Ask for a new one.");
const foreign = new IdentityError("foreign", "The token belongs to another world.");

/**
 * Creates the function that identifies callers, using the worlds' keys.
 * @param worlds the worlds. A world is looked up only if the token may belong to it. Otherwise,
 * response times would reveal to strangers whether a world exists.
 * @param invitations the worlds' invitations. Each use of a token that names one reads it.
 * @param foreignTokens verifies tokens from other issuers.
 */
export function identification(
  worlds: Pick<WorldStore, "get" | "issuing">,
  invitations: Pick<InvitationStore, "standing">,
  decode: Decode,
  foreignTokens: ForeignTokens,
): Identify {
  // Expiry and the world's keys are re-checked on every use.
  const verified = new Cache<VerifiedToken>(MAX_VERIFIED);
  // A client with a bad token tends to repeat it. Without this cache, each repetition would take a
  // seventh longer.
  const refused = new Cache<RefusedToken>(MAX_REFUSED);

  async function identify(credentials: Credentials, worldId: string): Promise<Identified> {
    const { token, clientId, screens = false } = credentials;
    if (token === undefined) return identifyGuest(clientId, worldId);
    const found = await identifyBearer(token, worldId, credentials);
    const { identity } = found;
    if (identity.kiosk !== undefined && !screens) throw foreign;
    return identity.invitation ? grantedBy(found, identity.invitation.id) : found;
  }

  /**
   * Returns the caller with what the token's invitation grants now.
   * @throws {IdentityError} `invalid` if the token no longer stands, or `expired` if the invitation
   * has ended.
   */
  async function grantedBy({ identity: token, world }: Proven, id: string): Promise<Identified> {
    const { value, version } = world;
    const standing = await invitations.standing(value.id, id);
    let { granted } = token;
    if (!standing) throw ended;
    if (granted?.standing !== standing || granted.version !== version) {
      const identity = grantedIdentity(token, standing, value);
      if (!identity) throw ended;
      token.granted = granted = { standing, version, identity };
    }
    const { identity } = granted;
    expectPresent({ notBefore: token.notBefore, expires: identity.expires! });
    return { identity, world };
  }

  async function identifyBearer(
    token: string,
    worldId: string,
    { anywhere = false }: Credentials,
  ): Promise<Proven> {
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

  /** Finds a world with a key that verifies the token. Tries the expected world first. */
  async function findProof(
    token: string,
    worldId: string,
    known: VerifiedToken | undefined,
  ): Promise<Proven> {
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
    // Thousands of worlds may share one key, so try each secret only once.
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

  /** Whether a world still accepts a token. For a token from another issuer, the cached keys must also be current. */
  function isHeldBy(world: Versioned<World>, known: VerifiedToken): boolean {
    const { key, keys } = known;
    return isProvenBy(world, known) && foreignTokens.isCurrent(key, keys);
  }

  /**
   * Like {@link findProof}, for a token from another issuer. Refusals are not cached, because they
   * depend on external keys.
   */
  async function findForeignProof(
    token: string,
    named: UnverifiedClaims,
    issuing: readonly Versioned<World>[],
  ): Promise<Proven> {
    const tried = new Set<string>();
    for (const { value } of issuing) {
      for (const key of issuersOf(value.config)) {
        if (key.issuer !== named.issuer) continue;
        if (!named.audiences.includes(key.audience)) continue;
        const source = JSON.stringify(key);
        if (tried.has(source) || tried.size === MAX_SOURCES) continue;
        tried.add(source);
        const claims = await foreignTokens.verify(token, key, value.id);
        // The world may have removed the issuer during the verification.
        const world = claims && (await worlds.get(value.id));
        if (!world || !hasKey(world.value, key)) continue;
        const seenIn = world.version;
        const proof = { token, named, key, worldId: value.id, seenIn };
        return { identity: remembered(verifiedBy(claims, proof)), world };
      }
    }
    throw refusal;
  }

  /** Returns the worlds to which a token may belong, with the expected world first. */
  async function worldsOf(
    { issuer, audiences }: UnverifiedClaims,
    worldId: string,
  ): Promise<Versioned<World>[]> {
    const lists = await Promise.all(audiences.map((audience) => worlds.issuing(issuer, audience)));
    const isExpected = ({ value }: Versioned<World>) => Number(value.id === worldId);
    return lists.flat().sort((a, b) => isExpected(b) - isExpected(a));
  }

  /** @param failed secrets that did not sign the token. This function adds each secret that fails. */
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
 * @throws {IdentityError} `expired` or `invalid`, if the token is not currently valid.
 */
function isProvenBy({ value, version }: Versioned<World>, token: VerifiedToken): boolean {
  expectPresent(token);
  if (token.seenIn === version) return true;
  if (!hasKey(value, token.key)) return false;
  token.seenIn = version;
  return true;
}

/** The claims of a token signed by another issuer. */
interface ForeignToken extends Claims {
  /** The version of the key set at the issuer's URL; undefined if the keys are part of the issuer entry. */
  readonly keys: string | undefined;
}

/** Maximum number of keys tried for a token whose header matches several keys. */
const MAX_TRIES = 10;

/** Indicates that no key matches the token's header. */
const NO_KEY = Symbol("no key");

/** Verifies tokens signed by other issuers. */
export class ForeignTokens {
  readonly #keySets: KeySets;
  readonly #files: Pick<FileRecords, "has">;
  /** Keys configured in the worlds themselves, by issuer entry. */
  readonly #inline = new WeakMap<TokenIssuer, Promise<KeySet>>();

  constructor(keySets: KeySets, files: Pick<FileRecords, "has">) {
    this.#keySets = keySets;
    this.#files = files;
  }

  /** Whether the cached key set of a token's issuer still has the version that verified the token. */
  isCurrent(key: WorldKey | TokenIssuer, keys: string | undefined): boolean {
    if ("secret" in key || key.jwks_url === undefined) return true;
    return keys !== undefined && this.#keySets.isCurrent(key.jwks_url, keys);
  }

  /**
   * Returns a token's claims, or undefined if this issuer did not sign the token.
   * @throws {IdentityError} `expired` or `invalid`, if the issuer signed the token but the token is
   * not valid.
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
      // Other issuers know nothing about pretalx users, so they cannot vouch for a pretalx user id.
      pretalxId: undefined,
      traits: traitsOf(payload, traits),
      // In OpenID Connect, the `profile` claim is the URL of a profile page.
      profile: isProfile(profile) ? profile : await profileOf(payload, worldId, this.#files),
      // Other issuers use any `jti`.
      invitation: undefined,
      notBefore: nbf as number,
      expires: exp as number,
    };
  }
}

/**
 * Returns a token's payload if one of the keys signed the token, {@link NO_KEY} if no key matches
 * the header, or undefined otherwise. The library checks issuer and audience, and rejects unknown
 * critical headers.
 * @throws {IdentityError} `expired` or `invalid`, if a key signed the token but the token is not
 * valid.
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
    // The signature is wrong, a key is unreadable, or the header is unsupported.
    return undefined;
  }
}
