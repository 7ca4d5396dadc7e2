import type { EngineWrites } from "../../shared/domain.js";
import { channelWrites } from "../chat/chat-channels.js";
import { eventWriter } from "../chat/chat-messages.js";
import type { WriteLog } from "../log/log-writes.js";
import type { userWrites } from "../users/user-writes.js";
import { voteWrites } from "../votes/votes.js";
import type { worldWrites } from "../worlds/world-writes.js";
import type { Connection } from "./connection.js";

/** What this engine writes in its own way, inside a write of a domain. */
export function ownWrites(
  db: Connection,
  log: WriteLog,
  users: Pick<ReturnType<typeof userWrites>, "enterUser">,
  worlds: Pick<ReturnType<typeof worldWrites>, "configureWorld">,
): EngineWrites {
  const channels = channelWrites(db);
  const post = eventWriter(db, log);
  return {
    ...voteWrites(db),
    enterUser: async (world, { traits, ...visitor }) =>
      users.enterUser(world, { traits: [...traits], ...visitor }),
    async configureWorld(world, config) {
      await worlds.configureWorld(world, { config });
    },
    async postInRoom(world, room, event) {
      const channel =
        channels.expect(world, room) ?? channels.create(world, room);
      return post(world, channel, event);
    },
  };
}
