import type { Clock } from "../../db/log/clock.js";
import { isFlag, isId, isRecord } from "../../schemas/plain/shapes.js";
import { Headcount } from "./headcount.js";
import type { Replica } from "./replica/replica.js";
import type { ForeignItem, Topic } from "./replica/topic.js";
import { isStay, type Stay, type Step, stepsBetween } from "./stays.js";
import { Watches } from "./watches.js";
import { type PresenceListener, Whereabouts } from "./whereabouts.js";

/** The delay before steps are published together, in milliseconds. */
const REPORT_DELAY = 20;

/**
 * How long a user who left a room still counts as a viewer for its watchers, in milliseconds: the
 * user may have entered it through another process, which reports that soon.
 */
const GRACE = 10 * REPORT_DELAY;

/** How long other processes can get an {@link Absent}, in milliseconds. */
const ABSENT_TIME = 5000;

/** A user has left a channel, with the connections of all processes. The key names both. */
interface Absent {
  /** The connection that did it. */
  by: string;
  silent: boolean;
}

const isAbsent = isRecord({ by: isId, silent: isFlag });

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
export class Presence extends Whereabouts {
  readonly #clock: Clock;
  readonly #replica: Replica;
  readonly #listener: CrowdListener;
  readonly #rooms: RoomListener | undefined;
  readonly #counts: Headcount;
  readonly #watches: Watches;
  /** The messages to processes with connections of the same user, by connection and world. */
  readonly #stays: Topic<Stay>;
  /** To a process with connections of the user, by user, channel and world. */
  readonly #absent: Topic<Absent>;
  #closed = false;

