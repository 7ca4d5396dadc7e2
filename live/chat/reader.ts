import type { Unread } from "../../db/chat.js";
import type { SentChannel } from "../../schemas/live/index.js";
import type { Connection } from "../connection.js";
import { TokenBucket } from "../token-bucket.js";
import type { Made } from "./mark-map.js";

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

/** What a user who is connected to this process has read and not read. */
export class Reader {
  /** How far each channel is read, and when that was marked. */
  readonly #pointers = new Map<string, { pointer: number; at: number }>();
  readonly #notifications = new Map<string, Notifications>();
  #count = 0;
  /** The channels on whose unread list the user is: see `Mark.listed` of the store. */
  readonly listed = new Map<string, number>();
  /** The direct channels that the user was told of. */
  readonly direct = new Set<string>();
  /** The connections that get the list of channels next. */
  readonly due = new Set<Connection>();
  /** Settles when they have it. */
  telling: Promise<void> | undefined;
  /** Settles when the list that is being read now is sent. It never rejects. */
  sending: Promise<void> | undefined;
  /** How many bytes of lists may be sent. */
  readonly lists = new TokenBucket(LIST_BYTES, LIST_BURST);
  /** Per direct channel, settles when the user knows of all its messages up to now. */
  readonly notices = new Map<string, Promise<void>>();
  /** Settles when the user's marks are read. */
  loaded: Promise<void> = Promise.resolve();
  /** What happened while they were read. */
  #steps: (() => void)[] | undefined = [];

  constructor(
    readonly world: string,
    readonly user: string,
  ) {}

  /**
   * Does something, but not before the marks are read. They may include it already, so
   * it must not matter whether it is done once or twice.
   */
  do(step: () => void): void {
    if (this.#steps) this.#steps.push(step);
    else step();
  }

  /**
   * Takes what the store had, and the marks that it may not have had. Then call
   * {@link start}.
   * @param isDirect whether a channel is a direct one of the user.
   */
  load(
    { marks, notifications }: Unread,
    unwritten: ReadonlyMap<string, Made>,
    isDirect: (channel: string) => boolean,
  ): void {
    for (const { channel, pointer, listed } of marks) {
      if (pointer !== null) this.#pointers.set(channel, { pointer, at: 0 });
      if (listed !== null) this.list(channel, listed);
    }
    for (const { channel, event } of notifications) {
      this.notify(channel, event, isDirect(channel));
    }
    for (const mark of unwritten.values()) this.mark(mark);
  }

  /** Does what happened while the marks were read. */
  start(): void {
    const steps = this.#steps ?? [];
    this.#steps = undefined;
    for (const step of steps) step();
  }

  /** @returns whether it is the last mark of the channel. */
  mark({ channel, pointer, listed, cleared, at }: Made): boolean {
    this.#clear(channel, cleared);
    if (at < (this.#pointers.get(channel)?.at ?? 0)) return false;
    this.#pointers.set(channel, { pointer, at });
    if (listed !== null) this.list(channel, listed);
    return true;
  }

  /** The user is told of their channels. */
  tell(channels: readonly SentChannel[]): void {
    for (const { id, members } of channels) {
      if (members) this.direct.add(id);
    }
  }

  /** The user comes onto the unread list of a channel. */
  list(channel: string, listed: number): void {
    const before = this.listed.get(channel) ?? 0;
    this.listed.set(channel, Math.max(before, listed));
  }

  #clear(channel: string, upTo: number): void {
    const found = this.#notifications.get(channel);
    if (!found) return;
    for (const event of found.events) {
      if (event <= upTo && found.events.delete(event)) this.#count--;
    }
    if (found.events.size === 0) this.#notifications.delete(channel);
  }

  /** @returns whether it is new, and about something that is not read yet. */
  notify(channel: string, event: number, direct: boolean): boolean {
    if (event <= (this.#pointers.get(channel)?.pointer ?? 0)) return false;
    let found = this.#notifications.get(channel);
    if (found?.events.has(event)) return false;
    if (!found) {
      found = { direct, events: new Set() };
      this.#notifications.set(channel, found);
    }
    found.events.add(event);
    if (++this.#count > MAX_NOTIFICATIONS) this.#forgetOne();
    return true;
  }

  #forgetOne(): void {
    for (const [channel, { events }] of this.#notifications) {
      for (const event of events) {
        events.delete(event);
        this.#count--;
        if (events.size === 0) this.#notifications.delete(channel);
        return;
      }
    }
  }

  /** How far each channel is read. */
  pointers(): Numbers {
    const all: Numbers = {};
    for (const [channel, { pointer }] of this.#pointers) all[channel] = pointer;
    return all;
  }

  /**
   * How many notifications there are in each channel.
   * @param reads whether the user may read a room.
   */
  counts(reads: (room: string) => boolean): Numbers {
    const all: Numbers = {};
    for (const [channel, { direct, events }] of this.#notifications) {
      if (direct || reads(channel)) all[channel] = events.size;
    }
    return all;
  }
}
