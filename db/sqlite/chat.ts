import type { ChatStore, Delivery, MessageDraft } from "../chat.js";
import { type DeliveryRow, toDeliveries, toEvents } from "../chat-rows.js";
import type { chatReads } from "./chat-reads.js";
import type { Writer } from "./writer.js";

/**
 * Chat in SQLite.
 * @param read runs a read.
 * @param erasing runs a write whose old bytes have to leave the log.
 */
export function chatStore(
  reads: ReturnType<typeof chatReads>,
  writer: Writer,
  read: <T>(run: () => T) => T,
  erasing: <T>(write: () => Promise<T>) => Promise<T>,
): ChatStore {
  return {
    lastId: async () => read(reads.lastId),
    channel: async (...args) => read(() => reads.channel(...args)),
    events: async (...args) => read(() => reads.events(...args)),
    event: async (...args) => read(() => reads.event(...args)),
    deliveries: async (...args) => read(() => reads.deliveries(...args)),
    activeSince: async (id) => read(() => reads.activeSince(id)),
    isMember: async (...args) => read(() => reads.isMember(...args)),
    members: async (...args) => read(() => reads.members(...args)),
    memberships: async (...args) => read(() => reads.memberships(...args)),
    unread: async (...args) => read(() => reads.unread(...args)),

    async send(worldId, id, { content, ...rest }: MessageDraft) {
      const draft = { content: JSON.stringify(content), ...rest };
      if (draft.replaces == null) {
        return delivered(
          id,
          await writer.run("sendMessage", worldId, id, draft),
        );
      }
      if (content.type !== "deleted") {
        return delivered(
          id,
          await writer.run("editMessage", worldId, id, draft),
        );
      }
      return delivered(
        id,
        await erasing(() => writer.run("deleteMessage", worldId, id, draft)),
      );
    },
    async join(worldId, id, user) {
      const row = await writer.run("joinChannel", worldId, id, user);
      return row && delivered(id, row);
    },
    async leave(worldId, id, user, silent) {
      const row = await writer.run("leaveChannel", worldId, id, user, silent);
      return row && delivered(id, row);
    },
    async react(worldId, id, event, reaction) {
      const { row, reactions } = await writer.run(
        "react",
        worldId,
        id,
        event,
        reaction,
      );
      return toEvents(id, [row], reactions)[0]!;
    },
    async direct(worldId, caller, users, hide) {
      const { channel, created, appeared } = await writer.run(
        "openDirect",
        worldId,
        caller,
        users,
        hide,
      );
      return { channel, created: toDeliveries(channel.id, created), appeared };
    },
    mark: (marks) => writer.run("mark", marks),
    empty: (...args) => writer.run("emptyMessages", ...args),
    expire: (...args) => writer.run("expireEvents", ...args),
  };
}

const delivered = (channel: string, row: DeliveryRow): Delivery =>
  toDeliveries(channel, [row])[0]!;
