import type { JWTPayload } from "jose";
import type { FileRecords } from "../../db/contract/store.js";
import { ALGORITHMS, type TokenIssuer } from "../../schemas/issuers.js";
import type { WorldKey } from "../../schemas/worlds.js";
import { claimIn, type ForeignClaims, profileOf, traitsOf } from "./claims.js";
import { type Claims, IdentityError, isProfile, readUid } from "./identity.js";
import { type KeySet, keySetOf, type KeySets } from "./key-sets.js";

/** The claims of a token that another issuer signed. */
export interface ForeignToken extends Claims {
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
