import type { ChatStore, Unread } from "../../contract/chat.js";
import {
  type ChannelRow,
  MAX_NOTIFICATIONS,
  toChannel,
} from "../../rules/chat-rows.js";
import { CHANNEL_COLUMNS } from "./chat-channels.js";
import {
  readDeliveries,
  readEvent,
  readEvents,
  readSent,
  toEventsWithReactions,
} from "./chat-events.js";
import type { Sql } from "../../shared/sql.js";

// By the index of this expression.
const LAST = "SELECT max(id + 0) FROM chat_events WHERE world_id = $1";

const CHANNEL = `SELECT ${CHANNEL_COLUMNS} FROM chat_channels AS c
  WHERE c.world_id = $1 AND c.id = $2`;

const IS_MEMBER = `SELECT 1 FROM chat_channels AS c
  JOIN chat_members AS m ON m.world_id = $1 AND m.channel = c.number AND m.user_id = $3
  WHERE c.world_id = $1 AND c.id = $2`;

const MEMBERS = `SELECT user_id FROM chat_members
  WHERE world_id = $1
    AND channel = (SELECT number FROM chat_channels WHERE world_id = $1 AND id = $2)
  ORDER BY number DESC LIMIT $3::bigint`;

const MEMBERSHIPS = `SELECT ${CHANNEL_COLUMNS}, m.hidden FROM chat_members AS m
  JOIN chat_channels AS c ON c.world_id = $1 AND c.number = m.channel
  WHERE m.world_id = $1 AND m.user_id = $2 ORDER BY m.number`;

/** Marks, which have no event, and then notifications, which have nothing else. */
const UNREAD = `
  SELECT c.id AS channel, r.pointer, r.listed, NULL::bigint AS event FROM chat_readers AS r
  JOIN chat_channels AS c ON c.world_id = $1 AND c.number = r.channel
  WHERE r.world_id = $1 AND r.user_id = $2
  UNION ALL (
    SELECT c.id, NULL, NULL, n.event FROM chat_notifications AS n
    JOIN chat_channels AS c ON c.world_id = $1 AND c.number = n.channel
    WHERE n.world_id = $1 AND n.user_id = $2
    ORDER BY n.event DESC LIMIT ${MAX_NOTIFICATIONS})`;

interface UnreadRow {
  channel: string;
  pointer: number | null;
  listed: number | null;
  event: number | null;
}

function toUnread(user: string, rows: readonly UnreadRow[]): Unread {
  const marks = [];
  const notifications = [];
  for (const { channel, pointer, listed, event } of rows) {
    if (event === null) marks.push({ user, channel, pointer, listed });
    else notifications.push({ channel, event });
  }
  return { marks, notifications: notifications.reverse() };
}

/** The reads of chat. Each is one statement. */
export const chatReads = (
  sql: Sql,
): Pick<
  ChatStore,
  | "lastId"
  | "channel"
  | "events"
  | "sent"
  | "event"
  | "deliveries"
  | "isMember"
  | "members"
  | "memberships"
  | "unread"
> => ({
  lastId: async (worldId) =>
    (await sql.value<number | null>(LAST, [worldId])) ?? 0,
  async channel(worldId, id) {
    const row = await sql.one<ChannelRow>(CHANNEL, [worldId, id]);
    return row && toChannel(row);
  },
  events: (...args) => readEvents(sql, ...args),
  sent: (...args) => readSent(sql, ...args),
  async event(worldId, channel, id) {
    const row = await readEvent(sql, worldId, channel, id);
    return row && toEventsWithReactions(channel, [row])[0];
  },
  deliveries: (...args) => readDeliveries(sql, ...args),
  isMember: async (...args) => (await sql.value(IS_MEMBER, args)) !== undefined,
  members: (...args) => sql.column<string>(MEMBERS, args),
  async memberships(...args) {
    const rows = await sql.all<ChannelRow & { hidden: number }>(
      MEMBERSHIPS,
      args,
    );
    return rows.map((row) => ({ ...toChannel(row), hidden: row.hidden === 1 }));
  },
  unread: async (worldId, user) =>
    toUnread(user, await sql.all<UnreadRow>(UNREAD, [worldId, user])),
});
