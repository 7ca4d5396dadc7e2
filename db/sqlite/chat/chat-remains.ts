import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";
import { absent } from "../../rules/preconditions.js";
import { BLANK } from "./chat-messages.js";
import { IS_KNOWN } from "../../rules/rows.js";

/** How many events one slice erases. */
const SLICE = 200;

/** How many events one slice searches for events of a user. */
const LOOKED_AT = 5000;

/** Removes channels. Their remaining events are erased later. */
export function channelRemoval(db: Connection, log: WriteLog) {
  const removal = (condition: string) => {
    const note = db.prepare<[string]>(
      `INSERT INTO chat_remains (world_id, channel)
       SELECT world_id, number FROM chat_channels WHERE ${condition} AND last_event > 0`,
    );
    const remove = db.prepare<[string]>(
      `DELETE FROM chat_channels WHERE ${condition}`,
    );
    return (id: string): void => {
      if (note.run(id).changes > 0) log.erased();
      remove.run(id);
    };
  };
  const remove = removal("id = ?");
  const selectLonely = db.prepare<
    [string, string],
    { id: string; number: number }
  >(
    `SELECT chat_channels.id, chat_channels.number
       FROM chat_members AS own JOIN chat_channels ON chat_channels.number = own.channel
       WHERE own.world_id = ? AND own.user_id = ? AND chat_channels.direct IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM chat_members AS other JOIN users ON users.id = other.user_id
         WHERE other.world_id = own.world_id AND other.channel = own.channel AND ${IS_KNOWN})`,
  );
  const clear = ["chat_members", "chat_readers", "chat_notifications"].map(
    (table) =>
      db.prepare<[string, number]>(
        `DELETE FROM ${table} WHERE world_id = ? AND channel = ?`,
      ),
  );
  const quit = [
    `DELETE FROM chat_members WHERE world_id = ? AND user_id = ? AND EXISTS (
       SELECT 1 FROM chat_channels WHERE number = channel AND direct IS NULL)`,
    "UPDATE chat_members SET hidden = 0 WHERE world_id = ? AND user_id = ? AND hidden = 1",
    "DELETE FROM chat_readers WHERE world_id = ? AND user_id = ?",
    "DELETE FROM chat_notifications WHERE world_id = ? AND user_id = ?",
  ].map((sql) => db.prepare<[string, string]>(sql));

  return {
    ofRoom: remove,

    ofWorld: removal("world_id = ?"),

    /**
     * Ends the memberships and read states of an erased user, except the places in direct
     * channels. Direct channels with erased members only are removed. Needs no foreign keys.
     */
    ofUser(worldId: string, user: string): void {
      for (const statement of quit) statement.run(worldId, user);
      for (const { id, number } of selectLonely.all(worldId, user)) {
        for (const statement of clear) statement.run(worldId, number);
        remove(id);
      }
    },
  };
}

