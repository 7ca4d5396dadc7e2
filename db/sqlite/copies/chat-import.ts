import type {
  ChannelCopy,
  ChatCopy,
  EventCopy,
} from "../../../schemas/chat-history.js";
import {
  contentsOf,
  lastsOf,
  markAmong,
  takenChannel,
  takenUser,
} from "../../copies/chat-copies.js";
import { TYPES } from "../../rules/chat-rows.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";

/** The writes of all chat of a world. */
export function chatCopyWrites(db: Connection, log: WriteLog) {
  const hasUser = db.prepare<[string]>("SELECT 1 FROM users WHERE id = ?");
  const addTombstone = db.prepare<[string, string]>(
    "INSERT INTO users (id, world_id, last_seen) VALUES (?, ?, 0)",
  );
  const hasChannel = db.prepare<[string]>(
    "SELECT 1 FROM chat_channels WHERE id = ?",
  );
  const addChannel = db.prepare<[string, string, string | null]>(
    "INSERT INTO chat_channels (id, world_id, direct) VALUES (?, ?, ?)",
  );
  const addEvent = db.prepare<unknown[]>(
    `INSERT INTO chat_events (world_id, id, tag, channel, type, sender, timestamp, replaces, deleted, content)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const noteEdit = db.prepare<[string, number, number]>(
    "INSERT OR REPLACE INTO chat_edits (world_id, event, edit) VALUES (?, ?, ?)",
  );
  const noteLast = db.prepare<[number, number, number]>(
    `UPDATE chat_channels SET last_event = ?, last_message = ?
     WHERE number = ?`,
  );
  const addReaction = db.prepare<[string, number, string, string]>(
    "INSERT INTO chat_reactions (world_id, event, reaction, user_id) VALUES (?, ?, ?, ?)",
  );
  const addMember = db.prepare<[string, number, string, number]>(
    "INSERT INTO chat_members (world_id, channel, user_id, hidden) VALUES (?, ?, ?, ?)",
  );
  const addReader = db.prepare<unknown[]>(
    "INSERT INTO chat_readers (world_id, user_id, channel, pointer, listed) VALUES (?, ?, ?, ?, ?)",
  );
  const addNotification = db.prepare<[string, string, number, number]>(
    "INSERT INTO chat_notifications (world_id, user_id, channel, event) VALUES (?, ?, ?, ?)",
  );

  function importChannels(
    worldId: string,
    channels: readonly ChannelCopy[],
  ): Map<string, number> {
    return new Map(
      channels.map(({ id, direct }) => {
        if (hasChannel.get(id)) {
          throw takenChannel(id);
        }
        const set = direct?.join() ?? null;
        return [id, Number(addChannel.run(id, worldId, set).lastInsertRowid)];
      }),
    );
  }

  /** @returns the new id of each event by its old one. */
  function importEvents(
    worldId: string,
    events: readonly EventCopy[],
    numbers: ReadonlyMap<string, number>,
  ): Map<number, number> {
    const newIds = new Map<number, number>();
    const contentOf = contentsOf(events);
    for (const event of events) {
      const channel = numbers.get(event.channel)!;
      const { deleted = false } = event;
      const replaces =
        event.replaces === undefined ? null : newIds.get(event.replaces)!;
      const id = log.skip(worldId);
      addEvent.run(
        worldId,
        id,
        log.newTag(),
        channel,
        TYPES.indexOf(event.type),
        event.sender ?? null,
        Date.parse(event.timestamp),
        replaces,
        Number(deleted),
        contentOf(event) ?? Buffer.alloc(0),
      );
      newIds.set(event.id, id);
      if (replaces !== null) noteEdit.run(worldId, replaces, id);
      for (const [reaction, users] of Object.entries(event.reactions ?? {})) {
        for (const user of users) addReaction.run(worldId, id, reaction, user);
      }
    }
    return newIds;
  }

  return {
    /**
     * Creates the chat of a world that has its rooms and users already. Its events
     * become entries of its log, in the same order.
     * @throws {StoreError} `taken` on `users` or `chat`.
     */
    importChat(
      worldId: string,
      { erased = [], channels, events }: ChatCopy,
    ): void {
      for (const id of erased) {
        if (hasUser.get(id)) {
          throw takenUser(id);
        }
        addTombstone.run(id, worldId);
      }
      const numbers = importChannels(worldId, channels);
      const newIds = importEvents(worldId, events, numbers);
      const oldIds = events.map(({ id }) => id);
      const markOf = (mark: number | undefined): number | null =>
        mark === undefined ? null : markAmong(oldIds, newIds, mark);
      const lasts = lastsOf(events, newIds);
      for (const { id, members, readers, notifications } of channels) {
        const number = numbers.get(id)!;
        const last = lasts.get(id);
        if (last) noteLast.run(last.event, last.message, number);
        for (const { user, hidden = false } of members ?? []) {
          addMember.run(worldId, number, user, Number(hidden));
        }
        for (const { user, pointer, listed } of readers ?? []) {
          addReader.run(worldId, user, number, markOf(pointer), markOf(listed));
        }
        for (const { user, event } of notifications ?? []) {
          addNotification.run(worldId, user, number, newIds.get(event)!);
        }
      }
    },
  };
}
