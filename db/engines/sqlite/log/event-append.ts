import type { EngineWrites } from "../../../domains/domain.js";
import { type EventRow, MEMBER, MESSAGE, toDeliveries } from "../../../rules/chat-rows.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "./log-writes.js";

const NOTHING = new Uint8Array();

/** Appends events to channels, which crowds do at once. */
export function eventAppending(db: Connection, log: WriteLog): EngineWrites {
  const insert = db.prepare<unknown[]>(
    `INSERT INTO chat_events (world_id, id, tag, channel, type, sender, timestamp, replaces, deleted, content, author)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const note = db.prepare<[number, number, number]>(
    "UPDATE chat_channels SET last_event = ?, last_message = ? WHERE number = ?",
  );
  const unlist = db.prepare<[string, string, number]>(
    `UPDATE chat_readers SET listed = NULL
     WHERE world_id = ? AND user_id = ? AND channel = ? AND listed IS NOT NULL`,
  );
  const show = db
    .prepare<[string, number], string>(
      `UPDATE chat_members SET hidden = 0 WHERE world_id = ? AND channel = ? AND hidden = 1
       RETURNING user_id`,
    )
    .pluck();

  return {
    async appendEvent(world, channel, given, notified = []) {
      const { type, sender, content, replaces = null, deleted = 0 } = given;
      const { number, direct } = channel;
      let appeared: string[] = [];
      if (type === MESSAGE && direct !== null) appeared = show.all(world, number);
      else if (type === MESSAGE) unlist.run(world, sender, number);
      const timestamp = Date.now();
      const [id, tag] = [log.next(world), log.newTag()];
      insert.run(
        world,
        id,
        tag,
        number,
        type,
        sender,
        timestamp,
        replaces,
        deleted,
        content ?? NOTHING,
        log.authorBeside(sender),
      );
      const { last_event: previous, last_message: previousMessage } = channel;
      channel.last_event = id;
      if (type !== MEMBER) channel.last_message = id;
      note.run(id, channel.last_message, number);
      const event: EventRow = {
        id,
        type,
        sender,
        timestamp,
        replaces,
        deleted,
        content,
        edited: null,
      };
      const row = { event, previous, previousMessage, notified, appeared };
      const delivery = toDeliveries(channel.id, [row])[0]!;
      log.deliver(world, tag, delivery);
      return delivery;
    },
  };
}
