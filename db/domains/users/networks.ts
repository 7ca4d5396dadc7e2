import { createHmac, randomBytes } from "node:crypto";
import { StoreError } from "../../contract/store.js";
import { USER_COLUMNS } from "../../rules/rows.js";
import type { Sql } from "../domain.js";

// Networks from which a ban keeps out new guests. Networks are stored as keyed hashes, which
// identify a network without revealing its address.

const KEY = "SELECT secret FROM network_keys WHERE world_id = $1";

const NEW_KEY = `INSERT INTO network_keys (world_id, secret) SELECT id, $2 FROM worlds WHERE id = $1
  ON CONFLICT (world_id) DO NOTHING`;

const IS_OUT = "SELECT 1 FROM network_bans WHERE world_id = $1 AND network = $2 AND ends > $3";

/**
 * Bans a user's network, unless the network is unknown. A longer ban of the same network stays in
 * effect.
 */
export const KEEP_OUT = `INSERT INTO network_bans (world_id, network, user_id, ends)
  SELECT world_id, network, id, CAST($3 AS BIGINT) FROM users
  WHERE world_id = $1 AND id = $2 AND network IS NOT NULL
  ON CONFLICT (world_id, network) DO UPDATE SET user_id = excluded.user_id, ends = excluded.ends
  WHERE network_bans.ends < excluded.ends`;

/** Lifts the network ban that came with the ban of a user. */
export const READMIT_OF = "DELETE FROM network_bans WHERE world_id = $1 AND user_id = $2";

/** Deletes expired network bans. */
export const READMIT = "DELETE FROM network_bans WHERE world_id = $1 AND ends <= $2";

/** Selects the users whose silence has expired. */
export const OVER = `SELECT ${USER_COLUMNS} FROM users
  WHERE world_id = $1 AND moderated_until <= $2 AND moderation_state = 'silenced'
  ORDER BY moderated_until, id LIMIT 500`;

/** Returns the keyed hash of a network; null if the network is unknown or the world does not exist. */
export async function networkHash(
  sql: Sql,
  world: string,
  network: string | undefined,
): Promise<string | null> {
  if (network === undefined) return null;
  let secret = await sql.value<string>(KEY, [world]);
  if (secret === undefined) {
    await sql.run(NEW_KEY, [world, randomBytes(32).toString("base64url")]);
    secret = await sql.value<string>(KEY, [world]);
  }
  if (secret === undefined) return null;
  return createHmac("sha256", secret).update(network).digest("base64url").slice(0, 22);
}

/**
 * Checks that no ban keeps out new guests from a network.
 * @throws {StoreError} `denied` on `network`.
 */
export async function expectAdmitted(
  sql: Sql,
  world: string,
  hash: string,
  now: number,
): Promise<void> {
  if (!(await sql.one(IS_OUT, [world, hash, now]))) return;
  throw new StoreError("denied", "New guests from this network are kept out.", "network");
}
