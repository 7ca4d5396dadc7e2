import type { LiveLimits } from "../../config.js";
import type { UserRecord } from "../../db/contract/store.js";
import type { Clock } from "../../db/runtime.js";
import type { Identity } from "../../plugins/auth/identity.js";
import { networkOf } from "../../plugins/limits/guests.js";
import { sizeOfProfile } from "../rules/shared-reads.js";
import type { Connection } from "../socket/connection.js";
import { Buckets, TokenBucket } from "../socket/pace.js";
import type { Hub } from "./hub.js";

/** Burst of messages, and of reactions and votes, as a multiple of the rate. */
export const MESSAGE_BURST = 4;

/** For each full block of this many bytes, a message or question counts as one more message. */
const MESSAGE_SIZE = 8 * 1024;

/** Burst of logins, as a multiple of their rate, which is the same as for commands. */
const LOGIN_BURST = 6;

/** Rate limit for pushes that notify watchers of a user who keeps re-entering rooms, in bytes per second. */
const ENTERED_BYTES = 32 * 1024;

/** Burst of room entries, as a multiple of the rate: enough to enter a hundred rooms in a row. */
const ENTRY_BURST = 8;

/** Cost of a room entry in addition to the size of the profile, in bytes. */
const ENTRY_COST = 2048;

/** Rate limit for how often a user joins or leaves channels, per second, and its burst as a multiple of the rate. */
const JOINS_PER_SECOND = 5;
const JOIN_BURST = 12;

/** Minimum cost of a join or leave, in bytes. */
const JOIN_COST = 2048;

/** Rate limit for a user's searches, per second, and its burst as a multiple of the rate. */
const SEARCHES_PER_SECOND = 5;
const SEARCH_BURST = 10;

/** Rate limit for a user's searches in channels, per second, and its burst as a multiple of the rate. */
const CHAT_SEARCHES_PER_SECOND = 2;
const CHAT_SEARCH_BURST = 5;

/**
 * Rate limit for a sender's captions in a room, in requests per second, and its burst as a multiple
 * of the rate. Each request is a write, and unfinished lines come all the time.
 */
const CAPTIONS_PER_SECOND = 10;
const CAPTION_BURST = 6;

/**
 * Rate limit for a user's browser subscriptions, per second, and its burst as a multiple of the
 * rate: thirty browsers.
 */
const SUBSCRIPTIONS_PER_SECOND = 0.5;
const SUBSCRIPTION_BURST = 60;

/**
 * Rate limit for a user's call tickets, per second, and its burst as a multiple of the rate: each
 * ticket is stored and, when it is used, announced to the people in the room.
 */
const TICKETS_PER_SECOND = 0.5;
const TICKET_BURST = 40;

/** Number of people to whom a user may show direct channels, for each message that the user may send. */
const SHOWN_PEOPLE = 2;

/** Burst of people shown direct channels, as a multiple of the rate: three channels of a hundred people. */
const SHOW_BURST = 30;

/**
 * Rate limit for pushes of new questions in a room, per second across all users in the room: about
 * a third of what a core can send. The burst is a multiple of the rate.
 */
const FANOUT_PER_SECOND = 50_000;
const FANOUT_BURST = 4;

/** For each block of this many characters, a question counts as one more push. */
const FANOUT_CHARACTERS = 1000;

/** Seconds in a minute and in a day, the periods over which bytes are counted. */
const MINUTE_SECONDS = 60;
const DAY = 24 * 60 * MINUTE_SECONDS;

interface RatesPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly limits: LiveLimits;
}

/** A user's connection, or an HTTP call. */
type Spender = Pick<Connection, "world"> & {
  readonly login: { readonly user: string; readonly identity: Identity } | undefined;
  /** The client's address; undefined for HTTP calls, which guests cannot make. */
  readonly address?: string;
};

/** A user's rate-limited actions. */
type Kind =
  | "logins"
  | "messages"
  | "reactions"
  | "entries"
  | "joins"
  | "shows"
  | "searches"
  | "chatSearches"
  | "captions"
  | "subscriptions"
  | "calls";

/**
 * Limits how much each user may do in this process, counted over all of the user's connections,
 * open or closed, and how many pushes each room may cause.
 */
export class UserRateLimits {
  readonly #ports: RatesPorts;
  /** Rate limits keyed by world and user. */
  readonly #rates: Record<Kind, Buckets>;
  /** Rate limits for pushes of questions, keyed by the set of connections in a room. */
  readonly #fanout = new WeakMap<ReadonlySet<Connection>, TokenBucket>();
  /** Rate limits for bytes written by guests, by network. */
  readonly #guestBytes: Buckets;
  /** Rate limits for bytes of messages, by world. */
  readonly #chatBytes: Buckets;

