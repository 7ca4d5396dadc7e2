import type { WorldStates } from "../../rules/world-states.js";
import type { FastifyBaseLogger } from "fastify";
import type { ChatStore } from "../../../db/contract/chat.js";
import { StoreError, type UserStore } from "../../../db/contract/store.js";
import type { Connection } from "../../socket/connection.js";
import { isSilenced } from "../../rules/rights.js";
import type { ChatMetrics } from "./ports.js";
import { hasName } from "./users.js";

/** The ports of forced joins. */
export interface JoinPorts {
  readonly log: FastifyBaseLogger;
  readonly store: { readonly chat: ChatStore; readonly users: UserStore };
  readonly states: WorldStates;
  readonly metrics: ChatMetrics | undefined;
}

/**
 * Makes the user of a connection a lasting member of the rooms that ask for it. It
 * may be called as often as one likes, also twice at a time.
 */
export async function forceJoins(ports: JoinPorts, connection: Connection): Promise<void> {
  try {
    await join(ports, connection);
  } catch (error) {
    // The next login does it. A server that stops ends its connections first.
    if (connection.ended || error instanceof StoreError) {
      ports.log.debug(error, "a forced join failed");
    } else ports.log.error(error);
  }
}

async function join(ports: JoinPorts, connection: Connection): Promise<void> {
  const { world, login } = connection;
  if (connection.ended || !login) return;
  const state = await ports.states.get(world);
  if (!state) return;
  const view = connection.viewOf(state);
  const forced = state.forced.filter(({ id }) => view.joins(id));
  if (forced.length === 0) return;
  const user = await ports.store.users.get(world, login.user);
  // A silenced user joins with the first login after the silence.
  if (!user || !hasName(user) || isSilenced(user)) return;
  const { chat } = ports.store;
  const memberships = await chat.memberships(world, login.user);
  const joined = new Set(memberships.map(({ id }) => id));
  for (const { id } of forced) {
    if (joined.has(id)) continue;
    // Without the connection, which asked for nothing: it gets the push like the others.
    const by = { kind: "user", user: login.user } as const;
    const join = await chat.join(world, id, login.user, by);
    if (join) ports.metrics?.chatted(join.event.type);
  }
}
