import type { ChatEvent } from "../../db/chat.js";
import type { PublicUser, TypedEvent } from "../../schemas/live/index.js";
import type { ChannelContext } from "../commands.js";
import { tooLarge } from "../problems.js";
import { isVolatile } from "../targets.js";
import { sentEvent } from "./events.js";
import { jsonOfUser, readUsers, sharedUser, usersIn } from "./users.js";

/** How many events a page has at most. */
const MAX_PAGE = 1000;

/** How many users a page tells of, and how large they may be together, in characters of JSON. */
const MAX_USERS = 1000;
const MAX_USERS_SIZE = 256 * 1024;

/** How large the users in the member events of a page may be, likewise. */
const MAX_MEMBERS_SIZE = 4 * 1024 * 1024;

/** An id as clients send it. What is larger than any id means all events. */
export const idOf = (id: number | string): number =>
  Math.min(Number(id), Number.MAX_SAFE_INTEGER);

/**
 * A page of events, with the users whom the connection was not told of.
 * @param selection.until the id of the last event that may be part of it, for a
 *   connection that is only about to subscribe.
 */
export async function pageOf(
  context: ChannelContext,
  selection: {
    before?: number;
    after?: number;
    until?: number;
    limit: number;
  },
): Promise<{ results: TypedEvent[]; users: Record<string, PublicUser> }> {
  const { live, connection, channel, room } = context;
  const { world } = connection;
  const { until = Infinity, limit, ...bounds } = selection;
  const withoutMembers =
    room && (isVolatile(room.value) || room.value.extras.force_join);
  const read =
    limit === 0
      ? []
      : await live.store.chat.events(world, channel, {
          ...bounds,
          limit: Math.min(limit, MAX_PAGE),
          withoutMembers,
        });
  const events = read.filter(({ id }) => id <= until);
  const involved = events.map(usersIn);
  // Every sender comes before anybody who is only mentioned.
  const ids = [
    ...new Set([...involved.map(([first]) => first ?? ""), ...involved.flat()]),
  ]
    .filter((id) => id !== "")
    .slice(0, MAX_USERS);
  const found = await readUsers(live, world, ids);
  const shownUser = (id: string) => {
    const user = found.get(id);
    return user && sharedUser(user, context.world.value, false);
  };
  let size = 0;
  const results = events.map((event) => {
    size += sizeOfMember(event);
    if (size > MAX_MEMBERS_SIZE) throw tooLarge();
    return { ...sentEvent(event, shownUser), type: "chat.event" as const };
  });
  return { results, users: usersFor() };

  function sizeOfMember({ type, sender }: ChatEvent): number {
    const user =
      type === "channel.member" ? found.get(sender ?? "") : undefined;
    return user ? jsonOfUser(user, context.world.value, false).length : 0;
  }

  function usersFor(): Record<string, PublicUser> {
    const listener = live.chat.channels.subscriptions.listener(connection);
    // What was pushed while somebody subscribes may never be sent.
    const audience =
      selection.until === undefined
        ? live.chat.channels.subscriptions.of(channel)
        : undefined;
    const admin = context.may("user.manage");
    const users: Record<string, PublicUser> = {};
    let size = 0;
    for (const id of ids) {
      const user = found.get(id);
      if (!user || listener.knows(id, audience?.toldOf(id, connection))) {
        continue;
      }
      size += jsonOfUser(user, context.world.value, admin).length;
      if (size > MAX_USERS_SIZE) break;
      users[id] = sharedUser(user, context.world.value, admin);
    }
    listener.tell(Object.keys(users));
    return users;
  }
}
