import type { Clock } from "../../db/log/clock.js";
import { isCount } from "../../schemas/plain/shapes.js";
import type { Replica } from "./replica/replica.js";
import type { ForeignItem, Topic } from "./replica/topic.js";

/** How long others may take to name the people in a room, in milliseconds. */
const PATIENCE = 250;

/** How often it is looked whether a room is still watched, in milliseconds. */
const PAUSE = 10_000;

/** A room whose viewers this process watches. */
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
  /** Whether this process has users in a room who may see its viewers. */
  isWatched(world: string, room: string): boolean;
  /** The users of this process in a room. */
  usersIn(world: string, room: string): Iterable<string>;
  /** A user of another process entered a watched room; `again` if they were there before. */
  entered(world: string, room: string, user: string, again: boolean): void;
  left(world: string, room: string, user: string): void;
}

/**
 * The names of the users in watched rooms. A process whose users may see the viewers of a room
 * announces that it watches the room. While any process does, the others name their users
 * there, in a scope of the room that only watching processes follow.
 */
export class Watches {
  readonly #clock: Clock;
  readonly #replica: Replica;
  readonly #parts: WatchesParts;
  /** In a world: the rooms that a process watches. */
  readonly #watch: Topic<number>;
  /** In a room: the users there, with another number each time that they enter. */
  readonly #name: Topic<number>;
  /** In a room: the processes to which all users there have been named. */
  readonly #named: Topic<number>;
  /** The rooms that this process watches, by scope. */
  readonly #own = new Map<string, Watched>();
  /** The names from other processes, by scope: of processes and users. */
  readonly #names = new Map<string, Set<string>>();
  /** The other processes that watch a room, by scope. */
  readonly #others = new Map<string, Set<string>>();
  #last = 0;
  #closed = false;

  constructor(clock: Clock, replica: Replica, parts: WatchesParts) {
    this.#clock = clock;
    this.#replica = replica;
    this.#parts = parts;
    const common = { delay: 0, isValue: isCount };
    this.#watch = replica.topic<number>({
      ...{ ...common, name: "watch" },
      put: (item, number) => this.#begin(item, number),
      gone: (item) => this.#end(item),
    });
    this.#name = replica.topic<number>({
      ...{ ...common, name: "name", delay: 20 },
      put: (item) => this.#take(item),
      gone: (item) => this.#lose(item),
    });
    this.#named = replica.topic<number>({
      ...{ ...common, name: "named" },
      put: (item, number) => this.#hear(item, number),
      gone: () => {},
    });
  }

  close(): void {
    this.#closed = true;
  }

  /**
   * Watches a room, until no user of this process in it may see its viewers.
   * @returns when all others have named their users there, or a process takes too long.
   */
  watch(world: string, room: string): Promise<void> {
    const scope = scopeOf(world, room);
    const before = this.#own.get(scope);
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
    this.#own.set(scope, watched);
    // It does not fail, and the others say by themselves when they have named all.
    this.#replica.follow(scope).catch(() => {});
    this.#watch.put(world, room, watched.number);
    if (awaited.size === 0) watched.onReady();
    else this.#clock.after(PATIENCE, watched.onReady);
    this.#endLater(world, room);
    return ready;
  }

  /** Whether this process has begun to watch a room, and others still send earlier viewers. */
  isLoading(world: string, room: string): boolean {
    return this.#own.get(scopeOf(world, room))?.isReady === false;
  }

  /** A connection of this process entered a room, perhaps again. */
  entered(world: string, room: string, user: string): void {
    const scope = scopeOf(world, room);
    if (this.#others.has(scope)) this.#name.put(scope, user, ++this.#last);
  }

  /** No connection that a user has in this process is in a room any more. */
  left(world: string, room: string, user: string): void {
    this.#name.delete(scopeOf(world, room), user);
  }

  #endLater(world: string, room: string): void {
    this.#clock.after(PAUSE, () => {
      if (this.#closed) return;
      if (this.#parts.isWatched(world, room)) {
        return this.#endLater(world, room);
      }
      const scope = scopeOf(world, room);
      this.#own.delete(scope);
      // The others take the names back.
      this.#watch.delete(world, room);
      this.#replica.unfollow(scope);
    });
  }

  /** Another process watches a room. */
  #begin({ process, scope: world, key: room }: ForeignItem, number: number) {
    const scope = scopeOf(world, room);
    let processes = this.#others.get(scope);
    if (!processes) {
      this.#others.set(scope, (processes = new Set()));
      for (const user of this.#parts.usersIn(world, room)) {
        this.#name.put(scope, user, ++this.#last, 0);
      }
    }
    processes.add(process);
    // It arrives after the names.
    this.#named.put(scope, process, number);
  }

  #end({ process, scope: world, key: room }: ForeignItem): void {
    const scope = scopeOf(world, room);
    const processes = this.#others.get(scope);
    if (!processes?.delete(process)) return;
    this.#named.delete(scope, process);
    if (processes.size > 0) return;
    this.#others.delete(scope);
    for (const user of this.#parts.usersIn(world, room)) {
      this.#name.delete(scope, user);
    }
  }

  #hear({ process, scope, key }: ForeignItem, number: number): void {
    if (key !== this.#replica.process) return;
    const watched = this.#own.get(scope);
    if (watched?.number !== number) return;
    if (watched.awaited.delete(process) && watched.awaited.size === 0) {
      watched.onReady();
    }
  }

  #take({ process, scope, key: user }: ForeignItem): void {
    const names = this.#names.get(scope) ?? new Set();
    const name = `${process} ${user}`;
    const again = names.has(name);
    this.#names.set(scope, names.add(name));
    const [room, world] = partsOf(scope);
    this.#parts.entered(world, room, user, again);
  }

  #lose({ process, scope, key: user }: ForeignItem): void {
    const names = this.#names.get(scope);
    if (!names?.delete(`${process} ${user}`)) return;
    if (names.size === 0) this.#names.delete(scope);
    const [room, world] = partsOf(scope);
    this.#parts.left(world, room, user);
  }
}

/** Ids have no spaces, so it is no world. */
const scopeOf = (world: string, room: string): string => `${room} ${world}`;

function partsOf(text: string): [string, string] {
  const end = text.indexOf(" ");
  return [text.slice(0, end), text.slice(end + 1)];
}
