import type { ChannelRow } from "../../rules/chat-rows.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { Sql } from "../../shared/sql.js";

/** The columns of a {@link ChannelRow}, of `chat_channels AS c`. */
export const CHANNEL_COLUMNS =
  "c.number, c.id, c.direct, c.last_event, c.last_message";

/** Makes a channel. */
export async function createChannel(
  sql: Sql,
  worldId: string,
  id: string,
  direct: string | null = null,
): Promise<ChannelRow> {
  const number = await sql.value<number>(
    "INSERT INTO chat_channels (world_id, id, direct) VALUES ($1, $2, $3) RETURNING number",
    [worldId, id, direct],
  );
  return { number: number!, id, direct, last_event: 0, last_message: 0 };
}

/** A user in a channel. */
interface Participant {
  /** Undefined for the channel of a room without any event yet. */
  channel: ChannelRow | undefined;
  /** The moderation state; null for an unknown user. */
  state: string | null;
  /** Whether the membership lasts. */
  isMember: boolean;
  /** Whether a member of a direct channel blocks the user. */
  isBlocked: boolean;
}

const FIND = `
  SELECT ${CHANNEL_COLUMNS}, u.moderation_state AS state, m.user_id IS NOT NULL AS "isMember",
    c.number IS NOT NULL
      OR EXISTS (SELECT 1 FROM rooms WHERE world_id = $1 AND id = $2) AS "isThere",
    c.direct IS NOT NULL AND EXISTS (
      SELECT 1 FROM chat_members AS o
      JOIN blocks AS b ON b.world_id = $1 AND b.user_id = o.user_id AND b.blocked_id = $3
      WHERE o.world_id = $1 AND o.channel = c.number) AS "isBlocked"
  FROM (VALUES (1)) AS one
  LEFT JOIN chat_channels AS c ON c.world_id = $1 AND c.id = $2
  LEFT JOIN users AS u ON u.world_id = $1 AND u.id = $3 AND ${IS_KNOWN}
  LEFT JOIN chat_members AS m ON m.world_id = $1 AND m.channel = c.number AND m.user_id = $3`;

type Found = Omit<Participant, "channel"> & { isThere: boolean } & (
    ChannelRow | { number: null }
  );

/** @throws {StoreError} `absent` on `room` if there is no such channel or room. */
export async function findParticipant(
  sql: Sql,
  worldId: string,
  id: string,
  user: string,
): Promise<Participant> {
  const found = (await sql.one<Found>(FIND, [worldId, id, user]))!;
  const { isThere, state, isMember, isBlocked } = found;
  if (!isThere) throw absent("room");
  const channel = found.number === null ? undefined : found;
  return { channel, state, isMember, isBlocked };
}

/**
 * Finds the sender of a message or a reaction.
 * @param volatile whether the user counts as a member of a room.
 * @returns the channel; undefined for the channel of a room without any event yet.
 * @throws {StoreError} `absent` on `room`; `denied` if the user is banned, silenced or
 *   erased, is no member, or is blocked by a member of a direct channel.
 */
export async function expectSender(
  sql: Sql,
  worldId: string,
  id: string,
  user: string,
  volatile = false,
): Promise<ChannelRow | undefined> {
  const found = await findParticipant(sql, worldId, id, user);
  const { channel, state, isMember, isBlocked } = found;
  if (state === null) throw denied("There is no such user.");
  if (state !== "") throw denied("The user is banned or silenced.");
  const isDirect = channel !== undefined && channel.direct !== null;
  if (!isMember && (isDirect || !volatile)) {
    throw denied("The user is no member of the channel.");
  }
  if (isBlocked) throw denied("A member blocks the user.");
  return channel;
}
