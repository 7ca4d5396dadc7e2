import {
  CHALLENGE_MS,
  MAX_PASSKEYS,
  type StoredPasskey,
  type PasskeyUse,
} from "../contract/passkey-store.js";
import { StoreError } from "../contract/store.js";
import { noted, passkeyAdded, passkeyRemoved } from "../rules/acts.js";
import { absent, changed } from "../rules/preconditions.js";
import { IS_KNOWN } from "../rules/rows.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

const COLUMNS = `id, user_id AS "user", name, public_key AS "publicKey", counter, host, transports,
  proof, created, used`;
const GET = `SELECT ${COLUMNS} FROM passkeys WHERE world_id = $1 AND id = $2`;
const OF_USER = `SELECT ${COLUMNS} FROM passkeys WHERE world_id = $1 AND user_id = $2
  ORDER BY created, id`;
const COUNTS = `SELECT user_id AS "user", count(*) AS count FROM passkeys
  WHERE world_id = $1 AND user_id = ANY ($2) GROUP BY user_id`;
const HAS_USER = `SELECT 1 FROM users WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN}`;
const PRUNE = "DELETE FROM passkey_challenges WHERE world_id = $1 AND at < CAST($2 AS BIGINT)";
const CLAIM = `INSERT INTO passkey_challenges (world_id, challenge, at)
  SELECT id, $2, CAST($3 AS BIGINT) FROM worlds WHERE id = $1
  ON CONFLICT (world_id, challenge) DO NOTHING`;
// A counter that does not increase indicates a cloned authenticator (WebAuthn, section 6.1.1).
const USE = `UPDATE passkeys SET counter = $3, used = $4 WHERE world_id = $1 AND id = $2
  AND (counter < $3 OR (counter = 0 AND $3 = 0))`;
const REMOVE = "DELETE FROM passkeys WHERE world_id = $1 AND user_id = $2 AND id = $3";

type Row = Omit<StoredPasskey, "transports"> & { readonly transports: string };

const passkeyIn = ({ transports, ...row }: Row): StoredPasskey => ({
  ...row,
  transports: JSON.parse(transports) as string[],
});

const reads = (sql: Reading) => ({
  /** Returns the passkey with a credential id. */
  async get(world: string, id: string): Promise<StoredPasskey | undefined> {
    const row = await sql.one<Row>(GET, [world, id]);
    return row && passkeyIn(row);
  },

  /** Returns a user's passkeys, oldest first. */
  async of(world: string, user: string): Promise<StoredPasskey[]> {
    return (await sql.all<Row>(OF_USER, [world, user])).map(passkeyIn);
  },

  /** Returns the number of passkeys by user, for users who have any. */
  async counts(world: string, users: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await sql.all<{ user: string; count: number }>(COUNTS, [world, users]);
    return new Map(rows.map(({ user, count }) => [user, Number(count)]));
  },
});

const writes = (sql: Sql, log: DomainLog) => {
  /** Consumes a challenge, regardless of which process issued it. */
  async function claim(world: string, challenge: string, at: number): Promise<void> {
    // Twice the lifetime, because the clocks of processes may differ.
    await sql.run(PRUNE, [world, at - 2 * CHALLENGE_MS]);
    if ((await sql.run(CLAIM, [world, challenge, at])) === 0) throw changed();
  }

  return {
    /**
     * Adds a passkey to a user.
     * @param challenge the challenge that the authenticator signed.
     * @throws {StoreError} `absent` if the user does not exist, `changed` if the challenge was
     * already used, `taken` if the world already has the passkey, or `quota` (`passkeys`) above
     * {@link MAX_PASSKEYS}.
     */
    async add(world: string, passkey: StoredPasskey, challenge: string): Promise<void> {
      const { user, created } = passkey;
      if (!(await sql.one(HAS_USER, [world, user]))) throw absent("user");
      await claim(world, challenge, created);
      if (await sql.one(GET, [world, passkey.id])) {
        throw new StoreError("taken", "This passkey was added before.", "id");
      }
      if ((await sql.all(OF_USER, [world, user])).length >= MAX_PASSKEYS) {
        throw new StoreError("quota", `A person has at most ${MAX_PASSKEYS} passkeys.`, "passkeys");
      }
      const { id, name, publicKey, counter, host, transports, proof, used } = passkey;
      await sql.insert("passkeys", [
        {
          world_id: world,
          id,
          user_id: user,
          name,
          public_key: publicKey,
          counter,
          host,
          transports: JSON.stringify(transports),
          proof,
          created,
          used,
        },
      ]);
      log.append(world, noted(passkeyAdded(user)));
    },

    /**
     * Records a sign-in with a passkey.
     * @throws {StoreError} `absent` if there is no such passkey, or `changed` if the challenge was
     * already used or the counter did not increase.
     */
    async use(world: string, { id, challenge, counter, at }: PasskeyUse): Promise<void> {
      if (!(await sql.one(GET, [world, id]))) throw absent("passkey");
      await claim(world, challenge, at);
      if ((await sql.run(USE, [world, id, counter, at])) === 0) throw changed();
    },

    /**
     * Removes a user's passkey.
     * @throws {StoreError} `absent` if the user has no such passkey.
     */
    async remove(world: string, user: string, id: string): Promise<void> {
      if ((await sql.run(REMOVE, [world, user, id])) === 0) throw absent("passkey");
      log.erased("passkeys");
      log.append(world, noted(passkeyRemoved(user)));
    },
  };
};

export const passkeys = domain({ reads, writes, parameters: { add: 3, use: 2, remove: 3 } });
