import type { Events, WorldEvent } from "./events.js";
import type { Store } from "./store.js";

type Method = (...args: never[]) => Promise<unknown>;

/**
 * A store that publishes one event for every write, after the commit and before
 * the promise of the write resolves.
 */
export function announcing(store: Store, events: Events): Store {
  /**
   * Adds events to some methods of one part of the store.
   * @param eventOf makes the event of a method from its result and its arguments.
   */
  function announced<P extends object>(
    part: P,
    eventOf: {
      [N in keyof P]?: P[N] extends (...args: infer A) => Promise<infer R>
        ? (result: R, ...args: A) => WorldEvent | undefined
        : never;
    },
  ): P {
    const methods = Object.entries(eventOf).map(([name, make]) => {
      const toEvent = make as (...args: unknown[]) => WorldEvent | undefined;
      const method = async (...args: never[]) => {
        const result = await (part[name as keyof P] as Method)(...args);
        const event = toEvent(result, ...args);
        if (event) events.publish(event);
        return result;
      };
      return [name, method];
    });
    return { ...part, ...(Object.fromEntries(methods) as Partial<P>) };
  }

  return {
    ...store,
    worlds: announced(store.worlds, {
      create: ({ value: { id } }) => ({ type: "world.created", world: id }),
      import: ({ value: { id } }, _, options) =>
        options?.dryRun ? undefined : { type: "world.created", world: id },
      update: (_, world) => ({ type: "world.updated", world }),
      delete: (_, world) => ({ type: "world.deleted", world }),
    }),
    rooms: announced(store.rooms, {
      create: ({ value: { id } }, world) => ({
        type: "room.created",
        world,
        room: id,
      }),
      update: (_, world, room) => ({ type: "room.updated", world, room }),
      delete: (_, world, room) => ({ type: "room.deleted", world, room }),
    }),
    users: announced(store.users, {
      enter: ({ id }, world) => ({ type: "user.entered", world, user: id }),
      erase: (_, world) => ({ type: "user.erased", world }),
    }),
    files: announced(store.files, {
      add: (_, world) => ({ type: "file.added", world }),
      delete: (_, world) => ({ type: "file.deleted", world }),
    }),
  };
}
