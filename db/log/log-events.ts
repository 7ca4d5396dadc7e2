import type { FeedType } from "../../schemas/plain/feed.js";
import {
  idName,
  ofRecords,
  type RecordEvent,
  type RecordName,
} from "../../schemas/plain/records.js";
import type { Bus, BusMessage, SnapshotMessage } from "../bus/bus.js";
import type { AnyEvent, Events, StoreListener } from "../contract/events.js";
import { type Clock, processClock } from "../runtime.js";
import type { Entry, Hint, LogReads, LogPosition, RecordChange } from "./entries.js";
import { Follower } from "./follower.js";

/** An entry as published in the feed: its feed type, and the data that the entry itself contains. */
export interface Published {
  readonly type: FeedType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The entries with a given type. Several types may share one variant of `Entry`. */
type Of<T, E = Entry> = E extends { type: infer U }
  ? T extends U
    ? E & { type: T }
    : never
  : never;

/** Converters from entries to feed events, by entry type; undefined for types that are not published. */
type Table = {
  [T in Entry["type"]]: ((entry: Of<T>) => Published | undefined) | undefined;
};

/**
 * Returns an update, or undefined if no field changed.
 * @param isOld whether an older version of Foyer wrote the entry, without the names of the fields.
 */
const updated = (
  type: FeedType,
  data: object,
  { fields = [] }: Pick<Entry, "fields">,
  isOld = false,
): Published | undefined =>
  fields.length === 0 && !isOld ? undefined : { type, data: Object.assign(data, { fields }) };

const isOld = ({ fields }: Entry): boolean => fields === undefined;

/**
 * Like {@link updated}, for types whose entries always name the changed fields, unless an older
 * version of Foyer wrote the entry.
 */
const changed = (type: FeedType, data: object, entry: Entry) =>
  updated(type, data, entry, isOld(entry));

const question = ({ room, question }: { room: string; question: string }) => ({
  room_id: room,
  question_id: question,
});

const poll = ({ room, poll }: { room: string; poll: string }) => ({ room_id: room, poll_id: poll });

/** Creates the converter for entries about a record. An update that changed nothing is not published. */
const ofRecord = (record: RecordName, event: RecordEvent) => {
  const type = `${record}.${event}` as const;
  return (entry: RecordEntry): Published | undefined => {
    const data = { [idName(record)]: (entry as object as Record<string, string>)[record] };
    return event === "updated" ? changed(type, data, entry) : { type, data };
  };
};

type RecordEntry = Extract<Entry, RecordChange>;

const PINNED = ["is_pinned"];

/** Converts a chat event. Direct channels are not in the feed, but cannot be recognized here. */
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
  // Deleting a message also replaces the content of its edits, so the entry for an earlier edit
  // looks like a deletion.
  const isDeletion = content === DELETED;
  return { type: isDeletion ? "chat.deleted" : "chat.edited", data } as const;
}

/** The content of a deleted message, and of all its edits. */
const DELETED = '{"type":"deleted"}';

/** Converts the start or end of a call. Calls in direct channels are not in the feed. */
const ofCall = ({ type, channel, call, isDirect }: Of<"call.started" | "call.ended">) =>
  isDirect ? undefined : { type, data: { room_id: channel, call_id: call } };

const ofCaller = ({ type, channel, user, isDirect }: Of<"call.joined" | "call.left">) =>
  isDirect ? undefined : { type, data: { room_id: channel, user_id: user } };

const ofHand = ({ type, room, user }: Of<"hand.raised" | "hand.lowered">) => ({
  type,
  data: { room_id: room, user_id: user },
});

