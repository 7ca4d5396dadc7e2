import { randomUUID } from "node:crypto";
import { type ChannelRow, directOf } from "../../rules/chat-rows.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { Sql } from "../sql.js";

/** The columns of a {@link ChannelRow}, of `chat_channels AS c`. */
export const CHANNEL_COLUMNS = "c.number, c.id, c.direct, c.last_event, c.last_message";

/** Selects a channel. */
export const FIND_CHANNEL = `SELECT ${CHANNEL_COLUMNS} FROM chat_channels AS c
  WHERE c.world_id = $1 AND c.id = $2`;

const CREATE =
  "INSERT INTO chat_channels (world_id, id, direct) VALUES ($1, $2, $3) RETURNING number";

/** Makes a channel. @param direct null for the channel of a room. */
export async function createChannel(
  sql: Sql,
  world: string,
  id: string,
  direct: string | null = null,
): Promise<ChannelRow> {
  const number = (await sql.value<number>(CREATE, [world, id, direct]))!;
  return { number, id, direct, last_event: 0, last_message: 0 };
}

/** The channel of a room that exists. */
export const claimChannel = async (sql: Sql, world: string, room: string): Promise<ChannelRow> =>
  (await sql.one<ChannelRow>(FIND_CHANNEL, [world, room])) ?? createChannel(sql, world, room);

/** PostgreSQL finds it by the memberships of one member. Those in direct channels never end. */
const FIND_DIRECT = `SELECT ${CHANNEL_COLUMNS} FROM chat_members AS m
  JOIN chat_channels AS c ON c.world_id = $1 AND c.number = m.channel
  WHERE m.world_id = $1 AND m.user_id = $2 AND c.direct = $3`;

/** Finds or makes the direct channel of some users. */
export async function claimDirect(
  sql: Sql,
  world: string,
  users: readonly string[],
): Promise<{ channel: ChannelRow; isNew: boolean }> {
  const direct = directOf(users);
  const found = await sql.one<ChannelRow>(FIND_DIRECT, [world, users[0], direct]);
  if (found) return { channel: found, isNew: false };
  return { channel: await createChannel(sql, world, randomUUID(), direct), isNew: true };
}

/** A user in a channel. */
interface Participant {
  /** Undefined for the channel of a room without any event yet. */
  channel: ChannelRow | undefined;
  /** The moderation state; null for an unknown user. */
  state: string | null;
  /** Whether the membership lasts. */
  isMember: boolean;
}

const FIND = `SELECT ${CHANNEL_COLUMNS}, u.moderation_state AS state,
    m.number IS NOT NULL AS "isMember",
    CASE WHEN c.number IS NULL
      THEN EXISTS (SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2) END AS "isRoom"
  FROM (VALUES (1)) AS one
  LEFT JOIN chat_channels AS c ON c.world_id = $1 AND c.id = $2
  LEFT JOIN users AS u ON u.world_id = $1 AND u.id = $3 AND ${IS_KNOWN}
  LEFT JOIN chat_members AS m ON m.world_id = $1 AND m.channel = c.number AND m.user_id = $3`;

type Found = { state: string | null; isMember: unknown; isRoom: unknown } & (
  ChannelRow | { number: null }
);

/** @throws {StoreError} `absent` on `room` if there is no such channel or room. */
export async function findParticipant(
  sql: Sql,
  world: string,
  id: string,
  user: string,
): Promise<Participant> {
  const found = (await sql.one<Found>(FIND, [world, id, user]))!;
  const { state } = found;
  const isMember = Boolean(found.isMember);
  if (found.number !== null) return { channel: found, state, isMember };
  if (!found.isRoom) throw absent("room");
  return { channel: undefined, state, isMember };
}

const FIND_BLOCK = `SELECT 1 FROM chat_members AS m CROSS JOIN blocks AS b
  WHERE m.world_id = $1 AND m.channel = $2
    AND b.world_id = $1 AND b.user_id = m.user_id AND b.blocked_id = $3 LIMIT 1`;

/**
 * Finds the sender of a message or a reaction.
 * @param volatile whether the user counts as a member of a room.
 * @returns the channel; undefined for the channel of a room without any event yet.
 * @throws {StoreError} `absent` on `room`; `denied` if the user is banned, silenced or
 *   erased, is no member, or is blocked by a member of a direct channel.
 */
export async function expectSender(
  sql: Sql,
  world: string,
  id: string,
  user: string,
  volatile = false,
): Promise<ChannelRow | undefined> {
  const { channel, state, isMember } = await findParticipant(sql, world, id, user);
  if (state === null) throw denied("There is no such user.");
  if (state !== "") throw denied("The user is banned or silenced.");
  const isDirect = channel !== undefined && channel.direct !== null;
  if (!isMember && (isDirect || !volatile)) {
    throw denied("The user is no member of the channel.");
  }
  if (isDirect && (await sql.one(FIND_BLOCK, [world, channel.number, user]))) {
    throw denied("A member blocks the user.");
  }
  return channel;
}
