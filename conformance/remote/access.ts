import { createSigner } from "fast-jwt";
import type { WorldKey } from "../../schemas/worlds.js";

/** How long a token is valid, in seconds: longer than a run. */
const LIFETIME = 6 * 3600;

/** A world, and a key that signs tokens for it. */
export interface Access {
  readonly world: string;
  readonly key: WorldKey;
}

/** The claims of a token about its user. */
export interface Claims {
  uid: string;
  traits: readonly string[];
  profile?: Record<string, unknown>;
}

/** The traits with which the suite prepares a world. */
export const ADMINISTRATOR = ["inside", "moderator", "admin", "api"];

/**
 * Signs a token.
 * @param now the time of the server, in milliseconds since 1970.
 */
export function sign(
  { issuer, audience, secret }: WorldKey,
  claims: Claims,
  now: number,
): string {
  const signer = createSigner({
    key: secret,
    algorithm: "HS256",
    // The clock of the server may be behind ours.
    noTimestamp: true,
  });
  return signer({
    iss: issuer,
    aud: audience,
    exp: Math.floor(now / 1000) + LIFETIME,
    ...claims,
  });
}
