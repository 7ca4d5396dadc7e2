import type {
  StoredReadMark,
  ChannelMembership,
  Unread,
} from "../../../../db/contract/chat-store.js";
import type { UserRecord } from "../../../../db/contract/store.js";
import type { Clock } from "../../../../db/runtime.js";
import type { PublicUser, SentChannel } from "../../../../schemas/live/index.js";
import type { World } from "../../../../schemas/worlds.js";
import type { Json } from "../../../rules/encoding.js";
import type { Connection } from "../../../socket/connection.js";
import { TokenBucket } from "../../../socket/pace.js";
import { briefUser, readUsers, sharedUser, type UserReads } from "../../../rules/sent-users.js";

/** Maximum number of notifications counted per user, which is also the store's limit. */
const MAX_NOTIFICATIONS = 10_000;

/** Rate limit for a user's channel lists, in bytes per second, and its burst as a multiple of the rate. */
const LIST_BYTES = 128 * 1024;
const LIST_BURST = 4;

/** A user's notifications in a channel. */
interface Notifications {
  readonly direct: boolean;
  /** The ids of the events, in ascending order except for events that were added late. */
  readonly events: Set<number>;
}

type Numbers = Record<string, number>;

const nowhere: ReadonlyMap<string, number> = new Map();
const none: ReadonlySet<string> = new Set();

/**
 * The read state of a user who is connected to this process. Every user in a crowd has such a
 * state, and an empty map takes 250 bytes, so most maps are created on first use.
 */
export class ReadState {
  /** The read pointer of each channel. */
  #pointers: Map<string, number> | undefined;
  #notifications: Map<string, Notifications> | undefined;
  #notified = 0;
  #listed: Map<string, number> | undefined;
  #direct: Set<string> | undefined;
  #due: Set<Connection> | undefined;
  #lists: TokenBucket | undefined;
  #notices: Map<string, Promise<void>> | undefined;
  /** Settles once the {@link due} connections have been sent the list. */
  pushing: Promise<void> | undefined;
  /** Settles once the list that is currently being read has been sent. Never rejects. */
  sending: Promise<void> | undefined;
  /** Settles once the user's marks have been loaded. */
  loaded: Promise<void> | undefined;
  /** Changes that arrived while the marks were being loaded; undefined afterwards. */
  #steps: (() => void)[] | undefined = [];

  readonly #clock: Clock;

  constructor(
    clock: Clock,
    readonly world: string,
    readonly user: string,
  ) {
    this.#clock = clock;
  }

  /** The channels whose unread list includes the user; see {@link StoredReadMark.listed}. */
  get listed(): ReadonlyMap<string, number> {
    return this.#listed ?? nowhere;
  }

  /** The direct channels that the user has been sent. */
  get direct(): ReadonlySet<string> {
    return this.#direct ?? none;
  }

