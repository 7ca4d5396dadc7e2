import type { FeedType } from "../../schemas/plain/feed.js";
import type { Bus, BusMessage, SnapshotMessage } from "../bus/bus.js";
import type { AnyEvent, Events, Listener } from "../contract/events.js";
import { type Clock, processClock } from "../runtime.js";
import type { Entry, Hint, LogReads, Position } from "./entries.js";
import { Follower } from "./follower.js";

/** An entry as programs get it: its type in the feed, and the data that the entry itself has. */
export interface Published {
  readonly type: FeedType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The entries of a type. Several types may have the same fields. */
type Of<T, E = Entry> = E extends { type: infer U }
  ? T extends U
    ? E & { type: T }
    : never
  : never;

/** What programs get of entries of each type; undefined for nothing. */
type Table = {
  [T in Entry["type"]]: ((entry: Of<T>) => Published | undefined) | undefined;
};

/** An update, unless it changed nothing. Entries of older versions do not say what they changed. */
const updated = (
  type: FeedType,
  data: object,
  { fields = [] }: Pick<Entry, "fields">,
  isOld = false,
): Published | undefined =>
  fields.length === 0 && !isOld ? undefined : { type, data: Object.assign(data, { fields }) };

const isOld = ({ fields }: Entry): boolean => fields === undefined;

/** Like {@link updated}, of an entry that always names its fields, or is old. */
const changed = (type: FeedType, data: object, entry: Entry) =>
  updated(type, data, entry, isOld(entry));

const question = ({ room, question }: { room: string; question: string }) => ({
  room_id: room,
  question_id: question,
});

const poll = ({ room, poll }: { room: string; poll: string }) => ({ room_id: room, poll_id: poll });

const PINNED = ["is_pinned"];

/** A chat event. Whether its channel is direct, and so not in the feed, is not known here. */
function ofChat({ channel, by, delivery }: Of<"chat.event">) {
  const { id, type, sender, content, replaces } = delivery.event;
  const place = { room_id: channel, channel_id: channel };
  if (type === "channel.member") {
    const { membership } = JSON.parse(content) as { membership?: string };
    return {
      type: membership === "join" ? "chat.joined" : "chat.left",
      data: { ...place, event_id: id, user_id: sender },
    } as const;
  }
  if (type !== "channel.message") return undefined;
  if (replaces === null) {
    const data = { ...place, event_id: id, user_id: sender };
    return { type: "chat.message", data } as const;
  }
  const data = { ...place, event_id: replaces, user_id: sender ?? by.user ?? null };
  // An edit of a message that was deleted since reads as its deletion.
  const isDeletion = content === DELETED;
  return { type: isDeletion ? "chat.deleted" : "chat.edited", data } as const;
}

/** The content of a deleted message, and of all its edits. */
const DELETED = '{"type":"deleted"}';

/** To add a type: a line here, and its name in schemas/plain/feed.ts. */
const table: Table = {
  "world.created": undefined,
  "world.updated": (entry) => changed("world.updated", {}, entry),
  "world.deleted": undefined,
  "world.raised": undefined,
  "log.began": undefined,
  "room.created": ({ room }) => ({ type: "room.created", data: { room_id: room } }),
  "room.opened": ({ room }) => ({ type: "room.created", data: { room_id: room } }),
  "room.updated": (entry) => changed("room.updated", { room_id: entry.room }, entry),
  "room.scheduled": (entry) => changed("room.updated", { room_id: entry.room }, entry),
  "room.deleted": ({ room }) => ({ type: "room.deleted", data: { room_id: room } }),
  "rooms.reordered": () => ({ type: "rooms.reordered", data: {} }),
  "user.entered": (entry) =>
    entry.isNew
      ? { type: "user.created", data: { user_id: entry.user } }
      : updated("user.updated", { user_id: entry.user }, entry),
  // An update of the state that clients keep for themselves has no fields.
  "user.updated": (entry) => updated("user.updated", { user_id: entry.user }, entry),
  "user.moderated": ({ user, state }) =>
    state && { type: "user.moderated", data: { user_id: user, state } },
  "user.blocked": undefined,
  "user.unblocked": undefined,
  "user.erased": ({ user }) => ({ type: "user.erased", data: { user_id: user } }),
  "announcement.created": ({ announcement }) => ({
    type: "announcement.created",
    data: { announcement_id: announcement },
  }),
  "announcement.updated": (entry) =>
    changed("announcement.updated", { announcement_id: entry.announcement }, entry),
  "chat.event": ofChat,
  "chat.reacted": undefined,
  "chat.memberships": undefined,
  "chat.marked": undefined,
  "chat.erased": undefined,
  "question.saved": (entry) =>
    entry.isNew
      ? { type: "question.created", data: question(entry) }
      : changed("question.updated", question(entry), entry),
  "question.deleted": (entry) => ({ type: "question.deleted", data: question(entry) }),
  "question.voted": (entry) => ({ type: "question.votes", data: question(entry) }),
  "question.pinned": ({ room, question }) => ({
    type: "question.updated",
    data: { room_id: room, question_id: question, fields: PINNED },
  }),
  "poll.saved": (entry) =>
    entry.isNew
      ? { type: "poll.created", data: poll(entry) }
      : changed("poll.updated", poll(entry), entry),
  "poll.deleted": (entry) => ({ type: "poll.deleted", data: poll(entry) }),
  "poll.voted": (entry) => ({ type: "poll.votes", data: poll(entry) }),
  "poll.pinned": ({ room, poll }) => ({
    type: "poll.updated",
    data: { room_id: room, poll_id: poll, fields: PINNED },
  }),
  "session.created": ({ session }) => ({ type: "session.created", data: { session_id: session } }),
  "session.updated": ({ session, fields = [] }) => ({
    type: "session.updated",
    data: { session_id: session, fields },
  }),
  "session.deleted": ({ session }) => ({ type: "session.deleted", data: { session_id: session } }),
  "speaker.created": ({ speaker }) => ({ type: "speaker.created", data: { speaker_id: speaker } }),
  "speaker.updated": (entry) => changed("speaker.updated", { speaker_id: entry.speaker }, entry),
  "speaker.deleted": ({ speaker }) => ({ type: "speaker.deleted", data: { speaker_id: speaker } }),
  "program.imported": undefined,
  "program.favored": undefined,
  "program.linked": undefined,
  "file.added": ({ file }) => ({ type: "file.added", data: { file_id: file } }),
  noted: undefined,
  "file.deleted": ({ file }) => ({ type: "file.deleted", data: { file_id: file } }),
};

/** What programs get of an entry; undefined for nothing. */
export const published = (entry: Entry): Published | undefined =>
  (table[entry.type] as ((entry: Entry) => Published | undefined) | undefined)?.(entry);

/** For how long a value is current after the cursor of its world was confirmed. */
const CURRENT_FOR_MS = 1000;

/** How long a write waits at most until its entries were applied here. */
const OWN_ENTRIES_TIMEOUT_MS = 250;

interface LogEventsParts {
  readonly bus: Bus;
  readonly log: LogReads<Entry>;
  readonly clock?: Clock;
  readonly onFault: (error: unknown) => void;
  /** Gets why the log could not be read. The read is repeated. */
  readonly onUnread?: (error: unknown) => void;
}

/** A write that waits until its entries were applied. */
interface Waiting {
  readonly seq: number;
  readonly resolve: () => void;
}

/** The log of the worlds that this process follows, and the messages of its bus. */
export class LogEvents implements Events {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #follower: Follower<Entry>;
  readonly #onFault: (error: unknown) => void;
  readonly #listeners = new Set<Listener>();
  readonly #ofWorlds = new Map<string, Set<Listener>>();
  readonly #waiting = new Map<string, Set<Waiting>>();
  /** The event that listeners get now, and the ones that came meanwhile. */
  readonly #due: AnyEvent[] = [];
  readonly #unsubscribe: () => void;

