import type { ChatStore, MessageDraft, NewMark } from "../../contract/chat.js";
import { emptyMessages, expireEvents } from "./chat-erasures.js";
import { markRead } from "./chat-marks.js";
import { joinChannel, leaveChannel, openDirect } from "./chat-members.js";
import { replaceMessage, sendMessage } from "./chat-messages.js";
import { react } from "./chat-reactions.js";
import { chatReads } from "./chat-reads.js";
import type { Database } from "../engine/database.js";

/** Chat in PostgreSQL. */
export const chatStore = (db: Database): ChatStore => ({
  ...chatReads(db.sql),

  send: (worldId, id, draft, by) =>
    db.write(
      worldId,
      (sql, log) =>
        replaces(draft)
          ? replaceMessage(sql, log, worldId, id, draft)
          : sendMessage(sql, log, worldId, id, draft),
      by,
    ),
  join: (worldId, id, user, by) =>
    db.write(
      worldId,
      (sql, log) => joinChannel(sql, log, worldId, id, user),
      by,
    ),
  leave: (worldId, id, user, silent, by) =>
    db.write(
      worldId,
      (sql, log) => leaveChannel(sql, log, worldId, id, user, silent),
      by,
    ),
  react: (worldId, id, event, reaction, by) =>
    db.write(
      worldId,
      (sql, log) => react(sql, log, worldId, id, event, reaction),
      by,
    ),
  direct: (worldId, caller, users, hide, by) =>
    db.write(
      worldId,
      (sql, log) => openDirect(sql, log, worldId, caller, users, hide),
      by,
    ),
  async mark(marks) {
    const byWorld = new Map<string, NewMark[]>();
    for (const mark of marks) {
      const own = byWorld.get(mark.world);
      if (own) own.push(mark);
      else byWorld.set(mark.world, [mark]);
    }
    const writes = [...byWorld].map(([world, own]) =>
      db.write(world, (sql) => markRead(sql, world, own)),
    );
    await Promise.all(writes);
  },
  empty: (worldId, user, after) =>
    db.write(worldId, (sql, log) =>
      emptyMessages(sql, log, worldId, user, after),
    ),
  expire: (worldId, before) =>
    db.write(worldId, (sql, log) => expireEvents(sql, log, worldId, before)),
});

const replaces = (
  draft: MessageDraft,
): draft is MessageDraft & { replaces: number } => draft.replaces != null;