  /** The connections that will be sent the next channel list. */
  get due(): Set<Connection> {
    return (this.#due ??= new Set());
  }

  /** Rate limit for channel lists, in bytes per second. */
  get lists(): TokenBucket {
    return (this.#lists ??= new TokenBucket(LIST_BYTES, LIST_BURST, this.#clock));
  }

  /** For each direct channel, a promise that settles once the user has been notified of all messages so far. */
  get notices(): Map<string, Promise<void>> {
    return (this.#notices ??= new Map());
  }

  /**
   * Runs a step once the marks have been loaded. The marks may already include the step's change,
   * so the step must be idempotent.
   */
  do(step: () => void): void {
    if (this.#steps) this.#steps.push(step);
    else step();
  }

  /**
   * Loads the state from the store, along with the marks that the store may lack. Call {@link
   * start} afterwards.
   * @param isDirect whether a channel is one of the user's direct channels.
   */
  load(
    { marks, notifications }: Unread,
    unwritten: Iterable<StoredReadMark>,
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

  /** Applies the changes that arrived while the marks were being loaded. */
  start(): void {
    const steps = this.#steps ?? [];
    this.#steps = undefined;
    for (const step of steps) step();
  }

  /** Number of notifications in all channels. */
  get notified(): number {
    return this.#notified;
  }

  /**
   * Moves the read pointer of a channel forward.
   * @returns whether the pointer moved.
   */
  mark({ channel, pointer }: StoredReadMark): boolean {
    if (pointer === null || pointer <= (this.#pointers?.get(channel) ?? -1)) return false;
    (this.#pointers ??= new Map()).set(channel, pointer);
    this.#clear(channel, pointer);
    return true;
  }

  /** Records that the user has been sent a channel list. */
  push(channels: readonly ListedChannel[]): void {
    for (const { id, members } of channels) {
      if (members) this.pushOf(id);
    }
  }

  /** Records that the user has been sent a direct channel. */
  pushOf(channel: string): void {
    (this.#direct ??= new Set()).add(channel);
  }

  /** Forgets that the user has been sent a direct channel. */
  forget(channel: string): void {
    this.#direct?.delete(channel);
  }

  /** Adds the user to a channel's unread list. */
  list(channel: string, listed: number): void {
    const before = this.#listed?.get(channel) ?? 0;
    (this.#listed ??= new Map()).set(channel, Math.max(before, listed));
  }

  /** Removes the user from a channel's unread list. */
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

  /**
   * Adds a notification.
   * @returns whether the notification is new, and its event has not been read yet.
   */
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

  /** Removes the notification of a deleted message. */
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

  /** Returns the read pointer of each channel. */
  pointers(): Numbers {
    return Object.fromEntries(this.#pointers ?? []);
  }

  /**
   * Counts the notifications in each channel.
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

/** Maximum number of users in all of a list's direct channels together. */
const MAX_USERS = 1000;

/** Maximum size of the part of a list that shows full profiles, and of the whole list, in characters of JSON. */
const MAX_WHOLE = 256 * 1024;
const MAX_LIST = 512 * 1024;

/** Estimated size of a list entry without its members, in characters of JSON. */
const ENTRY_OVERHEAD = 100;

/** The ports of a list. */
export interface ListPorts extends UserReads {
  readonly clock: Clock;
}

/** A channel in a list, with its members as JSON. */
export type ListedChannel = Omit<SentChannel, "members"> & {
  readonly members?: readonly Json<PublicUser>[];
};

/** The direct channels selected for a list, and the users in them. */
interface Selected {
  readonly memberships: readonly ChannelMembership[];
  readonly users: ReadonlyMap<string, UserRecord>;
}

/**
 * Returns the channels that a user sees: rooms that the user may read, and direct channels that the
 * user has not hidden. If there are many direct channels, the list has only the direct channels
 * with the newest messages, and some of these channels show only the names of their members.
 * @param reads whether the user may read a room.
 * @returns the channels in the order of the memberships.
 */
export async function channelsOf(
  ports: ListPorts,
  world: World,
  memberships: readonly ChannelMembership[],
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

const entryOf = ({ id, lastMessage }: ChannelMembership): ListedChannel => ({
  id,
  unread_pointer: lastMessage,
});

/** Reads the members of the direct channels with the newest messages. */
async function select(
  ports: ListPorts,
  world: string,
  visible: readonly ChannelMembership[],
): Promise<Selected> {
  const newest = visible
    .filter(({ direct }) => direct)
    // Among channels without messages, those that the user joined last come first.
    .reverse()
    .sort((a, b) => b.lastMessage - a.lastMessage);
  const ids = new Set<string>();
  const memberships: ChannelMembership[] = [];
  for (const membership of newest) {
    for (const id of membership.direct!) ids.add(id);
    if (ids.size > MAX_USERS) break;
    memberships.push(membership);
  }
  return { memberships, users: await readUsers(ports, world, [...ids]) };
}

/** Returns the members of each direct channel, for as many channels as fit into the list. */
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