/** To add a type, add a line here and the type's name in schemas/plain/feed.ts. */
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
  // Updates to client-defined state have no fields.
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
  // Only moderators and the author know of messages that wait.
  "chat.held": undefined,
  "chat.unheld": undefined,
  "report.created": ({ report, kind, inRoom, isNew }) =>
    isNew
      ? { type: "report.created", data: { report_id: report, kind, room_id: inRoom } }
      : undefined,
  "report.resolved": ({ report, kind, inRoom, action }) => ({
    type: "report.resolved",
    data: { report_id: report, kind, room_id: inRoom, action },
  }),
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
  ...ofRecords(ofRecord),
  "session.updated": ({ session, fields = [] }) => ({
    type: "session.updated",
    data: { session_id: session, fields },
  }),
  "program.imported": undefined,
  "program.favored": undefined,
  // The feed shows each entry's author, and ratings are anonymous.
  "session.rated": undefined,
  "program.linked": undefined,
  "call.started": ofCall,
  "call.ended": ofCall,
  "call.declined": undefined,
  "call.joined": ofCaller,
  "call.left": ofCaller,
  "call.published": undefined,
  "call.staged": ({ room, user, on }) => ({
    type: "call.staged",
    data: { room_id: room, user_id: user, on_stage: on },
  }),
  "hand.raised": ofHand,
  "hand.lowered": ofHand,
  "screen.shown": undefined,
  "caption.added": ({ room }) => ({ type: "caption.added", data: { room_id: room } }),
  "caption.heard": undefined,
  "caption.erased": undefined,
  "file.added": ({ file }) => ({ type: "file.added", data: { file_id: file } }),
  noted: undefined,
  "file.deleted": ({ file }) => ({ type: "file.deleted", data: { file_id: file } }),
};

/** Converts an entry to its feed event. Returns undefined if the entry is not published. */
export const published = (entry: Entry): Published | undefined =>
  (table[entry.type] as ((entry: Entry) => Published | undefined) | undefined)?.(entry);

/** Time for which cached values stay current after their world's cursor has been confirmed. */
const CURRENT_FOR_MS = 1000;

/** Maximum time that a write waits for its own entries to be applied in this process. */
const OWN_ENTRIES_TIMEOUT_MS = 250;

interface LogEventsParts {
  readonly bus: Bus;
  readonly log: LogReads<Entry>;
  readonly clock?: Clock;
  readonly onFault: (error: unknown) => void;
  /** Receives the error of a failed log read, which will be retried. */
  readonly onUnread?: (error: unknown) => void;
}

/** A write waiting for its entries to be applied. */
interface Waiting {
  readonly seq: number;
  readonly resolve: () => void;
}

/** Delivers the logs of the worlds that this process follows, along with messages from the bus. */
export class LogEvents implements Events {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #follower: Follower<Entry>;
  readonly #onFault: (error: unknown) => void;
  readonly #listeners = new Set<StoreListener>();
  readonly #ofWorlds = new Map<string, Set<StoreListener>>();
  readonly #waiting = new Map<string, Set<Waiting>>();
  /** The event being delivered, followed by events that arrived during its delivery. */
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

  /** Returns the position of the last entry in each followed world that this process applied or wrote. */
  seen(): ReadonlyMap<string, LogPosition> {
    return this.#follower.seen();
  }

  /** Reads a world's new entries, for example after a write with an unknown outcome. */
  readNew(world: string): void {
    this.#follower.readNew(world);
  }

  /**
   * Publishes the entries of one of this process's transactions to the other processes.
   * @returns a promise if some of the entries must wait for other processes' entries. The promise
   * resolves once the transaction's entries have been applied, or after a short timeout.
   */
  appended(hints: readonly Hint<Entry>[]): Promise<unknown> | undefined {
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

  subscribe(listener: StoreListener, world?: string): () => void {
    // Wrapped, so that the same listener can subscribe twice.
    const own: StoreListener = (event) => listener(event);
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

  /** Delivers an event. Events that arrive while listeners run are delivered afterward. */
  #deliver(event: AnyEvent): void {
    if (this.#due.push(event) > 1) return;
    // The array grows during iteration.
    for (const next of this.#due) {
      this.#notify(next, this.#listeners);
      if (this.#ofWorlds.size === 0 || !("world" in next)) continue;
      const listeners = this.#ofWorlds.get(next.world!);
      if (listeners) this.#notify(next, listeners);
    }
    this.#due.length = 0;
  }

  #notify(event: AnyEvent, listeners: Iterable<StoreListener>): void {
    for (const listener of listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  /**
   * Waits until an entry written by this process has been applied. Also starts a read of the log,
   * which already contains all preceding entries.
   */
  #wait(world: string, seq: number): Promise<void> {
    this.#follower.readNew(world);
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
