import type {
  Channel,
  ChatEvent,
  ChatStore,
  Delivery,
  EventSelection,
  Mark,
  Membership,
  MessageDraft,
  Unread,
} from "../../contract/chat.js";
import {
  type ChannelRow,
  MAX_NOTIFICATIONS,
  toChannel,
  toEvents,
} from "../../rules/chat-rows.js";
import { frozen } from "../../rules/versions.js";
import type { Connection } from "../engine/connection.js";
import type { Writer } from "../engine/writer.js";
import { CHANNEL_COLUMNS, channelFinder } from "./chat-channels.js";
import { deliveryReads, eventReads } from "./chat-events.js";

/** The reads of chat. */
export function chatReads(db: Connection) {
  const find = channelFinder(db);
  const events = eventReads(db);
  const deliveries = deliveryReads(db);
  const isMember = db.prepare<[string, number, string]>(
    "SELECT 1 FROM chat_members WHERE world_id = ? AND channel = ? AND user_id = ?",
  );
  const selectMembers = db
    .prepare<[string, number, number], string>(
      "SELECT user_id FROM chat_members WHERE world_id = ? AND channel = ? ORDER BY number DESC LIMIT ?",
    )
    .pluck();
  const selectMemberships = db.prepare<
    [string, string],
    ChannelRow & { hidden: number }
  >(
    `SELECT ${CHANNEL_COLUMNS}, chat_members.hidden
     FROM chat_members JOIN chat_channels ON chat_channels.number = chat_members.channel
     WHERE chat_members.world_id = ? AND chat_members.user_id = ?
     ORDER BY chat_members.number`,
  );
  const selectMarks = db.prepare<[string, string], Mark>(
    `SELECT chat_readers.user_id AS user, chat_channels.id AS channel,
       chat_readers.pointer, chat_readers.listed
     FROM chat_readers JOIN chat_channels ON chat_channels.number = chat_readers.channel
     WHERE chat_readers.world_id = ? AND chat_readers.user_id = ?`,
  );
  const selectNotifications = db.prepare<
    [string, string, number],
    { channel: string; event: number }
  >(
    `SELECT chat_channels.id AS channel, chat_notifications.event
     FROM chat_notifications JOIN chat_channels ON chat_channels.number = chat_notifications.channel
     WHERE chat_notifications.world_id = ? AND chat_notifications.user_id = ?
     ORDER BY chat_notifications.event DESC LIMIT ?`,
  );
  // Most users have none, and a sort of no rows costs more than this.
  const isNotified = db.prepare<[string, string]>(
    "SELECT 1 FROM chat_notifications WHERE world_id = ? AND user_id = ? LIMIT 1",
  );
  const lastId = db
    .prepare<[string], number>(
      "SELECT coalesce(max(id), 0) FROM chat_events WHERE world_id = ?",
    )
    .pluck();
  const selectRemains = db.prepare<[]>("SELECT 1 FROM chat_remains LIMIT 1");

  return {
    hasRemains: (): boolean => selectRemains.get() !== undefined,

    lastId: (worldId: string): number => lastId.get(worldId)!,

    channel(worldId: string, id: string): Channel | undefined {
      const row = find(worldId, id);
      return row && toChannel(row);
    },

    events(
      worldId: string,
      id: string,
      selection: EventSelection,
    ): ChatEvent[] {
      const channel = find(worldId, id);
      if (!channel) return [];
      const { rows, reactions } = events.page(worldId, channel, selection);
      return toEvents(id, rows, reactions);
    },

    sent(worldId: string, id: string, after: number, limit: number) {
      const channel = find(worldId, id);
      return channel ? events.sent(worldId, channel, after, limit) : [];
    },

    event(worldId: string, id: string, event: number): ChatEvent | undefined {
      const channel = find(worldId, id);
      const row = channel && events.one(worldId, channel, event);
      return row && toEvents(id, [row], events.reactionsTo(worldId, [row]))[0];
    },

    deliveries(
      worldId: string,
      id: string,
      after: number,
      limit: number,
    ): Delivery[] {
      const channel = find(worldId, id);
      if (!channel) return [];
      return deliveries
        .ofChannel(worldId, channel.number, after, limit)
        .map(({ delivery }) => delivery);
    },

    isMember(worldId: string, id: string, user: string): boolean {
      const channel = find(worldId, id);
      return (
        !!channel && isMember.get(worldId, channel.number, user) !== undefined
      );
    },

    members(worldId: string, id: string, limit: number): string[] {
      const channel = find(worldId, id);
      return channel ? selectMembers.all(worldId, channel.number, limit) : [];
    },

    memberships: (worldId: string, user: string): Membership[] =>
      selectMemberships.all(worldId, user).map((row) => ({
        ...toChannel(row),
        hidden: row.hidden === 1,
      })),

    unread: (worldId: string, user: string): Unread => ({
      marks: selectMarks.all(worldId, user),
      notifications: isNotified.get(worldId, user)
        ? selectNotifications.all(worldId, user, MAX_NOTIFICATIONS).reverse()
        : [],
    }),
  };
}

/**
 * Chat in SQLite.
 * @param read runs a read.
 */
export function chatStore(
  reads: ReturnType<typeof chatReads>,
  writer: Writer,
  read: <T>(run: () => T) => T,
): ChatStore {
  return {
    lastId: async (worldId) => read(() => reads.lastId(worldId)),
    channel: async (...args) => read(() => reads.channel(...args)),
    events: async (...args) => read(() => reads.events(...args)),
    sent: async (...args) => read(() => reads.sent(...args)),
    event: async (...args) => read(() => reads.event(...args)),
    deliveries: async (...args) => read(() => reads.deliveries(...args)),
    isMember: async (...args) => read(() => reads.isMember(...args)),
    members: async (...args) => read(() => reads.members(...args)),
    memberships: async (...args) => read(() => reads.memberships(...args)),
    unread: async (...args) => read(() => reads.unread(...args)),

    send(worldId, id, { content, ...rest }: MessageDraft, by) {
      const draft = { content: JSON.stringify(content), ...rest };
      if (draft.replaces == null) {
        return writer.run("sendMessage", by, worldId, id, draft);
      }
      const write =
        content.type === "deleted" ? "deleteMessage" : "editMessage";
      return writer.run(write, by, worldId, id, draft);
    },
    join: (worldId, id, user, by) =>
      writer.run("joinChannel", by, worldId, id, user),
    leave: (worldId, id, user, silent, by) =>
      writer.run("leaveChannel", by, worldId, id, user, silent),
    react: async (worldId, id, event, reaction, by) =>
      frozen(await writer.run("react", by, worldId, id, event, reaction)),
    async direct(worldId, caller, users, hide, by) {
      const found = [worldId, caller, users, hide] as const;
      const opened = await writer.run("openDirect", by, ...found);
      return { ...opened, channel: frozen(opened.channel) };
    },
    mark: (marks) => writer.run("mark", undefined, marks),
    empty: (...args) => writer.run("emptyMessages", undefined, ...args),
    expire: (...args) => writer.run("expireEvents", undefined, ...args),
  };
}
