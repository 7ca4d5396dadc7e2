import type { TokenIssuer } from "../../schemas/issuers.js";
import type { WorldKey } from "../../schemas/worlds.js";
import type { Claims, Named } from "./tokens.js";

/** A token that a key of a world, or another issuer, signed. */
export interface VerifiedToken extends Claims {
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

type Proof = Pick<
  VerifiedToken,
  "token" | "named" | "worldId" | "key" | "seenIn"
>;

/**
 * A verified token. All are written down in one place, field by field: copies of other
 * objects would each get a hidden class of their own, which takes more memory than they do.
 */
export const verifiedBy = (
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
export function namesIn(key: WorldKey): Named {
  let named = namesOfKeys.get(key);
  if (!named) {
    const { issuer, audience } = key;
    named = { issuer, audiences: [audience], isForeign: false };
    namesOfKeys.set(key, named);
  }
  return named;
}
