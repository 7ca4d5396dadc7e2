import type { Database as Connection } from "better-sqlite3";
import { readNewDeliveries } from "../../../domains/chat/event-reads.js";
import type { Sql } from "../../../domains/domain.js";
import {
  type Entry,
  entryOf,
  type EntryRow,
  INDEX,
  KEPT_COLUMNS,
  type LogPosition,
  storedChatEntry,
  type Stretch,
} from "../../../log/entries.js";
import { blankAudit, blankOf } from "../erasure/scrub.js";
import type { WriteLog } from "./log-writes.js";

export function logReads(db: Connection, sql: Sql) {
  const selectHeads = db.prepare<[string], LogPosition>(
    `SELECT coalesce(seq, 0) AS seq, coalesce(tag, 0) AS tag
     FROM json_each(?) AS asked LEFT JOIN log_heads ON world_id = asked.value
     ORDER BY asked.key`,
  );
  // The last entry may have been pruned, in which case only the head still has its tag.
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
    heads: (worlds: readonly string[]): LogPosition[] => selectHeads.all(JSON.stringify(worlds)),

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

/** Maximum number of entries that one slice deletes. */
const SLICE = 1000;

/** How long entries keep their hidden data, and how long a deleted world's log is kept. */
const KEPT_FOR_MS = 60 * 60 * 1000;

/**
 * Minimum distance between a deleted row and an entry with data, in rows. SQLite merges pages that
 * have shrunk with their neighbors, and leaves the old bytes where the rows were. A 4 KiB page
 * holds about 60 rows at most, and at most three pages are merged.
 */
const DISTANCE = 500;

/**
 * Maximum span of the rowids that one slice deletes. The span is bounded, because the slice also
 * moves all audited entries within the span.
 */
const SPAN = 10 * SLICE;

/** Matches the rows that SQLite may move when the rows from `first` to `last` are deleted. */
const NEAR = `rowid BETWEEN
  coalesce((SELECT rowid FROM log WHERE rowid < @first ORDER BY rowid DESC LIMIT 1 OFFSET ${DISTANCE}), @first - ${DISTANCE})
  AND coalesce((SELECT rowid FROM log WHERE rowid > @last ORDER BY rowid LIMIT 1 OFFSET ${DISTANCE}), @last + ${DISTANCE})`;

/** Creates the write that deletes old entries. The write must run inside its caller's transaction. */
export function logPruning(db: Connection, log: WriteLog) {
  const blank = db.prepare<[number]>(
    `UPDATE log SET data = ${blankOf("data")} WHERE typeof(data) = 'text' AND at < ?`,
  );
  const firstWithData = db
    .prepare<[], number | null>("SELECT min(rowid) FROM log WHERE typeof(data) = 'text'")
    .pluck();
  const selectOldest = db.prepare<[string, number], { rowid: number; seq: number; at: number }>(
    "SELECT rowid, seq, at FROM log WHERE world_id = ? ORDER BY seq LIMIT ?",
  );
  const note = db.prepare<[number, string]>(
    "UPDATE log_heads SET pruned = max(pruned, ?) WHERE world_id = ?",
  );
  const keep = db.prepare<{ first: number; last: number }>(
    `INSERT INTO log_kept (${KEPT_COLUMNS}) SELECT ${KEPT_COLUMNS} FROM log
       WHERE typeof(audit) = 'text' AND ${NEAR}`,
  );
  const blankKept = db.prepare<{ first: number; last: number }>(blankAudit(NEAR));
  const forget = db.prepare<[string, number]>(
    blankAudit(`rowid IN (SELECT rowid FROM log WHERE world_id = ? AND audit IS NOT NULL
      AND typeof(audit) = 'text' AND at < ? LIMIT ${SLICE})`),
  );
  const remove = db.prepare<[string]>(
    "DELETE FROM log WHERE rowid IN (SELECT value FROM json_each(?))",
  );
  const selectDeleted = db
    .prepare<[], string>(
      `SELECT world_id FROM log_heads WHERE world_id != '${INDEX}'
         AND NOT EXISTS (SELECT 1 FROM worlds WHERE id = world_id)
         AND EXISTS (SELECT 1 FROM log WHERE log.world_id = log_heads.world_id)`,
    )
    .pluck();

  /** @returns whether there may be more entries to remove. */
  function removeOldest(world: string, before: number): boolean {
    const oldest = selectOldest.all(world, SLICE);
    const first = oldest[0]?.rowid ?? 0;
    const end = firstWithData.get() ?? Infinity;
    const isNear = ({ rowid }: { rowid: number }) => rowid < first + SPAN;
    const keeps = oldest.findIndex(
      (row) => row.at >= before || row.rowid > end - DISTANCE || !isNear(row),
    );
    const old = keeps === -1 ? oldest : oldest.slice(0, keeps);
    if (old.length === 0) return false;
    const last = old.at(-1)!;
    // First blank every row that the deletion may move, so that SQLite leaves no copy of any text
    // behind.
    const range = { first, last: last.rowid };
    keep.run(range);
    blankKept.run(range);
    remove.run(JSON.stringify(old.map(({ rowid }) => rowid)));
    note.run(last.seq, world);
    return old.length === SLICE || (keeps > 0 && !isNear(oldest[keeps]!));
  }

  return {
    /** @see LogStore.prune */
    pruneLog(worldId: string, before: number, audited: number): boolean {
      const lately = Date.now() - KEPT_FOR_MS;
      if (blank.run(lately).changes > 0) log.erased();
      const forgotten = audited > before ? forget.run(worldId, audited).changes : 0;
      if (forgotten > 0) log.erased();
      if (forgotten === SLICE) return true;
      let hasMore = removeOldest(worldId, before);
      if (worldId !== INDEX) return hasMore;
      for (const world of selectDeleted.all()) {
        hasMore = removeOldest(world, lately) || hasMore;
      }
      return hasMore;
    },
  };
}
