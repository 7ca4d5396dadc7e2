import { IS_KNOWN } from "../../rules/rows.js";
import type { Sql } from "../../shared/sql.js";

const QUIT = `
  WITH own AS MATERIALIZED (
    SELECT m.channel, c.direct IS NOT NULL AS is_direct FROM chat_members AS m
    JOIN chat_channels AS c ON c.world_id = $1 AND c.number = m.channel
    WHERE m.world_id = $1 AND m.user_id = $2),
  shown AS (
    UPDATE chat_members AS m SET hidden = 0 FROM own
    WHERE m.world_id = $1 AND m.channel = own.channel AND m.user_id = $2
      AND m.hidden = 1 AND own.is_direct),
  read AS (DELETE FROM chat_readers WHERE world_id = $1 AND user_id = $2),
  told AS (DELETE FROM chat_notifications WHERE world_id = $1 AND user_id = $2)
  DELETE FROM chat_members AS m USING own
  WHERE m.world_id = $1 AND m.channel = own.channel AND m.user_id = $2
    AND NOT own.is_direct`;

/** The direct channels of a user with erased members only. */
const LONELY = `
  WITH removed AS (DELETE FROM chat_channels AS c USING chat_members AS own
  WHERE own.world_id = $1 AND own.user_id = $2
    AND c.world_id = $1 AND c.number = own.channel AND c.direct IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM chat_members AS other
      JOIN users ON users.world_id = $1 AND users.id = other.user_id
      WHERE other.world_id = $1 AND other.channel = own.channel AND ${IS_KNOWN})
    RETURNING c.number, c.last_event)
  INSERT INTO chat_remains (world_id, channel)
  SELECT $1, number FROM removed WHERE last_event > 0`;

/**
 * Ends the memberships and read states of a user who was just erased, except the places in
 * direct channels. Direct channels with erased members only are removed.
 */
export async function quitChat(
  sql: Sql,
  worldId: string,
  user: string,
): Promise<void> {
  await sql.run(QUIT, [worldId, user]);
  await sql.run(LONELY, [worldId, user]);
}
