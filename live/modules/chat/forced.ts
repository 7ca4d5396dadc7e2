import { StoreError } from "../../../db/contract/store.js";
import type { Connection } from "../../socket/connection.js";
import type { Live } from "../../live.js";
import { isSilenced } from "../../rules/rights.js";
import { hasName } from "./users.js";

/**
 * Makes the user of a connection a lasting member of the rooms that ask for it. It
 * may be called as often as one likes, also twice at a time.
 */
export async function forceJoins(
  live: Live,
  connection: Connection,
): Promise<void> {
  try {
    await join(live, connection);
  } catch (error) {
    // The next login does it. A server that stops ends its connections first.
    if (connection.ended || error instanceof StoreError) {
      live.log.debug(error, "a forced join failed");
    } else live.log.error(error);
  }
}

async function join(live: Live, connection: Connection): Promise<void> {
  const { world, login } = connection;
  if (connection.ended || !login) return;
  const state = await live.states.get(world);
  if (!state) return;
  const view = live.viewOf(connection, state);
  const forced = state.forced.filter(({ id }) => view.joins(id));
  if (forced.length === 0) return;
  const user = await live.store.users.get(world, login.user);
  // A silenced user joins with the first login after the silence.
  if (!user || !hasName(user) || isSilenced(user)) return;
  const { chat } = live.store;
  const memberships = await chat.memberships(world, login.user);
  const joined = new Set(memberships.map(({ id }) => id));
  for (const { id } of forced) {
    if (joined.has(id)) continue;
    // Without the connection, which asked for nothing: it gets the push like the others.
    const by = { kind: "user", user: login.user } as const;
    const join = await chat.join(world, id, login.user, by);
    if (join) live.metrics?.chatted(join.event.type);
  }
}
