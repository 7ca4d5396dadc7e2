import type { Versioned } from "../../db/contract/store.js";
import { issuersOf } from "../../db/rules/world-rows.js";
import type { TokenIssuer } from "../../schemas/issuers.js";
import type { World, WorldKey } from "../../schemas/worlds.js";
import { IdentityError } from "./tokens.js";

// Who a caller is, and for how long. How a caller is identified is in identification.ts.

export { IdentityError, type IdentityProblem } from "./tokens.js";

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
