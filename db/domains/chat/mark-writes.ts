import type { Mark } from "../../contract/chat.js";
import { laterMark } from "../../rules/chat-rows.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { DomainLog } from "../domain.js";
import type { Sql } from "../sql.js";
import { createChannel } from "./channel-rows.js";

const USERS = `SELECT id FROM users WHERE world_id = $1 AND id = ANY ($2) AND ${IS_KNOWN}`;

/** By the ids: for a list of them, SQLite would rather read all channels of the world. */
const CHANNELS = `SELECT id, number FROM chat_channels
  WHERE id = ANY ($2) AND coalesce(world_id, '') = $1`;

const ROOMS = "SELECT id FROM rooms WHERE world_id = $1 AND id = ANY ($2)";

/** The larger of the stored number and the new one. The engines have different functions for it. */
const larger = (column: string) =>
  `CASE WHEN excluded.${column} > chat_readers.${column} OR chat_readers.${column} IS NULL
   THEN excluded.${column} ELSE chat_readers.${column} END`;

const RAISE = `ON CONFLICT (world_id, user_id, channel)
  DO UPDATE SET pointer = ${larger("pointer")}, listed = ${larger("listed")}`;

const NOTIFIED = `SELECT DISTINCT user_id, channel FROM chat_notifications
  WHERE world_id = $1 AND user_id = ANY ($2) AND channel = ANY ($3)`;

const FORGET = `DELETE FROM chat_notifications
  WHERE world_id = $1 AND user_id = $2 AND channel = $3 AND event <= $4`;

/** Notes how far users of one world have read. @see ChatStore.mark */
export async function markRead(
  sql: Sql,
  log: DomainLog,
  world: string,
  marks: readonly Mark[],
): Promise<void> {
  const ids = [...new Set(marks.map(({ user }) => user))];
  const users = new Set(await sql.column<string>(USERS, [world, ids]));
  const ofUsers = marks.filter(({ user }) => users.has(user));
  if (ofUsers.length === 0) return;
  const channels = await claimChannels(sql, world, [
    ...new Set(ofUsers.map(({ channel }) => channel)),
  ]);
  const known = new Map<string, Mark>();
  for (const { user, channel, pointer, listed } of ofUsers) {
    const number = channels.get(channel);
    if (number === undefined) continue;
    const key = `${number} ${user}`;
    const mark = { user, channel, pointer, listed };
    const before = known.get(key);
    known.set(key, before ? laterMark(before, mark) : mark);
  }
  if (known.size === 0) return;
  const rows = [...known.values()].map(({ user, channel, pointer, listed }) => ({
    world_id: world,
    user_id: user,
    channel: channels.get(channel)!,
    pointer,
    listed,
  }));
  await sql.insert("chat_readers", rows, RAISE);
  // Most users have no notifications.
  const notified = await sql.all<{ user_id: string; channel: number }>(NOTIFIED, [
    world,
    [...users],
    [...channels.values()],
  ]);
  for (const { user_id, channel } of notified) {
    const pointer = known.get(`${channel} ${user_id}`)?.pointer;
    if (pointer != null) await sql.run(FORGET, [world, user_id, channel, pointer]);
  }
  log.append(world, { type: "chat.marked", marks: [...known.values()] });
}

/** The numbers of channels by their ids. Those of rooms without any event are made. */
async function claimChannels(
  sql: Sql,
  world: string,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const rows = await sql.all<{ id: string; number: number }>(CHANNELS, [world, ids]);
  const numbers = new Map(rows.map(({ id, number }) => [id, number]));
  const missing = ids.filter((id) => !numbers.has(id));
  if (missing.length === 0) return numbers;
  for (const room of await sql.column<string>(ROOMS, [world, missing])) {
    numbers.set(room, (await createChannel(sql, world, room)).number);
  }
  return numbers;
}
