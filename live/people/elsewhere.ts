import type { Clock } from "../../db/log/clock.js";
import { isFlag, isId, isRecord } from "../../schemas/plain/shapes.js";
import type { Headcount } from "./headcount.js";
import type { Replica } from "./replica/replica.js";
import type { ForeignItem, Topic } from "./replica/topic.js";
import { isStay, type Stay, type Step, stepsBetween } from "./stays.js";
import type { Whereabouts } from "./whereabouts.js";

/** How long other processes can get an {@link Absent}, in milliseconds. */
const ABSENT_TIME = 5000;

/** A user has left a channel, with the connections of all processes. The key names both. */
interface Absent {
  /** The connection that did it. */
  by: string;
  silent: boolean;
}

const isAbsent = isRecord({ by: isId, silent: isFlag });

/**
 * The connections that users of this process have in other processes. For each such user, the
 * processes tell each other of every connection, and of the channels in which it makes the user
 * a member.
 */
export class Elsewhere {
  readonly #clock: Clock;
  readonly #replica: Replica;
  readonly #delay: number;
  readonly #people: Whereabouts;
  readonly #counts: Pick<Headcount, "elsewhere">;
  /** The messages to processes with connections of the same user, by connection and world. */
  readonly #stays: Topic<Stay>;
  /** To a process with connections of the user, by user, channel and world. */
  readonly #absent: Topic<Absent>;

  /** @param delay before steps are published together, in milliseconds. */
  constructor(
    clock: Clock,
    replica: Replica,
    delay: number,
    people: Whereabouts,
    counts: Pick<Headcount, "elsewhere">,
  ) {
    this.#clock = clock;
    this.#replica = replica;
    this.#delay = delay;
    this.#people = people;
    this.#counts = counts;
    this.#stays = replica.topic<Stay>({
      name: "stay",
      delay,
      isValue: isStay,
      put: (item, stay) => this.#take(item, stay),
      gone: ({ process, key }) => {
        const [connection = "", world = ""] = key.split(" ");
        if (this.#people.ownerOf(connection)?.process !== process) return;
        this.#people.apply(process, world, { do: "close", connection });
      },
    });
    this.#absent = replica.topic<Absent>({
      name: "absent",
      delay,
      isValue: isAbsent,
      put: (item, absent) => this.#quit(item, absent),
      gone: () => {},
    });
  }

  /** Sends a connection of this process to the other processes with the same user. */
  share(world: string, connection: string, delay = this.#delay): void {
    for (const process of this.#replica.othersIn(world)) {
      this.tell(process, world, connection, delay);
    }
  }

  /** {@link share} with one process. It takes the connection back if the user has left that process. */
  tell(process: string, world: string, connection: string, delay: number) {
    const key = `${connection} ${world}`;
    const stay = this.#people.stayOf(connection);
    const isThere =
      stay && this.#counts.elsewhere(world, stay.user).includes(process);
    if (isThere) this.#stays.put(process, key, stay, delay);
    else this.#stays.delete(process, key);
  }

  /** Tells the processes with the same user that no connection makes them a member of a channel. */
  shareAbsence(
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
  attendToo(world: string, user: string, channel: string): void {
    if (!this.#people.attends(world, channel, user)) return;
    const { process } = this.#replica;
    const who = { world, user, channel };
    for (const connection of this.#people.listening(process, who, false)) {
      this.#people.apply(process, world, { do: "attend", connection, channel });
      // The user may next end their other subscriptions, in another process.
      this.share(world, connection, 0);
    }
  }

  /** Takes another process's message about one of its connections. */
  #take({ process, key }: ForeignItem, stay: Stay): void {
    const [connection = "", world = ""] = key.split(" ");
    const owner = this.#people.ownerOf(connection);
    if (owner && owner.process !== process) return;
    const before = this.#people.stayOf(connection);
    for (const step of stepsBetween(connection, before, stay)) {
      this.#people.apply(process, world, step);
      if (step.do === "attend") {
        this.attendToo(world, stay.user, step.channel);
      }
    }
  }

  /** A user has left a channel in another process. */
  #quit({ key }: ForeignItem, { by, silent }: Absent): void {
    const { process } = this.#replica;
    const [user = "", channel = "", world = ""] = key.split(" ");
    const who = { world, user, channel };
    for (const id of this.#people.listening(process, who, true)) {
      this.#people.quit(id, by, channel, silent);
      this.share(world, id);
    }
  }
}