  constructor(ports: RatesPorts) {
    this.#ports = ports;
    const { clock } = ports;
    const { commandsPerSecond, messagesPerSecond } = ports.limits;
    const buckets = (rate: number, burst: number) => new Buckets(clock, rate, burst);
    this.#rates = {
      logins: buckets(commandsPerSecond, LOGIN_BURST),
      messages: buckets(messagesPerSecond, MESSAGE_BURST),
      // Separate from messages, so that a user who has sent many messages may still vote.
      reactions: buckets(messagesPerSecond, MESSAGE_BURST),
      entries: buckets(ENTERED_BYTES, ENTRY_BURST),
      joins: buckets(JOINS_PER_SECOND * JOIN_COST, JOIN_BURST),
      searches: buckets(SEARCHES_PER_SECOND, SEARCH_BURST),
      chatSearches: buckets(CHAT_SEARCHES_PER_SECOND, CHAT_SEARCH_BURST),
      captions: buckets(CAPTIONS_PER_SECOND, CAPTION_BURST),
      subscriptions: buckets(SUBSCRIPTIONS_PER_SECOND, SUBSCRIPTION_BURST),
      calls: buckets(TICKETS_PER_SECOND, TICKET_BURST),
      shows: buckets(SHOWN_PEOPLE * messagesPerSecond, SHOW_BURST),
    };
    const { guestBytesPerMinute, chatBytesPerDay } = ports.limits;
    this.#guestBytes = new Buckets(clock, guestBytesPerMinute / MINUTE_SECONDS, MINUTE_SECONDS);
    this.#chatBytes = new Buckets(clock, chatBytesPerDay / DAY, DAY);
  }

  /** Whether a client may log in again. The client may not have a user yet. */
  mayLogIn(world: string, { tokenId, clientId }: Identity): boolean {
    const name = tokenId === undefined ? `client ${clientId}` : `token ${tokenId}`;
    return this.#take("logins", world, name, 1);
  }

  /**
   * Whether a user may send another message. All subscribers receive the whole message, so a large
   * message counts as several messages, but never as more than a burst.
   * @param size size of the content, in bytes.
   */
  mayMessage(sender: Spender, size = 0): boolean {
    const { rate, burst } = this.#rates.messages;
    const cost = 1 + Math.floor(size / MESSAGE_SIZE);
    return this.#spend(sender, "messages", Math.min(cost, rate * burst));
  }

  /**
   * Whether a message may be stored. Both the guests of a network together and each world may fill
   * only a limited part of the disk.
   */
  mayStore(sender: Spender, bytes: number): boolean {
    return this.mayWrite(sender, bytes) && this.#chatBytes.take(sender.world, bytes);
  }

  /** Whether a user may write this many bytes. Only guests are limited, per network. */
  mayWrite({ login, address = "" }: Spender, bytes: number): boolean {
    if (login!.identity.clientId === undefined) return true;
    const network = networkOf(address);
    return network === undefined || this.#guestBytes.take(network, bytes);
  }

  /** Whether a user may react to another message, or vote again. */
  mayReact(sender: Spender): boolean {
    return this.#spend(sender, "reactions", 1);
  }

  /**
   * Whether watchers may be pushed that a user has entered a room. Counted in bytes, because each
   * entry sends the user's profile to all watchers.
   */
  mayEnter(connection: Connection, user: UserRecord): boolean {
    return this.#spend(connection, "entries", ENTRY_COST + sizeOfProfile(user));
  }

  /**
   * Whether a user may join or leave another channel. All subscribers are pushed an event in which
   * the user's profile occurs twice. Counted in bytes.
   */
  mayJoinOrLeave(connection: Connection, user: UserRecord): boolean {
    const cost = Math.max(JOIN_COST, 2 * sizeOfProfile(user));
    return this.#spend(connection, "joins", cost);
  }

  /** Whether a user may search again: each search scans all users in the world. */
  maySearch(connection: Connection): boolean {
    return this.#spend(connection, "searches", 1);
  }

  /** Whether a user may search a channel again. */
  maySearchChat(connection: Connection): boolean {
    return this.#spend(connection, "chatSearches", 1);
  }

  /** @param sender names a user or a token, and the room to which it sends captions. */
  maySendCaptions(world: string, sender: string): boolean {
    return this.#take("captions", world, sender, 1);
  }

  /**
   * Whether a user may subscribe another browser: the browser's push address is looked up, and old
   * subscriptions are erased.
   */
  maySubscribe(connection: Connection): boolean {
    return this.#spend(connection, "subscriptions", 1);
  }

  /** Whether a user may enter a call with one more device. */
  mayJoinCall(sender: Spender): boolean {
    return this.#spend(sender, "calls", 1);
  }

  /**
   * Whether a user may make a direct channel appear to other people. Each of these people is sent a
   * channel list. Counted in people.
   */
  mayShow(sender: Spender, people: number): boolean {
    return this.#spend(sender, "shows", people);
  }

  /**
   * Whether all users in a room may be sent another question. Many users may ask, and without a
   * limit, questions would crowd out all other pushes.
   * @param size size of the question, in characters.
   */
  mayNotify(world: string, room: string, size: number): boolean {
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

  #spend({ world, login }: Spender, kind: Kind, count: number): boolean {
    return this.#take(kind, world, login!.user, count);
  }

  /** @param name identifies the user or client. */
  #take(kind: Kind, world: string, name: string, count: number): boolean {
    return this.#rates[kind].take(`${world} ${name}`, count);
  }
}
