import type { AnyEvent } from "../../db/contract/events.js";
import type { Entry } from "../../db/log/entries.js";
import type { Live } from "../live.js";

/**
 * Lets each connection know what its commands cause, so that it gets those pushes before
 * the answer to its next message, however long the store takes. In a crowd nobody
 * waits: pushes go in passes there.
 * @returns a function that ends it.
 */
export function followOwnEvents(live: Live): () => void {
  const { sockets, hub, effects, passes, chat, events } = live;

  const pushesOf = (entry: Entry): Promise<void>[] => {
    const { world } = entry;
    if (entry.type === "chat.event") {
      const sent = chat.channels.sent(entry.channel, entry.seq);
      return sent ? [sent] : [];
    }
    // Reactions and lists of channels are paced, and nobody waits for them.
    if ("channel" in entry) return [];
    const places = passes.isCrowd(hub.in(world).size) ? [] : [world];
    if ("room" in entry && !passes.isCrowd(hub.inRoom(world, entry.room).size))
      places.push(entry.room);
    return places.flatMap((place) => effects.ended(place) ?? []);
  };

  return events.subscribe((event) => {
    for (const id of authorsOf(event)) {
      sockets.get(id)?.follow(pushesOf(event as Entry));
    }
  });
}

/** The ids of the connections that caused an entry. */
function authorsOf(event: AnyEvent): string[] {
  if ("votes" in event) {
    return event.votes.flatMap(({ connection }) => connection ?? []);
  }
  const connection = "by" in event ? event.by.connection : undefined;
  return connection === undefined ? [] : [connection];
}
