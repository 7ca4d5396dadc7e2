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

/** The shortest time between two snapshots of a world, in milliseconds. */
const MIN_INTERVAL_MS = 1000;

/** The longest time between two snapshots of a world with people, in milliseconds. One may be lost. */
const MAX_INTERVAL_MS = 2000;

/** How old a snapshot may be that has people, in milliseconds. */
const MAX_AGE_MS = 5000;

/** How often it is checked whether snapshots are due or too old, in milliseconds. */
const TICK_MS = 250;

/** How much time one tick counts for at most, in milliseconds: the process may have been suspended. */
const LONGEST_TICK_MS = 1000;

/** For how long a world is still followed after the last one left it, in milliseconds. */
const LINGER_MS = 10_000;

/** How long the others may take to answer a process that newly follows a world, in milliseconds. */
const ANSWER_TIMEOUT_MS = 250;

/** How many names a list of a snapshot has at most. */
const MAX_NAMES = 20_000;

/** How many rooms a snapshot has at most. */
const MAX_ROOMS = 100_000;

/** The ids of users, or only how many there are. */
export type Names = readonly string[] | number;

/** A user of the sender who also has connections in other processes. */
export interface SharedUser {
  /** The ids of the connections, and when they logged in, in milliseconds since 1970. */
  readonly connections: readonly (readonly [id: string, at: number])[];
  /** The channels of which the user is a member for as long as they listen. */
  readonly attending: readonly string[];
}

/** The counts of one process in one world. They only grow. */
export interface Counts {
  /** Chat messages that were sent, without edits. */
  readonly messages: number;
  /** Websockets that were dropped because they did not read. */
  readonly slowReaders: number;
  /** When the process began to count, in milliseconds since 1970. */
  readonly since: number;
}

/** What one process tells the others about a world. It replaces its earlier snapshots. */
export interface Snapshot {
  readonly process: string;
  readonly world: string;
  /** Grows with each snapshot of the process. */
  readonly number: number;
  /** The sender newly follows the world, and asks all others for their snapshots. */
  readonly asks?: true;
  readonly connections: number;
  /** The users who are in no room; all users, if there are only numbers. */
  readonly roomless: Names;
  readonly rooms: readonly (readonly [room: string, users: Names])[];
  readonly shared: Readonly<Record<string, SharedUser>>;
  /** Users who left a channel since the last snapshot, with the connections of all processes. */
  readonly left: readonly (readonly [user: string, channel: string, silent: boolean])[];
  readonly counts: Counts;
  /** How many of each reaction there were in each room since the last snapshot. */
  readonly reactions: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** What a process has in a world, as {@link SnapshotPart}s describe it. */
export type Content = Omit<Snapshot, "process" | "world" | "number" | "asks">;

/** A part of the live layer with state that other processes need. Its functions may not throw. */
interface SnapshotPart {
  /** Describes what this process has in a world, for a snapshot that leaves now. */
  describe?(world: string): Partial<Content>;
  /** @param now undefined: the process is gone. */
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

/** Whether something is a {@link Snapshot}. */
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

/** The part of the events that {@link Snapshots} use. */
export type SnapshotBus = Pick<
  Events,
  "process" | "isAlone" | "others" | "publish" | "subscribe" | "join" | "leave"
>;

/** A world that this process follows. All times are as {@link Snapshots} count them. */
interface Followed {
  holders: number;
  leftAt: number;
  /** The newest snapshot of each other process, and when it came. */
  readonly heard: Map<string, { snapshot: Snapshot; at: number }>;
  sentAt: number;
  /** Whether something has changed since the last snapshot of this process. */
  isChanged: boolean;
  /** Whether the last snapshot of this process had people. */
  hadPeople: boolean;
  /** The processes that have not answered yet. */
  readonly awaited: Set<string>;
  readonly ready: Promise<void>;
  onReady: () => void;
}

/**
 * Soft state between processes: each one publishes what it has in a world, and keeps the newest
 * snapshot of each other one. Snapshots leave at once when the last one is a second old, later
 * ones together, and every two seconds while there are people. A snapshot with people that was
 * not renewed for five seconds is dropped. So the bus may lose, double, delay and reorder them.
 */
export class Snapshots {
  readonly #bus: SnapshotBus;
  readonly #clock: Clock;
  readonly #parts: SnapshotPart[] = [];
  readonly #worlds = new Map<string, Followed>();
  readonly #unsubscribe: () => void;
  #stopTick = () => {};
  /** The number of the last snapshot of any world. */
  #number = 0;
  /** For how many milliseconds this process has run, without the time for which it was suspended. */
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

