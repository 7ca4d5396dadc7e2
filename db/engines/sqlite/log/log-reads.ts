import { type Entry, entryOf, type EntryRow, storedChatEntry } from "../../../log/entries.js";
import type { Position, Stretch } from "../../../log/log.js";
import { readNewDeliveries } from "../../../domains/chat/event-reads.js";
import type { Sql } from "../../../domains/sql.js";
import type { Connection } from "../engine/connection.js";

/** The reads of the log. */
export function logReads(db: Connection, sql: Sql) {
  const selectHeads = db.prepare<[string], Position>(
    `SELECT coalesce(seq, 0) AS seq, coalesce(tag, 0) AS tag
     FROM json_each(?) AS asked LEFT JOIN log_heads ON world_id = asked.value
     ORDER BY asked.key`,
  );
  // The last entry may be pruned, and then only the head has its tag.
  const selectTag = db
    .prepare<{ world: string; seq: number }, number>(
      `SELECT tag FROM log_heads WHERE world_id = @world AND seq = @seq
       UNION ALL SELECT tag FROM log WHERE world_id = @world AND seq = @seq
       UNION ALL SELECT tag FROM chat_events WHERE world_id = @world AND id = @seq
       LIMIT 1`,
    )
    .pluck();
  const select = db.prepare<
    [string, number, number],
    Omit<EntryRow, "world_id"> & { world: string }
  >(
    `SELECT world_id AS world, seq, tag, at, type, author, detail,
       CASE typeof(data) WHEN 'text' THEN data END AS data
     FROM log WHERE world_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
  );
  const selectPruned = db
    .prepare<[string], number>("SELECT pruned FROM log_heads WHERE world_id = ?")
    .pluck();

  return {
    heads: (worlds: readonly string[]): Position[] => selectHeads.all(JSON.stringify(worlds)),

    floor: (world: string): number => selectPruned.get(world) ?? 0,

    async since(world: string, seq: number, limit: number): Promise<Stretch<Entry>> {
      const tag = seq === 0 ? 0 : selectTag.get({ world, seq });
      const entries = select.all(world, seq, limit).map(entryOf);
      const events = await readNewDeliveries(sql, world, seq, Number.MAX_SAFE_INTEGER, limit);
      const chat = events.map((event) => storedChatEntry(world, event));
      return {
        tag,
        entries: [...entries, ...chat].sort((a, b) => a.seq - b.seq).slice(0, limit),
      };
    },
  };
}
