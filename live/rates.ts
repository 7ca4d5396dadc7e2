import type { UserRecord } from "../db/store.js";
import type { Connection } from "./connection.js";
import type { Live } from "./live.js";
import type { Identity } from "../plugins/auth/identity.js";
import {
  isId,
  isListOf,
  isNumber,
  isRecord,
  isText,
  isTupleOf,
} from "../schemas/plain/shapes.js";
import { Buckets } from "./buckets.js";
import { sizeOfProfile } from "./sizes.js";
import { TokenBucket } from "./token-bucket.js";

/** A burst of messages, or of reactions and votes, is this many times the rate. */
export const MESSAGE_BURST = 4;

/** The size of a message or question that counts as one more, in bytes. */
const MESSAGE_SIZE = 8 * 1024;

/** A burst of logins is this many times the rate, which is the one of commands. */
const LOGIN_BURST = 6;

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

/** How often a user may search in a second; a burst is ten times as many. */
const SEARCHES_PER_SECOND = 5;
const SEARCH_BURST = 10;

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

/** After how many milliseconds other processes learn what users have spent, together. */
const REPORT_DELAY = 100;

type RatesParts = Pick<Live, "hub" | "limits" | "events">;

/** What of a user is bounded. */
type Kind =
  | "logins"
  | "messages"
  | "reactions"
  | "entries"
  | "joins"
  | "shows"
  | "searches";

/** What a user has spent. */
type Spent = [kind: Kind, key: string, count: number];

/** What processes tell each other. */
interface Report {
  process: string;
  spent: Spent[];
}

const isReport = isRecord({
  process: isId,
  spent: isListOf(
    isTupleOf(isId, isText, (count) => isNumber(count) && Number(count) >= 0),
  ),
});

const TOPIC = "rates";

/**
 * How much each user may still do, counted in all processes and over all connections,
 * whether one is open or not. And how much may still happen in each room.
 */
export class Rates {
  readonly #live: RatesParts;
  /** The keys name a world and a user. */
  readonly #rates: Record<Kind, Buckets>;
  /** Of each room, by the set of the connections in it. */
  readonly #told = new WeakMap<ReadonlySet<Connection>, TokenBucket>();
  /** Spent tokens that other processes do not know yet. */
  readonly #spent = new Map<string, Spent>();
  #timer: NodeJS.Timeout | undefined;
  readonly #unsubscribe: () => void;

  constructor(live: RatesParts) {
    this.#live = live;
    const { commandsPerSecond, messagesPerSecond } = live.limits;
    this.#rates = {
      logins: new Buckets(commandsPerSecond, LOGIN_BURST),
      messages: new Buckets(messagesPerSecond, MESSAGE_BURST),
      // A user who has sent many messages may still vote.
      reactions: new Buckets(messagesPerSecond, MESSAGE_BURST),
      entries: new Buckets(ENTERED_BYTES, ENTRY_BURST),
      joins: new Buckets(JOINS_PER_SECOND * JOIN_COST, JOIN_BURST),
      searches: new Buckets(SEARCHES_PER_SECOND, SEARCH_BURST),
      shows: new Buckets(SHOWN_PEOPLE * messagesPerSecond, SHOW_BURST),
    };
    this.#unsubscribe = live.events.subscribe((event) => {
      if (event.type === "live" && event.topic === TOPIC) {
        if (isReport(event.data)) this.#receive(event.data as Report);
      }
    });
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#unsubscribe();
  }

  /** Whether a client may log in once more. It may have no user yet. */
  mayLogIn(world: string, { tokenId, clientId }: Identity): boolean {
    const name =
      tokenId === undefined ? `client ${clientId}` : `token ${tokenId}`;
    return this.#take("logins", `${world} ${name}`, 1);
  }

  /**
   * Whether a user may send one more message. All subscribers get all of it, so a large
   * one counts as several, but never as more than a burst.
   * @param size of the content, in bytes.
   */
  mayMessage(connection: Connection, size = 0): boolean {
    const { rate, burst } = this.#rates.messages;
    const cost = 1 + Math.floor(size / MESSAGE_SIZE);
    return this.#takeOf(connection, "messages", Math.min(cost, rate * burst));
  }

  /** Whether a user may react to one more message, or vote once more. */
  mayReact(connection: Connection): boolean {
    return this.#takeOf(connection, "reactions", 1);
  }

  /**
   * Whether others may be told that a user entered a room; counted in bytes. Each
   * entry sends the profile to all who watch.
   */
  mayEnter(connection: Connection, user: UserRecord): boolean {
    return this.#takeOf(
      connection,
      "entries",
      ENTRY_COST + sizeOfProfile(user),
    );
  }

  /**
   * Whether a user may join or leave one more channel, of which all who listen there
   * learn; counted in bytes. The event shows the profile twice.
   */
  mayJoinOrLeave(connection: Connection, user: UserRecord): boolean {
    const cost = Math.max(JOIN_COST, 2 * sizeOfProfile(user));
    return this.#takeOf(connection, "joins", cost);
  }

  /** Whether a user may search once more: each search looks at all users of the world. */
  maySearch(connection: Connection): boolean {
    return this.#takeOf(connection, "searches", 1);
  }

  /**
   * Whether a user may make a direct channel appear to some others, each of whom gets
   * the list of their channels; counted in people.
   */
  mayShow(connection: Connection, people: number): boolean {
    return this.#takeOf(connection, "shows", people);
  }

  /**
   * Whether all in a room may be told of one more question. Many people may ask, and
   * others would learn of nothing else.
   * @param size of the question, in characters.
   */
  mayTell(world: string, room: string, size: number): boolean {
    const people = this.#live.hub.inRoom(world, room);
    if (people.size === 0) return true;
    let bucket = this.#told.get(people);
    if (!bucket) {
      this.#told.set(people, (bucket = new TokenBucket(TOLD, TOLD_BURST)));
    }
    const cost = people.size * (1 + size / TOLD_SIZE);
    return bucket.take(Math.min(cost, TOLD * TOLD_BURST));
  }

  #takeOf({ world, login }: Connection, kind: Kind, count: number): boolean {
    return this.#take(kind, `${world} ${login!.user}`, count);
  }

  #take(kind: Kind, key: string, count: number): boolean {
    if (!this.#rates[kind].take(key, count)) return false;
    this.#share(kind, key, count);
    return true;
  }

  /** Reports a user's spending to other processes soon: the next connection may be there. */
  #share(kind: Kind, key: string, count: number): void {
    const name = `${kind} ${key}`;
    const spent = this.#spent.get(name);
    if (spent) spent[2] += count;
    else this.#spent.set(name, [kind, key, count]);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#report();
    }, REPORT_DELAY).unref();
  }

  #report(): void {
    const { events } = this.#live;
    const data: Report = {
      process: events.process,
      spent: [...this.#spent.values()],
    };
    this.#spent.clear();
    events.publish({ type: "live", topic: TOPIC, data });
  }

  #receive({ process, spent }: Report): void {
    if (process === this.#live.events.process) return;
    for (const [kind, key, count] of spent) {
      // Another version may know other kinds.
      if (!Object.hasOwn(this.#rates, kind)) continue;
      this.#rates[kind].spend(key, count);
    }
  }
}
