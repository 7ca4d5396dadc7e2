import type { SnapshotMessage } from "../../db/bus/bus.js";
import type { Events } from "../../db/contract/events.js";
import type { Clock } from "../../db/runtime.js";
import {
  isCount,
  isFlag,
  isId,
  isListOf,
  isMapOf,
  isNumber,
  isRecord,
  isTupleOf,
  type Shape,
} from "../../schemas/plain/shapes.js";

/** Minimum interval between two snapshots of a world, in milliseconds. */
const MIN_INTERVAL_MS = 1000;

/**
 * Maximum interval between two snapshots of a world with people, in milliseconds. It is short
 * enough that losing a single snapshot does no harm.
 */
const MAX_INTERVAL_MS = 2000;

/** Maximum age of a snapshot with people before it is dropped, in milliseconds. */
const MAX_AGE_MS = 5000;

/** Interval of the check for snapshots that are due or too old, in milliseconds. */
const TICK_MS = 250;

/** Maximum time by which a single tick advances, in milliseconds, because the process may have been suspended. */
const LONGEST_TICK_MS = 1000;

/** How long this process still follows a world after the last holder has stopped following it, in milliseconds. */
const LINGER_MS = 10_000;

/** Timeout for the other processes to respond to a process that newly follows a world, in milliseconds. */
const ANSWER_TIMEOUT_MS = 250;

/** Maximum number of ids per list in a snapshot. */
const MAX_NAMES = 20_000;

/** Maximum number of rooms in a snapshot. */
const MAX_ROOMS = 100_000;

/** The ids of users, or only their number. */
export type Names = readonly string[] | number;

/** A user who has connections both in the sending process and in other processes. */
export interface SharedUser {
  /** Connection ids and login times, in milliseconds since 1970. */
  readonly connections: readonly (readonly [id: string, at: number])[];
  /** The channels of which the user is a member for as long as they listen. */
  readonly attending: readonly string[];
}

/** Activity counts of one process in one world. They never decrease. */
export interface ActivityCounts {
  /** Chat messages sent, without edits. */
  readonly messages: number;
  /** Websockets dropped because their clients did not read the sent data. */
  readonly slowReaders: number;
  /** When the process started counting, in milliseconds since 1970. */
  readonly since: number;
}

/**
 * The state of a world in one process, as published to other processes. Replaces all earlier
 * snapshots of the same world by that process.
 */
export interface Snapshot {
  readonly process: string;
  readonly world: string;
  /** Increases with each snapshot of the process. */
  readonly number: number;
  /** Set if the sender newly follows the world, and requests the snapshots of all other processes. */
  readonly asks?: true;
  readonly connections: number;
  /** The ids of the users who are in no room. If the snapshot has only numbers, the number of all users. */
  readonly roomless: Names;
  readonly rooms: readonly (readonly [room: string, users: Names])[];
  readonly shared: Readonly<Record<string, SharedUser>>;
  /** Users who left a channel since the last snapshot. The leave applies to their connections in all processes. */
  readonly left: readonly (readonly [user: string, channel: string, silent: boolean])[];
  readonly counts: ActivityCounts;
  /** How often each reaction was sent in each room since the last snapshot. */
  readonly reactions: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** The state of a world in one process, as provided by the {@link SnapshotPart}s. */
export type Content = Omit<Snapshot, "process" | "world" | "number" | "asks">;

/** A part of the live layer whose state other processes need. Its functions must not throw. */
interface SnapshotPart {
  /** Describes this process's state of a world, for a snapshot that is about to be sent. */
  describe?(world: string): Partial<Content>;
  /** @param now undefined if the other process is gone. */
  changed?(world: string, before: Snapshot | undefined, now: Snapshot | undefined): void;
}

const NOTHING: Content = {
  connections: 0,
  roomless: [],
  rooms: [],
  shared: {},
  left: [],
  counts: { messages: 0, slowReaders: 0, since: Number.MAX_SAFE_INTEGER },
  reactions: {},
};

const isNames: Shape = (value) => isCount(value) || isListOf(isId, MAX_NAMES)(value);

/** Whether a value is a {@link Snapshot}. */
const isSnapshot = isRecord(
  {
    process: isId,
    world: isId,
    number: isCount,
    connections: isCount,
    roomless: isNames,
    rooms: isListOf(isTupleOf(isId, isNames), MAX_ROOMS),
    shared: isMapOf(
      isRecord({
        connections: isListOf(isTupleOf(isId, isNumber), MAX_NAMES),
        attending: isListOf(isId, MAX_NAMES),
      }),
      MAX_NAMES,
    ),
    left: isListOf(isTupleOf(isId, isId, isFlag), MAX_NAMES),
    counts: isRecord({ messages: isCount, slowReaders: isCount, since: isNumber }),
    reactions: isMapOf(isMapOf(isCount), MAX_ROOMS),
  },
  { asks: (value) => value === true },
) as (value: unknown) => value is Snapshot;

/** The part of {@link Events} that {@link Snapshots} uses. */
export type SnapshotBus = Pick<
  Events,
  "process" | "isAlone" | "others" | "publish" | "subscribe" | "join" | "leave"
>;

/** A world that this process follows. All times are those of the internal clock of {@link Snapshots}. */
interface Followed {
  holders: number;
  leftAt: number;
  /** The newest snapshot of each other process, and its arrival time. */
  readonly heard: Map<string, { snapshot: Snapshot; at: number }>;
  sentAt: number;
  /** Whether something has changed since the last snapshot of this process. */
  isChanged: boolean;
  /** Whether the last snapshot of this process had people. */
  hadPeople: boolean;
  /** The processes that have not sent a snapshot yet. */
  readonly awaited: Set<string>;
  readonly ready: Promise<void>;
  onReady: () => void;
}

/**
 * Soft state shared between processes: each process publishes its state of a world, and keeps the
 * newest snapshot of every other process. A snapshot is sent immediately if the last snapshot is at
 * least a second old; otherwise, the change waits and is batched with later changes. While the
 * world has people in the process, a snapshot is sent at least every two seconds. A snapshot with
 * people that is not renewed for five seconds is dropped. So the bus may lose, duplicate, delay and
 * reorder snapshots.
 */
export class Snapshots {
  readonly #bus: SnapshotBus;
  readonly #clock: Clock;
  readonly #parts: SnapshotPart[] = [];
  readonly #worlds = new Map<string, Followed>();
  readonly #unsubscribe: () => void;
  #stopTick = () => {};
  /** The number of the last snapshot sent, in any world. */
  #number = 0;
  /** How long this process has run, in milliseconds, without the time during which it was suspended. */
  #time = 0;
  #tickedAt: number;
  #closed = false;

