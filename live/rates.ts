import type { LiveLimits } from "../config.js";
import type { UserRecord } from "../db/store.js";
import type { Connection } from "./connection.js";
import type { Hub } from "./hub.js";
import { sizeOfProfile } from "./sizes.js";
import { TokenBucket } from "./token-bucket.js";

/** A burst of messages is this many times the rate. */
const MESSAGE_BURST = 4;

/**
 * How many bytes about one user those who watch rooms get in a second, because the
 * user enters again and again.
 */
const ENTERED_BYTES = 32 * 1024;

/** A burst of entries is this many times the rate: a hundred rooms at once. */
const ENTRY_BURST = 8;

/** What an entry costs beside the profile, in bytes. */
const ENTRY_COST = 2048;

/** How often a user may join or leave channels in a second; a burst is twelve times as many. */
const JOINS_PER_SECOND = 5;
const JOIN_BURST = 12;

/** What that costs at least, in bytes. */
const JOIN_COST = 2048;

/** To how many people a user may show direct channels for each message that they may send. */
const SHOWN_PEOPLE = 2;

/** How many times that many people may be shown at once: three channels of a hundred. */
const SHOW_BURST = 30;

/**
 * How many times a second somebody in a room may be told of a new question, over all who
 * are there: about a third of what a core can send. A burst is four times as many.
 */
const TOLD = 50_000;
const TOLD_BURST = 4;

/** The size of a question that counts as one more that is told, in characters. */
const TOLD_SIZE = 1000;

/** One rate of each user. The keys are the sets of their connections in the hub. */
type UserRates = WeakMap<ReadonlySet<Connection>, TokenBucket>;

/**
 * How much each user may still do, counted over their connections in this process.
 * It is kept while one of them is open. And how much may still happen in each room.
 */
export class Rates {
  readonly #hub: Hub;
  readonly #limits: LiveLimits;
  readonly #messages: UserRates = new WeakMap();
  readonly #entries: UserRates = new WeakMap();
  readonly #joins: UserRates = new WeakMap();
  readonly #shows: UserRates = new WeakMap();
  /** Of each room, by the set of the connections in it. */
  readonly #told = new WeakMap<ReadonlySet<Connection>, TokenBucket>();

  constructor(hub: Hub, limits: LiveLimits) {
    this.#hub = hub;
    this.#limits = limits;
  }

  /** Whether a user may send one more message. */
  mayMessage(connection: Connection): boolean {
    const rate = this.#limits.messagesPerSecond;
    return this.#of(connection, this.#messages, rate, MESSAGE_BURST).take();
  }

  /**
   * Whether others may be told that a user entered a room; counted in bytes. Each
   * entry sends the profile to all who watch.
   */
  mayEnter(connection: Connection, user: UserRecord): boolean {
    const cost = ENTRY_COST + sizeOfProfile(user);
    return this.#of(connection, this.#entries, ENTERED_BYTES, ENTRY_BURST).take(
      cost,
    );
  }

  /**
   * Whether a user may join or leave one more channel, of which all who listen there
   * learn; counted in bytes. The event shows the profile twice.
   */
  mayJoinOrLeave(connection: Connection, user: UserRecord): boolean {
    const rate = JOINS_PER_SECOND * JOIN_COST;
    const cost = Math.max(JOIN_COST, 2 * sizeOfProfile(user));
    return this.#of(connection, this.#joins, rate, JOIN_BURST).take(cost);
  }

  /**
   * Whether a user may make a direct channel appear to some others, each of whom gets
   * the list of their channels; counted in people.
   */
  mayShow(connection: Connection, people: number): boolean {
    const rate = SHOWN_PEOPLE * this.#limits.messagesPerSecond;
    return this.#of(connection, this.#shows, rate, SHOW_BURST).take(people);
  }

  /**
   * Whether all in a room may be told of one more question. Many people may ask, and
   * others would learn of nothing else.
   * @param size of the question, in characters.
   */
  mayTell(world: string, room: string, size: number): boolean {
    const people = this.#hub.inRoom(world, room);
    if (people.size === 0) return true;
    let bucket = this.#told.get(people);
    if (!bucket) {
      this.#told.set(people, (bucket = new TokenBucket(TOLD, TOLD_BURST)));
    }
    const cost = people.size * (1 + size / TOLD_SIZE);
    return bucket.take(Math.min(cost, TOLD * TOLD_BURST));
  }

  #of(
    { world, login }: Connection,
    rates: UserRates,
    rate: number,
    burst: number,
  ): TokenBucket {
    const connections = this.#hub.of(world, login!.user);
    let bucket = rates.get(connections);
    if (!bucket)
      rates.set(connections, (bucket = new TokenBucket(rate, burst)));
    return bucket;
  }
}
