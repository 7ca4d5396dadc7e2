import {
  type ChatStore,
  type Delivery,
  type NewMark,
  type MessageDraft,
} from "../chat.js";
import { type DeliveryRow, toDeliveries } from "../chat-rows.js";
import { emptyMessages, expireEvents } from "./chat-erasures.js";
import { markRead } from "./chat-marks.js";
import { joinChannel, leaveChannel, openDirect } from "./chat-members.js";
import { replaceMessage, sendMessage } from "./chat-messages.js";
import { react } from "./chat-reactions.js";
import { chatReads } from "./chat-reads.js";
import type { Database } from "./database.js";

/** Chat in PostgreSQL. */
export const chatStore = (db: Database): ChatStore => ({
  ...chatReads(db.sql, (id) => db.sawId(id)),

  async send(worldId, id, draft) {
    const row = await db.write(worldId, (sql, notes) =>
      replaces(draft)
        ? replaceMessage(sql, notes, worldId, id, draft)
        : sendMessage(sql, worldId, id, draft),
    );
    return delivered(id, row);
  },
  async join(worldId, id, user) {
    const row = await db.write(worldId, (sql) =>
      joinChannel(sql, worldId, id, user),
    );
    return row && delivered(id, row);
  },
  async leave(worldId, id, user, silent) {
    const row = await db.write(worldId, (sql) =>
      leaveChannel(sql, worldId, id, user, silent),
    );
    return row && delivered(id, row);
  },
  react: (worldId, id, event, reaction) =>
    db.write(worldId, (sql) => react(sql, worldId, id, event, reaction)),
  direct: (worldId, caller, users, hide) =>
    db.write(worldId, (sql) => openDirect(sql, worldId, caller, users, hide)),
  async mark(marks) {
    const byWorld = new Map<string, NewMark[]>();
    for (const mark of marks) {
      const own = byWorld.get(mark.world);
      if (own) own.push(mark);
      else byWorld.set(mark.world, [mark]);
    }
    const writes = [...byWorld].map(([world, own]) =>
      db.write(world, (sql) => markRead(sql, world, own), { quiet: true }),
    );
    await Promise.all(writes);
  },
  empty: (worldId, user, after) =>
    db.write(worldId, (sql, notes) =>
      emptyMessages(sql, notes, worldId, user, after),
    ),
  expire: (worldId, before) =>
    db.write(worldId, (sql, notes) =>
      expireEvents(sql, notes, worldId, before),
    ),
});

const replaces = (
  draft: MessageDraft,
): draft is MessageDraft & { replaces: number } => draft.replaces != null;

const delivered = (channel: string, row: DeliveryRow): Delivery =>
  toDeliveries(channel, [row])[0]!;
