import type { Clock } from "../../db/log/clock.js";
import { isCount } from "../../schemas/plain/shapes.js";
import type { Replica } from "./replica/replica.js";
import type { ForeignItem, Topic } from "./replica/topic.js";

/** How long others may take to name the people in a room, in milliseconds. */
const PATIENCE = 250;

/** How often it is looked whether a room is still watched, in milliseconds. */
const PAUSE = 10_000;

/** A room of which this process wants to know who is in it. */
interface Watched {
  /** Another number each time that it begins. */
  readonly number: number;
  /** The processes that have not named all of their people yet. */
  readonly awaited: Set<string>;
  readonly ready: Promise<void>;
  onReady: () => void;
  isReady: boolean;
}

interface WatchesParts {
  /** Whether people of this process may see who is in a room, and are in it. */
  readonly isWatched: (world: string, room: string) => boolean;
  /** A process begins or ceases to watch a room. What it is told now, it gets at once. */
  readonly onWatch: (process: string, world: string, room: string) => void;
}

/**
 * The rooms that each process watches, as people there may see who is in them. Others name
 * their people in such a room to that process, and to no other.
 */
export class Watches {
  readonly #clock: Clock;
  readonly #replica: Replica;
  readonly #parts: WatchesParts;
  /** Which rooms of a world a process watches. */
  readonly #watch: Topic<number>;
  /** To the process that watches: all in a room have been named. By room and world. */
  readonly #named: Topic<number>;
  readonly #own = new Map<string, Watched>();
  /** By process and world. */
  readonly #others = new Map<string, Set<string>>();
  #last = 0;
  #closed = false;

  constructor(clock: Clock, replica: Replica, parts: WatchesParts) {
    this.#clock = clock;
    this.#replica = replica;
    this.#parts = parts;
    this.#watch = replica.topic<number>({
      name: "watch",
      delay: 0,
      isValue: isCount,
      put: (item, number) => this.#begin(item, number),
      gone: (item) => this.#end(item),
    });
    this.#named = replica.topic<number>({
      name: "named",
      delay: 0,
      isValue: isCount,
      put: ({ process, key }, number) => this.#hear(process, key, number),
      gone: () => {},
    });
  }

  close(): void {
    this.#closed = true;
  }

  /**
   * Watches a room, until none of the people of this process who are in it may see who is.
   * @returns when all others have named their people there, or some process takes too long.
   */
  watch(world: string, room: string): Promise<void> {
    const key = keyOf(world, room);
    const before = this.#own.get(key);
    if (before) return before.ready;
    const awaited = new Set(this.#replica.othersIn(world));
    let onReady = () => {};
    const ready = new Promise<void>((resolve) => (onReady = resolve));
    const watched: Watched = {
      ...{ number: ++this.#last, awaited, ready, isReady: false },
      onReady: () => {
        watched.isReady = true;
        onReady();
      },
    };
    this.#own.set(key, watched);
    this.#watch.put(world, room, watched.number);
    if (awaited.size === 0) watched.onReady();
    else this.#clock.after(PATIENCE, watched.onReady);
    this.#endLater(world, room);
    return ready;
  }

  /** Whether this process has begun to watch a room, and others still name who was there before. */
  isLoading(world: string, room: string): boolean {
    return this.#own.get(keyOf(world, room))?.isReady === false;
  }

  /** The rooms of a world that another process watches. */
  by(process: string, world: string): ReadonlySet<string> | undefined {
    return this.#others.get(keyOf(world, process));
  }

  #endLater(world: string, room: string): void {
    this.#clock.after(PAUSE, () => {
      if (this.#closed) return;
      if (this.#parts.isWatched(world, room)) {
        return this.#endLater(world, room);
      }
      this.#own.delete(keyOf(world, room));
      this.#watch.delete(world, room);
    });
  }

  #begin({ process, scope: world, key: room }: ForeignItem, number: number) {
    const name = keyOf(world, process);
    const rooms = this.#others.get(name) ?? new Set();
    this.#others.set(name, rooms.add(room));
    this.#parts.onWatch(process, world, room);
    // It arrives after the names.
    this.#named.put(process, keyOf(world, room), number);
  }

  #end({ process, scope: world, key: room }: ForeignItem): void {
    const name = keyOf(world, process);
    const rooms = this.#others.get(name);
    if (!rooms?.delete(room)) return;
    if (rooms.size === 0) this.#others.delete(name);
    this.#parts.onWatch(process, world, room);
    this.#named.delete(process, keyOf(world, room));
  }

  #hear(process: string, key: string, number: number): void {
    const watched = this.#own.get(key);
    if (watched?.number !== number) return;
    if (watched.awaited.delete(process) && watched.awaited.size === 0) {
      watched.onReady();
    }
  }
}

/** Ids have no spaces. */
const keyOf = (world: string, id: string): string => `${id} ${world}`;
