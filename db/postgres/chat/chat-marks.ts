import type { NewMark } from "../../contract/chat.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { Sql } from "../../shared/sql.js";

/** Makes the channels of rooms without any event yet. */
const CLAIM = `
  INSERT INTO chat_channels (world_id, id)
  SELECT DISTINCT $1, rooms.id FROM unnest($2::text[], $3::text[]) AS mark (user_id, channel)
  JOIN rooms ON rooms.world_id = $1 AND rooms.id = mark.channel
  JOIN users ON users.world_id = $1 AND users.id = mark.user_id AND ${IS_KNOWN}
  WHERE NOT EXISTS (SELECT 1 FROM chat_channels AS c WHERE c.world_id = $1 AND c.id = rooms.id)`;

const MARK = `
  WITH mark AS MATERIALIZED (
    SELECT users.id AS user_id, c.number AS channel, named.pointer, named.listed, named.highest, named.forward
    FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[])
      AS named (user_id, channel, pointer, listed, highest, forward)
    JOIN users ON users.world_id = $1 AND users.id = named.user_id AND ${IS_KNOWN}
    JOIN chat_channels AS c ON c.world_id = $1 AND c.id = named.channel),
  forgotten AS (
    DELETE FROM chat_notifications AS n USING mark WHERE n.world_id = $1
      AND n.user_id = mark.user_id AND n.channel = mark.channel AND n.event <= mark.highest)
  INSERT INTO chat_readers (world_id, user_id, channel, pointer, listed)
  SELECT $1, user_id, channel, pointer, listed FROM mark
  WHERE NOT (forward AND EXISTS (
    SELECT 1 FROM chat_readers AS r WHERE r.world_id = $1 AND r.user_id = mark.user_id
      AND r.channel = mark.channel AND r.pointer > mark.pointer))
  ON CONFLICT (world_id, user_id, channel)
    DO UPDATE SET pointer = excluded.pointer, listed = excluded.listed`;

/** Notes how far users of one world have read. @see ChatStore.mark */
export async function markRead(
  sql: Sql,
  worldId: string,
  marks: readonly NewMark[],
): Promise<void> {
  // Of several marks of a user in a channel, the last counts, and all remove notifications.
  const last = new Map<string, NewMark & { highest: number | null }>();
  for (const mark of marks) {
    const { user, channel, pointer } = mark;
    const key = `${user} ${channel}`;
    const before = last.get(key)?.highest ?? null;
    const highest =
      before === null || (pointer !== null && pointer > before)
        ? pointer
        : before;
    last.set(key, { ...mark, highest });
  }
  const all = [...last.values()];
  const users = all.map(({ user }) => user);
  const channels = all.map(({ channel }) => channel);
  await sql.run(CLAIM, [worldId, users, channels]);
  await sql.run(MARK, [
    ...[worldId, users, channels],
    all.map(({ pointer }) => pointer),
    all.map(({ listed }) => listed),
    all.map(({ highest }) => highest),
    all.map(({ forward = false }) => forward),
  ]);
}
