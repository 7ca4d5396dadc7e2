import type { Delivery } from "../chat.js";
import type { WorldEvent } from "../events.js";
import type { Store } from "../store.js";
import type { EventsOf } from "./published.js";

export const chatEvents: EventsOf<Store["chat"]> = {
  send: (delivery, world, channel, _draft, by) =>
    delivered({ world, channel, by }, [delivery]),
  join: (delivery, world, channel, user, by) =>
    delivery && delivered({ world, channel, by }, [delivery], [user]),
  // It may have ended a membership in silence.
  leave: (delivery, world, channel, user, _silent, by) =>
    delivered({ world, channel, by }, delivery ? [delivery] : [], [user]),
  react: (_, world, channel, event, _reaction, by) => ({
    type: "chat.reacted",
    world,
    channel,
    event,
    by,
  }),
  direct: (result, world, _caller, _users, _hide, by) =>
    delivered(
      { world, channel: result.channel.id, by },
      result.created,
      result.appeared,
    ),
};

/**
 * The events about new events of a channel, and about changed memberships.
 * @param of what all of them say.
 * @param users whose memberships changed.
 */
export const delivered = (
  of: { world: string; channel: string; by: string | undefined },
  deliveries: readonly Delivery[],
  users: readonly string[] = [],
): WorldEvent[] => [
  ...deliveries.map((delivery) => ({
    type: "chat.event" as const,
    delivery,
    ...of,
  })),
  ...(users.length > 0
    ? [{ type: "chat.memberships" as const, ...of, users: [...users] }]
    : []),
];
