import type { AnyEvent } from "../db/events.js";
import type { Live } from "./live.js";

/**
 * Lets each connection know what its commands cause, so that it gets those pushes before
 * the answer to its next message, however long the store takes. In a crowd nobody
 * waits: pushes go in passes there.
 * @returns a function that ends it.
 */
export function followOwnEvents(live: Live): () => void {
  const { sockets, hub, effects, passes, chat, events } = live;

  const pushesOf = (event: AnyEvent): Promise<void>[] => {
    if (!("world" in event) || event.type === "live") return [];
    const { world } = event;
    if (event.type === "chat.event") {
      const { channel, delivery } = event;
      const sent = chat.channels.sent(channel, delivery.event.id);
      return sent ? [sent] : [];
    }
    // Reactions and lists of channels are paced, and nobody waits for them.
    if ("channel" in event) return [];
    const places = passes.isCrowd(hub.in(world).size) ? [] : [world];
    if ("room" in event && !passes.isCrowd(hub.inRoom(world, event.room).size))
      places.push(event.room);
    return places.flatMap((place) => effects.ended(place) ?? []);
  };

  return events.subscribe((event) => {
    if (!("by" in event) || event.by === undefined) return;
    const connection = sockets.get(event.by);
    if (connection) connection.follow(pushesOf(event));
  });
}
