import type { LiveLimits } from "../../config.js";
import type { UserRecord } from "../../db/contract/store.js";
import type { Clock } from "../../db/runtime.js";
import type { Identity } from "../../plugins/auth/identity.js";
import { networkOf } from "../../plugins/limits/guests.js";
import { sizeOfProfile } from "../rules/shared-reads.js";
import type { Connection } from "../socket/connection.js";
import { Buckets, TokenBucket } from "../socket/pace.js";
import type { Hub } from "./hub.js";

/** A burst of messages, or of reactions and votes, is this many times the rate. */
export const MESSAGE_BURST = 4;

/** The size of a message or question that counts as one more, in bytes. */
const MESSAGE_SIZE = 8 * 1024;

/** A burst of logins is this many times the rate, which is the one of commands. */
const LOGIN_BURST = 6;

/**
 * How many bytes a second the watchers of rooms may get about one user who enters again
 * and again.
 */
const ENTERED_BYTES = 32 * 1024;

/** A burst of entries is this many times the rate: a hundred rooms at once. */
const ENTRY_BURST = 8;

/** The cost of an entry beside the profile, in bytes. */
const ENTRY_COST = 2048;

/** How often a user may join or leave channels in a second; a burst is twelve times as many. */
const JOINS_PER_SECOND = 5;
const JOIN_BURST = 12;

/** The least cost of that, in bytes. */
const JOIN_COST = 2048;

/** How often a user may search in a second; a burst is ten times as many. */
const SEARCHES_PER_SECOND = 5;
const SEARCH_BURST = 10;

/** The same for messages of a channel. */
const CHAT_SEARCHES_PER_SECOND = 2;
const CHAT_SEARCH_BURST = 5;

/** How often a user may subscribe a browser in a second; a burst is thirty of them. */
const SUBSCRIPTIONS_PER_SECOND = 0.5;
const SUBSCRIPTION_BURST = 60;

/** To how many people a user may show direct channels for each message that they may send. */
const SHOWN_PEOPLE = 2;

/** How many times that many people may be shown at once: three channels of a hundred. */
const SHOW_BURST = 30;

/**
 * How many pushes of new questions a second a room may cause, over all its users: about a
 * third of what a core can send. A burst is four times as many.
 */
const FANOUT_PER_SECOND = 50_000;
const FANOUT_BURST = 4;

/** The size of a question that counts as one more push, in characters. */
const FANOUT_CHARACTERS = 1000;

/** The seconds of a minute and of a day, over which bytes are counted. */
const MINUTE_SECONDS = 60;
const DAY = 24 * 60 * MINUTE_SECONDS;

interface RatesPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly limits: LiveLimits;
}

/** A connection of a user, or a call. */
type Spender = Pick<Connection, "world"> & {
  readonly login: { readonly user: string; readonly identity: Identity } | undefined;
  /** Of the client; calls over HTTP, which guests cannot make, have none. */
  readonly address?: string;
};

/** The bounded actions of a user. */
type Kind =
  | "logins"
  | "messages"
  | "reactions"
  | "entries"
  | "joins"
  | "shows"
  | "searches"
  | "chatSearches"
  | "subscriptions";

/**
 * How much each user may still do in this process, counted over all connections, whether one is
 * open or not. And how much may still happen in each room.
 */
export class Rates {
  readonly #ports: RatesPorts;
  /** The keys name a world and a user. */
  readonly #rates: Record<Kind, Buckets>;
  /** Of each room, by the set of the connections in it. */
  readonly #fanout = new WeakMap<ReadonlySet<Connection>, TokenBucket>();
  /** The bytes that the guests of each network write. */
  readonly #guestBytes: Buckets;
  /** The bytes of the messages of each world. */
  readonly #chatBytes: Buckets;

