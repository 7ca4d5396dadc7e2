import { type Readable, writable } from "svelte/store";
import type { Live, LiveState, PublicUser, SentEvent } from "../../client/index.js";
import { lineOf } from "./chat-content.js";
import { nameOf } from "./profile.js";
import { isUnread } from "./rooms.js";

/** A direct conversation between a few users. */
export interface Direct {
  readonly id: string;
  /** The other members. */
  readonly others: readonly PublicUser[];
  /** Number of new messages. */
  readonly count: number;
  readonly isUnread: boolean;
}

/** Returns the user's conversations, latest first. */
export function directsOf(state: LiveState): Direct[] {
  const { channels, user, notificationCounts, unreadPointers } = state;
  return channels
    .flatMap(({ id, members }) => {
      if (!members) return [];
      const count = notificationCounts[id] ?? 0;
      return {
        id,
        others: members.filter((member) => member.id !== user.id),
        count,
        isUnread: count > 0 || isUnread(state, id),
      };
    })
    .sort((a, b) => (unreadPointers[b.id] ?? 0) - (unreadPointers[a.id] ?? 0));
}

/**
 * Returns a conversation's title: the names of the other members.
 * @param known users known to the page, whose names may be more recent.
 * @param nobody the text for users without a name.
 */
export const directName = (
  { others }: Direct,
  known: ReadonlyMap<string, PublicUser>,
  nobody: string,
): string => others.map((it) => nameOf(known.get(it.id) ?? it) ?? nobody).join(", ") || nobody;

/** A conversation's last message. */
interface LastLine {
  readonly text: string;
  readonly at: string;
}

/** Number of events searched for a conversation's last message. */
const LOOK_BACK = 10;

/**
 * The last message of each conversation, by channel id. The message is read again when the server
 * reports a newer event.
 */
export class LastLines implements Readable<ReadonlyMap<string, LastLine>> {
  readonly #live: Live;
  readonly #store = writable<ReadonlyMap<string, LastLine>>(new Map());
  readonly subscribe = this.#store.subscribe;
  /** The id of each channel's newest event when the channel was last read. */
  readonly #read = new Map<string, number>();

  constructor(live: Live) {
    this.#live = live;
  }

  /**
   * Reads the last messages of conversations with new events.
   * @param pointers the id of each channel's newest event.
   */
  look(ids: readonly string[], pointers: Readonly<Record<string, number>>) {
    for (const id of ids) {
      const pointer = pointers[id] ?? 0;
      if (this.#read.get(id) === pointer) continue;
      this.#read.set(id, pointer);
      // On failure, show no message; the next call retries.
      void this.#fetch(id).catch(() => this.#read.delete(id));
    }
  }

  /** Updates the last message from an open conversation, including the user's own messages. */
  take({ channel, event_type, content, replaces, timestamp }: SentEvent) {
    if (event_type !== "channel.message" || replaces !== null) return;
    if (!this.#read.has(channel)) return;
    const line = { text: lineOf(content), at: timestamp };
    this.#store.update((all) => new Map(all).set(channel, line));
  }

  async #fetch(id: string): Promise<void> {
    const events = await this.#live.channel(id).history({ count: LOOK_BACK });
    const last = events.findLast(
      ({ event_type, content }) =>
        event_type === "channel.message" && content["type"] !== "deleted",
    );
    if (!last) return;
    const line = { text: lineOf(last.content), at: last.timestamp };
    this.#store.update((all) => new Map(all).set(id, line));
  }
}

/** Returns the number of new direct messages in all conversations. */
export const directCount = (state: LiveState): number =>
  directsOf(state).reduce((sum, { count }) => sum + count, 0);

const ONLINE_POLL_INTERVAL_MS = 30_000;

/** The online status of some users, kept current while the store has subscribers. */
export class Online implements Readable<ReadonlySet<string>> {
  readonly #live: Live;
  readonly #store;
  readonly subscribe: Readable<ReadonlySet<string>>["subscribe"];
  #ids: readonly string[] = [];

  /** @param every poll interval, in milliseconds. */
  constructor(live: Live, every = ONLINE_POLL_INTERVAL_MS) {
    this.#live = live;
    this.#store = writable<ReadonlySet<string>>(new Set(), () => {
      void this.#ask();
      const timer = setInterval(() => void this.#ask(), every);
      return () => clearInterval(timer);
    });
    this.subscribe = this.#store.subscribe;
  }

  /** Sets the users to follow. Users who were not followed before are queried immediately. */
  watch(ids: readonly string[]): void {
    const isNew = ids.some((id) => !this.#ids.includes(id));
    this.#ids = ids;
    if (isNew) void this.#ask();
  }

  async #ask(): Promise<void> {
    const ids = this.#ids;
    // Without a connection, calls would queue up and all be sent on reconnection.
    if (ids.length === 0 || !this.#live.isConnected) return;
    try {
      const answer = await this.#live.call("user.online_status", { ids: [...ids] });
      this.#store.set(new Set(ids.filter((id) => answer[id])));
    } catch {
      // The next poll retries.
    }
  }
}
