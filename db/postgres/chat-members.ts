import { randomUUID } from "node:crypto";
import type { ChatStore } from "../chat.js";
import {
  type ChannelRow,
  type DeliveryRow,
  directOf,
  MEMBER,
  toChannel,
  toDeliveries,
} from "../chat-rows.js";
import { absent, denied } from "../preconditions.js";
import { IS_KNOWN } from "../rows.js";
import {
  CHANNEL_COLUMNS,
  createChannel,
  findParticipant,
} from "./chat-channels.js";
import { LOCKED, NOTED, post, posting } from "./chat-posts.js";
import type { Sql } from "./sql.js";

const contentOf = (membership: "join" | "leave") =>
  JSON.stringify({ membership });

const JOIN = posting({
  also: [
    `member AS (
      INSERT INTO chat_members (world_id, channel, user_id) VALUES ($1, $2::bigint, $4))`,
    `listed AS (
      INSERT INTO chat_readers (world_id, user_id, channel, listed)
      SELECT $1, $4, $2::bigint, event.id FROM event
      ON CONFLICT (world_id, user_id, channel) DO UPDATE SET listed = excluded.listed)`,
  ],
});

/** @see ChatStore.join */
export async function joinChannel(
  sql: Sql,
  worldId: string,
  id: string,
  user: string,
): Promise<DeliveryRow | undefined> {
  const found = await findParticipant(sql, worldId, id, user);
  const { state, isMember } = found;
  if (found.channel && found.channel.direct !== null) throw absent("room");
  if (state === null) throw absent("user");
  if (state === "banned") throw denied("The user is banned.");
  if (isMember) return undefined;
  const channel = found.channel ?? (await createChannel(sql, worldId, id));
  const content = contentOf("join");
  const event = { type: MEMBER, sender: user, content };
  return post(sql, JOIN, worldId, channel, event);
}

const QUIT = `
  WITH unlisted AS (
    UPDATE chat_readers SET listed = NULL
    WHERE world_id = $1 AND user_id = $3 AND channel = $2::bigint AND listed IS NOT NULL)
  DELETE FROM chat_members WHERE world_id = $1 AND channel = $2::bigint AND user_id = $3`;

const HIDE = `UPDATE chat_members SET hidden = 1
  WHERE world_id = $1 AND channel = $2::bigint AND user_id = $3 AND hidden = 0`;

const LEAVE = posting();

/** @see ChatStore.leave */
export async function leaveChannel(
  sql: Sql,
  worldId: string,
  id: string,
  user: string,
  silent: boolean,
): Promise<DeliveryRow | undefined> {
  const found = await findParticipant(sql, worldId, id, user);
  const { channel, isMember } = found;
  if (!channel) return undefined;
  const values = [worldId, channel.number, user];
  if (channel.direct !== null) {
    if (!isMember) throw denied("No member.");
    await sql.run(HIDE, values);
    return undefined;
  }
  await sql.run(QUIT, values);
  if (!isMember || silent) return undefined;
  const content = contentOf("leave");
  const event = { type: MEMBER, sender: user, content };
  return post(sql, LEAVE, worldId, channel, event);
}

const FIND_DIRECT = `
  SELECT ${CHANNEL_COLUMNS},
    (SELECT count(*) FROM users WHERE world_id = $1 AND id = ANY($2::text[])
      AND ${IS_KNOWN} AND moderation_state <> 'banned') AS welcome,
    (SELECT moderation_state FROM users WHERE world_id = $1 AND id = $3) AS state,
    EXISTS (SELECT 1 FROM blocks WHERE world_id = $1
      AND user_id = ANY($2::text[]) AND blocked_id = ANY($2::text[])) AS "isBlocked"
  FROM (VALUES (1)) AS one LEFT JOIN chat_channels AS c
    ON c.world_id = $1 AND foyer_digest(c.direct) = foyer_digest($4) AND c.direct = $4`;

const SHOW = `UPDATE chat_members SET hidden = 0
  WHERE world_id = $1 AND channel = $2::bigint AND user_id = ANY($3::text[]) AND hidden = 1
  RETURNING user_id`;

/** Adds the members, and a join event of each, in their order. */
const MEET = `${LOCKED},
  users AS MATERIALIZED (
    SELECT * FROM unnest($3::text[], $4::bigint[]) WITH ORDINALITY AS u (id, hidden, n)),
  members AS (
    INSERT INTO chat_members (world_id, channel, user_id, hidden)
    SELECT $1, $2::bigint, id, hidden FROM users ORDER BY n),
  events AS (
    INSERT INTO chat_events (world_id, channel, type, sender, timestamp, content)
    SELECT $1, $2::bigint, ${MEMBER}, users.id, $5::bigint, $6 FROM lock, users ORDER BY n
    RETURNING id, sender),
  event AS MATERIALIZED (SELECT max(id) AS id FROM events),
  in_channel AS (
    UPDATE chat_channels SET last_event = event.id FROM event
    WHERE world_id = $1 AND number = $2::bigint),
  ${NOTED}
  SELECT id, sender FROM events ORDER BY id`;

/** @see ChatStore.direct */
export async function openDirect(
  sql: Sql,
  worldId: string,
  caller: string,
  users: readonly string[],
  hide: boolean,
): ReturnType<ChatStore["direct"]> {
  const direct = directOf(users);
  const found = (await sql.one<
    (ChannelRow | { number: null }) & {
      welcome: number;
      state: string | null;
      isBlocked: boolean;
    }
  >(FIND_DIRECT, [worldId, users, caller, direct]))!;
  if (found.welcome < users.length) {
    throw denied("One of the users is banned or does not exist.");
  }
  if (found.state !== "") throw denied("Silenced.");
  if (found.isBlocked) throw denied("One of the users blocks another.");
  const shown = users.filter((user) => user === caller || !hide);
  if (found.number !== null) {
    const values = [worldId, found.number, shown];
    const appeared = await sql.column<string>(SHOW, values);
    return { channel: toChannel(found), created: [], appeared };
  }
  const channel = await createChannel(sql, worldId, randomUUID(), direct);
  const created = await meet(sql, worldId, channel, users, shown);
  return { channel: toChannel(channel), created, appeared: shown };
}

async function meet(
  sql: Sql,
  worldId: string,
  { number, id: channel }: ChannelRow,
  users: readonly string[],
  shown: readonly string[],
) {
  const timestamp = Date.now();
  const content = contentOf("join");
  const hidden = users.map((user) => (shown.includes(user) ? 0 : 1));
  const values = [worldId, number, users, hidden, timestamp, content];
  const rows = await sql.all<{ id: number; sender: string }>(MEET, values);
  const stored = { type: MEMBER, timestamp, content, replaces: null };
  const nobody = { previousMessage: 0, notified: [], appeared: [] };
  const deliveries = rows.map(({ id, sender }, i) => ({
    event: { ...stored, id, sender, deleted: 0, edited: null },
    previous: rows[i - 1]?.id ?? 0,
    ...nobody,
  }));
  return toDeliveries(channel, deliveries);
}
