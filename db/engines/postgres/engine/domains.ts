import type { ChatDelivery } from "../../../contract/chat-store.js";
import {
  type AnyDomain,
  type BoundAll,
  boundWrites,
  type DomainLog,
  type EngineWrites,
  type Reading,
  type Sql,
} from "../../../domains/domain.js";
import { domains } from "../../../domains/index.js";
import { runSearch } from "../../../domains/searches.js";
import { MEMBER, MESSAGE, toDeliveries } from "../../../rules/chat-rows.js";
import type { Log } from "../log/postgres-log.js";
import type { Database } from "./postgres-database.js";

/** Binds the methods of all domains. Each write is a transaction on one world. */
export function boundDomains(db: Database): BoundAll<typeof domains> {
  const reading: Reading = {
    ...db.sql,
    snapshot: (read) => db.snapshot(read),
    cached: (kind, size) => db.caches[kind].reads(size),
    search: (kind, world, wanted, signal) =>
      db.searches.run(kind, world, () => runSearch(kind, db.sql, world, wanted), signal),
  };
  const bind = (one: AnyDomain) => ({
    ...one.reads(reading),
    ...boundWrites(one, (write, args, by) => {
      const world = args[0] as string;
      const isExclusive = one.exclusive?.[write]?.(...args) ?? false;
      return db[isExclusive ? "writeAll" : "write"](
        world,
        (sql, log) => {
          const writes = one.writes(sql, logOf(world, sql, log), ownWrites(sql, log)) as Record<
            string,
            (...args: readonly unknown[]) => Promise<unknown>
          >;
          return writes[write]!(...args);
        },
        by,
      );
    }),
  });
  return Object.fromEntries(
    Object.entries(domains).map(([name, one]) => [name, bind(one)]),
  ) as unknown as BoundAll<typeof domains>;
}

/** The engine-specific parts of writes. */
const ownWrites = (sql: Sql, log: Log): EngineWrites => ({
  appendEvent: (...args) => appendEvent(sql, log, ...args),
});

const CLEAR_AUDIT = `UPDATE log SET audit = NULL, changes = NULL
  WHERE world_id = $1 AND audit IS NOT NULL`;

/**
 * Creates the log for a domain's writes. The writes may append only to the log of `world`, because
 * a transaction locks a single world.
 */
export function logOf(world: string, sql: Sql, log: Log): DomainLog {
  const within = (other: string) => {
    if (other !== world) throw new Error(`A write of ${world} names ${other}.`);
    return log;
  };
  return {
    append: (world, change) => within(world).append(change),
    appendToAll: (world, change) => within(world).appendToAll(change),
    appendOf: (world, user, change) => within(world).appendOf(user, change),
    user: () => log.user,
    next: (world) => within(world).last + 1,
    skip: (world, count) => within(world).skip(count),
    erased: (...tables) => log.erased(...tables),
    moderated: (world, ...args) => within(world).moderated(...args),
    erasedData: (world) => within(world).erasedData(),
    async eraseAudit(world) {
      await sql.run(CLEAR_AUDIT, [world]);
    },
  };
}

// Each event is stored with a single statement, because crowds post concurrently and the round trip
// to the database server takes longer than the server's work.

/**
 * Builds the statement that stores an event.
 * @param seen a CTE that updates rows in addition to the event's row and the channel's row.
 */
const posting = (seen = "", appeared = "'{}'::text[]") => `WITH event AS (
    INSERT INTO chat_events (world_id, channel, type, sender, timestamp, replaces, deleted, content, id, tag, author)
    VALUES ($1, $2::bigint, $3::bigint, $4, $5::bigint, $6::bigint, $7::bigint, $8, $9::bigint, $10::bigint, $11)),
  ${seen}
  in_channel AS (
    UPDATE chat_channels SET last_event = $9::bigint,
      last_message = CASE WHEN $3::bigint = ${MEMBER} THEN last_message ELSE $9::bigint END
    WHERE world_id = $1 AND number = $2::bigint)
  SELECT ${appeared} AS appeared`;

const OTHER = posting();

/** Removes the sender from a room's unread list. */
const IN_ROOM = posting(`unlisted AS (
  UPDATE chat_readers SET listed = NULL
  WHERE world_id = $1 AND user_id = $4 AND channel = $2::bigint AND listed IS NOT NULL),`);

/** Makes a direct channel reappear for users who had hidden it. */
const IN_DIRECT = posting(
  `shown AS (
    UPDATE chat_members SET hidden = 0
    WHERE world_id = $1 AND channel = $2::bigint AND hidden = 1 RETURNING user_id),`,
  "ARRAY(SELECT user_id FROM shown)",
);

/** @see EngineWrites.appendEvent */
export async function appendEvent(
  sql: Sql,
  log: Log,
  ...[world, channel, event, notified = []]: Parameters<EngineWrites["appendEvent"]>
): Promise<ChatDelivery> {
  const { type, sender, content, replaces = null, deleted = 0 } = event;
  const { number, direct } = channel;
  const text = type !== MESSAGE ? OTHER : direct === null ? IN_ROOM : IN_DIRECT;
  const timestamp = Date.now();
  const { id, tag } = log.nextEvent();
  const values = [world, number, type, sender, timestamp, replaces, deleted, content];
  const { appeared } = (await sql.one<{ appeared: string[] }>(text, [
    ...values,
    id,
    tag,
    log.authorBeside(sender),
  ]))!;
  const { last_event: previous, last_message: previousMessage } = channel;
  channel.last_event = id;
  if (type !== MEMBER) channel.last_message = id;
  const stored = { id, type, sender, timestamp, replaces, deleted, content, edited: null };
  const row = { event: stored, previous, previousMessage, notified, appeared };
  const delivery = toDeliveries(channel.id, [row])[0]!;
  log.posted(tag, delivery);
  return delivery;
}
