import { randomUUID } from "node:crypto";
import type { HeldRecord, SlowMode } from "../../contract/chat-store.js";
import { isKeptOut, StoreError } from "../../contract/store.js";
import { absent } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { DomainLog, Reading, Sql } from "../domain.js";

// Messages that wait for a moderator's approval. They are kept in a separate table, so that no code
// that reads the chat can expose them.

/** Maximum number of one person's messages that may wait in a room. */
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
 * Maximum assumed difference between the clocks of two nodes, in milliseconds. A time that is
 * further ahead was recorded before a clock was set back, so slow mode ignores it.
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
 * Checks that slow mode lets a person send a message now, and records that they do.
 * @throws {StoreError} `quota` on `slow_mode`; the message is the number of remaining seconds.
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

/**
 * Queues a message for approval.
 * @throws {StoreError} `quota` on `held`.
 */
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
 * Removes a message from the queue after a moderator's decision.
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

/**
 * Checks that a message's author may still send it.
 * @throws {StoreError} `absent` on `event` if the author has been erased or banned.
 */
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

/** Removes the pending edits of a message that has been changed or deleted. */
export const dropEdits = (
  sql: Sql,
  log: DomainLog,
  world: string,
  channel: string,
  event: number,
) => drop(sql, log, world, REMOVE_EDITS, [channel, event]);

/**
 * Removes the messages that have been waiting since before a given time, in milliseconds since
 * 1970.
 */
export const dropOldHeld = (sql: Sql, log: DomainLog, world: string, before: number) =>
  drop(sql, log, world, REMOVE_OLD, [Math.ceil(before)]);
