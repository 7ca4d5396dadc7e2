import {
  type AnyDomain,
  type BoundAll,
  boundWrites,
  type DomainLog,
  type EngineWrites,
} from "../../../domains/domain.js";
import { domains } from "../../../domains/index.js";
import { runSearch } from "../../../domains/searches.js";
import type { Reading, Sql } from "../../../domains/sql.js";
import { appendEvent } from "../log/event-posts.js";
import type { Log } from "../log/log.js";
import type { Database } from "./database.js";

/** The methods of all domains. Each write is a transaction of its world. */
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

/** What this engine writes in its own way, inside a write of a domain. */
const ownWrites = (sql: Sql, log: Log): EngineWrites => ({
  appendEvent: (...args) => appendEvent(sql, log, ...args),
});

const CLEAR_AUDIT = `UPDATE log SET audit = NULL, changes = NULL
  WHERE world_id = $1 AND audit IS NOT NULL`;

/** The log as a domain sees it. A transaction has the lock of one world. */
export function logOf(world: string, sql: Sql, log: Log): DomainLog {
  const within = (other: string) => {
    if (other !== world) throw new Error(`A write of ${world} names ${other}.`);
    return log;
  };
  return {
    append: (world, change) => within(world).append(change),
    appendToAll: (world, change) => within(world).appendToAll(change),
    appendOf: (world, user, change) => within(world).appendOf(user, change),
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
