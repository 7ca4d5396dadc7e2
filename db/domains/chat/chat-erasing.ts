import { absent } from "../../rules/preconditions.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { DomainLog, Reading, Sql } from "../domain.js";
import { perEngine } from "./event-reads.js";
import { dropOldHeld } from "./held.js";
import { unindexMessages } from "./search.js";

/** Maximum number of expired events that one slice erases. */
const SLICE = 200;

/** Maximum number of events that one slice scans for a user's events. */
const LOOKED_AT = 5000;

/**
 * Builds the statements that remove channels. The channels are removed immediately; their events
 * are erased later, in slices.
 */
const removal = (condition: string) => ({
  note: `INSERT INTO chat_remains (world_id, channel)
    SELECT c.world_id, c.number FROM chat_channels AS c WHERE ${condition} AND c.last_event > 0`,
  remove: `DELETE FROM chat_channels AS c WHERE ${condition}`,
});

const OF_WORLD = removal(`c.world_id = $1 AND c.number IN (
  SELECT number FROM chat_channels WHERE world_id = $1 ORDER BY number LIMIT CAST($2 AS BIGINT))`);
const OF_ROOM = removal("c.world_id = $1 AND c.id = $2");
const OF_NUMBERS = removal("c.world_id = $1 AND c.number = ANY ($2)");

async function removeChannels(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  { note, remove }: ReturnType<typeof removal>,
  params: readonly unknown[],
): Promise<number> {
  if ((await sql.run(note, params)) > 0) log.erased("chat_events");
  return sql.run(remove, params);
}

/** Removes up to `limit` channels in a world. @returns the number of removed channels. */
export const removeChannelsOfWorld = (
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  limit: number,
): Promise<number> => removeChannels(sql, log, OF_WORLD, [world, limit]);

export const removeChannelOfRoom = (
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  room: string,
) => removeChannels(sql, log, OF_ROOM, [world, room]);

const OF_USER = "world_id = $1 AND user_id = $2";

const QUIT = [
  `DELETE FROM chat_members WHERE ${OF_USER} AND EXISTS (SELECT 1 FROM chat_channels AS c
     WHERE c.world_id = $1 AND c.number = chat_members.channel AND c.direct IS NULL)`,
  `UPDATE chat_members SET hidden = 0 WHERE ${OF_USER} AND hidden = 1`,
  `DELETE FROM chat_readers WHERE ${OF_USER}`,
  `DELETE FROM chat_notifications WHERE ${OF_USER}`,
];

/** Selects a user's direct channels in which every member is erased. */
const LONELY = `SELECT c.number FROM chat_members AS own CROSS JOIN chat_channels AS c
  WHERE own.world_id = $1 AND own.user_id = $2
    AND c.world_id = $1 AND c.number = own.channel AND c.direct IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM chat_members AS other CROSS JOIN users
      WHERE other.world_id = $1 AND other.channel = own.channel
        AND users.world_id = $1 AND users.id = other.user_id AND ${IS_KNOWN})`;

/**
 * Removes the memberships and read marks of a user who has just been erased, but keeps memberships
 * in direct channels. A direct channel is removed once all of its members are erased.
 */
export async function quitChat(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  user: string,
): Promise<void> {
  for (const statement of QUIT) await sql.run(statement, [world, user]);
  const lonely = await sql.column<number>(LONELY, [world, user]);
  if (lonely.length > 0) await removeChannels(sql, log, OF_NUMBERS, [world, lonely]);
}

const IS_USER = "SELECT 1 FROM users WHERE world_id = $1 AND id = $2";

const CLEAR = ["chat_edits", "chat_reactions"].map(
  (table) => `DELETE FROM ${table} WHERE world_id = $1 AND event = ANY ($2)`,
);

const FORGET = `DELETE FROM chat_notifications
  WHERE world_id = $1 AND channel = $2 AND event = ANY ($3)`;

const texts = perEngine(({ isPresent, idInWorld, blank, remove }) => {
  const ofUser = `e.world_id = $1 AND ${idInWorld} > $2 AND ${idInWorld} <= $3 AND e.sender = $4`;
  const isSent = `e.type = 0 AND e.deleted = 0 AND ${isPresent}`;
  const oldest = `WHERE e.world_id = $1 AND e.channel = $2 AND ${isPresent} ORDER BY e.id LIMIT $3`;
  return {
    last: `SELECT e.id FROM chat_events AS e WHERE e.world_id = $1 AND ${idInWorld} > $2
      ORDER BY ${idInWorld} LIMIT 1 OFFSET ${LOOKED_AT - 1}`,
    sent: `SELECT e.id FROM chat_events AS e WHERE ${ofUser} AND ${isSent}`,
    inRooms: `SELECT e.id, c.id AS channel FROM chat_events AS e
      JOIN chat_channels AS c ON c.world_id = $1 AND c.number = e.channel AND c.direct IS NULL
      WHERE ${ofUser} AND ${isSent} AND e.replaces IS NULL ORDER BY e.id`,
    empty: `UPDATE chat_events AS e SET content = ${blank}, deleted = 1 WHERE ${ofUser} AND ${isSent}`,
    forget: `DELETE FROM chat_notifications WHERE (world_id, channel, event) IN (
      SELECT e.world_id, e.channel, e.id FROM chat_events AS e WHERE ${ofUser})`,
    expired: `SELECT c.number FROM chat_channels AS c WHERE c.world_id = $1 AND (
        SELECT e.timestamp FROM chat_events AS e
        WHERE e.world_id = $1 AND e.channel = c.number AND ${isPresent} ORDER BY e.id LIMIT 1
      ) < $2 LIMIT $3`,
    oldest: `SELECT e.id, e.timestamp FROM chat_events AS e ${oldest}`,
    remove: `${remove} WHERE e.world_id = $1 AND e.channel = $2 AND e.id = ANY ($3)`,
  };
});

