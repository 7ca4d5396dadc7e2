import type { Mark, Membership, Unread } from "../../../../db/contract/chat-store.js";
import type { UserRecord } from "../../../../db/contract/store.js";
import type { Clock } from "../../../../db/runtime.js";
import type { PublicUser, SentChannel } from "../../../../schemas/live/index.js";
import type { World } from "../../../../schemas/worlds.js";
import type { Json } from "../../../rules/encoding.js";
import type { Connection } from "../../../socket/connection.js";
import { TokenBucket } from "../../../socket/pace.js";
import { briefUser, readUsers, sharedUser, type UserReads } from "../chat-users.js";

/** How many notifications are counted of each user, as the store does. */
const MAX_NOTIFICATIONS = 10_000;

/** How many bytes of lists of channels a user gets in a second, and how many seconds' worth at once. */
const LIST_BYTES = 128 * 1024;
const LIST_BURST = 4;

/** The notifications of a user in a channel. */
interface Notifications {
  readonly direct: boolean;
  /** The ids of the events, in ascending order but for late ones. */
  readonly events: Set<number>;
}

type Numbers = Record<string, number>;

const nowhere: ReadonlyMap<string, number> = new Map();
const none: ReadonlySet<string> = new Set();

/**
 * The read state of a user who is connected to this process. Each user of a crowd has one,
 * and an empty map takes 250 bytes. So most maps are made at their first use.
 */
export class ReadState {
  /** How far each channel is read. */
  #pointers: Map<string, number> | undefined;
  #notifications: Map<string, Notifications> | undefined;
  #notified = 0;
  #listed: Map<string, number> | undefined;
  #direct: Set<string> | undefined;
  #due: Set<Connection> | undefined;
  #lists: TokenBucket | undefined;
  #notices: Map<string, Promise<void>> | undefined;
  /** Settles when the connections that are {@link due} have their list. */
  telling: Promise<void> | undefined;
  /** Settles when the list that is being read now is sent. It never rejects. */
  sending: Promise<void> | undefined;
  /** Settles when the user's marks are read. */
  loaded: Promise<void> | undefined;
  /** The changes during the read of the marks. */
  #steps: (() => void)[] | undefined = [];

  readonly #clock: Clock;

  constructor(
    clock: Clock,
    readonly world: string,
    readonly user: string,
  ) {
    this.#clock = clock;
  }

  /** The channels on whose unread list the user is: see `Mark.listed` of the store. */
  get listed(): ReadonlyMap<string, number> {
    return this.#listed ?? nowhere;
  }

  /** The direct channels that the user has got. */
  get direct(): ReadonlySet<string> {
    return this.#direct ?? none;
  }

