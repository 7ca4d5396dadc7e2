import type { FastifyBaseLogger } from "fastify";
import type { ChatStore } from "../../../db/contract/chat-store.js";
import { StoreError, type UserStore } from "../../../db/contract/store.js";
import { bind, type BoundCommands, type EntryHandlers, type LiveModule } from "../../module.js";
import { isSilenced } from "../../rules/rights.js";
import type { WorldStates } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { type ChannelPorts, ChatChannels } from "./channels.js";
import { chat } from "./chat-commands.js";
import { type ChatMetrics, type ChatPorts, PageCache } from "./chat-pages.js";
import { hasName } from "./chat-users.js";
import { heldPushes } from "./held-commands.js";
import { type ReadStatePorts, ReadStates } from "./unread/read-states.js";

/** The ports of the chat to the other layers. */
type ChatModulePorts = ChannelPorts &
  Omit<ReadStatePorts, "lastDelivered" | "lastNoticed"> &
  Omit<ChatPorts, "channels" | "readStates" | "pages"> &
  JoinPorts & {
    /** Whether this process has received all entries that were committed to a world's log at least a second ago. */
    readonly isCurrent: (world: string) => boolean;
  };

/** The subscribers of channels, and the read states of users. */
export interface ChatModule extends LiveModule {
  readonly bound: BoundCommands;
  readonly channels: ChatChannels;
  readonly readStates: ReadStates;
  readonly pages: PageCache;
  /** Pushes held messages to moderators and authors. */
  readonly onHeld: EntryHandlers;
  /** Makes a connection's user a member of the rooms with forced joins. Never rejects. */
  readonly forceJoins: (connection: Connection) => Promise<void>;
}

/** Creates the chat of one process. */
export function chatModule(ports: ChatModulePorts): ChatModule {
  const readStates: ReadStates = new ReadStates({
    ...ports,
    lastDelivered: (world, channel) => channels.feed.cursorOf(world, channel),
    lastNoticed: (world, channel) => channels.feed.noticedOf(world, channel),
  });
  const channels = new ChatChannels(ports, readStates.notices);
  const pages = new PageCache(ports.isCurrent);
  return {
    channels,
    readStates,
    pages,
    onHeld: heldPushes(ports),
    bound: bind(chat, { ...ports, channels, readStates, pages }),
    forceJoins: (connection) => forceJoins(ports, connection),
    enter: (world) => channels.feed.begin(world),
    entrance: async (connection, user) => (view) => readStates.enter(connection, user, view),
    leave(connection) {
      channels.leave(connection);
      readStates.leave(connection);
    },
    forget(world) {
      pages.forget(world);
      channels.forget(world);
    },
    close: () => readStates.close(),
  };
}

/** The ports of forced joins. */
interface JoinPorts {
  readonly log: FastifyBaseLogger;
  readonly store: { readonly chat: ChatStore; readonly users: UserStore };
  readonly states: WorldStates;
  readonly metrics: ChatMetrics | undefined;
}

/**
 * Makes a connection's user a lasting member of the rooms with forced joins. Idempotent, and safe
 * to call concurrently.
 */
export async function forceJoins(ports: JoinPorts, connection: Connection): Promise<void> {
  try {
    await join(ports, connection);
  } catch (error) {
    // The user's next login retries the join. A server that is stopping closes its connections
    // first.
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
  // A silenced user joins at the first login after the silence ends.
  if (!user || !hasName(user) || isSilenced(user)) return;
  const { chat } = ports.store;
  const memberships = await chat.memberships(world, login.user);
  const joined = new Set(memberships.map(({ id }) => id));
  for (const { id } of forced) {
    if (joined.has(id)) continue;
    // The author is not the connection, because the connection did not request the join and must be
    // pushed the event like all other subscribers.
    const by = { kind: "user", user: login.user } as const;
    const join = await chat.join(world, id, login.user, by);
    if (join) ports.metrics?.chatted(join.event.type);
  }
}