const CAPTIONS_OF = "DELETE FROM captions WHERE world_id = $1 AND user_id = $2";

const noteErased = (log: Pick<DomainLog, "erased">) =>
  log.erased("chat_events", "chat_edits", "chat_reactions", "chat_notifications");

/** Returns a user's messages in rooms within a slice of the world's events. */
export const sentBy = (sql: Reading, world: string, user: string, after: number) =>
  sql.snapshot(async (sql) => {
    const { last, inRooms } = texts(sql);
    const next = await sql.value<number>(last, [world, after]);
    const params = [world, after, next ?? Number.MAX_SAFE_INTEGER, user];
    return { next, messages: await sql.all<{ id: number; channel: string }>(inRooms, params) };
  });

// Reports contain the content as it was when it was reported.
const EXPIRE_REPORTS = "DELETE FROM reports WHERE world_id = $1 AND reported_at < $2";

export function chatErasures(sql: Sql, log: DomainLog) {
  const { last, sent, empty, forget, expired } = texts(sql);
  return {
    async empty(
      world: string,
      user: string,
      after: number,
    ): Promise<{ next: number | undefined; emptied: number }> {
      if (!(await sql.one(IS_USER, [world, user]))) throw absent("user");
      if (after === 0 && (await sql.run(CAPTIONS_OF, [world, user])) > 0) {
        log.erased("captions");
        log.append(world, { type: "caption.erased" });
      }
      const next = await sql.value<number>(last, [world, after]);
      const params = [world, after, next ?? Number.MAX_SAFE_INTEGER, user];
      await unindexMessages(sql, log, world, await sql.column<number>(sent, params));
      const emptied = await sql.run(empty, params);
      if (emptied > 0) {
        await sql.run(forget, params);
        log.erased("chat_events", "chat_notifications");
        log.append(world, { type: "chat.erased" });
      }
      return { next, emptied };
    },

    async expire(world: string, before: number): Promise<boolean> {
      let left = SLICE;
      await dropOldHeld(sql, log, world, before);
      const reports = await sql.run(EXPIRE_REPORTS, [world, Math.ceil(before)]);
      if (reports > 0) log.erased("reports", "report_reasons");
      const channels = await sql.column<number>(expired, [world, Math.ceil(before), SLICE]);
      for (const channel of channels) {
        left -= await eraseOldest(sql, log, world, channel, left, before);
        if (left === 0) break;
      }
      if (left < SLICE) noteErased(log);
      if (left < SLICE || reports > 0) log.append(world, { type: "chat.erased" });
      return left === 0;
    },
  };
}

/** Erases a channel's oldest events, up to a time. @returns the number of erased events. */
async function eraseOldest(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  channel: number,
  limit: number,
  before = Infinity,
): Promise<number> {
  const { oldest, remove } = texts(sql);
  const params = [world, channel, limit];
  const rows = await sql.all<{ id: number; timestamp: number }>(oldest, params);
  const end = rows.findIndex(({ timestamp }) => timestamp >= before);
  const ids = (end === -1 ? rows : rows.slice(0, end)).map(({ id }) => id);
  if (ids.length === 0) return 0;
  await unindexMessages(sql, log, world, ids);
  await sql.run(remove, [world, channel, ids]);
  for (const statement of CLEAR) await sql.run(statement, [world, ids]);
  await sql.run(FORGET, [world, channel, ids]);
  return ids.length;
}

/** A deleted channel that still has events. */
interface Remains {
  world: string;
  channel: number;
}

/** Returns a deleted channel whose events have not been erased yet. */
export const findRemains = (sql: Sql) =>
  sql.one<Remains>("SELECT world_id AS world, channel FROM chat_remains LIMIT 1");

const END = "DELETE FROM chat_remains WHERE world_id = $1 AND channel = $2";

/** Erases a slice of the events in a deleted channel. */
export async function eraseRemains(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  { world, channel }: Remains,
  limit: number,
): Promise<void> {
  const count = await eraseOldest(sql, log, world, channel, limit);
  if (count > 0) noteErased(log);
  if (count < limit) await sql.run(END, [world, channel]);
}
