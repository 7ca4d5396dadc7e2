import {
  type DueFavorite,
  type FavoriteThatMoved,
  MAX_SUBSCRIPTIONS,
  type OwnedSubscription,
  type PushKey,
  type PushSubscription,
} from "../contract/push-store.js";
import { absent } from "../rules/preconditions.js";
import { domain, type DomainLog, type Reading, type Sql } from "./domain.js";

const KEY = `SELECT public_key AS "publicKey", private_key AS "privateKey"
  FROM push_keys WHERE name = 'vapid'`;
const KEEP = `INSERT INTO push_keys (name, public_key, private_key) VALUES ('vapid', $1, $2)
  ON CONFLICT (name) DO NOTHING`;
const OF_USERS = `SELECT user_id AS "user", endpoint, p256dh, auth FROM push_subscriptions
  WHERE world_id = $1 AND user_id = ANY ($2) ORDER BY created, endpoint`;
const MODERATING = `SELECT user_id AS "user", endpoint, p256dh, auth FROM push_subscriptions
  WHERE world_id = $1 AND moderation = 1 ORDER BY created, endpoint`;
const HAS_USER = `SELECT 1 FROM users WHERE world_id = $1 AND id = $2
  AND (token_id IS NOT NULL OR client_id IS NOT NULL)`;
const STORE = `INSERT INTO push_subscriptions 
    (world_id, endpoint, user_id, p256dh, auth, created, moderation)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (world_id, endpoint) DO UPDATE SET user_id = excluded.user_id,
    p256dh = excluded.p256dh, auth = excluded.auth, created = excluded.created,
    moderation = excluded.moderation`;
const KEEP_NEWEST = `DELETE FROM push_subscriptions WHERE world_id = $1 AND user_id = $2
  AND endpoint NOT IN (SELECT endpoint FROM push_subscriptions
    WHERE world_id = $1 AND user_id = $2 ORDER BY created DESC, endpoint LIMIT ${MAX_SUBSCRIPTIONS})`;
const FORGET = "DELETE FROM push_subscriptions WHERE world_id = $1 AND endpoint = $2";
const HAS_WORLD = "SELECT 1 FROM worlds WHERE id = $1";
const PRUNE = "DELETE FROM push_claims WHERE world_id = $1 AND at < CAST($2 AS BIGINT)";
const CLAIM = `INSERT INTO push_claims (world_id, name, at) VALUES ($1, $2, $3)
  ON CONFLICT (world_id, name) DO NOTHING`;
const CLAIM_OF = "'session ' || s.id || ' ' || CAST(s.starts_at AS TEXT)";
const DUE = `SELECT s.world_id AS world, s.id AS session, s.title, s.room_id AS room,
    f.user_id AS "user", ${CLAIM_OF} AS claim
  FROM program_sessions s JOIN program_favorites f ON f.world_id = s.world_id AND f.session_id = s.id
  WHERE s.state = 'public' AND s.starts_at > CAST($1 AS BIGINT)
    AND s.starts_at <= CAST($2 AS BIGINT) AND EXISTS (SELECT 1 FROM push_subscriptions p
      WHERE p.world_id = f.world_id AND p.user_id = f.user_id)
    AND NOT EXISTS (SELECT 1 FROM push_claims c
      WHERE c.world_id = s.world_id AND c.name = ${CLAIM_OF})`;

const MOVED = `SELECT s.world_id AS world, s.id AS session, s.title, s.room_id AS room,
    s.starts_at, f.user_id AS "user",
    'moved ' || s.id || ' ' || CAST(s.starts_at AS TEXT) || ' ' || COALESCE(s.room_id, '') AS claim
  FROM program_sessions s JOIN program_favorites f ON f.world_id = s.world_id AND f.session_id = s.id
  WHERE s.world_id = $1 AND s.id = $2 AND s.state = 'public' AND s.ends_at > CAST($3 AS BIGINT)
    AND f.moved_start IS NOT NULL AND EXISTS (SELECT 1 FROM push_subscriptions p
      WHERE p.world_id = f.world_id AND p.user_id = f.user_id)
  ORDER BY f.number`;

const DAY = 24 * 3_600_000;

const reads = (sql: Reading) => ({
  key: (): Promise<PushKey | undefined> => sql.one<PushKey>(KEY, []),
  of: (world: string, users: readonly string[]): Promise<OwnedSubscription[]> =>
    sql.all<OwnedSubscription>(OF_USERS, [world, users]),
  moderating: (world: string): Promise<OwnedSubscription[]> =>
    sql.all<OwnedSubscription>(MODERATING, [world]),
  due: (after: number, until: number): Promise<DueFavorite[]> =>
    sql.all<DueFavorite>(DUE, [after, until]),
  moved: (world: string, session: string, now: number): Promise<FavoriteThatMoved[]> =>
    sql.all<FavoriteThatMoved>(MOVED, [world, session, now]),
});

const writes = (sql: Sql, log: DomainLog) => ({
  async keep(_all: string, { publicKey, privateKey }: PushKey): Promise<PushKey> {
    await sql.run(KEEP, [publicKey, privateKey]);
    return (await sql.one<PushKey>(KEY, []))!;
  },

  async subscribe(
    world: string,
    user: string,
    { endpoint, p256dh, auth, moderation = false }: PushSubscription,
    at: number,
  ): Promise<void> {
    if (!(await sql.one(HAS_USER, [world, user]))) throw absent("user");
    await sql.run(STORE, [world, endpoint, user, p256dh, auth, at, moderation ? 1 : 0]);
    const dropped = await sql.run(KEEP_NEWEST, [world, user]);
    if (dropped > 0) log.erased("push_subscriptions");
  },

  async forget(world: string, endpoint: string): Promise<void> {
    const count = await sql.run(FORGET, [world, endpoint]);
    if (count > 0) log.erased("push_subscriptions");
  },

  async claim(world: string, name: string, at: number): Promise<boolean> {
    if (!(await sql.one(HAS_WORLD, [world]))) return false;
    await sql.run(PRUNE, [world, at - DAY]);
    return (await sql.run(CLAIM, [world, name, at])) === 1;
  },
});

export const push = domain({
  reads,
  writes,
  parameters: { keep: 2, subscribe: 4, forget: 2, claim: 3 },
});
