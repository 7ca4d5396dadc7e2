import type {
  Channel,
  ChatEvent,
  Mark,
  Membership,
  MessageSearch,
  Unread,
} from "../../contract/chat.js";
import { type ChannelRow, MAX_NOTIFICATIONS, toChannel, toEvents } from "../../rules/chat-rows.js";
import type { Reading, Sql } from "../sql.js";
import { CHANNEL_COLUMNS, FIND_CHANNEL } from "./channel-rows.js";
import { perEngine } from "./event-dialects.js";
import { readDeliveries, readEvent, readEvents, readReactions, readSent } from "./event-reads.js";

const last = perEngine(
  ({ idInWorld }) =>
    `SELECT coalesce(max(${idInWorld}), 0) FROM chat_events AS e WHERE e.world_id = $1`,
);

const IS_MEMBER = `SELECT 1 FROM chat_channels AS c CROSS JOIN chat_members AS m
  WHERE c.world_id = $1 AND c.id = $2
    AND m.world_id = $1 AND m.channel = c.number AND m.user_id = $3`;

const MEMBERS = `SELECT user_id FROM chat_members
  WHERE world_id = $1
    AND channel = (SELECT number FROM chat_channels WHERE world_id = $1 AND id = $2)
  ORDER BY number DESC LIMIT $3`;

const MEMBERSHIPS = `SELECT ${CHANNEL_COLUMNS}, m.hidden
  FROM chat_members AS m JOIN chat_channels AS c ON c.world_id = $1 AND c.number = m.channel
  WHERE m.world_id = $1 AND m.user_id = $2 ORDER BY m.number`;

const marksOf = (users: string) => `SELECT r.user_id AS "user", c.id AS channel, r.pointer, r.listed
  FROM chat_readers AS r JOIN chat_channels AS c ON c.world_id = $1 AND c.number = r.channel
  WHERE r.world_id = $1 AND r.user_id ${users}`;

const MARKS = marksOf("= ANY ($2)");

/** Marks, and a row without a channel if there are notifications. Most users have none. */
const UNREAD = `${marksOf("= $2")}
  UNION ALL SELECT NULL, NULL, NULL, NULL
  WHERE EXISTS (SELECT 1 FROM chat_notifications WHERE world_id = $1 AND user_id = $2)`;

const NOTIFICATIONS = `SELECT c.id AS channel, n.event
  FROM chat_notifications AS n JOIN chat_channels AS c ON c.world_id = $1 AND c.number = n.channel
  WHERE n.world_id = $1 AND n.user_id = $2
  ORDER BY n.event DESC LIMIT ${MAX_NOTIFICATIONS}`;

/** @see ChatStore.unread */
async function readUnread(sql: Sql, world: string, user: string): Promise<Unread> {
  const rows = await sql.all<Mark | { channel: null }>(UNREAD, [world, user]);
  const marks = rows.filter((row): row is Mark => row.channel !== null);
  if (marks.length === rows.length) return { marks, notifications: [] };
  const notifications = await sql.all<{ channel: string; event: number }>(NOTIFICATIONS, [
    world,
    user,
  ]);
  return { marks, notifications: notifications.reverse() };
}

/** The reads of chat. */
export const chatReads = (sql: Reading) => ({
  lastId: async (world: string): Promise<number> => (await sql.value<number>(last(sql), [world]))!,

  async channel(world: string, id: string): Promise<Channel | undefined> {
    const row = await sql.one<ChannelRow>(FIND_CHANNEL, [world, id]);
    return row && toChannel(row);
  },

  events: readEvents.bind(undefined, sql),
  sent: readSent.bind(undefined, sql),
  deliveries: readDeliveries.bind(undefined, sql),
  search: (world: string, channel: string, search: MessageSearch) =>
    sql.search("messages", world, { channel, ...search }),

  async event(world: string, channel: string, id: number): Promise<ChatEvent | undefined> {
    const row = await readEvent(sql, world, channel, id);
    return row && toEvents(channel, [row], await readReactions(sql, world, [row]))[0];
  },

  isMember: async (world: string, channel: string, user: string): Promise<boolean> =>
    (await sql.one(IS_MEMBER, [world, channel, user])) !== undefined,

  members: (world: string, channel: string, limit: number): Promise<string[]> =>
    sql.column<string>(MEMBERS, [world, channel, limit]),

  async memberships(world: string, user: string): Promise<Membership[]> {
    const rows = await sql.all<ChannelRow & { hidden: number }>(MEMBERSHIPS, [world, user]);
    return rows.map((row) => ({ ...toChannel(row), hidden: row.hidden === 1 }));
  },

  marks: (world: string, users: readonly string[]): Promise<Mark[]> =>
    sql.all<Mark>(MARKS, [world, users]),

  unread: readUnread.bind(undefined, sql),
});