  constructor(bus: SnapshotBus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    this.#tickedAt = clock.now();
    this.#unsubscribe = bus.subscribe((event) => {
      if (event.type === "snapshot") this.#hear(event);
      else if (event.type === "process.ended") this.#end(event.process);
    });
    if (!bus.isAlone) this.#tickLater();
  }

  /** Whether no other process can ever exist, so that nothing has to be published. */
  get isAlone(): boolean {
    return this.#bus.isAlone;
  }

  /** Adds a part that describes its own state and is notified of the state in other processes. */
  add(part: SnapshotPart): void {
    this.#parts.push(part);
  }

  /** The newest snapshots of the other processes. */
  *of(world: string): Iterable<Snapshot> {
    for (const { snapshot } of this.#worlds.get(world)?.heard.values() ?? []) yield snapshot;
  }

  /**
   * Follows a world. Calls are counted.
   * @returns a promise that resolves once all other processes have sent their snapshots, or after a
   * timeout.
   */
  follow(world: string): Promise<void> {
    const followed = this.#worlds.get(world) ?? this.#begin(world);
    followed.holders++;
    return followed.ready;
  }

  /**
   * Undoes one {@link follow}. After the last {@link follow} has been undone, the world is followed
   * for a few more seconds.
   */
  unfollow(world: string): void {
    const followed = this.#worlds.get(world);
    if (followed && --followed.holders === 0) followed.leftAt = this.#time;
  }

  /** Records that this process's state of a world has changed. */
  changed(world: string): void {
    if (this.#bus.isAlone) return;
    const followed = this.#worlds.get(world);
    if (!followed || followed.isChanged) return;
    followed.isChanged = true;
    this.#advance();
    if (this.#time - followed.sentAt < MIN_INTERVAL_MS) return;
    // Deferred to include everything else that changes in this turn.
    this.#clock.soon(() => {
      if (followed.isChanged && this.#worlds.get(world) === followed)
        this.#publish(world, followed);
    });
  }

  /** Publishes changes that other processes have not received yet, and stops. */
  close(): void {
    if (this.#closed) return;
    for (const [world, followed] of this.#worlds) {
      if (followed.isChanged) this.#publish(world, followed);
    }
    this.#closed = true;
    this.#stopTick();
    this.#unsubscribe();
  }

  #begin(world: string): Followed {
    const others = this.#bus.isAlone ? [] : this.#bus.others;
    let onReady = () => {};
    const ready = new Promise<void>((resolve) => (onReady = resolve));
    const followed: Followed = {
      holders: 0,
      leftAt: this.#time,
      heard: new Map(),
      sentAt: -Infinity,
      isChanged: false,
      hadPeople: false,
      awaited: new Set(others),
      ready,
      onReady,
    };
    this.#worlds.set(world, followed);
    if (this.#bus.isAlone) onReady();
    else {
      this.#bus.join(world);
      this.#publish(world, followed, true);
      if (followed.awaited.size === 0) onReady();
      else this.#clock.after(ANSWER_TIMEOUT_MS, onReady);
    }
    return followed;
  }

  /**
   * Publishes a snapshot.
   * @param asks whether to send the snapshot to all processes, even those that do not follow the
   * world, and to request their snapshots.
   */
  #publish(world: string, followed: Followed | undefined, asks = false): void {
    if (this.#closed) return;
    let content = NOTHING;
    for (const part of this.#parts) content = { ...content, ...part.describe?.(world) };
    const { process } = this.#bus;
    const number = ++this.#number;
    const snapshot: Snapshot = { process, world, number, ...(asks && { asks }), ...content };
    if (followed) {
      // The first snapshot contains nobody yet: the next snapshot must be sent as soon as somebody
      // arrives.
      if (!asks) followed.sentAt = this.#time;
      followed.isChanged = false;
      followed.hadPeople = snapshot.connections > 0;
    }
    const to = asks ? {} : { world };
    this.#bus.publish({ type: "snapshot", ...to, data: snapshot });
  }

  #hear({ world, data }: SnapshotMessage): void {
    if (!isSnapshot(data)) return;
    if (world !== undefined && world !== data.world) return;
    const { process } = data;
    if (process === this.#bus.process) return;
    const followed = this.#worlds.get(data.world);
    // Sent regardless of the minimum interval, because such requests are rare: one for each process
    // that starts to follow a world.
    if (data.asks) this.#publish(data.world, followed);
    if (!followed) return;
    const before = followed.heard.get(process)?.snapshot;
    if (before && before.number >= data.number) return;
    this.#advance();
    followed.heard.set(process, { snapshot: data, at: this.#time });
    this.#notifyParts(data.world, before, data);
    this.#answered(followed, process);
  }

  #notifyParts(world: string, before: Snapshot | undefined, now: Snapshot | undefined): void {
    for (const part of this.#parts) part.changed?.(world, before, now);
  }

  #answered({ awaited, onReady }: Followed, process: string): void {
    if (awaited.delete(process) && awaited.size === 0) onReady();
  }

  #drop(world: string, { heard }: Followed, process: string): void {
    const before = heard.get(process)?.snapshot;
    if (heard.delete(process)) this.#notifyParts(world, before, undefined);
  }

  /** Drops a process that has ended. A process that is in fact still running will be heard from again. */
  #end(process: string): void {
    for (const [world, followed] of this.#worlds) {
      this.#drop(world, followed, process);
      this.#answered(followed, process);
    }
  }

  #advance(): void {
    const now = this.#clock.now();
    this.#time += Math.min(now - this.#tickedAt, LONGEST_TICK_MS);
    this.#tickedAt = now;
  }

  #tickLater(): void {
    this.#stopTick = this.#clock.after(TICK_MS, () => {
      this.#advance();
      for (const [world, followed] of this.#worlds) this.#check(world, followed);
      this.#tickLater();
    });
  }

  #check(world: string, followed: Followed): void {
    for (const [process, { snapshot, at }] of followed.heard) {
      // Snapshots without people are not renewed.
      if (snapshot.connections === 0) continue;
      if (this.#time - at > MAX_AGE_MS) this.#drop(world, followed, process);
    }
    const { isChanged, hadPeople, sentAt, holders, leftAt } = followed;
    const rest = this.#time - sentAt;
    if (isChanged ? rest >= MIN_INTERVAL_MS : hadPeople && rest >= MAX_INTERVAL_MS) {
      this.#publish(world, followed);
    } else if (holders === 0 && this.#time - leftAt > LINGER_MS) {
      this.#bus.leave(world);
      for (const process of followed.heard.keys()) this.#drop(world, followed, process);
      this.#worlds.delete(world);
    }
  }
}

