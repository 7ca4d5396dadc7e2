import type { ChatEvent, Delivery, NewMark } from "../../contract/chat.js";
import {
  type ChannelRow,
  MAX_REACTIONS,
  MEMBER,
  type ReactionChange,
  toChannel,
  toEvents,
  tooManyReactions,
} from "../../rules/chat-rows.js";
import { channelWrites, senderCheck } from "./chat-channels.js";
import { eventReads } from "./chat-events.js";
import { eventWriter } from "./chat-messages.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";

const OF_MEMBER = "world_id = ? AND channel = ? AND user_id = ?";
const OF_READER = "world_id = ? AND user_id = ? AND channel = ?";

/** The writes of members, reactions and marks. Each runs inside a transaction of its caller. */
export function memberWrites(db: Connection, log: WriteLog) {
  const channels = channelWrites(db);
  const post = eventWriter(db, log);
  const events = eventReads(db);
  const expectSender = senderCheck(db);
  const stateOf = db
    .prepare<[string, string], string>(
      `SELECT moderation_state FROM users WHERE id = ? AND world_id = ? AND ${IS_KNOWN}`,
    )
    .pluck();
  const isMember = db.prepare<[string, number, string]>(
    `SELECT 1 FROM chat_members WHERE ${OF_MEMBER}`,
  );
  const addMember = db.prepare<[string, number, string, number]>(
    "INSERT INTO chat_members (world_id, channel, user_id, hidden) VALUES (?, ?, ?, ?)",
  );
  const removeMember = db.prepare<[string, number, string]>(
    `DELETE FROM chat_members WHERE ${OF_MEMBER}`,
  );
  const setHidden = db.prepare<[number, string, number, string, number]>(
    `UPDATE chat_members SET hidden = ? WHERE ${OF_MEMBER} AND hidden != ?`,
  );
  const list = db.prepare<[string, string, number, number]>(
    `INSERT INTO chat_readers (world_id, user_id, channel, listed) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET listed = excluded.listed`,
  );
  const unlist = db.prepare<[string, string, number]>(
    `UPDATE chat_readers SET listed = NULL WHERE ${OF_READER} AND listed IS NOT NULL`,
  );
  const setMark = db.prepare<
    [string, string, number, number | null, number | null]
  >(
    `INSERT INTO chat_readers (world_id, user_id, channel, pointer, listed) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET pointer = excluded.pointer, listed = excluded.listed`,
  );
  const forget = db.prepare<[string, string, number, number]>(
    `DELETE FROM chat_notifications WHERE ${OF_READER} AND event <= ?`,
  );
  const OF_ONE = "world_id = ? AND event = ? AND reaction = ? AND user_id = ?";
  const findReaction = db.prepare<[string, number, string, string]>(
    `SELECT 1 FROM chat_reactions WHERE ${OF_ONE}`,
  );
  const isBeyond = db.prepare<[string, string, number, number | null]>(
    `SELECT 1 FROM chat_readers WHERE ${OF_READER} AND pointer > ?`,
  );
  const countReactions = db
    .prepare<[string, number], number>(
      "SELECT count(*) FROM chat_reactions WHERE world_id = ? AND event = ?",
    )
    .pluck();
  const addReaction = db.prepare<[string, number, string, string]>(
    "INSERT INTO chat_reactions (world_id, event, reaction, user_id) VALUES (?, ?, ?, ?)",
  );
  const removeReaction = db.prepare<[string, number, string, string]>(
    `DELETE FROM chat_reactions WHERE ${OF_ONE}`,
  );
  const findBlock = db.prepare<{ world: string; users: string }>(
    `SELECT 1 FROM blocks WHERE world_id = @world AND user_id IN (SELECT value FROM json_each(@users))
       AND blocked_id IN (SELECT value FROM json_each(@users)) LIMIT 1`,
  );

  const postMembership = (
    worldId: string,
    channel: ChannelRow,
    sender: string,
    membership: "join" | "leave",
  ): Delivery =>
    post(worldId, channel, {
      type: MEMBER,
      sender,
      content: JSON.stringify({ membership }),
    });

  /** Appends that the memberships of some users in a channel changed, if there are any. */
  function noteMemberships(
    worldId: string,
    channel: string,
    users: string[],
  ): void {
    if (users.length === 0) return;
    log.append(worldId, { type: "chat.memberships", channel, users });
  }

  return {
    joinChannel(
      worldId: string,
      id: string,
      user: string,
    ): Delivery | undefined {
      const found = channels.expect(worldId, id);
      if (found && found.direct !== null) throw absent("room");
      const state = stateOf.get(user, worldId);
      if (state === undefined) throw absent("user");
      if (state === "banned") throw denied("The user is banned.");
      if (found && isMember.get(worldId, found.number, user)) return undefined;
      const channel = found ?? channels.create(worldId, id);
      addMember.run(worldId, channel.number, user, 0);
      const delivery = postMembership(worldId, channel, user, "join");
      list.run(worldId, user, channel.number, delivery.event.id);
      noteMemberships(worldId, id, [user]);
      return delivery;
    },

    leaveChannel(
      worldId: string,
      id: string,
      user: string,
      silent: boolean,
    ): Delivery | undefined {
      const channel = channels.expect(worldId, id);
      if (!channel) return undefined;
      const { number } = channel;
      if (channel.direct !== null) {
        if (!isMember.get(worldId, number, user)) throw denied("No member.");
        const { changes } = setHidden.run(1, worldId, number, user, 1);
        if (changes > 0) noteMemberships(worldId, id, [user]);
        return undefined;
      }
      const unlisted = unlist.run(worldId, user, number).changes;
      const { changes } = removeMember.run(worldId, number, user);
      const delivery =
        changes === 0 || silent
          ? undefined
          : postMembership(worldId, channel, user, "leave");
      if (changes + unlisted > 0) noteMemberships(worldId, id, [user]);
      return delivery;
    },

    react(
      worldId: string,
      id: string,
      event: number,
      { user, reaction, remove, volatile }: ReactionChange,
    ): ChatEvent {
      const channel = channels.expect(worldId, id);
      expectSender(worldId, channel, user, volatile);
      const row = channel && events.one(worldId, channel, event);
      if (!row) throw absent("event");
      const isThere = !!findReaction.get(worldId, event, reaction, user);
      if (isThere === remove) {
        if (remove) removeReaction.run(worldId, event, reaction, user);
        else if (countReactions.get(worldId, event)! < MAX_REACTIONS) {
          addReaction.run(worldId, event, reaction, user);
        } else throw tooManyReactions();
        log.append(worldId, { type: "chat.reacted", channel: id, event });
      }
      return toEvents(id, [row], events.reactionsTo(worldId, [row]))[0]!;
    },

    openDirect(
      worldId: string,
      caller: string,
      users: readonly string[],
      hide: boolean,
    ) {
      const states = users.map((user) => stateOf.get(user, worldId));
      if (states.some((state) => state === undefined || state === "banned")) {
        throw denied("One of the users is banned or does not exist.");
      }
      if (stateOf.get(caller, worldId) !== "") throw denied("Silenced.");
      if (findBlock.get({ world: worldId, users: JSON.stringify(users) })) {
        throw denied("One of the users blocks another.");
      }
      const { channel, isNew } = channels.direct(worldId, users);
      const { number } = channel;
      const shown = users.filter((user) => user === caller || !hide);
      if (!isNew) {
        const appeared = shown.filter(
          (user) => setHidden.run(0, worldId, number, user, 0).changes > 0,
        );
        noteMemberships(worldId, channel.id, appeared);
        return { channel: toChannel(channel), created: [], appeared };
      }
      for (const user of users) {
        addMember.run(worldId, number, user, shown.includes(user) ? 0 : 1);
      }
      const created = users.map((user) =>
        postMembership(worldId, channel, user, "join"),
      );
      noteMemberships(worldId, channel.id, shown);
      return { channel: toChannel(channel), created, appeared: shown };
    },

    mark(marks: readonly NewMark[]): void {
      for (const mark of marks) {
        const { world, user, channel: id, pointer, listed, forward } = mark;
        if (stateOf.get(user, world) === undefined) continue;
        const channel = channels.claim(world, id);
        if (!channel) continue;
        const { number } = channel;
        if (!forward || !isBeyond.get(world, user, number, pointer)) {
          setMark.run(world, user, number, pointer, listed);
        }
        if (pointer !== null) forget.run(world, user, number, pointer);
      }
    },
  };
}
