import type { Clock } from "../../db/log/clock.js";
import { Elsewhere } from "./elsewhere.js";
import { Headcount } from "./headcount.js";
import type { Replica } from "./replica/replica.js";
import type { Step } from "./stays.js";
import { Watches } from "./watches.js";
import { type PresenceListener, Whereabouts } from "./whereabouts.js";

/** The delay before steps are published together, in milliseconds. */
const REPORT_DELAY = 20;

/**
 * How long a user who left a room still counts as a viewer for its watchers, in milliseconds: the
 * user may have entered it through another process, which reports that soon.
 */
const GRACE = 10 * REPORT_DELAY;

/** A listener to changes in presence. */
export interface CrowdListener extends PresenceListener {
  /** The number of people in a room has changed. */
  counted(world: string, room: string): void;
  /** Whether this process has users in a room who may see its viewers. */
  isWatched(world: string, room: string): boolean;
}

/** A listener to the rooms of the users of this process. */
export interface RoomListener {
  /** A user entered a room, perhaps with one more connection. */
  entered(world: string, room: string, user: string): void;
  /** The last connection that a user has in this process left the room. */
  left(world: string, room: string, user: string): void;
}

/**
 * The connected users and their rooms, in the worlds that this process follows. It is kept in
 * memory, and ends with its process.
 *
 * A process knows its own users by name. It has only numbers of users elsewhere
 * ({@link Headcount}), except for the names of two groups:
 *
 * - the users in a room whose viewers its own users may see ({@link Watches});
 * - the users who have a connection here, too, with their other connections: a limit of
 *   connections counts all of them, and each can make the user a member of a channel.
 *
 * The others take a name back when the reason ends.
 */
export class Presence {
  /** The users that this process knows by name, and their places. */
  readonly people: Whereabouts;
  readonly #clock: Clock;
  readonly #replica: Replica;
  readonly #listener: CrowdListener;
  readonly #rooms: RoomListener | undefined;
  readonly #counts: Headcount;
  readonly #watches: Watches;
  readonly #elsewhere: Elsewhere;
  #closed = false;

