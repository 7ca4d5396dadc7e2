import type { Events, WorldEvent } from "./events.js";
import type { Store } from "./store.js";

/**
 * A store that publishes an event for every write. It does so once, after the
 * commit, and before whoever asked for the write learns of it.
 */
export function announcing(store: Store, events: Events): Store {
  const { worlds, rooms, users, files } = store;

  /** A method that announces what it did. */
  const announced =
    <A extends unknown[], R>(
      write: (...args: A) => Promise<R>,
      eventOf: (result: R, ...args: A) => WorldEvent | undefined,
    ) =>
    async (...args: A): Promise<R> => {
      const result = await write(...args);
      const event = eventOf(result, ...args);
      if (event) events.publish(event);
      return result;
    };

  return {
    ...store,
    worlds: {
      ...worlds,
      create: announced(worlds.create, ({ value: { id } }) => ({
        type: "world.created",
        world: id,
      })),
      import: announced(worlds.import, ({ value: { id } }, _, options) =>
        options?.dryRun ? undefined : { type: "world.created", world: id },
      ),
      update: announced(worlds.update, (_, world) => ({
        type: "world.updated",
        world,
      })),
      delete: announced(worlds.delete, (_, world) => ({
        type: "world.deleted",
        world,
      })),
    },
    rooms: {
      ...rooms,
      create: announced(rooms.create, ({ value: { id } }, world) => ({
        type: "room.created",
        world,
        room: id,
      })),
      update: announced(rooms.update, (_, world, room) => ({
        type: "room.updated",
        world,
        room,
      })),
      delete: announced(rooms.delete, (_, world, room) => ({
        type: "room.deleted",
        world,
        room,
      })),
    },
    users: {
      ...users,
      erase: announced(users.erase, (_, world) => ({
        type: "user.erased",
        world,
      })),
    },
    files: {
      ...files,
      add: announced(files.add, (_, world) => ({ type: "file.added", world })),
    },
  };
}
