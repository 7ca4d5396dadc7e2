import { readNewDeliveries } from "../../../domains/chat/event-reads.js";
import type { Sql } from "../../../domains/domain.js";
import {
  entryOf,
  type History,
  INDEX,
  KEPT_COLUMNS,
  type LogStore,
  type LogPosition,
  storedChatEntry,
} from "../../../log/entries.js";
import type { Database } from "../engine/postgres-database.js";

/**
 * Timeout for a read. The read is retried on another connection, because a silently dead connection
 * must not stop the follower.
 */
const READ_TIMEOUT_MS = 3000;

/** Maximum number of entries that one transaction deletes. */
const SLICE = 1000;

/** How long entries keep their hidden data, and how long a deleted world's log is kept. */
const KEPT_FOR_MS = 3_600_000;

const HEADS = `SELECT coalesce(seq, 0) AS seq, coalesce(tag, 0) AS tag
  FROM unnest($1::text[]) WITH ORDINALITY AS named (world, place)
  LEFT JOIN log_heads ON world_id = world ORDER BY place`;

/**
 * Selects whether the database user may call the functions in {@link HISTORY}, which some hosting
 * services forbid.
 */
const MAY_ASK = `SELECT has_function_privilege('pg_current_wal_lsn()', 'EXECUTE')
  AND has_function_privilege('pg_walfile_name(pg_lsn)', 'EXECUTE')`;

/**
 * Selects the timeline, which changes when a standby takes over, or NULL on a standby that has not
 * taken over. Also selects whether commits wait for a synchronous standby: PostgreSQL then shows a
 * commit to readers only once the standby has received it.
 */
const HISTORY = `SELECT
    CASE WHEN NOT pg_is_in_recovery() THEN left(pg_walfile_name(pg_current_wal_lsn()), 8) END AS name,
    current_setting('synchronous_standby_names') <> ''
      AND current_setting('synchronous_commit') NOT IN ('off', 'local') AS "isKept"`;

/**
 * Selects the number of a world's last entry, and the tag of the entry with a given number, or NULL
 * if that entry has been deleted.
 */
const PLACE = `SELECT seq, CASE WHEN $2::bigint = 0 THEN 0 WHEN $2::bigint = seq THEN tag ELSE coalesce(
    (SELECT tag FROM log WHERE world_id = $1 AND seq = $2::bigint),
    (SELECT tag FROM chat_events WHERE world_id = $1 AND id + 0 = $2::bigint)) END AS tag
  FROM log_heads WHERE world_id = $1`;

const SINCE = `SELECT world_id AS world, seq, tag, at, type, author, detail, data
  FROM log WHERE world_id = $1 AND seq > $2::bigint ORDER BY seq LIMIT $3::bigint`;

const ERASE_OLD_DATA = `UPDATE log SET data = NULL
  WHERE world_id = $1 AND data IS NOT NULL AND at < $2::bigint`;

const PRUNE = `WITH gone AS (
    DELETE FROM log WHERE world_id = $1 AND at < $2::bigint AND seq IN (
      SELECT seq FROM log WHERE world_id = $1 ORDER BY seq LIMIT ${SLICE})
    RETURNING ${KEPT_COLUMNS}),
  kept AS (
    INSERT INTO log_kept (${KEPT_COLUMNS}) SELECT ${KEPT_COLUMNS} FROM gone WHERE audit IS NOT NULL),
  noted AS (
    UPDATE log_heads SET pruned = greatest(pruned, (SELECT max(seq) FROM gone))
    WHERE world_id = $1 AND EXISTS (SELECT FROM gone))
  SELECT count(*) FROM gone`;

const FORGET = `UPDATE log SET audit = NULL, changes = NULL WHERE world_id = $1 AND seq IN (
  SELECT seq FROM log WHERE world_id = $1 AND audit IS NOT NULL AND at < $2::bigint LIMIT ${SLICE})`;

const FLOOR = "SELECT pruned FROM log_heads WHERE world_id = $1";

/** Selects the deleted worlds that still have entries. */
const GONE = `SELECT world_id FROM log_heads WHERE world_id <> ''
  AND NOT EXISTS (SELECT FROM worlds WHERE id = world_id)
  AND EXISTS (SELECT FROM log WHERE log.world_id = log_heads.world_id)`;

/** Creates the log store for a PostgreSQL database. */
export const logStore = (db: Database): LogStore => ({
  heads: (worlds) => db.soon(READ_TIMEOUT_MS).all<LogPosition>(HEADS, [worlds]),

  since: (world, seq, limit) =>
    db.snapshot(async (sql) => {
      const values = [world, seq];
      const place = await sql.one<{ seq: number; tag: number | null }>(PLACE, values);
      const tag = place ? (place.tag ?? undefined) : seq === 0 ? 0 : undefined;
      const isNew = place && place.seq > seq;
      const last = place?.seq ?? 0;
      return { tag, entries: isNew ? await readEntries(sql, world, seq, limit, last) : [] };
    }, READ_TIMEOUT_MS),

  history: historyOf(db),

  floor: async (world) => Number((await db.sql.value(FLOOR, [world])) ?? 0),

  async prune(world, before, audited = 0) {
    let count = await pruneLog(db, world, before, audited);
    if (world !== INDEX) return count === SLICE;
    // Also prunes the logs of deleted worlds: callers do not list them, and processes stop
    // following them soon.
    for (const gone of await db.sql.column<string>(GONE)) {
      count = Math.max(count, await pruneLog(db, gone, Date.now() - KEPT_FOR_MS));
    }
    return count === SLICE;
  },
});

/** Creates a function that reads the database's history, or returns the last known history on a standby. */
function historyOf(db: Database): () => Promise<History | undefined> {
  let mayAsk: boolean | undefined;
  let last: History | undefined;
  return async () => {
    const sql = db.soon(READ_TIMEOUT_MS);
    mayAsk ??= Boolean(await sql.value(MAY_ASK));
    if (!mayAsk) return undefined;
    const found = await sql.one<History | { name: null }>(HISTORY);
    if (found?.name) last = found;
    return last;
  };
}

/** Prunes a slice of a world's log. @returns {@link SLICE} if there may be more, or a smaller number if not. */
const pruneLog = (db: Database, world: string, before: number, audited = 0) =>
  db.write(world, async (sql, log) => {
    const erased = await sql.run(ERASE_OLD_DATA, [world, Date.now() - KEPT_FOR_MS]);
    const forgotten = audited > before ? await sql.run(FORGET, [world, Math.ceil(audited)]) : 0;
    if (erased + forgotten > 0) log.erased("log");
    if (forgotten === SLICE) return SLICE;
    return Number(await sql.value(PRUNE, [world, Math.ceil(before)]));
  });

/**
 * Reads entries, including chat events.
 * @param head the number of the last entry.
 */
async function readEntries(sql: Sql, world: string, seq: number, limit: number, head: number) {
  const rows = await sql.all<Parameters<typeof entryOf>[0]>(SINCE, [world, seq, limit]);
  const entries = rows.map(entryOf);
  const last = rows.length === limit ? rows.at(-1)!.seq : head;
  // Any missing number may belong to a chat event.
  if (rows.length === last - seq) return entries;
  const events = await readNewDeliveries(sql, world, seq, last, limit);
  entries.push(...events.map((event) => storedChatEntry(world, event)));
  return entries.sort((a, b) => a.seq - b.seq).slice(0, limit);
}
