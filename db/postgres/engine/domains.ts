import {
  type AnyDomain,
  type BoundAll,
  boundWrites,
  type DomainLog,
  type EngineWrites,
} from "../../shared/domain.js";
import { domains } from "../../shared/index.js";
import type { Sql } from "../../shared/sql.js";
import { postInRoom } from "../chat/chat-posts.js";
import type { Log } from "../log/log.js";
import { enterUser } from "../users/user-writes.js";
import { castBallot, countVote } from "../votes/votes.js";
import { configureWorld } from "../worlds/world-writes.js";
import type { Database } from "./database.js";

/** The methods of all domains. Each write is a transaction of its world. */
export function boundDomains(db: Database): BoundAll<typeof domains> {
  const reading = {
    ...db.sql,
    snapshot: <T>(read: Parameters<typeof db.snapshot<T>>[0]) =>
      db.snapshot(read),
  };
  const bind = (one: AnyDomain) => ({
    ...one.reads(reading),
    ...boundWrites(one, (write, args, by) => {
      const world = args[0] as string;
      return db.write(
        world,
        (sql, log) => {
          const writes = one.writes(
            sql,
            logOf(world, log),
            ownWrites(sql, log),
          ) as Record<
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
  enterUser: (...args) => enterUser(sql, log, ...args),
  async configureWorld(world, config) {
    await configureWorld(sql, log, world, { config });
  },
  postInRoom: (...args) => postInRoom(sql, log, ...args),
  castBallot: (...args) => castBallot(sql, ...args),
  countVote: (...args) => countVote(sql, ...args),
});

/** The log as a domain sees it. A transaction has the lock of one world. */
export function logOf(world: string, log: Log): DomainLog {
  const within = (other: string) => {
    if (other !== world) throw new Error(`A write of ${world} names ${other}.`);
    return log;
  };
  return {
    append: (world, change) => within(world).append(change),
    appendOf: (world, user, change) => within(world).appendOf(user, change),
    next: (world) => within(world).last + 1,
    erased: (...tables) => log.erased(...tables),
    erasedData: (world) => within(world).erasedData(),
  };
}
