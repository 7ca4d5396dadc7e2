import { createHmac, randomBytes } from "node:crypto";
import { StoreError } from "../../contract/store.js";
import { USER_COLUMNS } from "../../rules/rows.js";
import type { Sql } from "../domain.js";

// Networks whose new guests a ban keeps out. The store has keyed hashes of networks: they identify a
// network without revealing its address.

const KEY = "SELECT secret FROM network_keys WHERE world_id = $1";

const NEW_KEY = `INSERT INTO network_keys (world_id, secret) SELECT id, $2 FROM worlds WHERE id = $1
  ON CONFLICT (world_id) DO NOTHING`;

const IS_OUT = "SELECT 1 FROM network_bans WHERE world_id = $1 AND network = $2 AND ends > $3";

/** Keeps out the network of a user, unless it is unknown. A longer ban of the same network stays. */
export const KEEP_OUT = `INSERT INTO network_bans (world_id, network, user_id, ends)
  SELECT world_id, network, id, CAST($3 AS BIGINT) FROM users
  WHERE world_id = $1 AND id = $2 AND network IS NOT NULL
  ON CONFLICT (world_id, network) DO UPDATE SET user_id = excluded.user_id, ends = excluded.ends
  WHERE network_bans.ends < excluded.ends`;

/** Readmits the network that the ban of a user keeps out. */
export const READMIT_OF = "DELETE FROM network_bans WHERE world_id = $1 AND user_id = $2";

/** Forgets the networks that are not kept out anymore. */
export const READMIT = "DELETE FROM network_bans WHERE world_id = $1 AND ends <= $2";

/** Selects the users whose silence is over. */
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

/** @throws {StoreError} `denied` on `network` if a ban keeps out new guests from a network. */
export async function expectAdmitted(
  sql: Sql,
  world: string,
  hash: string,
  now: number,
): Promise<void> {
  if (!(await sql.one(IS_OUT, [world, hash, now]))) return;
  throw new StoreError("denied", "New guests from this network are kept out.", "network");
}
