import { randomUUID } from "node:crypto";
import type { HeldRecord, SlowMode } from "../../contract/chat-store.js";
import { isKeptOut, StoreError } from "../../contract/store.js";
import { absent } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { DomainLog, Reading, Sql } from "../domain.js";

// Messages that wait for a moderator. They are in a table of their own, so that whatever reads the
// chat cannot find them.

/** Maximum number of messages of one person that wait in a room. */
const MAX_HELD = 20;

const COLUMNS = "h.id, h.room_id AS channel, h.sender, h.replaces, h.content, h.timestamp";

const LIST = `SELECT ${COLUMNS}, count(*) OVER () AS count FROM chat_held AS h
  WHERE h.world_id = $1 AND h.room_id = $2 AND (CAST($3 AS TEXT) IS NULL OR h.sender = $3)
  ORDER BY h.number LIMIT $4`;

const FIND = `SELECT ${COLUMNS} FROM chat_held AS h
  WHERE h.world_id = $1 AND h.room_id = $2 AND h.id = $3`;

const COUNT = `SELECT count(*) FROM chat_held
  WHERE world_id = $1 AND sender = $2 AND room_id = $3`;

const STORE = `INSERT INTO chat_held (world_id, id, room_id, sender, replaces, content, timestamp)
  VALUES ($1, $2, $3, $4, $5, $6, $7)`;

const AUTHOR = `SELECT moderation_state FROM users WHERE world_id = $1 AND id = $2 AND ${IS_KNOWN}`;

const removing = (condition: string) => `DELETE FROM chat_held
  WHERE world_id = $1 AND ${condition} RETURNING id, room_id AS channel, sender`;

const REMOVE = removing("room_id = $2 AND id = $3");
const REMOVE_OF_USER = removing("sender = $2");
const REMOVE_EDITS = removing("room_id = $2 AND replaces = $3");
const REMOVE_OLD = removing("timestamp < $2");

const LAST_SENT =
  "SELECT sent_at FROM chat_paces WHERE world_id = $1 AND room_id = $2 AND user_id = $3";

const NOTE_SENT = `INSERT INTO chat_paces (world_id, room_id, user_id, sent_at)
  VALUES ($1, $2, $3, $4)
  ON CONFLICT (world_id, room_id, user_id) DO UPDATE SET sent_at = excluded.sent_at`;

/**
 * How far the clocks of two nodes may differ, in milliseconds. A time farther ahead was noted before
 * somebody set a clock back, so slow mode ignores it.
 */
const MOST_AHEAD_MS = 60_000;

type Gone = Pick<HeldRecord, "id" | "channel" | "sender">;

export const heldReads = (sql: Reading) => ({
  /** @see ChatStore.held */
  async held(
    world: string,
    channel: string,
    sender: string | null,
    limit: number,
  ): Promise<{ count: number; messages: HeldRecord[] }> {
    const params = [world, channel, sender, limit];
    const rows = await sql.all<HeldRecord & { count: number }>(LIST, params);
    return {
      count: Number(rows[0]?.count ?? 0),
      messages: rows.map(({ count: _, ...message }) => message),
    };
  },

  /** @see ChatStore.heldMessage */
  heldMessage: (world: string, channel: string, id: string): Promise<HeldRecord | undefined> =>
    sql.one<HeldRecord>(FIND, [world, channel, id]),
});

/**
 * Checks that a person does not write too soon, and notes that they write now.
 * @throws {StoreError} `quota` on `slow_mode`, with the seconds that are left as its message.
 */
export async function keepPace(
  sql: Sql,
  world: string,
  room: string,
  user: string,
  slow: SlowMode | undefined,
): Promise<void> {
  if (!slow) return;
  const { seconds, at } = slow;
  const last = await sql.value<number>(LAST_SENT, [world, room, user]);
  const pause = seconds * 1000;
  const ahead = last === undefined ? Infinity : last - at;
  const left = Math.min(ahead, 0) + pause;
  if (left > 0 && ahead < Math.max(pause, MOST_AHEAD_MS)) {
    throw new StoreError("quota", String(Math.ceil(left / 1000)), "slow_mode");
  }
  await sql.run(NOTE_SENT, [world, room, user, at]);
}

/** Stores a message that waits. @throws {StoreError} `quota` on `held`. */
export async function holdMessage(
  sql: Sql,
  log: DomainLog,
  world: string,
  message: Omit<HeldRecord, "id">,
): Promise<HeldRecord> {
  const { channel, sender, replaces, content, timestamp } = message;
  if (replaces !== null) await dropEdits(sql, log, world, channel, replaces);
  const count = Number(await sql.value<number>(COUNT, [world, sender, channel]));
  if (count >= MAX_HELD) {
    throw new StoreError("quota", `At most ${MAX_HELD} messages of a person may wait.`, "held");
  }
  const id = randomUUID();
  await sql.run(STORE, [world, id, channel, sender, replaces, content, timestamp]);
  log.append(world, { type: "chat.held", channel, held: id, user: sender });
  return { id, ...message };
}

/**
 * Takes a message out of the queue, because a moderator has decided.
 * @throws {StoreError} `absent` on `event`.
 */
export async function takeHeld(
  sql: Sql,
  log: DomainLog,
  world: string,
  channel: string,
  id: string,
): Promise<HeldRecord> {
  const held = await sql.one<HeldRecord>(FIND, [world, channel, id]);
  if (!held) throw absent("event");
  await sql.run(REMOVE, [world, channel, id]);
  log.erased("chat_held");
  return held;
}

/** @throws {StoreError} `absent` on `event` if the author was erased or banned. */
export async function expectAuthor(sql: Sql, world: string, user: string): Promise<void> {
  const state = await sql.value<string>(AUTHOR, [world, user]);
  if (state === undefined || isKeptOut(state)) throw absent("event");
}

async function drop(
  sql: Sql,
  log: DomainLog,
  world: string,
  statement: string,
  params: readonly unknown[],
): Promise<readonly Gone[]> {
  const gone = await sql.all<Gone>(statement, [world, ...params]);
  if (gone.length > 0) log.erased("chat_held");
  for (const { id, channel, sender } of gone) {
    log.append(world, { type: "chat.unheld", channel, held: id, user: sender, state: "rejected" });
  }
  return gone;
}

/** Removes the messages of a user from all queues. */
export const dropHeldOf = (sql: Sql, log: DomainLog, world: string, user: string) =>
  drop(sql, log, world, REMOVE_OF_USER, [user]);

/** Removes the edits of a message that wait, because the message was changed or deleted. */
export const dropEdits = (
  sql: Sql,
  log: DomainLog,
  world: string,
  channel: string,
  event: number,
) => drop(sql, log, world, REMOVE_EDITS, [channel, event]);

/** Removes the messages that have waited since before a time, in milliseconds since 1970. */
export const dropOldHeld = (sql: Sql, log: DomainLog, world: string, before: number) =>
  drop(sql, log, world, REMOVE_OLD, [Math.ceil(before)]);
