import type { ChatCopy } from "../../../schemas/documents/chat-history.js";
import {
  type CopiedEvent,
  noteReaction,
  type ReactionsByEvent,
  refuseLongChat,
  toChannelCopy,
  toChatCopy,
  toEventCopy,
} from "../../copies/chat-copies.js";
import type { ChannelRow } from "../../rules/chat-rows.js";
import type { Sql } from "../sql.js";

/** How many rows one statement reads. Events take up to 64 Ki characters each. */
const PAGE = 10_000;
const EVENT_PAGE = 2000;

const COUNT = (isPresent: string) =>
  `SELECT count(*) FROM chat_channels AS c JOIN chat_events AS e
     ON e.world_id = c.world_id AND e.channel = c.number AND ${isPresent}
   WHERE c.world_id = $1`;

const CHANNELS = `SELECT number, id, direct FROM chat_channels WHERE world_id = $1 AND id > $2
  ORDER BY id LIMIT CAST($3 AS BIGINT)`;

const EVENTS = (isPresent: string) =>
  `SELECT id, channel AS number, type, sender, timestamp, replaces, deleted, content
  FROM chat_events AS e WHERE world_id = $1 AND ${isPresent} AND (channel, id) > (CAST($2 AS BIGINT), CAST($3 AS BIGINT))
  ORDER BY channel, id LIMIT CAST($4 AS BIGINT)`;

const REACTIONS = `SELECT number, event, reaction, user_id AS user FROM chat_reactions
  WHERE world_id = $1 AND (event, reaction, user_id) > (CAST($2 AS BIGINT), $3, $4)
  ORDER BY event, reaction, user_id LIMIT CAST($5 AS BIGINT)`;

const MEMBERS = `SELECT channel, number, user_id AS user, hidden FROM chat_members
  WHERE world_id = $1 AND (channel, number) > (CAST($2 AS BIGINT), CAST($3 AS BIGINT))
  ORDER BY channel, number LIMIT CAST($4 AS BIGINT)`;

const READERS = `SELECT channel, user_id AS user, pointer, listed FROM chat_readers
  WHERE world_id = $1 AND (user_id, channel) > ($2, CAST($3 AS BIGINT))
  ORDER BY user_id, channel LIMIT CAST($4 AS BIGINT)`;

const NOTIFICATIONS = `SELECT channel, user_id AS user, event FROM chat_notifications
  WHERE world_id = $1 AND (channel, event, user_id) > (CAST($2 AS BIGINT), CAST($3 AS BIGINT), $4)
  ORDER BY channel, event, user_id LIMIT CAST($5 AS BIGINT)`;

/** A value of a key. */
type Key = string | number;

/**
 * All rows of a world, some at a time.
 * @param statement its parameters are the world, the key after which it reads, and how many rows.
 * @param first comes before all keys.
 */
async function allRows<R extends object>(
  sql: Sql,
  statement: string,
  worldId: string,
  first: readonly Key[],
  keyOf: (row: R) => Key[],
  limit = PAGE,
): Promise<R[]> {
  const rows: R[] = [];
  let key = first;
  for (;;) {
    const more = await sql.all<R>(statement, [worldId, ...key, limit]);
    for (const row of more) rows.push(row);
    if (more.length < limit) return rows;
    key = keyOf(more.at(-1)!);
  }
}

interface InChannel {
  channel: number;
}

function byChannel<R extends InChannel>(rows: readonly R[]): Map<number, R[]> {
  const found = new Map<number, R[]>();
  for (const row of rows) {
    const own = found.get(row.channel);
    if (own) own.push(row);
    else found.set(row.channel, [row]);
  }
  return found;
}

/**
 * The chat of a world; undefined if there is none.
 * @param sql sees one moment.
 * @param users the ids of its users who are not erased.
 * @param isPresent the condition of an event `e` that is not over.
 * @throws {StoreError} `large` if a document cannot hold it.
 */
export async function exportChat(
  sql: Sql,
  worldId: string,
  users: ReadonlySet<string>,
  isPresent: string,
): Promise<ChatCopy | undefined> {
  refuseLongChat((await sql.value<number>(COUNT(isPresent), [worldId]))!);
  const channels = await allRows<ChannelRow>(
    sql,
    CHANNELS,
    worldId,
    [""],
    ({ id }) => [id],
  );
  if (channels.length === 0) return undefined;
  const events = await eventsOf(sql, worldId, channels, isPresent);
  const reactions = await reactionsOf(sql, worldId);
  const copies = events.map((row) => toEventCopy(row, reactions.get(row.id)));
  const copied = await channelsOf(sql, worldId, channels, events);
  return toChatCopy(copied, copies, users);
}

/** The events in the order of their ids, without events of deleted channels. */
async function eventsOf(
  sql: Sql,
  worldId: string,
  channels: readonly ChannelRow[],
  isPresent: string,
): Promise<CopiedEvent[]> {
  const ids = new Map(channels.map(({ number, id }) => [number, id]));
  const rows = await allRows<Omit<CopiedEvent, "channel"> & { number: number }>(
    sql,
    EVENTS(isPresent),
    worldId,
    [0, 0],
    ({ number, id }) => [number, id],
    EVENT_PAGE,
  );
  return rows
    .filter(({ number }) => ids.has(number))
    .map(({ number, ...row }) => ({ ...row, channel: ids.get(number)! }))
    .sort((a, b) => a.id - b.id);
}

async function reactionsOf(
  sql: Sql,
  worldId: string,
): Promise<ReactionsByEvent> {
  const rows = await allRows<{
    number: number;
    event: number;
    reaction: string;
    user: string;
  }>(sql, REACTIONS, worldId, [0, "", ""], ({ event, reaction, user }) => [
    event,
    reaction,
    user,
  ]);
  const byEvent: ReactionsByEvent = new Map();
  rows.sort((a, b) => a.number - b.number);
  for (const row of rows) noteReaction(byEvent, row);
  return byEvent;
}

async function channelsOf(
  sql: Sql,
  worldId: string,
  channels: readonly ChannelRow[],
  events: readonly CopiedEvent[],
) {
  const members = byChannel(
    await allRows<InChannel & { number: number; user: string; hidden: number }>(
      sql,
      MEMBERS,
      worldId,
      [0, 0],
      ({ channel, number }) => [channel, number],
    ),
  );
  const readers = byChannel(
    await allRows<
      InChannel & {
        user: string;
        pointer: number | null;
        listed: number | null;
      }
    >(sql, READERS, worldId, ["", 0], ({ user, channel }) => [user, channel]),
  );
  const notifications = byChannel(
    await allRows<InChannel & { user: string; event: number }>(
      sql,
      NOTIFICATIONS,
      worldId,
      [0, 0, ""],
      ({ channel, event, user }) => [channel, event, user],
    ),
  );
  const places = new Map(events.map(({ id, channel }) => [id, channel]));
  return channels.map(({ number, id, direct }) =>
    toChannelCopy(
      { id, direct },
      members.get(number) ?? [],
      readers.get(number) ?? [],
      (notifications.get(number) ?? [])
        .filter(({ event }) => places.get(event) === id)
        .map(({ user, event }) => ({ user, event })),
    ),
  );
}
