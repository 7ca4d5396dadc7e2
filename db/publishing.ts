import type { Delivery } from "./chat.js";
import type { Events, WorldEvent } from "./events.js";
import type { Poll } from "./polls.js";
import type { Announcement, Store } from "./store.js";

type Method = (...args: never[]) => Promise<unknown>;

/**
 * A store that publishes what every write did, after the commit and before the
 * promise of the write resolves. It is one event for most writes.
 */
export function publishing(store: Store, events: Events): Store {
  /**
   * Adds events to some methods of one part of the store.
   * @param eventsOf makes the events of a method from its result and its arguments.
   */
  function published<P extends object>(
    part: P,
    eventsOf: {
      [N in keyof P]?: P[N] extends (...args: infer A) => Promise<infer R>
        ? (result: R, ...args: A) => WorldEvent | WorldEvent[] | undefined
        : never;
    },
  ): P {
    const methods = Object.entries(eventsOf).map(([name, make]) => {
      const toEvents = make as (
        ...args: unknown[]
      ) => WorldEvent | WorldEvent[] | undefined;
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
    chat: published(store.chat, {
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
    }),
    questions: published(store.questions, {
      ask: ({ id }, world, room, _draft, by) => ({
        type: "question.saved",
        world,
        room,
        question: id,
        wasVisible: false,
        by,
      }),
      update: ({ before, unpinned }, world, room, id, _changes, _user, by) =>
        [id, unpinned ?? []].flat().map((question) => ({
          type: "question.saved" as const,
          world,
          room,
          question,
          wasVisible: question === id && before.state === "visible",
          by,
        })),
      delete: (before, world, room, question, by) => ({
        type: "question.deleted",
        world,
        room,
        question,
        wasVisible: before.state === "visible",
        by,
      }),
      vote: (_, world, room, question, user, _vote, by) => ({
        type: "question.voted",
        world,
        room,
        question,
        user,
        by,
      }),
      pin: (_, world, room, question, _user, by) => ({
        type: "question.pinned",
        world,
        room,
        question,
        by,
      }),
    }),
    polls: published(store.polls, {
      create: ({ id }, world, room, _draft, by) => ({
        type: "poll.saved",
        world,
        room,
        poll: id,
        wasPublic: false,
        by,
      }),
      update: (
        { before, unpinned, delivery },
        world,
        room,
        id,
        _changes,
        _user,
        by,
      ) => [
        ...[id, unpinned ?? []].flat().map((poll) => ({
          type: "poll.saved" as const,
          world,
          room,
          poll,
          wasPublic: poll === id && isPublic(before),
          by,
        })),
        ...delivered({ world, channel: room, by }, delivery ? [delivery] : []),
      ],
      delete: (before, world, room, poll, by) => ({
        type: "poll.deleted",
        world,
        room,
        poll,
        wasPublic: isPublic(before),
        by,
      }),
      vote: (_, world, room, poll, user, _options, by) => ({
        type: "poll.voted",
        world,
        room,
        poll,
        user,
        by,
      }),
      pin: (_, world, room, poll, by) => ({
        type: "poll.pinned",
        world,
        room,
        poll,
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

const isPublic = ({ state }: Poll): boolean =>
  state === "open" || state === "closed";

/**
 * The events about new events of a channel, and about changed memberships.
 * @param of what all of them say.
 * @param users whose memberships changed.
 */
const delivered = (
  of: { world: string; channel: string; by: string | undefined },
  deliveries: readonly Delivery[],
  users: readonly string[] = [],
): WorldEvent[] => [
  ...deliveries.map((delivery) => ({
    type: "chat.event" as const,
    ...of,
    delivery,
  })),
  ...(users.length > 0
    ? [{ type: "chat.memberships" as const, ...of, users: [...users] }]
    : []),
];

/** An event has `by` only if somebody is named. */
function withoutNobody({ by, ...event }: WorldEvent): WorldEvent {
  return by === undefined ? event : { ...event, by };
}
