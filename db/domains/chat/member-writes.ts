import type { Channel, ChatEvent, Delivery } from "../../contract/chat.js";
import {
  type ChannelRow,
  MAX_REACTIONS,
  MEMBER,
  type ReactionChange,
  toChannel,
  toEvents,
  tooManyReactions,
} from "../../rules/chat-rows.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { DomainLog, EngineWrites } from "../domain.js";
import type { Sql } from "../sql.js";
import { claimDirect, createChannel, expectSender, findParticipant } from "./channel-rows.js";
import { readEvent, readReactions } from "./event-reads.js";

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

const FIND_BLOCK = `SELECT 1 FROM blocks
  WHERE world_id = $1 AND user_id = ANY ($2) AND blocked_id = ANY ($2) LIMIT 1`;

const ADD_REACTION =
  "INSERT INTO chat_reactions (world_id, event, reaction, user_id) VALUES ($1, $2, $3, $4)";

const REMOVE_REACTION = `DELETE FROM chat_reactions
  WHERE world_id = $1 AND event = $2 AND reaction = $3 AND user_id = $4`;

/** The writes of members and reactions. */
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
  ): Promise<Delivery> => {
    const content = JSON.stringify({ membership });
    return own.appendEvent(world, channel, { type: MEMBER, sender, content });
  };

  /** Appends that the memberships of some users in a channel changed, if there are any. */
  function noteMemberships(world: string, channel: string, users: string[]): void {
    if (users.length > 0) log.append(world, { type: "chat.memberships", channel, users });
  }

  return {
    async join(world: string, id: string, user: string): Promise<Delivery | undefined> {
      const found = await findParticipant(sql, world, id, user);
      const { state, isMember } = found;
      if (found.channel && found.channel.direct !== null) throw absent("room");
      if (state === null) throw absent("user");
      if (state === "banned") throw denied("The user is banned.");
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
    ): Promise<Delivery | undefined> {
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
      created: readonly Delivery[];
      appeared: readonly string[];
    }> {
      const rows = await sql.all<{ id: string; state: string }>(STATES, [world, users]);
      const states = new Map(rows.map(({ id, state }) => [id, state]));
      if (users.some((user) => (states.get(user) ?? "banned") === "banned")) {
        throw denied("One of the users is banned or does not exist.");
      }
      if (states.get(caller) !== "") throw denied("Silenced.");
      if (await sql.one(FIND_BLOCK, [world, users])) {
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
      const created: Delivery[] = [];
      for (const user of users) {
        created.push(await postMembership(world, channel, user, "join"));
      }
      noteMemberships(world, channel.id, shown);
      return { channel: toChannel(channel), created, appeared: shown };
    },
  };
}
