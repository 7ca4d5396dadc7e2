import { randomUUID } from "node:crypto";
import type { ChatStore, Delivery } from "../../contract/chat.js";
import {
  type ChannelRow,
  directOf,
  MEMBER,
  toChannel,
  toDeliveries,
} from "../../rules/chat-rows.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import {
  CHANNEL_COLUMNS,
  createChannel,
  findParticipant,
} from "./chat-channels.js";
import { post, posting } from "./chat-posts.js";
import type { Log } from "../log/log.js";
import type { Sql } from "../../shared/sql.js";

const contentOf = (membership: "join" | "leave") =>
  JSON.stringify({ membership });

const memberships = (channel: string, users: string[]) => ({
  type: "chat.memberships" as const,
  channel,
  users,
});

const JOIN = posting({
  also: [
    `member AS (
      INSERT INTO chat_members (world_id, channel, user_id) VALUES ($1, $2::bigint, $4))`,
    `listed AS (
      INSERT INTO chat_readers (world_id, user_id, channel, listed)
      VALUES ($1, $4, $2::bigint, $9::bigint)
      ON CONFLICT (world_id, user_id, channel) DO UPDATE SET listed = excluded.listed)`,
  ],
});

/** @see ChatStore.join */
export async function joinChannel(
  sql: Sql,
  log: Log,
  worldId: string,
  id: string,
  user: string,
): Promise<Delivery | undefined> {
  const found = await findParticipant(sql, worldId, id, user);
  const { state, isMember } = found;
  if (found.channel && found.channel.direct !== null) throw absent("room");
  if (state === null) throw absent("user");
  if (state === "banned") throw denied("The user is banned.");
  if (isMember) return undefined;
  const channel = found.channel ?? (await createChannel(sql, worldId, id));
  const content = contentOf("join");
  const event = { type: MEMBER, sender: user, content };
  const delivery = await post(sql, log, JOIN, worldId, channel, event);
  log.append(memberships(id, [user]));
  return delivery;
}

const QUIT = `
  WITH unlisted AS (
    UPDATE chat_readers SET listed = NULL
    WHERE world_id = $1 AND user_id = $3 AND channel = $2::bigint AND listed IS NOT NULL
    RETURNING 1),
  quit AS (
    DELETE FROM chat_members WHERE world_id = $1 AND channel = $2::bigint AND user_id = $3
    RETURNING 1)
  SELECT 1 FROM unlisted UNION ALL SELECT 1 FROM quit`;

const HIDE = `UPDATE chat_members SET hidden = 1
  WHERE world_id = $1 AND channel = $2::bigint AND user_id = $3 AND hidden = 0`;

const LEAVE = posting();

/** @see ChatStore.leave */
export async function leaveChannel(
  sql: Sql,
  log: Log,
  worldId: string,
  id: string,
  user: string,
  silent: boolean,
): Promise<Delivery | undefined> {
  const found = await findParticipant(sql, worldId, id, user);
  const { channel, isMember } = found;
  if (!channel) return undefined;
  const values = [worldId, channel.number, user];
  const changed = memberships(id, [user]);
  if (channel.direct !== null) {
    if (!isMember) throw denied("No member.");
    if ((await sql.run(HIDE, values)) > 0) log.append(changed);
    return undefined;
  }
  const isChanged = (await sql.run(QUIT, values)) > 0;
  const content = contentOf("leave");
  const event = { type: MEMBER, sender: user, content };
  const delivery =
    isMember && !silent
      ? await post(sql, log, LEAVE, worldId, channel, event)
      : undefined;
  if (isChanged) log.append(changed);
  return delivery;
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
const MEET = `WITH users AS MATERIALIZED (
    SELECT * FROM unnest($3::text[], $4::bigint[], $5::bigint[], $9::text[]) WITH ORDINALITY
      AS u (id, hidden, tag, author, n)),
  members AS (
    INSERT INTO chat_members (world_id, channel, user_id, hidden)
    SELECT $1, $2::bigint, id, hidden FROM users ORDER BY n),
  events AS (
    INSERT INTO chat_events (world_id, id, tag, channel, type, sender, timestamp, content, author)
    SELECT $1, $6::bigint + n - 1, tag, $2::bigint, ${MEMBER}, id, $7::bigint, $8, author FROM users)
  UPDATE chat_channels SET last_event = $6::bigint + (SELECT count(*) FROM users) - 1
  WHERE world_id = $1 AND number = $2::bigint`;

/** @see ChatStore.direct */
export async function openDirect(
  sql: Sql,
  log: Log,
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
    if (appeared.length > 0) log.append(memberships(found.id, appeared));
    return { channel: toChannel(found), created: [], appeared };
  }
  const channel = await createChannel(sql, worldId, randomUUID(), direct);
  const created = await meet(sql, log, worldId, channel, users, shown);
  log.append(memberships(channel.id, shown));
  return { channel: toChannel(channel), created, appeared: shown };
}

async function meet(
  sql: Sql,
  log: Log,
  worldId: string,
  { number, id: channel }: ChannelRow,
  users: readonly string[],
  shown: readonly string[],
): Promise<Delivery[]> {
  const timestamp = Date.now();
  const content = contentOf("join");
  const hidden = users.map((user) => (shown.includes(user) ? 0 : 1));
  const { id: first } = log.nextEvent();
  const tags = users.map(() => log.newTag());
  const values = [worldId, number, users, hidden, tags];
  const authors = users.map((user) => log.authorBeside(user));
  await sql.run(MEET, [...values, first, timestamp, content, authors]);
  const stored = { type: MEMBER, timestamp, content, replaces: null };
  const noReceivers = { previousMessage: 0, notified: [], appeared: [] };
  const rows = users.map((sender, i) => ({
    event: { ...stored, id: first + i, sender, deleted: 0, edited: null },
    previous: i === 0 ? 0 : first + i - 1,
    ...noReceivers,
  }));
  const deliveries = toDeliveries(channel, rows);
  deliveries.forEach((delivery, i) => log.posted(tags[i]!, delivery));
  return deliveries;
}