/** Counts the activity of each world. Counting is one lookup and one addition. */
export class ActivityCounter {
  readonly #snapshots: Snapshots;
  readonly #since: number;
  /** The counts of this process, by world. */
  readonly #worlds = new Map<string, { messages: number; slowReaders: number }>();

  constructor(clock: Clock, snapshots: Snapshots) {
    this.#snapshots = snapshots;
    this.#since = clock.date();
    snapshots.add({ describe: (world) => ({ counts: this.#own(world) }) });
  }

  /** Increments a count. */
  count(world: string, what: "messages" | "slowReaders"): void {
    let counts = this.#worlds.get(world);
    if (!counts) this.#worlds.set(world, (counts = { messages: 0, slowReaders: 0 }));
    counts[what]++;
    this.#snapshots.changed(world);
  }

  /** Returns the total counts of all live processes, and when the first of these processes started counting. */
  of(world: string): ActivityCounts {
    const all = [...this.#snapshots.of(world)].map(({ counts }) => counts);
    return all.reduce(
      (sum, { messages, slowReaders, since }) => ({
        messages: sum.messages + messages,
        slowReaders: sum.slowReaders + slowReaders,
        since: Math.min(sum.since, since),
      }),
      this.#own(world),
    );
  }

  /** Drops the counts of a deleted world. */
  forget(world: string): void {
    this.#worlds.delete(world);
  }

  #own(world: string): ActivityCounts {
    const { messages, slowReaders } = this.#worlds.get(world) ?? { messages: 0, slowReaders: 0 };
    return { messages, slowReaders, since: this.#since };
  }
}
