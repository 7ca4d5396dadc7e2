import type { DomainLog, Sql } from "./domain.js";

/** The column that identifies a reported item among items of its kind. */
const KEYS = { message: "event", question: "question" } as const;

const closing = (kind: keyof typeof KEYS) => `UPDATE reports
  SET state = 'deleted', resolved_at = $3, resolved_by = $4
  WHERE world_id = $1 AND kind = '${kind}' AND ${KEYS[kind]} = $2 AND state = 'open'
  RETURNING id, room_id AS "inRoom"`;

const CLOSE = { message: closing("message"), question: closing("question") };

/**
 * Closes the open reports of a message or question that a moderator deletes outside the report list.
 * Reports stay open if the author deletes it, because authors must not be able to close reports
 * about themselves.
 * @param moderator the id of the moderator; null if a call without a user deleted it.
 */
export async function closeReports(
  sql: Sql,
  log: DomainLog,
  world: string,
  kind: keyof typeof KEYS,
  key: string | number,
  moderator: string | null,
): Promise<void> {
  const params = [world, key, Date.now(), moderator];
  const closed = await sql.all<{ id: string; inRoom: string | null }>(CLOSE[kind], params);
  for (const { id, inRoom } of closed) {
    log.append(world, { type: "report.resolved", report: id, kind, inRoom, action: "deleted" });
  }
}
