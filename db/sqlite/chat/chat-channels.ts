import { randomUUID } from "node:crypto";
import { type ChannelRow, directOf } from "../../rules/chat-rows.js";
import type { Connection } from "../engine/connection.js";
import { absent } from "../../rules/preconditions.js";

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
