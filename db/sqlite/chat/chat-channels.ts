import { randomUUID } from "node:crypto";
import { type ChannelRow, directOf } from "../../rules/chat-rows.js";
import { absent, denied } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { Connection } from "../engine/connection.js";

/** The columns of a {@link ChannelRow}. */
export const CHANNEL_COLUMNS =
  "chat_channels.number, chat_channels.id, chat_channels.direct, chat_channels.last_event, chat_channels.last_message";

/** The values of {@link CHANNEL_COLUMNS}. */
type ChannelValues = [
  number: number,
  id: string,
  direct: string | null,
  last_event: number,
  last_message: number,
];

/** Finds a channel of a world that has a row. */
export function channelFinder(db: Connection) {
  // As arrays: to name the fields of a row takes half the time of such a read.
  const select = db
    .prepare<[string, string], ChannelValues>(
      `SELECT ${CHANNEL_COLUMNS} FROM chat_channels WHERE id = ? AND world_id = ?`,
    )
    .raw();
  return (worldId: string, id: string): ChannelRow | undefined => {
    const row = select.get(id, worldId);
    if (!row) return undefined;
    const [number, , direct, last_event, last_message] = row;
    return { number, id, direct, last_event, last_message };
  };
}

/** The channels, as writes find and make them. */
export function channelWrites(db: Connection) {
  const find = channelFinder(db);
  const findRoom = db.prepare<[string, string]>(
    "SELECT 1 FROM rooms WHERE id = ? AND world_id = ?",
  );
  const selectDirect = db.prepare<[string, string], ChannelRow>(
    `SELECT ${CHANNEL_COLUMNS} FROM chat_channels WHERE world_id = ? AND direct = ?`,
  );
  const insert = db.prepare<[string, string, string | null]>(
    "INSERT INTO chat_channels (id, world_id, direct) VALUES (?, ?, ?)",
  );

  function create(
    worldId: string,
    id: string,
    direct: string | null,
  ): ChannelRow {
    const { lastInsertRowid } = insert.run(id, worldId, direct);
    const number = Number(lastInsertRowid);
    return { number, id, direct, last_event: 0, last_message: 0 };
  }

  return {
    /**
     * A channel; undefined for the channel of a room without any event yet.
     * @throws {StoreError} `absent` on `room`.
     */
    expect(worldId: string, id: string): ChannelRow | undefined {
      const row = find(worldId, id);
      if (!row && !findRoom.get(id, worldId)) throw absent("room");
      return row;
    },

    /** A channel, made if there is a room with this id; undefined if there is neither. */
    claim(worldId: string, id: string): ChannelRow | undefined {
      const row = find(worldId, id);
      if (row || !findRoom.get(id, worldId)) return row;
      return create(worldId, id, null);
    },

    /** Makes the channel of a room. */
    create: (worldId: string, room: string): ChannelRow =>
      create(worldId, room, null),

    /** Finds or makes the direct channel of a set of users. */
    direct(
      worldId: string,
      users: readonly string[],
    ): { channel: ChannelRow; isNew: boolean } {
      const direct = directOf(users);
      const found = selectDirect.get(worldId, direct);
      return {
        channel: found ?? create(worldId, randomUUID(), direct),
        isNew: !found,
      };
    },
  };
}

/** Checks the senders of messages and reactions. */
export function senderCheck(db: Connection) {
  const select = db
    .prepare<
      [string, number | undefined, string, string],
      [state: string, isMember: number]
    >(
      `SELECT moderation_state, chat_members.number IS NOT NULL
       FROM users LEFT JOIN chat_members ON chat_members.world_id = ?
         AND chat_members.channel = ? AND chat_members.user_id = users.id
       WHERE users.id = ? AND users.world_id = ? AND ${IS_KNOWN}`,
    )
    .raw();
  const findBlock = db.prepare<[string, string, number]>(
    `SELECT 1 FROM chat_members CROSS JOIN blocks ON blocks.world_id = chat_members.world_id
       AND blocks.user_id = chat_members.user_id AND blocks.blocked_id = ?
     WHERE chat_members.world_id = ? AND chat_members.channel = ? LIMIT 1`,
  );

  /**
   * @param channel undefined for the channel of a room without any event yet.
   * @param volatile whether the user counts as a member of a room.
   * @throws {StoreError} `denied` if the user is banned, silenced or erased, is no
   *   member, or is blocked by a member of a direct channel.
   */
  return (
    worldId: string,
    channel: ChannelRow | undefined,
    user: string,
    volatile = false,
  ): void => {
    const found = select.get(worldId, channel?.number, user, worldId);
    if (!found) throw denied("There is no such user.");
    const [state, isMember] = found;
    if (state !== "") throw denied("The user is banned or silenced.");
    const isDirect = channel !== undefined && channel.direct !== null;
    if (!isMember && (isDirect || !volatile)) {
      throw denied("The user is no member of the channel.");
    }
    if (isDirect && findBlock.get(user, worldId, channel.number)) {
      throw denied("A member blocks the user.");
    }
  };
}
