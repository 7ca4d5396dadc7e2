import type { Events, WorldEvent } from "../events.js";

type Made = WorldEvent | WorldEvent[] | undefined;

/**
 * The events of some methods of one part of the store: each entry makes them from the
 * result of the method and its arguments.
 */
export type EventsOf<P> = {
  readonly [N in keyof P]?: P[N] extends (...args: infer A) => Promise<infer R>
    ? (result: R, ...args: A) => Made
    : never;
};

type Method = (...args: never[]) => Promise<unknown>;

/** A part of the store whose methods publish their events after they have succeeded. */
export function published<P extends object>(
  part: P,
  eventsOf: EventsOf<P>,
  events: Events,
): P {
  const methods = Object.entries(eventsOf).map(([name, make]) => {
    const toEvents = make as (...args: unknown[]) => Made;
    const method = async (...args: never[]) => {
      const result = await (part[name as keyof P] as Method)(...args);
      for (const event of [toEvents(result, ...args) ?? []].flat()) {
        events.publish(withoutNobody(event));
      }
      return result;
    };
    return [name, method];
  });
  return { ...part, ...(Object.fromEntries(methods) as Partial<P>) };
}

/** An event has `by` only if somebody is named. */
function withoutNobody({ by, ...event }: WorldEvent): WorldEvent {
  return by === undefined ? event : { by, ...event };
}
