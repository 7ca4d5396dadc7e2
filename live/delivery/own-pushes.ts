import type { AnyEvent } from "../../db/contract/events.js";
import type { Entry } from "../../db/log/entries.js";
import type { Hub } from "../people/hub.js";
import type { Connection } from "../socket/connection.js";
import type { Lines } from "./lines.js";
import type { Passes } from "./passes.js";

/** Where the pushes that an entry causes can be waited for. */
export interface OwnPorts {
  readonly sockets: ReadonlyMap<string, Connection>;
  readonly hub: Hub;
  readonly lines: Lines;
  readonly passes: Passes;
  /** When an event of a channel was pushed; undefined if it was, or if a crowd listens. */
  readonly chatSent: (channel: string, id: number) => Promise<void> | undefined;
}

/**
 * Makes the last handler of entries: each connection gets the pushes that its commands
 * cause before the answer to its next message, however long the store takes. In a crowd
 * no message waits: pushes go in passes there.
 */
export function ownPushes(ports: OwnPorts): (event: AnyEvent) => void {
  const { sockets, hub, lines, passes, chatSent } = ports;

  const pushesOf = (entry: Entry): Promise<void>[] => {
    const { world } = entry;
    if (entry.type === "chat.event") {
      const sent = chatSent(entry.channel, entry.seq);
      return sent ? [sent] : [];
    }
    // Reactions and lists of channels are paced, and senders do not wait for them.
    if ("channel" in entry) return [];
    const places = passes.isCrowd(hub.in(world).size) ? [] : [world];
    if ("room" in entry && !passes.isCrowd(hub.inRoom(world, entry.room).size))
      places.push(entry.room);
    return places.flatMap((place) => lines.ended(place) ?? []);
  };

  return (event) => {
    for (const id of authorsOf(event)) {
      sockets.get(id)?.follow(pushesOf(event as Entry));
    }
  };
}

/** The ids of the connections that caused an entry. */
function authorsOf(event: AnyEvent): string[] {
  if ("votes" in event) {
    return event.votes.flatMap(({ connection }) => connection ?? []);
  }
  const connection = "by" in event ? event.by.connection : undefined;
  return connection === undefined ? [] : [connection];
}