  constructor(ports: RatesPorts) {
    this.#ports = ports;
    const { clock } = ports;
    const { commandsPerSecond, messagesPerSecond } = ports.limits;
    const buckets = (rate: number, burst: number) => new Buckets(clock, rate, burst);
    this.#rates = {
      logins: buckets(commandsPerSecond, LOGIN_BURST),
      messages: buckets(messagesPerSecond, MESSAGE_BURST),
      // A user who has sent many messages may still vote.
      reactions: buckets(messagesPerSecond, MESSAGE_BURST),
      entries: buckets(ENTERED_BYTES, ENTRY_BURST),
      joins: buckets(JOINS_PER_SECOND * JOIN_COST, JOIN_BURST),
      searches: buckets(SEARCHES_PER_SECOND, SEARCH_BURST),
      chatSearches: buckets(CHAT_SEARCHES_PER_SECOND, CHAT_SEARCH_BURST),
      subscriptions: buckets(SUBSCRIPTIONS_PER_SECOND, SUBSCRIPTION_BURST),
      shows: buckets(SHOWN_PEOPLE * messagesPerSecond, SHOW_BURST),
    };
    const { guestBytesPerMinute, chatBytesPerDay } = ports.limits;
    this.#guestBytes = new Buckets(clock, guestBytesPerMinute / MINUTE_SECONDS, MINUTE_SECONDS);
    this.#chatBytes = new Buckets(clock, chatBytesPerDay / DAY, DAY);
  }

  /** Whether a client may log in once more. It may have no user yet. */
  mayLogIn(world: string, { tokenId, clientId }: Identity): boolean {
    const name = tokenId === undefined ? `client ${clientId}` : `token ${tokenId}`;
    return this.#take("logins", world, name, 1);
  }

  /**
   * Whether a user may send one more message. All subscribers get all of it, so a large
   * one counts as several, but never as more than a burst.
   * @param size of the content, in bytes.
   */
  mayMessage(sender: Spender, size = 0): boolean {
    const { rate, burst } = this.#rates.messages;
    const cost = 1 + Math.floor(size / MESSAGE_SIZE);
    return this.#takeOf(sender, "messages", Math.min(cost, rate * burst));
  }

  /** Whether a message may be stored: all guests of a network together, and each world, may fill only so much of the disk. */
  mayStore(sender: Spender, bytes: number): boolean {
    return this.mayWrite(sender, bytes) && this.#chatBytes.take(sender.world, bytes);
  }

  /** Whether a user may write so many bytes. Only guests are bounded, by their network. */
  mayWrite({ login, address = "" }: Spender, bytes: number): boolean {
    if (login!.identity.clientId === undefined) return true;
    const network = networkOf(address);
    return network === undefined || this.#guestBytes.take(network, bytes);
  }

  /** Whether a user may react to one more message, or vote once more. */
  mayReact(sender: Spender): boolean {
    return this.#takeOf(sender, "reactions", 1);
  }

  /**
   * Whether watchers may get a push that a user entered a room; counted in bytes. Each
   * entry sends the profile to all of them.
   */
  mayEnter(connection: Connection, user: UserRecord): boolean {
    return this.#takeOf(connection, "entries", ENTRY_COST + sizeOfProfile(user));
  }

  /**
   * Whether a user may join or leave one more channel, which is pushed to all subscribers;
   * counted in bytes. The event shows the profile twice.
   */
  mayJoinOrLeave(connection: Connection, user: UserRecord): boolean {
    const cost = Math.max(JOIN_COST, 2 * sizeOfProfile(user));
    return this.#takeOf(connection, "joins", cost);
  }

  /** Whether a user may search once more: each search looks at all users of the world. */
  maySearch(connection: Connection): boolean {
    return this.#takeOf(connection, "searches", 1);
  }

  /** Whether a user may search a channel once more. */
  maySearchChat(connection: Connection): boolean {
    return this.#takeOf(connection, "chatSearches", 1);
  }

  /** Whether a user may subscribe one more browser: its address is looked up, and old ones are erased. */
  maySubscribe(connection: Connection): boolean {
    return this.#takeOf(connection, "subscriptions", 1);
  }

  /**
   * Whether a user may make a direct channel appear to some others, each of which gets
   * the list of their channels; counted in people.
   */
  mayShow(sender: Spender, people: number): boolean {
    return this.#takeOf(sender, "shows", people);
  }

  /**
   * Whether all users in a room may get one more question. Many users may ask, and without
   * a bound, questions would crowd out all other pushes.
   * @param size of the question, in characters.
   */
  mayTell(world: string, room: string, size: number): boolean {
    const people = this.#ports.hub.inRoom(world, room);
    if (people.size === 0) return true;
    let bucket = this.#fanout.get(people);
    if (!bucket) {
      bucket = new TokenBucket(FANOUT_PER_SECOND, FANOUT_BURST, this.#ports.clock);
      this.#fanout.set(people, bucket);
    }
    const cost = people.size * (1 + size / FANOUT_CHARACTERS);
    return bucket.take(Math.min(cost, FANOUT_PER_SECOND * FANOUT_BURST));
  }

  #takeOf({ world, login }: Spender, kind: Kind, count: number): boolean {
    return this.#take(kind, world, login!.user, count);
  }

  /** @param name of the user or client. */
  #take(kind: Kind, world: string, name: string, count: number): boolean {
    return this.#rates[kind].take(`${world} ${name}`, count);
  }
}