  /** The connections that get the list of channels next. */
  get due(): Set<Connection> {
    return (this.#due ??= new Set());
  }

  /** How many bytes of lists may be sent. */
  get lists(): TokenBucket {
    return (this.#lists ??= new TokenBucket(LIST_BYTES, LIST_BURST, this.#clock));
  }

  /** Per direct channel, settles when the user knows of all its messages up to now. */
  get notices(): Map<string, Promise<void>> {
    return (this.#notices ??= new Map());
  }

  /**
   * Does something, but not before the marks are read. They may include it already, so
   * it must not matter whether it is done once or twice.
   */
  do(step: () => void): void {
    if (this.#steps) this.#steps.push(step);
    else step();
  }

  /**
   * Reads the state of the store, and the marks that it may lack. Then call
   * {@link start}.
   * @param isDirect whether a channel is a direct one of the user.
   */
  load(
    { marks, notifications }: Unread,
    unwritten: Iterable<Mark>,
    isDirect: (channel: string) => boolean,
  ): void {
    for (const { channel, event } of notifications) {
      this.notify(channel, event, isDirect(channel));
    }
    for (const mark of [...marks, ...unwritten]) {
      this.mark(mark);
      if (mark.listed !== null) this.list(mark.channel, mark.listed);
    }
  }

  /** Applies the changes during the read of the marks. */
  start(): void {
    const steps = this.#steps ?? [];
    this.#steps = undefined;
    for (const step of steps) step();
  }

  /** How many notifications there are in all channels. */
  get notified(): number {
    return this.#notified;
  }

  /** Moves the pointer of a channel forward. @returns whether it was not as far. */
  mark({ channel, pointer }: Mark): boolean {
    if (pointer === null || pointer <= (this.#pointers?.get(channel) ?? -1)) return false;
    (this.#pointers ??= new Map()).set(channel, pointer);
    this.#clear(channel, pointer);
    return true;
  }

  /** The user gets their channels. */
  tell(channels: readonly ListedChannel[]): void {
    for (const { id, members } of channels) {
      if (members) this.tellOf(id);
    }
  }

  /** The user gets a direct channel. */
  tellOf(channel: string): void {
    (this.#direct ??= new Set()).add(channel);
  }

  /** The user no longer counts as having a direct channel. */
  forget(channel: string): void {
    this.#direct?.delete(channel);
  }

  /** The user comes onto the unread list of a channel. */
  list(channel: string, listed: number): void {
    const before = this.#listed?.get(channel) ?? 0;
    (this.#listed ??= new Map()).set(channel, Math.max(before, listed));
  }

  /** The user is off the unread list of a channel. */
  unlist(channel: string): void {
    this.#listed?.delete(channel);
  }

  #clear(channel: string, upTo: number): void {
    const notifications = this.#notifications;
    const found = notifications?.get(channel);
    if (!notifications || !found) return;
    for (const event of found.events) {
      if (event <= upTo && found.events.delete(event)) this.#notified--;
    }
    if (found.events.size === 0) notifications.delete(channel);
  }

  /** @returns whether it is new, and about something that is not read yet. */
  notify(channel: string, event: number, direct: boolean): boolean {
    if (event <= (this.#pointers?.get(channel) ?? 0)) return false;
    this.#notifications ??= new Map();
    let found = this.#notifications.get(channel);
    if (found?.events.has(event)) return false;
    if (!found) {
      found = { direct, events: new Set() };
      this.#notifications.set(channel, found);
    }
    found.events.add(event);
    if (++this.#notified > MAX_NOTIFICATIONS) this.#forgetOne();
    return true;
  }

  /** The message of a notification was deleted. */
  forgetNotice(channel: string, event: number): void {
    const found = this.#notifications?.get(channel);
    if (!found?.events.delete(event)) return;
    this.#notified--;
    if (found.events.size === 0) this.#notifications!.delete(channel);
  }

  #forgetOne(): void {
    const notifications = this.#notifications ?? [];
    for (const [channel, { events }] of notifications) {
      for (const event of events) {
        events.delete(event);
        this.#notified--;
        if (events.size === 0) this.#notifications!.delete(channel);
        return;
      }
    }
  }

  /** How far each channel is read. */
  pointers(): Numbers {
    return Object.fromEntries(this.#pointers ?? []);
  }

  /**
   * How many notifications there are in each channel.
   * @param reads whether the user may read a room.
   */
  counts(reads: (room: string) => boolean): Numbers {
    const all: Numbers = {};
    for (const [channel, { direct, events }] of this.#notifications ?? []) {
      if (direct || reads(channel)) all[channel] = events.size;
    }
    return all;
  }
}

/** How many users the direct channels of one list have together. */
const MAX_USERS = 1000;

/** How much of a list has whole profiles, and how long it is at most, in characters of JSON. */
const MAX_WHOLE = 256 * 1024;
const MAX_LIST = 512 * 1024;

/** The size of an entry beside its members. */
const ENTRY_OVERHEAD = 100;

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
      const length = made.reduce((sum, { text }) => sum + text.length, ENTRY_OVERHEAD);
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