  constructor(parts: LogEventsParts) {
    const { bus, log, clock = processClock, onFault } = parts;
    const { onUnread = () => {} } = parts;
    this.#bus = bus;
    this.#clock = clock;
    this.#onFault = onFault;
    this.#follower = new Follower(clock, log, {
      apply: (entry) => {
        this.#deliver(entry);
        this.#reached(entry);
      },
      reset: (world) => this.#deliver({ type: "world.reset", world }),
      failed: onUnread,
    });
    this.#unsubscribe = bus.subscribe((message) => this.#receive(message));
  }

  get process(): string {
    return this.#bus.process;
  }

  get isAlone(): boolean {
    return this.#bus.isAlone;
  }

  get others(): ReadonlySet<string> {
    return this.#bus.others;
  }

  async follow(world: string): Promise<void> {
    this.#bus.join(world);
    await this.#follower.follow(world);
  }

  unfollow(world: string): void {
    this.#bus.leave(world);
    this.#follower.unfollow(world);
  }

  join(world: string): void {
    this.#bus.join(world);
  }

  leave(world: string): void {
    this.#bus.leave(world);
  }

  isCurrent(world: string): boolean {
    return this.#follower.isCurrent(world, CURRENT_FOR_MS);
  }

  reached(world: string): number {
    return this.#follower.cursorOf(world)?.seq ?? 0;
  }

  get caughtUp(): number {
    return this.#follower.caughtUp;
  }

  /** The last entry of each followed world that this process applied or wrote. */
  seen(): ReadonlyMap<string, Position> {
    return this.#follower.seen();
  }

  /** Reads the new entries of a world, such as after a write in doubt. */
  look(world: string): void {
    this.#follower.look(world);
  }

  /**
   * Takes the entries of a transaction of this process, and publishes them to the others.
   * @returns a promise if some of them have to wait for entries of other processes. It
   *   resolves when they were applied, or after a moment.
   */
  took(hints: readonly Hint<Entry>[]): Promise<unknown> | undefined {
    const byWorld = new Map<string, Hint<Entry>[]>();
    for (const hint of hints) {
      const own = byWorld.get(hint.entry.world);
      if (own) own.push(hint);
      else byWorld.set(hint.entry.world, [hint]);
    }
    const late: Promise<void>[] = [];
    for (const [world, own] of byWorld) {
      this.#bus.publish({ type: "hints", world, hints: own });
      const cursor = this.#follower.cursorOf(world);
      const { entry } = own.at(-1)!;
      if (!cursor || cursor.seq >= entry.seq) continue;
      this.#follower.wrote(world, entry);
      late.push(this.#wait(world, entry.seq));
    }
    return late.length > 0 ? Promise.all(late) : undefined;
  }

  publish(message: SnapshotMessage): void {
    this.#bus.publish(message);
  }

  subscribe(listener: Listener, world?: string): () => void {
    // A new function, so that the same listener may subscribe twice.
    const own: Listener = (event) => listener(event);
    if (world === undefined) {
      this.#listeners.add(own);
      return () => void this.#listeners.delete(own);
    }
    const listeners = this.#ofWorlds.get(world) ?? new Set();
    this.#ofWorlds.set(world, listeners.add(own));
    return () => {
      listeners.delete(own);
      if (listeners.size > 0 || this.#ofWorlds.get(world) !== listeners) return;
      this.#ofWorlds.delete(world);
    };
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    this.#follower.close();
    this.#listeners.clear();
    this.#ofWorlds.clear();
    for (const waiting of this.#waiting.values()) {
      for (const { resolve } of waiting) resolve();
    }
    await this.#bus.close();
  }

  #receive(message: BusMessage): void {
    if (message.type !== "hints") return this.#deliver(message);
    for (const hint of message.hints) this.#follower.hint(hint);
  }

  /** Listeners get the present event before any that come while they run. */
  #deliver(event: AnyEvent): void {
    if (this.#due.push(event) > 1) return;
    // It grows meanwhile.
    for (const next of this.#due) {
      this.#give(next, this.#listeners);
      if (this.#ofWorlds.size === 0 || !("world" in next)) continue;
      const listeners = this.#ofWorlds.get(next.world!);
      if (listeners) this.#give(next, listeners);
    }
    this.#due.length = 0;
  }

  #give(event: AnyEvent, listeners: Iterable<Listener>): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  /** Waits until an entry of this process was applied. Earlier ones are in the log and can be read. */
  #wait(world: string, seq: number): Promise<void> {
    this.#follower.look(world);
    return new Promise((resolve) => {
      let waiting = this.#waiting.get(world);
      if (!waiting) this.#waiting.set(world, (waiting = new Set()));
      const stop = this.#clock.after(OWN_ENTRIES_TIMEOUT_MS, () => own.resolve());
      const own: Waiting = {
        seq,
        resolve: () => {
          stop();
          waiting.delete(own);
          if (waiting.size === 0) this.#waiting.delete(world);
          resolve();
        },
      };
      waiting.add(own);
    });
  }

  #reached({ world, seq }: Entry): void {
    for (const waiting of this.#waiting.get(world) ?? []) {
      if (waiting.seq <= seq) waiting.resolve();
    }
  }
}
