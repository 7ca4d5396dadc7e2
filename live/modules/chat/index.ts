import type { BoundCommands, LiveModule } from "../../module.js";
import { bind } from "../../module.js";
import { type ChannelPorts, Channels } from "./channels.js";
import { chat } from "./commands.js";
import { forceJoins, type JoinPorts } from "./forced.js";
import { PageCache } from "./page-cache.js";
import type { ChatPorts } from "./ports.js";
import { type ReaderPorts, Readers } from "./unread/readers.js";
import type { Connection } from "../../socket/connection.js";

/** What the chat needs of the other floors. */
export type ChatModulePorts = ChannelPorts &
  Omit<ReaderPorts, "lastDelivered" | "lastNoticed"> &
  Omit<ChatPorts, "channels" | "readers" | "pages"> &
  JoinPorts & {
    /** Whether this process has got all entries of a world up to a second ago. */
    readonly isCurrent: (world: string) => boolean;
  };

/** Who listens to which channel, and who has read what. */
export interface ChatModule extends LiveModule {
  readonly bound: BoundCommands;
  readonly channels: Channels;
  readonly readers: Readers;
  readonly pages: PageCache;
  /** Makes the user of a connection a member of the rooms that ask for it. It never rejects. */
  readonly forceJoins: (connection: Connection) => Promise<void>;
}

/** The chat of one process. */
export function chatModule(ports: ChatModulePorts): ChatModule {
  const readers: Readers = new Readers({
    ...ports,
    lastDelivered: (world, channel) => channels.lastDelivered(world, channel),
    lastNoticed: (world, channel) => channels.lastNoticed(world, channel),
  });
  const channels = new Channels(ports, (state, delivery) =>
    readers.delivered(state, delivery),
  );
  const pages = new PageCache(ports.isCurrent);
  return {
    ...{ channels, readers, pages },
    bound: bind(chat, { ...ports, channels, readers, pages }),
    forceJoins: (connection) => forceJoins(ports, connection),
    enter: (world) => channels.begin(world),
    entrance: async (connection, user) => (view) =>
      readers.enter(connection, user, view),
    leave(connection) {
      channels.leave(connection);
      readers.leave(connection);
    },
    forget(world) {
      pages.forget(world);
      channels.forget(world);
    },
    stop: () => channels.close(),
    close: () => readers.close(),
  };
}