  constructor(
    clock: Clock,
    replica: Replica,
    listener: CrowdListener,
    rooms?: RoomListener,
  ) {
    this.people = new Whereabouts({
      opened: (...step) => listener.opened(...step),
      entered: (world, room, ...step) => {
        // Earlier viewers are in the list for which users of this process wait.
        if (this.#watches.isLoading(world, room)) return;
        listener.entered(world, room, ...step);
      },
      left: (world, room, user) =>
        this.#afterGrace(world, () => {
          if (!this.people.isIn(world, room, user))
            listener.left(world, room, user);
        }),
      attended: (...step) => listener.attended(...step),
    });
    this.#clock = clock;
    this.#replica = replica;
    this.#listener = listener;
    this.#rooms = rooms;
    this.#counts = new Headcount(replica, {
      delay: REPORT_DELAY,
      onChange: (...change) => this.#counted(...change),
      onElsewhere: (process, world, user) => {
        const own = this.people.connectionsOf(world, user, replica.process);
        for (const { connection } of own)
          this.#elsewhere.tell(process, world, connection, 0);
      },
    });
    this.#watches = new Watches(clock, replica, {
      isWatched: (world, room) => listener.isWatched(world, room),
      usersIn: (world, room) =>
        this.people
          .usersIn(world, room)
          .filter((user) => this.#isHere(world, room, user)),
      entered: (...step) => this.people.enterByName(...step),
      left: (...step) => this.people.leaveByName(...step),
    });
    this.#elsewhere = new Elsewhere(
      ...([clock, replica, REPORT_DELAY, this.people, this.#counts] as const),
    );
  }

  close(): void {
    this.#closed = true;
    this.#watches.close();
  }

  /** How many connections and users a world has, and how many are in its rooms. */
  in(world: string): ReturnType<Headcount["in"]> {
    return this.#counts.in(world);
  }

  /** How many users are in a room. */
  countIn(world: string, room: string): number {
    return this.#counts.countIn(world, room);
  }

  /** Whether a user has a connection that is logged in. */
  isOnline(world: string, user: string): boolean {
    return this.#counts.has(world, user);
  }

  /**
   * Waits until this process knows how many people are in a world. If it does not follow that
   * world, it does so for some seconds.
   */
  async visit(world: string): Promise<void> {
    const known = this.#replica.follow(world);
    this.#replica.unfollow(world);
    await known;
  }

  /**
   * Waits until this process has the viewers of a room. It keeps them for as long as users of
   * this process may see them.
   */
  watch(world: string, room: string): Promise<void> {
    return this.#watches.watch(world, room);
  }

  /**
   * Whether watchers of a room should learn that a user left it. The user may be back by the time
   * of the push. While others still name their people there, watchers wait for a list that is
   * read later, and they would take the user out of it.
   */
  isGone(world: string, room: string, user: string): boolean {
    if (this.#watches.isLoading(world, room)) return false;
    return !this.people.isIn(world, room, user);
  }

  /** Notes a step of a connection of this process, and publishes it. */
  note(world: string, step: Step): void {
    const { process } = this.#replica;
    const { connection } = step;
    const before = this.people.ownerOf(connection)?.user;
    const rooms = LEAVING.has(step.do) ? this.people.roomsOf(connection) : [];
    const changed = this.#changedBy(world, step);
    this.people.apply(process, world, step);
    const user = before ?? this.people.ownerOf(connection)?.user;
    if (user === undefined) return;
    if (COUNTED.has(step.do)) this.#count(world, user);
    if (step.do === "enter") {
      this.#watches.entered(world, step.room, user);
      this.#rooms?.entered(world, step.room, user);
    }
    for (const room of rooms) {
      if (this.people.isInRoom(connection, room)) continue;
      if (this.#isHere(world, room, user)) continue;
      this.#watches.left(world, room, user);
      this.#rooms?.left(world, room, user);
    }
    const delay = step.do === "attend" ? 0 : REPORT_DELAY;
    for (const id of changed) this.#elsewhere.share(world, id, delay);
    if (step.do === "absent") this.#elsewhere.shareAbsence(world, user, step);
    if (step.do === "attend" || step.do === "subscribe") {
      this.#elsewhere.attendToo(world, user, step.channel);
    }
  }

  /** The connections that a step changes for other processes. */
  #changedBy(world: string, step: Step): string[] {
    const { connection } = step;
    if (step.do !== "absent") return SHARED.has(step.do) ? [connection] : [];
    const user = this.people.ownerOf(connection)?.user;
    if (user === undefined) return [];
    const who = { world, user, channel: step.channel };
    return this.people.listening(this.#replica.process, who, true);
  }

  #counted(world: string, room: string, isMore: boolean): void {
    const tell = () => this.#listener.counted(world, room);
    if (isMore) tell();
    else this.#afterGrace(world, tell);
  }

  #afterGrace(world: string, call: () => void): void {
    if (this.#replica.othersIn(world).length === 0) return call();
    this.#clock.after(GRACE, () => {
      if (!this.#closed) call();
    });
  }

  /** Counts the connections that a user has in this process. */
  #count(world: string, user: string): void {
    const own = this.people.connectionsOf(world, user, this.#replica.process);
    const rooms = own.map(({ connection }) => this.people.roomsOf(connection));
    this.#counts.count(world, user, rooms);
  }

  /** Whether a user is in a room with a connection of this process. */
  #isHere(world: string, room: string, user: string): boolean {
    return this.people
      .connectionsOf(world, user, this.#replica.process)
      .some(({ connection }) => this.people.roomsOf(connection).includes(room));
  }
}

type Kinds = ReadonlySet<Step["do"]>;

/** The steps that change the counts. */
const COUNTED: Kinds = new Set(["open", "close", "enter", "leave"]);

/** The steps by which a connection leaves rooms. */
const LEAVING: Kinds = new Set(["close", "leave"]);

/** The steps that change the `Stay` of their connection. */
const SHARED: Kinds = new Set(["open", "close", "attend", "unsubscribe"]);
