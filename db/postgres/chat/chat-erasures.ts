import { absent } from "../../rules/preconditions.js";
import type { Log } from "../log/log.js";
import type { Sql } from "../../shared/sql.js";

/** How many events of a user one slice empties. */
const EMPTIED = 1000;

/** How many old events one slice deletes. */
const SLICE = 200;

const EMPTY = `
  WITH own AS MATERIALIZED (
    SELECT channel, id FROM chat_events
    WHERE world_id = $1 AND sender = $2 AND type <> 1 AND id > $3::bigint
    ORDER BY id LIMIT ${EMPTIED}),
  emptied AS (
    UPDATE chat_events AS e SET content = NULL, deleted = 1 FROM own
    WHERE e.world_id = $1 AND e.channel = own.channel AND e.id = own.id
      AND e.type = 0 AND e.deleted = 0
    RETURNING e.id),
  forgotten AS (
    DELETE FROM chat_notifications AS n USING own
    WHERE n.world_id = $1 AND n.channel = own.channel AND n.event = own.id)
  SELECT EXISTS (SELECT 1 FROM users WHERE world_id = $1 AND id = $2) AS "isUser",
    (SELECT count(*) FROM own) AS seen, (SELECT max(id) FROM own) AS last,
    (SELECT count(*) FROM emptied) AS emptied`;

/** @see ChatStore.empty */
export async function emptyMessages(
  sql: Sql,
  log: Log,
  worldId: string,
  user: string,
  after: number,
): Promise<{ next: number | undefined; emptied: number }> {
  const values = [worldId, user, after];
  const { isUser, seen, last, emptied } = (await sql.one<{
    isUser: boolean;
    seen: number;
    last: number;
    emptied: number;
  }>(EMPTY, values))!;
  if (!isUser) throw absent("user");
  if (emptied > 0) {
    log.erased("chat_events", "chat_notifications");
    log.append({ type: "chat.erased" });
  }
  return { next: seen < EMPTIED ? undefined : last, emptied };
}

/** Deletes the events of `old` with all that belongs to them. @returns how many. */
const deleting = (old: string) => `
  WITH old AS MATERIALIZED (${old}),
  edits AS (DELETE FROM chat_edits AS t USING old WHERE t.world_id = $1 AND t.event = old.id),
  reactions AS (
    DELETE FROM chat_reactions AS t USING old WHERE t.world_id = $1 AND t.event = old.id),
  notifications AS (
    DELETE FROM chat_notifications AS t USING old
    WHERE t.world_id = $1 AND t.channel = old.channel AND t.event = old.id)
  DELETE FROM chat_events AS t USING old
    WHERE t.world_id = $1 AND t.channel = old.channel AND t.id = old.id`;

const oldest = "ORDER BY id LIMIT";

/** The old events of each channel, up to the first event that is not old. */
const EXPIRE = deleting(`
  SELECT c.number AS channel, e.id FROM chat_channels AS c CROSS JOIN LATERAL (
    SELECT id, bool_and(timestamp < $2::bigint) OVER (ORDER BY id) AS is_old FROM (
      SELECT id, timestamp FROM chat_events
      WHERE world_id = $1 AND channel = c.number ${oldest} ${SLICE}) AS first) AS e
  WHERE c.world_id = $1 AND e.is_old AND $2::bigint > (
    SELECT timestamp FROM chat_events WHERE world_id = $1 AND channel = c.number ${oldest} 1)
  LIMIT ${SLICE}`);

const ERASE = deleting(`
  SELECT channel, id FROM chat_events
  WHERE world_id = $1 AND channel = $2::bigint ${oldest} $3::bigint`);

const erased = (log: Log) =>
  log.erased(
    "chat_events",
    "chat_edits",
    "chat_reactions",
    "chat_notifications",
  );

/** @see ChatStore.expire */
export async function expireEvents(
  sql: Sql,
  log: Log,
  worldId: string,
  before: number,
): Promise<boolean> {
  const count = await sql.run(EXPIRE, [worldId, Math.ceil(before)]);
  if (count > 0) {
    erased(log);
    log.append({ type: "chat.erased" });
  }
  return count === SLICE;
}

/**
 * Erases a slice of the remains of a deleted channel.
 * @param channel its number.
 */
export async function eraseRemains(
  sql: Sql,
  log: Log,
  worldId: string,
  channel: number,
  limit: number,
): Promise<void> {
  const count = await sql.run(ERASE, [worldId, channel, limit]);
  if (count > 0) erased(log);
  if (count === limit) return;
  await sql.run(
    "DELETE FROM chat_remains WHERE world_id = $1 AND channel = $2::bigint",
    [worldId, channel],
  );
}
