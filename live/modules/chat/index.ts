import type { BoundCommands, LiveModule } from "../../module.js";
import { bind } from "../../module.js";
import { type ChannelPorts, Channels } from "./channels.js";
import { chat } from "./commands.js";
import { forceJoins, type JoinPorts } from "./forced.js";
import { PageCache } from "./page-cache.js";
import type { ChatPorts } from "./ports.js";
import { type ReadStatePorts, ReadStates } from "./unread/index.js";
import type { Connection } from "../../socket/connection.js";

/** The ports of the chat to the other floors. */
export type ChatModulePorts = ChannelPorts &
  Omit<ReadStatePorts, "lastDelivered" | "lastNoticed"> &
  Omit<ChatPorts, "channels" | "readStates" | "pages"> &
  JoinPorts & {
    /** Whether this process has got all entries of a world up to a second ago. */
    readonly isCurrent: (world: string) => boolean;
  };

/** The subscribers of channels, and the read states of users. */
export interface ChatModule extends LiveModule {
  readonly bound: BoundCommands;
  readonly channels: Channels;
  readonly readStates: ReadStates;
  readonly pages: PageCache;
  /** Makes the user of a connection a member of the rooms that ask for it. It never rejects. */
  readonly forceJoins: (connection: Connection) => Promise<void>;
}

/** The chat of one process. */
export function chatModule(ports: ChatModulePorts): ChatModule {
  const readStates: ReadStates = new ReadStates({
    ...ports,
    lastDelivered: (world, channel) => channels.feed.cursorOf(world, channel),
    lastNoticed: (world, channel) => channels.feed.noticedOf(world, channel),
  });
  const channels = new Channels(ports, readStates.notices);
  const pages = new PageCache(ports.isCurrent);
  return {
    channels,
    readStates,
    pages,
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
