import type { SentEvent } from "../../schemas/live/index.js";
import { persist, type Client } from "./client.js";
import type { LiveError } from "./error.js";

/** So many events of any size fit into one answer. */
const SAFE_COUNT = 25;
const COUNT = 250;
/** More than the id of any event. */
export const NEWEST = Number.MAX_SAFE_INTEGER;

/** An event without the fields that only pages or only pushes add. */
export function plainEvent(event: SentEvent): SentEvent {
  const plain: SentEvent & { users?: unknown; type?: unknown } = { ...event };
  delete plain.users;
  delete plain.type;
  return plain;
}

const isTooLarge = (error: unknown) => (error as LiveError).code === "server.too_large";

/**
 * The oldest events after an id. It waits for connections.
 * @param isOver whether the caller has given up.
 * @returns `isLast` if there are no more.
 */
export async function eventsAfter(
  client: Client,
  channel: string,
  after: number,
  isOver: () => boolean,
): Promise<{ events: SentEvent[]; isLast: boolean }> {
  const fetch = async (count: number) => {
    const { results } = await persist(
      () => client.call("chat.fetch", { channel, count, after_id: after }),
      isOver,
    );
    const isLast = results.length < count;
    return { events: results.map(plainEvent), isLast };
  };
  try {
    return await fetch(COUNT);
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return fetch(SAFE_COUNT);
  }
}

/** The newest events before an id, oldest first; fewer than asked for only at the beginning. */
export async function eventsBefore(
  client: Client,
  channel: string,
  before: number,
  count: number,
): Promise<SentEvent[]> {
  try {
    const payload = { channel, count, before_id: before };
    const { results } = await client.call("chat.fetch", payload);
    return results.map(plainEvent);
  } catch (error) {
    if (!isTooLarge(error) || count <= SAFE_COUNT) throw error;
    const half = Math.ceil(count / 2);
    const newer = await eventsBefore(client, channel, before, half);
    if (newer.length < half) return newer;
    const next = newer[0]!.event_id;
    const older = await eventsBefore(client, channel, next, count - half);
    return [...older, ...newer];
  }
}
