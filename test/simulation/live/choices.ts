import type { Random } from "../random.js";
import type { Client } from "./client.js";
import type { House } from "./house.js";

// What people choose to act on, of what their clients know.

export const pick = <T>(random: Random, from: readonly T[]): T | undefined =>
  from.length > 0 ? random.pick(from) : undefined;

export const roomOf = ({ state }: Client, random: Random): string | undefined =>
  pick(random, state?.rooms ?? [])?.id;

/** A channel that a client listens to, or any room. */
export function channelOf(client: Client, random: Random): string | undefined {
  const listening = [...client.channels.listening.keys()];
  return random.chance(0.8) ? pick(random, listening) : roomOf(client, random);
}

/** The id of a message that a client knows, or may guess. */
export function eventOf(client: Client, channel: string, random: Random) {
  const { events = [] } = client.channels.listening.get(channel) ?? {};
  return pick(random, events.slice(-5));
}

/** A question or poll in a room that a client entered. */
export function itemOf(
  client: Client,
  kind: "questions" | "polls",
  random: Random,
): { room: string; id: string; options: string[] } | undefined {
  const found = [...client.lists.rooms].flatMap(([room, lists]) =>
    (lists[kind].items ?? []).map((item) => ({
      room,
      id: item.id,
      options: ((item as { options?: { id: string }[] }).options ?? []).map(
        ({ id }) => id,
      ),
    })),
  );
  return pick(random, found);
}

/** The id of another user. */
export function otherOf({ userId }: Client, random: Random, house: House) {
  const users = [...house.database.tables.users.keys()];
  return pick(
    random,
    users.filter((id) => id !== userId),
  );
}

export const text = (body: string) => ({ type: "text", body });
