import { randomUUID } from "node:crypto";
import type {
  Channel,
  ChatEvent,
  ChatDelivery,
  StoredReadMark,
} from "../../contract/chat-store.js";
import { isKeptOut } from "../../contract/store.js";
import {
  type ChannelRow,
  directOf,
  laterMark,
  MAX_REACTIONS,
  MEMBER,
  type ReactionChange,
  toChannel,
  toEvents,
  tooManyReactions,
} from "../../rules/chat-rows.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { DomainLog, EngineWrites, Sql } from "../domain.js";
import { readEvent, readReactions } from "./event-reads.js";

export const CHANNEL_COLUMNS = "c.number, c.id, c.direct, c.last_event, c.last_message";

export const FIND_CHANNEL = `SELECT ${CHANNEL_COLUMNS} FROM chat_channels AS c
  WHERE c.world_id = $1 AND c.id = $2`;

const CREATE =
  "INSERT INTO chat_channels (world_id, id, direct) VALUES ($1, $2, $3) RETURNING number";

/** Creates a channel. @param direct null for a room's channel. */
export async function createChannel(
  sql: Sql,
  world: string,
  id: string,
  direct: string | null = null,
): Promise<ChannelRow> {
  const number = (await sql.value<number>(CREATE, [world, id, direct]))!;
  return { number, id, direct, last_event: 0, last_message: 0 };
}

/** Finds or creates a room's channel. The room must exist. */
export const claimChannel = async (sql: Sql, world: string, room: string): Promise<ChannelRow> =>
  (await sql.one<ChannelRow>(FIND_CHANNEL, [world, room])) ?? createChannel(sql, world, room);

/**
 * Joins the tables through one member's memberships, so that PostgreSQL can use an index.
 * Memberships in direct channels never end.
 */
const FIND_DIRECT = `SELECT ${CHANNEL_COLUMNS} FROM chat_members AS m
  JOIN chat_channels AS c ON c.world_id = $1 AND c.number = m.channel
  WHERE m.world_id = $1 AND m.user_id = $2 AND c.direct = $3`;

/** Finds or creates the direct channel of a set of users. */
async function claimDirect(
  sql: Sql,
  world: string,
  users: readonly string[],
): Promise<{ channel: ChannelRow; isNew: boolean }> {
  const direct = directOf(users);
  const found = await sql.one<ChannelRow>(FIND_DIRECT, [world, users[0], direct]);
  if (found) return { channel: found, isNew: false };
  return { channel: await createChannel(sql, world, randomUUID(), direct), isNew: true };
}