  constructor(
    clock: Clock,
    replica: Replica,
    listener: CrowdListener,
    rooms?: RoomListener,
  ) {
    super({
      opened: (...step) => listener.opened(...step),
      entered: (world, room, ...step) => {
        // Earlier viewers are in the list for which users of this process wait.
        if (this.#watches.isLoading(world, room)) return;
        listener.entered(world, room, ...step);
      },
      left: (...step) => listener.left(...step),
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
        const own = this.connectionsOf(world, user, replica.process);
        for (const { connection: id } of own) this.#tell(process, world, id, 0);
      },
    });
    this.#watches = new Watches(clock, replica, {
      isWatched: (world, room) => listener.isWatched(world, room),
      usersIn: (world, room) =>
        this.usersIn(world, room).filter((user) =>
          this.#isHere(world, room, user),
        ),
      entered: (...step) => this.enterByName(...step),
      left: (...step) => this.leaveByName(...step),
    });
    this.#stays = replica.topic<Stay>({
      name: "stay",
      delay: REPORT_DELAY,
      isValue: isStay,
      put: (item, stay) => this.#take(item, stay),
      gone: ({ process, key }) => {
        const [connection = "", world = ""] = key.split(" ");
        if (this.ownerOf(connection)?.process !== process) return;
        this.apply(process, world, { do: "close", connection });
      },
    });
    this.#absent = replica.topic<Absent>({
      name: "absent",
      delay: REPORT_DELAY,
      isValue: isAbsent,
      put: (item, absent) => this.#quit(item, absent),
      gone: () => {},
    });
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

  /** Notes a step of a connection of this process, and publishes it. */
  note(world: string, step: Step): void {
    const { process } = this.#replica;
    const { connection } = step;
    const before = this.ownerOf(connection)?.user;
    const rooms = LEAVING.has(step.do) ? this.roomsOf(connection) : [];
    const changed = this.#changedBy(world, step);
    this.apply(process, world, step);
    const user = before ?? this.ownerOf(connection)?.user;
    if (user === undefined) return;
    if (COUNTED.has(step.do)) this.#count(world, user);
    if (step.do === "enter") {
      this.#watches.entered(world, step.room, user);
      this.#rooms?.entered(world, step.room, user);
    }
    for (const room of rooms) {
      if (this.isInRoom(connection, room)) continue;
      if (this.#isHere(world, room, user)) continue;
      this.#watches.left(world, room, user);
      this.#rooms?.left(world, room, user);
    }
    const delay = step.do === "attend" ? 0 : REPORT_DELAY;
    for (const id of changed) this.#share(world, id, delay);
    if (step.do === "absent") this.#shareAbsence(world, user, step);
    if (step.do === "attend" || step.do === "subscribe") {
      this.#attendToo(world, user, step.channel);
    }
  }

  /** The connections that a step changes for other processes. */
  #changedBy(world: string, step: Step): string[] {
    const { connection } = step;
    if (step.do !== "absent") return SHARED.has(step.do) ? [connection] : [];
    const user = this.ownerOf(connection)?.user;
    if (user === undefined) return [];
    const who = { world, user, channel: step.channel };
    return this.listening(this.#replica.process, who, true);
  }

  protected override noteLeft(world: string, room: string, user: string) {
    this.#afterGrace(world, () => {
      if (!this.isIn(world, room, user)) super.noteLeft(world, room, user);
    });
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
    const own = this.connectionsOf(world, user, this.#replica.process);
    const rooms = own.map(({ connection }) => this.roomsOf(connection));
    this.#counts.count(world, user, rooms);
  }

  /** Whether a user is in a room with a connection of this process. */
  #isHere(world: string, room: string, user: string): boolean {
    return this.connectionsOf(world, user, this.#replica.process).some(
      ({ connection }) => this.roomsOf(connection).includes(room),
    );
  }

  /** Sends a connection of this process to the other processes with the same user. */
  #share(world: string, connection: string, delay = REPORT_DELAY): void {
    for (const process of this.#replica.othersIn(world)) {
      this.#tell(process, world, connection, delay);
    }
  }

  #tell(process: string, world: string, connection: string, delay: number) {
    const key = `${connection} ${world}`;
    const stay = this.stayOf(connection);
    const isThere =
      stay && this.#counts.elsewhere(world, stay.user).includes(process);
    if (isThere) this.#stays.put(process, key, stay, delay);
    else this.#stays.delete(process, key);
  }

  #shareAbsence(
    world: string,
    user: string,
    { connection: by, channel, silent }: Step & { do: "absent" },
  ): void {
    const key = `${user} ${channel} ${world}`;
    for (const process of this.#counts.elsewhere(world, user)) {
      this.#absent.put(process, key, { by, silent });
      this.#clock.after(ABSENT_TIME, () => this.#absent.delete(process, key));
    }
  }

  /**
   * While a user is a member of a channel by any connection, each connection that
   * listens makes them one: the membership ends with the last of them. Each process decides
   * for its own connections, so that all agree in the end, in any order of the messages.
   */
  #attendToo(world: string, user: string, channel: string): void {
    if (!this.attends(world, channel, user)) return;
    const { process } = this.#replica;
    const who = { world, user, channel };
    for (const connection of this.listening(process, who, false)) {
      this.apply(process, world, { do: "attend", connection, channel });
      // The user may next end their other subscriptions, in another process.
      this.#share(world, connection, 0);
    }
  }

  /** Takes another process's message about one of its connections. */
  #take({ process, key }: ForeignItem, stay: Stay): void {
    const [connection = "", world = ""] = key.split(" ");
    const owner = this.ownerOf(connection);
    if (owner && owner.process !== process) return;
    const before = this.stayOf(connection);
    for (const step of stepsBetween(connection, before, stay)) {
      this.apply(process, world, step);
      if (step.do === "attend") {
        this.#attendToo(world, stay.user, step.channel);
      }
    }
  }

  /** A user has left a channel in another process. */
  #quit({ key }: ForeignItem, { by, silent }: Absent): void {
    const { process } = this.#replica;
    const [user = "", channel = "", world = ""] = key.split(" ");
    const who = { world, user, channel };
    for (const id of this.listening(process, who, true)) {
      this.quit(id, by, { channel, silent });
      this.#share(world, id);
    }
  }
}

type Kinds = ReadonlySet<Step["do"]>;

/** The steps that change the counts. */
const COUNTED: Kinds = new Set(["open", "close", "enter", "leave"]);

/** The steps by which a connection leaves rooms. */
const LEAVING: Kinds = new Set(["close", "leave"]);

/** The steps that change the {@link Stay} of their connection. */
const SHARED: Kinds = new Set(["open", "close", "attend", "unsubscribe"]);
