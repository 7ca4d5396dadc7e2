import type { Clock } from "../../../../db/log/clock.js";
import type { Membership } from "../../../../db/contract/chat.js";
import type { UserRecord } from "../../../../db/contract/store.js";
import type { PublicUser, SentChannel } from "../../../../schemas/live/index.js";
import type { World } from "../../../../schemas/worlds.js";
import type { Json } from "../../../rules/encoding.js";
import { briefUser, readUsers, sharedUser, type UserReads } from "../users.js";

/** How many users the direct channels of one list have together. */
const MAX_USERS = 1000;

/** How much of a list has whole profiles, and how long it is at most, in characters of JSON. */
const MAX_WHOLE = 256 * 1024;
const MAX_LIST = 512 * 1024;

/** The size of an entry beside its members. */
const ENTRY = 100;

/** The ports of a list. */
export interface ListPorts extends UserReads {
  readonly clock: Clock;
}

/** A channel in a list, with its members as JSON. */
export type ListedChannel = Omit<SentChannel, "members"> & {
  readonly members?: readonly Json<PublicUser>[];
};

/** A user's channels, before the profiles in them. */
interface Selected {
  readonly memberships: readonly Membership[];
  readonly users: ReadonlyMap<string, UserRecord>;
}

/**
 * The channels that a user sees: channels of rooms that they may read, and direct ones
 * that they have not hidden. If there are many direct channels, the list has only the ones
 * with the newest messages, and in some, the profiles of the members hold only a name.
 * @param reads whether the user may read a room.
 * @returns in the order of the memberships.
 */
export async function channelsOf(
  ports: ListPorts,
  world: World,
  memberships: readonly Membership[],
  reads: (room: string) => boolean,
): Promise<ListedChannel[]> {
  const visible = memberships.filter(({ id, direct, hidden }) => (direct ? !hidden : reads(id)));
  const isShort = visible.every(({ direct }) => !direct);
  if (isShort) return visible.map((membership) => entryOf(membership));
  const selected = await select(ports, world.id, visible);
  const members = membersOf(selected, world, ports.clock.date());
  return visible.flatMap((membership): ListedChannel[] => {
    const { id, direct } = membership;
    if (!direct) return [entryOf(membership)];
    const users = members.get(id);
    return users ? [{ ...entryOf(membership), members: users }] : [];
  });
}

const entryOf = ({ id, lastMessage }: Membership): ListedChannel => ({
  id,
  unread_pointer: lastMessage,
});

/** Reads the members of the direct channels with the newest messages. */
async function select(
  ports: ListPorts,
  world: string,
  visible: readonly Membership[],
): Promise<Selected> {
  const newest = visible
    .filter(({ direct }) => direct)
    // Among new ones without a message, the latest joined come first.
    .reverse()
    .sort((a, b) => b.lastMessage - a.lastMessage);
  const ids = new Set<string>();
  const memberships: Membership[] = [];
  for (const membership of newest) {
    for (const id of membership.direct!) ids.add(id);
    if (ids.size > MAX_USERS) break;
    memberships.push(membership);
  }
  return { memberships, users: await readUsers(ports, world, [...ids]) };
}

/** The members of each direct channel, as long as there is space for them. */
function membersOf(
  { memberships, users }: Selected,
  world: World,
  now: number,
): Map<string, Json<PublicUser>[]> {
  const shown = new Map<string, Json<PublicUser>>();
  const show = (id: string, short: boolean) => {
    const key = short ? `${id} short` : id;
    const known = shown.get(key);
    if (known) return [known];
    const record = users.get(id);
    if (!record) return [];
    const made = (short ? briefUser : sharedUser)(record, world, now, false);
    shown.set(key, made);
    return [made];
  };
  const members = new Map<string, Json<PublicUser>[]>();
  let size = 0;
  let short = false;
  for (const { id, direct } of memberships) {
    for (;;) {
      const made = direct!.flatMap((user) => show(user, short));
      const length = made.reduce((sum, { text }) => sum + text.length, ENTRY);
      if (size + length <= (short ? MAX_LIST : MAX_WHOLE)) {
        size += length;
        members.set(id, made);
        break;
      }
      if (short) return members;
      short = true;
    }
  }
  return members;
}
