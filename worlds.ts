import { randomBytes } from "node:crypto";
import { defaultPermissionConfig } from "./schemas/permissions.js";
import type { World, WorldKey } from "./schemas/worlds.js";

// Operations on worlds that do not need a server: the CLI and the test server
// share them.

/** The traits that the default rules of a new world let do everything. */
export const ADMINISTRATOR = ["admin", "api"];

/** A fresh random key of 256 bits for the world `id`. */
export const freshKey = (id: string): WorldKey => ({
  issuer: "foyer",
  audience: id,
  secret: randomBytes(32).toString("hex"),
});

/**
 * A new world with a fresh key and the default rules.
 * @param isPrivate adds a rule that lets only the trait `attendee` take part.
 */
export function draftWorld(
  id: string,
  title: string,
  domain: string,
  isPrivate = false,
): World {
  return {
    id,
    title,
    domain,
    config: { JWT_secrets: [freshKey(id)] },
    permission_config: {
      ...defaultPermissionConfig,
      ...(isPrivate && { "world.view": ["attendee"] }),
    },
  };
}

/** What a token says of its bearer, and for how long it holds. */
export interface TokenOptions {
  /** The user's id in the service that issues the token; none by default. */
  uid?: string | undefined;
  /** `admin` and `api` by default. */
  traits?: readonly string[];
  /** Whatever else is known of the user, such as a display name; none by default. */
  profile?: Record<string, unknown>;
  /** Such as `90s`, `30m`, `12h` or `30d`, the default. `-1m` makes an expired token. */
  expiresIn?: string;
}

/** Signs a token with the first key of a world. */
export async function signToken(
  { config }: World,
  {
    uid,
    traits = ADMINISTRATOR,
    profile,
    expiresIn = "30d",
  }: TokenOptions = {},
): Promise<string> {
  // Loaded here: most commands sign nothing.
  const { createSigner } = await import("fast-jwt");
  const { issuer, audience, secret } = config.JWT_secrets[0]!;
  const sign = createSigner({
    key: secret,
    algorithm: "HS256",
    iss: issuer,
    aud: audience,
    expiresIn,
  });
  return sign({
    ...(uid !== undefined && { uid }),
    ...(profile && { profile }),
    traits,
  });
}
