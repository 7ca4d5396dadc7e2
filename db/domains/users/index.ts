import type { UserStore } from "../../contract/store.js";
import { toUser } from "../../rules/rows.js";
import { type Bound, domain } from "../domain.js";
import { cachedUsers } from "./cached.js";
import { userReads } from "./reads.js";
import { userWrites } from "./writes.js";

/** Users. */
export const users = domain({
  reads: (sql) => ({ ...userReads(sql), ...cachedUsers(sql) }),
  writes: userWrites,
  parameters: {
    enter: 2,
    update: 3,
    moderate: 3,
    moderateNamed: 3,
    block: 3,
    unblock: 3,
    erase: 2,
  },
});

/** The users of a store: rows become frozen records, which cannot come from another thread. */
export function userStore({ written, ...bound }: Bound<typeof users>): UserStore {
  return {
    ...bound,
    async search(...args) {
      const { count, rows } = await bound.search(...args);
      return { count, users: rows.map(toUser) };
    },
    enter: async (...args) => written(args[0], await bound.enter(...args)),
    update: async (...args) => written(args[0], await bound.update(...args)),
    moderate: async (...args) => written(args[0], await bound.moderate(...args)),
    moderateNamed: async (...args) => written(args[0], await bound.moderateNamed(...args)),
  };
}
