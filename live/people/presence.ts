import type { Clock } from "../../db/log/clock.js";
import { isFlag, isId, isRecord } from "../../schemas/plain/shapes.js";
import type { Replica } from "./replica/replica.js";
import type { ForeignItem, Topic } from "./replica/topic.js";
import { type Absence, isStay, type Stay, type Step } from "./stays.js";
import { type PresenceListener, Whereabouts } from "./whereabouts.js";

/** After how many milliseconds other processes learn of steps, together. */
const REPORT_DELAY = 20;

/**
 * For how many milliseconds a user who left a room still counts as there for its watchers: another
 * process may already know that the user entered it, and reports that soon.
 */
const GRACE = 10 * REPORT_DELAY;

/** For how many milliseconds other processes can learn of an {@link Absent}. */
const ABSENT_TIME = 5000;

/** A user has left a channel, with the connections of all processes. The key names both. */
interface Absent {
  /** The connection that did it. */
  by: string;
  silent: boolean;
}

const isAbsent = isRecord({ by: isId, silent: isFlag });

/**
 * Who is connected and where, in all processes, in the worlds that this process follows. It
 * is kept in memory: when a process ends, what it had is gone with it.
 */
export class Presence extends Whereabouts {
  readonly #clock: Clock;
  readonly #replica: Replica;
  /** By connection. */
  readonly #stays: Topic<Stay>;
  readonly #absent: Topic<Absent>;
  #closed = false;

  constructor(clock: Clock, replica: Replica, listener: PresenceListener) {
    super(listener);
    this.#clock = clock;
    this.#replica = replica;
    this.#stays = replica.topic<Stay>({
      name: "presence",
      delay: REPORT_DELAY,
      isValue: isStay,
      put: (item, stay) => this.#take(item, stay),
      gone: ({ process, scope, key: connection }) => {
        if (this.ownerOf(connection)?.process !== process) return;
        this.apply(process, scope, { do: "close", connection });
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
  }

  /** Notes what a connection of this process does, and tells the others. */
  note(world: string, step: Step): void {
    const { process } = this.#replica;
    const changed = this.#changedBy(world, step);
    this.apply(process, world, step);
    const delay = step.do === "attend" ? 0 : REPORT_DELAY;
    for (const id of changed) this.#share(world, id, delay);
    if (step.do === "absent") this.#shareAbsence(world, step);
    if (step.do === "attend" || step.do === "subscribe") {
      const user = this.ownerOf(step.connection)?.user;
      if (user !== undefined) this.#attendToo(world, user, step.channel);
    }
  }

  /** The connections of which the others learn something by a step. */
  #changedBy(world: string, step: Step): string[] {
    const { connection } = step;
    // That it listens says nothing of its user.
    if (step.do === "subscribe") return [];
    if (step.do !== "unsubscribe" && step.do !== "absent") return [connection];
    const user = this.ownerOf(connection)?.user;
    if (user === undefined) return [];
    const { process } = this.#replica;
    const who = { world, user, channel: step.channel };
    const attending = this.listening(process, who, true);
    return step.do === "absent"
      ? attending
      : attending.filter((id) => id === connection);
  }

  /**
   * Waits until this process knows who is in a world. If it does not follow that world, it
   * does so for some seconds.
   */
  async visit(world: string): Promise<void> {
    const known = this.#replica.follow(world);
    this.#replica.unfollow(world);
    await known;
  }

  protected override noteLeft(world: string, room: string, user: string) {
    if (this.#replica.othersIn(world).length === 0) {
      super.noteLeft(world, room, user);
      return;
    }
    this.#clock.after(GRACE, () => {
      const isBack = this.isIn(world, room, user);
      if (!this.#closed && !isBack) super.noteLeft(world, room, user);
    });
  }

  #share(world: string, connection: string, delay = REPORT_DELAY): void {
    const stay = this.stayOf(connection);
    if (stay) this.#stays.put(world, connection, stay, delay);
    else this.#stays.delete(world, connection);
  }

  #shareAbsence(
    world: string,
    { connection: by, channel, silent }: Absence & { connection: string },
  ): void {
    const user = this.ownerOf(by)?.user;
    if (user === undefined) return;
    const key = `${user} ${channel}`;
    this.#absent.put(world, key, { by, silent });
    this.#clock.after(ABSENT_TIME, () => this.#absent.delete(world, key));
  }

  /**
   * While a user is a member of a channel by any connection, each connection that
   * listens makes them one: the membership ends with the last of them. A process
   * decides that for its own, so that all agree in the end, whose word comes first.
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

  /** Takes what another process says of one of its connections. */
  #take({ process, scope: world, key: connection }: ForeignItem, stay: Stay) {
    const owner = this.ownerOf(connection);
    if (owner && owner.process !== process) return;
    for (const step of this.stepsTo(connection, stay)) {
      this.apply(process, world, step);
      if (step.do === "attend") {
        this.#attendToo(world, stay.user, step.channel);
      }
    }
  }

  /** A user has left a channel in another process. */
  #quit({ scope: world, key }: ForeignItem, { by, silent }: Absent): void {
    const { process } = this.#replica;
    const end = key.indexOf(" ");
    const user = key.slice(0, end);
    const channel = key.slice(end + 1);
    const who = { world, user, channel };
    for (const id of this.listening(process, who, true)) {
      this.quit(id, by, { channel, silent });
      this.#share(world, id);
    }
  }
}
