import type { ChatStore, MessageDraft } from "../../contract/chat.js";
import { frozen } from "../../rules/versions.js";
import type { chatReads } from "./chat-reads.js";
import type { Writer } from "../engine/writer.js";

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
    lastId: async (worldId) => read(() => reads.lastId(worldId)),
    channel: async (...args) => read(() => reads.channel(...args)),
    events: async (...args) => read(() => reads.events(...args)),
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
      if (content.type !== "deleted") {
        return writer.run("editMessage", by, worldId, id, draft);
      }
      return erasing(() => writer.run("deleteMessage", by, worldId, id, draft));
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