  /** Whether there can never be another process. Then there is nothing to publish. */
  get isAlone(): boolean {
    return this.#bus.isAlone;
  }

  /** Adds a part that describes state and learns that of others. */
  add(part: SnapshotPart): void {
    this.#parts.push(part);
  }

  /** The newest snapshots of the other processes. */
  *of(world: string): Iterable<Snapshot> {
    for (const { snapshot } of this.#worlds.get(world)?.heard.values() ?? []) yield snapshot;
  }

  /**
   * Follows a world, once more if it is followed already.
   * @returns when all other processes have sent their snapshots, or one takes too long.
   */
  follow(world: string): Promise<void> {
    const followed = this.#worlds.get(world) ?? this.#begin(world);
    followed.holders++;
    return followed.ready;
  }

  /** Takes back one {@link follow}. After the last one, the world is followed for some seconds more. */
  unfollow(world: string): void {
    const followed = this.#worlds.get(world);
    if (followed && --followed.holders === 0) followed.leftAt = this.#time;
  }

  /** What this process has in a world has changed. */
  changed(world: string): void {
    if (this.#bus.isAlone) return;
    const followed = this.#worlds.get(world);
    if (!followed || followed.isChanged) return;
    followed.isChanged = true;
    this.#advance();
    if (this.#time - followed.sentAt < MIN_INTERVAL_MS) return;
    // With all that changes in this turn.
    this.#clock.soon(() => {
      if (followed.isChanged && this.#worlds.get(world) === followed)
        this.#publish(world, followed);
    });
  }

  /** Publishes what others do not have yet, and ends. */
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

  /** @param asks whether all processes get it and answer, also those that do not follow the world. */
  #publish(world: string, followed: Followed | undefined, asks = false): void {
    if (this.#closed) return;
    let content = NOTHING;
    for (const part of this.#parts) content = { ...content, ...part.describe?.(world) };
    const { process } = this.#bus;
    const number = ++this.#number;
    const snapshot: Snapshot = { process, world, number, ...(asks && { asks }), ...content };
    if (followed) {
      // The first one has nobody yet: the next leaves as soon as there is somebody.
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
    // Seldom enough to leave at any time: once for each process that begins to follow a world.
    if (data.asks) this.#publish(data.world, followed);
    if (!followed) return;
    const before = followed.heard.get(process)?.snapshot;
    if (before && before.number >= data.number) return;
    this.#advance();
    followed.heard.set(process, { snapshot: data, at: this.#time });
    this.#tell(data.world, before, data);
    this.#answered(followed, process);
  }

  #tell(world: string, before: Snapshot | undefined, now: Snapshot | undefined): void {
    for (const part of this.#parts) part.changed?.(world, before, now);
  }

  #answered({ awaited, onReady }: Followed, process: string): void {
    if (awaited.delete(process) && awaited.size === 0) onReady();
  }

  #drop(world: string, { heard }: Followed, process: string): void {
    const before = heard.get(process)?.snapshot;
    if (heard.delete(process)) this.#tell(world, before, undefined);
  }

  /** A process has ended. If it has not, it will be heard again. */
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
      // One without people is not renewed.
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

/** Counts the activity of each world. To count is one lookup and one addition. */
export class Activity {
  readonly #snapshots: Snapshots;
  readonly #since: number;
  /** What this process has counted, by world. */
  readonly #worlds = new Map<string, { messages: number; slowReaders: number }>();

  constructor(clock: Clock, snapshots: Snapshots) {
    this.#snapshots = snapshots;
    this.#since = clock.date();
    snapshots.add({ describe: (world) => ({ counts: this.#own(world) }) });
  }

  /** Counts one more. */
  count(world: string, what: "messages" | "slowReaders"): void {
    let counts = this.#worlds.get(world);
    if (!counts) this.#worlds.set(world, (counts = { messages: 0, slowReaders: 0 }));
    counts[what]++;
    this.#snapshots.changed(world);
  }

  /** The counts of all processes that live, and when the first of them began. */
  of(world: string): Counts {
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

  /** A world was deleted. */
  forget(world: string): void {
    this.#worlds.delete(world);
  }

  #own(world: string): Counts {
    const { messages, slowReaders } = this.#worlds.get(world) ?? { messages: 0, slowReaders: 0 };
    return { messages, slowReaders, since: this.#since };
  }
}
