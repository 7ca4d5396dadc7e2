import type { Events, WorldEvent } from "./events.js";
import type { Announcement, Store } from "./store.js";

type Method = (...args: never[]) => Promise<unknown>;

/**
 * A store that publishes one event for every write, after the commit and before
 * the promise of the write resolves.
 */
export function publishing(store: Store, events: Events): Store {
  /**
   * Adds events to some methods of one part of the store.
   * @param eventOf makes the event of a method from its result and its arguments.
   */
  function published<P extends object>(
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
        if (event) events.publish(withoutNobody(event));
        return result;
      };
      return [name, method];
    });
    return { ...part, ...(Object.fromEntries(methods) as Partial<P>) };
  }

  return {
    ...store,
    worlds: published(store.worlds, {
      create: ({ value: { id } }) => ({ type: "world.created", world: id }),
      import: ({ value: { id } }, _, options) =>
        options?.dryRun ? undefined : { type: "world.created", world: id },
      update: (_, world, _changes, _versions, by) => ({
        type: "world.updated",
        world,
        by,
      }),
      configure: (_, world, _changes, _versions, by) => ({
        type: "world.updated",
        world,
        by,
      }),
      delete: (_, world) => ({ type: "world.deleted", world }),
    }),
    rooms: published(store.rooms, {
      create: ({ value: { id } }, world, _draft, by) => ({
        type: "room.created",
        world,
        room: id,
        by,
      }),
      open: ({ value: { id } }, world, _draft, by) => ({
        type: "room.opened",
        world,
        room: id,
        by,
      }),
      update: (_, world, room, _changes, _versions, by) => ({
        type: "room.updated",
        world,
        room,
        by,
      }),
      schedule: (_, world, room, _data, by) => ({
        type: "room.scheduled",
        world,
        room,
        by,
      }),
      reorder: (_, world, _ids, by) => ({ type: "rooms.reordered", world, by }),
      delete: (_, world, room, _versions, by) => ({
        type: "room.deleted",
        world,
        room,
        by,
      }),
    }),
    users: published(store.users, {
      enter: ({ id }, world, _visitor, by) => ({
        type: "user.entered",
        world,
        user: id,
        by,
      }),
      update: (_, world, user, _changes, by) => ({
        type: "user.updated",
        world,
        user,
        by,
      }),
      moderate: (_, world, user, _state, by) => ({
        type: "user.moderated",
        world,
        user,
        by,
      }),
      block: (_, world, user, _other, by) => ({
        type: "user.blocked",
        world,
        user,
        by,
      }),
      unblock: (_, world, user, _other, by) => ({
        type: "user.unblocked",
        world,
        user,
        by,
      }),
      erase: (user, world, _name, by) => ({
        type: "user.erased",
        world,
        user,
        by,
      }),
    }),
    announcements: published(store.announcements, {
      create: ({ id }, world, _draft, by) => ({
        type: "announcement.created",
        world,
        announcement: id,
        wasVisible: false,
        by,
      }),
      update: ({ before }, world, announcement, _changes, by) => ({
        type: "announcement.updated",
        world,
        announcement,
        wasVisible: isVisible(before),
        by,
      }),
    }),
    files: published(store.files, {
      add: (_, world) => ({ type: "file.added", world }),
      delete: (_, world) => ({ type: "file.deleted", world }),
    }),
  };
}

const isVisible = ({ state, show_until }: Announcement): boolean =>
  state === "active" && (show_until === null || show_until > Date.now());

/** An event has `by` only if somebody is named. */
function withoutNobody({ by, ...event }: WorldEvent): WorldEvent {
  return by === undefined ? event : { ...event, by };
}