interface Participant {
  /** Undefined for a room's channel that has no events. */
  channel: ChannelRow | undefined;
  /** The moderation state; null for an unknown user. */
  state: string | null;
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

/** @throws {StoreError} `absent` on `room` if there is neither a channel nor a room with this id. */
async function findParticipant(
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
 * Checks that a user may send a message or a reaction.
 * @param volatile whether the user counts as a member of a room's channel even without a lasting
 * membership.
 * @returns the channel, or undefined for a room's channel that has no events.
 * @throws {StoreError} `absent` on `room`; `denied` if the user is banned, silenced or erased, is
 * not a member, or is blocked by a member of a direct channel.
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

const LIST = `INSERT INTO chat_readers (world_id, user_id, channel, listed) VALUES ($1, $2, $3, $4)
  ON CONFLICT (world_id, user_id, channel) DO UPDATE SET listed = excluded.listed`;

const UNLIST = `UPDATE chat_readers SET listed = NULL
  WHERE world_id = $1 AND user_id = $2 AND channel = $3 AND listed IS NOT NULL`;

const QUIT = "DELETE FROM chat_members WHERE world_id = $1 AND user_id = $2 AND channel = $3";

const HIDE = `UPDATE chat_members SET hidden = 1
  WHERE world_id = $1 AND user_id = $2 AND channel = $3 AND hidden = 0`;

const SHOW = `UPDATE chat_members SET hidden = 0
  WHERE world_id = $1 AND channel = $2 AND user_id = ANY ($3) AND hidden = 1 RETURNING user_id`;

const STATES = `SELECT id, moderation_state AS state FROM users
  WHERE world_id = $1 AND id = ANY ($2) AND ${IS_KNOWN}`;

const FIND_BLOCK_AMONG = `SELECT 1 FROM blocks
  WHERE world_id = $1 AND user_id = ANY ($2) AND blocked_id = ANY ($2) LIMIT 1`;

const ADD_REACTION =
  "INSERT INTO chat_reactions (world_id, event, reaction, user_id) VALUES ($1, $2, $3, $4)";

const REMOVE_REACTION = `DELETE FROM chat_reactions
  WHERE world_id = $1 AND event = $2 AND reaction = $3 AND user_id = $4`;

export function memberWrites(sql: Sql, log: DomainLog, own: EngineWrites) {
  const addMembers = (
    world: string,
    { number }: ChannelRow,
    users: readonly string[],
    shown: readonly string[],
  ) =>
    sql.insert(
      "chat_members",
      users.map((user) => ({
        world_id: world,
        channel: number,
        user_id: user,
        hidden: shown.includes(user) ? 0 : 1,
      })),
    );

  const postMembership = (
    world: string,
    channel: ChannelRow,
    sender: string,
    membership: "join" | "leave",
  ): Promise<ChatDelivery> => {
    const content = JSON.stringify({ membership });
    return own.appendEvent(world, channel, { type: MEMBER, sender, content });
  };

  /** Logs that memberships in a channel have changed. No-op if there are no users. */
  function noteMemberships(world: string, channel: string, users: string[]): void {
    if (users.length > 0) log.append(world, { type: "chat.memberships", channel, users });
  }

  return {
    async join(world: string, id: string, user: string): Promise<ChatDelivery | undefined> {
      const found = await findParticipant(sql, world, id, user);
      const { state, isMember } = found;
      if (found.channel && found.channel.direct !== null) throw absent("room");
      if (state === null) throw absent("user");
      if (isKeptOut(state)) throw denied("The user is banned.");
      if (isMember) return undefined;
      const channel = found.channel ?? (await createChannel(sql, world, id));
      await addMembers(world, channel, [user], [user]);
      const delivery = await postMembership(world, channel, user, "join");
      await sql.run(LIST, [world, user, channel.number, delivery.event.id]);
      noteMemberships(world, id, [user]);
      return delivery;
    },

    async leave(
      world: string,
      id: string,
      user: string,
      silent: boolean,
    ): Promise<ChatDelivery | undefined> {
      const { channel, isMember } = await findParticipant(sql, world, id, user);
      if (!channel) return undefined;
      const params = [world, user, channel.number];
      if (channel.direct !== null) {
        if (!isMember) throw denied("No member.");
        if ((await sql.run(HIDE, params)) > 0) noteMemberships(world, id, [user]);
        return undefined;
      }
      const unlisted = await sql.run(UNLIST, params);
      const ended = isMember ? await sql.run(QUIT, params) : 0;
      const delivery =
        ended === 0 || silent ? undefined : await postMembership(world, channel, user, "leave");
      if (ended + unlisted > 0) noteMemberships(world, id, [user]);
      return delivery;
    },

    async react(
      world: string,
      id: string,
      event: number,
      { user, reaction, remove, volatile }: ReactionChange,
    ): Promise<ChatEvent> {
      await expectSender(sql, world, id, user, volatile);
      const row = await readEvent(sql, world, id, event);
      if (!row) throw absent("event");
      const before = await readReactions(sql, world, [row]);
      const isThere = before.some((one) => one.reaction === reaction && one.user_id === user);
      if (isThere !== remove) return toEvents(id, [row], before)[0]!;
      if (!remove && before.length >= MAX_REACTIONS) throw tooManyReactions();
      await sql.run(remove ? REMOVE_REACTION : ADD_REACTION, [world, event, reaction, user]);
      log.append(world, { type: "chat.reacted", channel: id, event });
      return toEvents(id, [row], await readReactions(sql, world, [row]))[0]!;
    },

    async direct(
      world: string,
      caller: string,
      users: readonly string[],
      hide: boolean,
    ): Promise<{
      channel: Channel;
      created: readonly ChatDelivery[];
      appeared: readonly string[];
    }> {
      const rows = await sql.all<{ id: string; state: string }>(STATES, [world, users]);
      const states = new Map(rows.map(({ id, state }) => [id, state]));
      if (users.some((user) => isKeptOut(states.get(user) ?? "banned"))) {
        throw denied("One of the users is banned or does not exist.");
      }
      if (states.get(caller) !== "") throw denied("Silenced.");
      if (await sql.one(FIND_BLOCK_AMONG, [world, users])) {
        throw denied("One of the users blocks another.");
      }
      const { channel, isNew } = await claimDirect(sql, world, users);
      const shown = users.filter((user) => user === caller || !hide);
      if (!isNew) {
        const changed = new Set(await sql.column<string>(SHOW, [world, channel.number, shown]));
        const appeared = shown.filter((user) => changed.has(user));
        noteMemberships(world, channel.id, appeared);
        return { channel: toChannel(channel), created: [], appeared };
      }
      await addMembers(world, channel, users, shown);
      const created: ChatDelivery[] = [];
      for (const user of users) {
        created.push(await postMembership(world, channel, user, "join"));
      }
      noteMemberships(world, channel.id, shown);
      return { channel: toChannel(channel), created, appeared: shown };
    },
  };
}

const USERS = `SELECT id FROM users WHERE world_id = $1 AND id = ANY ($2) AND ${IS_KNOWN}`;

/**
 * Wrapping `world_id` in a function makes SQLite look up the ids. Otherwise, SQLite reads all
 * channels in the world.
 */
const CHANNELS = `SELECT id, number FROM chat_channels
  WHERE id = ANY ($2) AND coalesce(world_id, '') = $1`;

const ROOMS = "SELECT id FROM rooms WHERE world_id = $1 AND id = ANY ($2)";

/**
 * Returns an expression for the larger of the stored number and the new number. No SQL function for
 * the maximum exists in both engines.
 */
const larger = (column: string) =>
  `CASE WHEN excluded.${column} > chat_readers.${column} OR chat_readers.${column} IS NULL
   THEN excluded.${column} ELSE chat_readers.${column} END`;

const RAISE = `ON CONFLICT (world_id, user_id, channel)
  DO UPDATE SET pointer = ${larger("pointer")}, listed = ${larger("listed")}`;

const NOTIFIED = `SELECT DISTINCT user_id, channel FROM chat_notifications
  WHERE world_id = $1 AND user_id = ANY ($2) AND channel = ANY ($3)`;

const FORGET = `DELETE FROM chat_notifications
  WHERE world_id = $1 AND user_id = $2 AND channel = $3 AND event <= $4`;

/**
 * Stores users' read marks in one world.
 * @see ChatStore.mark
 */
export async function markRead(
  sql: Sql,
  log: DomainLog,
  world: string,
  marks: readonly StoredReadMark[],
): Promise<void> {
  const ids = [...new Set(marks.map(({ user }) => user))];
  const users = new Set(await sql.column<string>(USERS, [world, ids]));
  const ofUsers = marks.filter(({ user }) => users.has(user));
  if (ofUsers.length === 0) return;
  const channels = await claimChannels(sql, world, [
    ...new Set(ofUsers.map(({ channel }) => channel)),
  ]);
  const known = new Map<string, StoredReadMark>();
  for (const { user, channel, pointer, listed } of ofUsers) {
    const number = channels.get(channel);
    if (number === undefined) continue;
    const key = `${number} ${user}`;
    const mark = { user, channel, pointer, listed };
    const before = known.get(key);
    known.set(key, before ? laterMark(before, mark) : mark);
  }
  if (known.size === 0) return;
  const rows = [...known.values()].map(({ user, channel, pointer, listed }) => ({
    world_id: world,
    user_id: user,
    channel: channels.get(channel)!,
    pointer,
    listed,
  }));
  await sql.insert("chat_readers", rows, RAISE);
  // Look up all notifications in one query, because most users have none.
  const notified = await sql.all<{ user_id: string; channel: number }>(NOTIFIED, [
    world,
    [...users],
    [...channels.values()],
  ]);
  for (const { user_id, channel } of notified) {
    const pointer = known.get(`${channel} ${user_id}`)?.pointer;
    if (pointer != null) await sql.run(FORGET, [world, user_id, channel, pointer]);
  }
  log.append(world, { type: "chat.marked", marks: [...known.values()] });
}

/** Returns channel numbers by channel id. Creates the channels of rooms that do not have a channel yet. */
async function claimChannels(
  sql: Sql,
  world: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql.all<{ id: string; number: number }>(CHANNELS, [world, ids]);
  const numbers = new Map(rows.map(({ id, number }) => [id, number]));
  const missing = ids.filter((id) => !numbers.has(id));
  if (missing.length === 0) return numbers;
  for (const room of await sql.column<string>(ROOMS, [world, missing])) {
    numbers.set(room, (await createChannel(sql, world, room)).number);
  }
  return numbers;
}