/** The writes that erase events. Each runs inside a transaction of its caller. */
export function chatErasures(db: Connection, log: WriteLog) {
  const findUser = db.prepare<[string, string]>(
    "SELECT 1 FROM users WHERE id = ? AND world_id = ?",
  );
  const selectLast = db
    .prepare<[string, number, number], number>(
      "SELECT id FROM chat_events WHERE world_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET ?",
    )
    .pluck();
  const empty = db.prepare<[string, number, number, string]>(
    `UPDATE chat_events SET content = ${BLANK}, deleted = 1
     WHERE world_id = ? AND id > ? AND id <= ? AND sender = ?
       AND type = 0 AND deleted = 0 AND gone = 0`,
  );
  const forget = db.prepare<[string, number, number, string]>(
    `DELETE FROM chat_notifications WHERE (world_id, channel, event) IN (
       SELECT world_id, channel, id FROM chat_events
       WHERE world_id = ? AND id > ? AND id <= ? AND sender = ?)`,
  );
  const channelsOf = db
    .prepare<[string, number, number], number>(
      `SELECT number FROM chat_channels WHERE world_id = ? AND (
         SELECT timestamp FROM chat_events
         WHERE world_id = chat_channels.world_id AND channel = chat_channels.number AND gone = 0 ORDER BY id LIMIT 1
       ) < ? LIMIT ?`,
    )
    .pluck();
  const eraseOldest = oldestErasure(db);

  return {
    /** @see ChatStore.empty */
    emptyMessages(
      worldId: string,
      user: string,
      after: number,
    ): { next: number | undefined; emptied: number } {
      if (!findUser.get(user, worldId)) throw absent("user");
      const next = selectLast.get(worldId, after, LOOKED_AT - 1);
      const { changes } = empty.run(worldId, after, next ?? Infinity, user);
      if (changes > 0) {
        forget.run(worldId, after, next ?? Infinity, user);
        log.erased();
        log.append(worldId, { type: "chat.erased" });
      }
      return { next, emptied: changes };
    },

    /** @see ChatStore.expire */
    expireEvents(worldId: string, before: number): boolean {
      let left = SLICE;
      for (const channel of channelsOf.all(worldId, before, SLICE)) {
        left -= eraseOldest(worldId, channel, left, before);
        if (left === 0) break;
      }
      if (left < SLICE) {
        log.erased();
        log.append(worldId, { type: "chat.erased" });
      }
      return left === 0;
    },
  };
}

/** @returns a function that erases a slice of the events of deleted channels, and returns whether there were any. */
export function remainsErasure(db: Connection): (limit: number) => boolean {
  const select = db.prepare<[], { world_id: string; channel: number }>(
    "SELECT world_id, channel FROM chat_remains LIMIT 1",
  );
  const end = db.prepare<[string, number]>(
    "DELETE FROM chat_remains WHERE world_id = ? AND channel = ?",
  );
  const eraseOldest = oldestErasure(db);
  return (limit) => {
    const left = select.get();
    if (!left) return false;
    const { world_id, channel } = left;
    if (eraseOldest(world_id, channel, limit) < limit) {
      end.run(world_id, channel);
    }
    return true;
  };
}

/** @returns a function that erases the oldest events of a channel. */
function oldestErasure(db: Connection) {
  const selectOldest = db.prepare<
    [string, number, number],
    { rowid: number; id: number; timestamp: number }
  >(
    "SELECT rowid, id, timestamp FROM chat_events WHERE world_id = ? AND channel = ? AND gone = 0 ORDER BY id LIMIT ?",
  );
  const isNamed = "IN (SELECT value FROM json_each(?))";
  const erase = db.prepare<[string]>(
    `UPDATE chat_events SET content = ${BLANK}, gone = 1 WHERE rowid ${isNamed}`,
  );
  const clear = ["chat_edits", "chat_reactions"].map((table) =>
    db.prepare<[string, string]>(
      `DELETE FROM ${table} WHERE world_id = ? AND event ${isNamed}`,
    ),
  );
  const forget = db.prepare<[string, number, string]>(
    `DELETE FROM chat_notifications WHERE world_id = ? AND channel = ? AND event ${isNamed}`,
  );

  /** Erases the oldest events of a channel that are older than a time. @returns how many. */
  return function eraseOldest(
    worldId: string,
    channel: number,
    limit: number,
    before = Infinity,
  ) {
    const oldest = selectOldest.all(worldId, channel, limit);
    const end = oldest.findIndex(({ timestamp }) => timestamp >= before);
    const old = end === -1 ? oldest : oldest.slice(0, end);
    if (old.length === 0) return 0;
    const ids = JSON.stringify(old.map(({ id }) => id));
    erase.run(JSON.stringify(old.map(({ rowid }) => rowid)));
    for (const statement of clear) statement.run(worldId, ids);
    forget.run(worldId, channel, ids);
    return old.length;
  };
}
