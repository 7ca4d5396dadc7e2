import type { Delivery } from "../../contract/chat.js";
import {
  type ChannelRow,
  MEMBER,
  type NewEvent,
  toDeliveries,
} from "../../rules/chat-rows.js";
import { IS_KNOWN } from "../../rules/rows.js";
import { createChannel } from "./chat-channels.js";
import type { Log } from "../log/log.js";
import type { Sql } from "../../shared/sql.js";

/** The id and the tag of the event in statements of {@link posting}. */
const ID = "$9::bigint";
const TAG = "$10::bigint";

// An unused part of a statement may be left out, but not one that is MATERIALIZED and named
// in a FROM.
const POST = `WITH event AS (
    INSERT INTO chat_events (world_id, channel, type, sender, timestamp, replaces, deleted, content, id, tag, author)
    VALUES ($1, $2::bigint, $3::bigint, $4, $5::bigint, $6::bigint, $7::bigint, $8, ${ID}, ${TAG}, $11)),
  in_channel AS (
    UPDATE chat_channels SET last_event = ${ID},
      last_message = CASE WHEN $3::bigint = ${MEMBER} THEN last_message ELSE ${ID} END
    WHERE world_id = $1 AND number = $2::bigint)`;

/** Parts of a statement that stores an event, beside the event. */
interface PostParts {
  /** The additional writes. `$9` is the id, and their own parameters begin with `$12`. */
  also?: readonly string[];
  /** Makes an array of the notified users, and of the users to whom a direct channel appears. */
  notified?: string;
  appeared?: string;
}

const NO_USERS = "'{}'::text[]";

/** Makes a statement that stores an event. */
export const posting = ({
  also = [],
  notified = NO_USERS,
  appeared = NO_USERS,
}: PostParts = {}): string =>
  `${[POST, ...also].join(",\n")}
  SELECT ${notified} AS notified, ${appeared} AS appeared`;

/** The sender leaves the unread list of a room. */
const UNLISTED = `unlisted AS (
  UPDATE chat_readers SET listed = NULL
  WHERE world_id = $1 AND user_id = $4 AND channel = $2::bigint AND listed IS NOT NULL)`;

/** A direct channel appears again to users who had hidden it. */
const SHOWN = `shown AS (
  UPDATE chat_members SET hidden = 0
  WHERE world_id = $1 AND channel = $2::bigint AND hidden = 1 RETURNING user_id)`;

/** The effects of a message in a room or a direct channel: unread lists and notifications. */
export const SEEN = {
  room: { also: [UNLISTED] },
  direct: { also: [SHOWN], appeared: "ARRAY(SELECT user_id FROM shown)" },
};

/** @param users a condition for the `users` who are notified. */
export const notifying = (users: string) => ({
  also: [
    `notified AS (
      INSERT INTO chat_notifications (world_id, user_id, channel, event)
      SELECT $1, users.id, $2::bigint, ${ID} FROM users
      WHERE users.world_id = $1 AND users.id <> $4 AND ${IS_KNOWN} AND ${users}
      RETURNING user_id)`,
  ],
  notified: "ARRAY(SELECT user_id FROM notified)",
});

/**
 * Stores an event, and appends its entry.
 * @param statement of {@link posting}.
 * @param channel as it was read in this transaction. It is updated.
 * @param more the parameters of the other parts.
 */
export async function post(
  sql: Sql,
  log: Log,
  statement: string,
  worldId: string,
  channel: ChannelRow,
  event: NewEvent,
  more: readonly unknown[] = [],
): Promise<Delivery> {
  const { type, sender, content, replaces = null, deleted = 0 } = event;
  const timestamp = Date.now();
  const { number } = channel;
  const { id, tag } = log.nextEvent();
  const values = [worldId, number, type, sender, timestamp, replaces, deleted];
  const { notified, appeared } = (await sql.one<
    Pick<Delivery, "notified" | "appeared">
  >(statement, [
    ...values,
    content,
    id,
    tag,
    log.authorBeside(sender),
    ...more,
  ]))!;
  const { last_event: previous, last_message: previousMessage } = channel;
  channel.last_event = id;
  if (type !== MEMBER) channel.last_message = id;
  const stored = { id, type, sender, timestamp, replaces, deleted, content };
  const row = {
    event: { ...stored, edited: null },
    previous,
    previousMessage,
    notified,
    appeared,
  };
  const delivery = toDeliveries(channel.id, [row])[0]!;
  log.posted(tag, delivery);
  return delivery;
}

const PLAIN = posting();

const FIND_CHANNEL =
  "SELECT number, id, direct, last_event, last_message FROM chat_channels WHERE world_id = $1 AND id = $2";

/** Stores an event in the channel of a room that exists, and does nothing else. */
export async function postInRoom(
  sql: Sql,
  log: Log,
  worldId: string,
  room: string,
  event: NewEvent,
): Promise<Delivery> {
  const channel =
    (await sql.one<ChannelRow>(FIND_CHANNEL, [worldId, room])) ??
    (await createChannel(sql, worldId, room));
  return post(sql, log, PLAIN, worldId, channel, event);
}
