import type { FastifyBaseLogger } from "fastify";
import type { LiveLimits } from "../config.js";
import type { Events } from "../db/events.js";
import type { Store, UserRecord, Versioned } from "../db/store.js";
import {
  type Identify,
  type Identity,
  stillHolds,
} from "../plugins/auth/identity.js";
import type { World } from "../schemas/worlds.js";
import { Chat } from "./chat/chat.js";
import { Close, type Connection, type Login, MAX_FRAME } from "./connection.js";
import { Crowds } from "./crowds.js";
import { pushFrame } from "./frame.js";
import { Hub } from "./hub.js";
import type { LiveMetrics } from "./metrics.js";
import { Notifier } from "./notifier.js";
import { PollPushes } from "./polls/pushes.js";
import { Presence } from "./presence.js";
import { LiveError, problemOf } from "./problems.js";
import { Pump } from "./pump.js";
import { QuestionPushes } from "./questions/pushes.js";
import { Reactions } from "./reactions.js";
import { mayInWorld } from "./rights.js";
import { RoomWatch } from "./room-watch.js";
import { Searches } from "./searches.js";
import { sizeOfProfile } from "./sizes.js";
import { TokenBucket } from "./token-bucket.js";
import { type View, type WorldState, WorldStates } from "./world-state.js";

/** Why a connection that logged in has to end. */
export type EndReason =
  | "world.unknown_world"
  | "auth.expired_token"
  | "auth.invalid_token"
  | "auth.denied";

/** How long a client may take to read its last frame before the connection closes, in milliseconds. */
const RELOAD_DELAY = 2000;
const REPLACED_DELAY = 500;

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

/** What the live layer is made of. */
export interface LiveParts {
  readonly store: Store;
  readonly events: Events;
  readonly identify: Identify;
  readonly limits: LiveLimits;
  readonly log: FastifyBaseLogger;
  readonly metrics: LiveMetrics | undefined;
}

/** To how many people a user may show direct channels for each message that they may send. */
const SHOWN_PEOPLE = 2;

/** How many times that many people may be shown at once: three channels of a hundred. */
const SHOW_BURST = 30;

type UserRates = WeakMap<ReadonlySet<Connection>, TokenBucket>;

/** The live layer of one process: who is connected, and what they share. */
export class Live {
  readonly store: Store;
  readonly events: Events;
  readonly identify: Identify;
  readonly limits: LiveLimits;
  readonly log: FastifyBaseLogger;
  readonly metrics: LiveMetrics | undefined;
  /** Every open socket, logged in or not. */
  readonly sockets = new Set<Connection>();
  readonly hub = new Hub();
  readonly states: WorldStates;
  readonly pump: Pump;
  readonly presence: Presence;
  readonly crowds: Crowds;
  readonly reactions: Reactions;
  readonly notifier: Notifier;
  readonly chat: Chat;
  readonly questions: QuestionPushes;
  readonly polls: PollPushes;
  readonly searches = new Searches();
  /** What each user may still send. Kept while one of their connections is open. */
  readonly #messages: UserRates = new WeakMap();
  /** The entries that others may still be told of, kept likewise. */
  readonly #entries: UserRates = new WeakMap();
  /** How often they may still join or leave channels, kept likewise. */
  readonly #joins: UserRates = new WeakMap();
  /** To how many people they may still show direct channels, kept likewise. */
  readonly #shows: UserRates = new WeakMap();
  /** What is sent to a world in order: see {@link inOrder}. */
  readonly #effects = new Map<string, Promise<void>>();
  #closed = false;

  constructor({ store, events, identify, limits, log, metrics }: LiveParts) {
    this.store = store;
    this.events = events;
    this.identify = identify;
    this.limits = limits;
    this.log = log;
    this.metrics = metrics;
    this.states = new WorldStates(store, (id) => this.hub.in(id).size > 0);
    this.pump = new Pump((seconds) => metrics?.delivered(seconds));
    this.crowds = new Crowds(this);
    this.reactions = new Reactions(this);
    this.notifier = new Notifier(this);
    this.chat = new Chat(this);
    this.questions = new QuestionPushes(this);
    this.polls = new PollPushes(this);
    this.presence = new Presence(events, new RoomWatch(this));
  }

  /** Why somebody may not stay in a world; undefined if they may. */
  reasonToEnd(
    identity: Identity,
    world: Versioned<World> | undefined,
  ): EndReason | undefined {
    if (!world) return "world.unknown_world";
    if (!stillHolds(identity, world)) {
      const { expires } = identity;
      return expires !== undefined && Date.now() / 1000 >= expires
        ? "auth.expired_token"
        : "auth.invalid_token";
    }
    const who = { traits: identity.traits, state: "" as const };
    return mayInWorld(who, "world.view", world.value)
      ? undefined
      : "auth.denied";
  }

  /** Says why, and closes. @returns the error, for whom it interrupts. */
  throwOut(
    connection: Connection,
    reason: EndReason | "auth.timeout",
  ): LiveError {
    const error = new LiveError(reason);
    const frame = pushFrame("error", problemOf(error));
    const isUnknown = reason === "world.unknown_world";
    connection.finish(frame, isUnknown ? Close.normal : Close.policy);
    return error;
  }

  /** Makes a client load everything again, and closes. */
  reload(connection: Connection): void {
    connection.finish(
      pushFrame("connection.reload", {}),
      Close.normal,
      RELOAD_DELAY,
    );
  }

  /**
   * Takes over what a user may do now. Whoever is gone or may do less loads
   * everything again.
   */
  applyModeration(connection: Connection, user: UserRecord | undefined): void {
    const login = connection.login!;
    const state = user?.moderation_state ?? "";
    const isGone = !user || user.deleted;
    if (isGone || (state !== login.state && state !== "")) {
      this.reload(connection);
    }
    login.state = state;
  }

  /** Ends a connection in favor of newer ones of the same user. */
  replace(connection: Connection): void {
    const error = new LiveError("connection.replaced", "Connection replaced");
    const frame = pushFrame("error", problemOf(error));
    connection.finish(frame, Close.normal, REPLACED_DELAY);
  }

  /** What somebody sees of a world. How large their messages may be follows from it. */
  viewOf(connection: Connection, state: WorldState): View {
    const login = connection.login!;
    let { view } = login;
    if (view?.state !== state || view.who.state !== login.state) {
      view = state.view(login);
      login.view = view;
      const { maxFrame } = this.limits;
      connection.maxFrame = view.mayUpdate
        ? Math.max(MAX_FRAME, maxFrame)
        : maxFrame;
    }
    return view;
  }

  /**
   * Whether a user may send one more message; counted over their connections in
   * this process.
   */
  mayMessage(connection: Connection): boolean {
    const { messagesPerSecond } = this.limits;
    return this.#rateOf(
      connection,
      this.#messages,
      messagesPerSecond,
      MESSAGE_BURST,
    ).take();
  }

  /**
   * Whether others may be told that a user entered a room; counted as in
   * {@link mayMessage}, in bytes. Each entry sends the profile to all who watch.
   */
  mayEnter(connection: Connection, user: UserRecord): boolean {
    const cost = ENTRY_COST + sizeOfProfile(user);
    return this.#rateOf(
      connection,
      this.#entries,
      ENTERED_BYTES,
      ENTRY_BURST,
    ).take(cost);
  }

  /**
   * Whether a user may join or leave one more channel, of which all who listen there
   * learn; counted as in {@link mayMessage}, in bytes. The event shows the profile twice.
   */
  mayJoinOrLeave(connection: Connection, user: UserRecord): boolean {
    return this.#rateOf(
      connection,
      this.#joins,
      JOINS_PER_SECOND * JOIN_COST,
      JOIN_BURST,
    ).take(Math.max(JOIN_COST, 2 * sizeOfProfile(user)));
  }

  /**
   * Whether a user may make a direct channel appear to some others, each of whom gets the
   * list of their channels; counted as in {@link mayMessage}, in people.
   */
  mayShow(connection: Connection, people: number): boolean {
    const rate = SHOWN_PEOPLE * this.limits.messagesPerSecond;
    return this.#rateOf(connection, this.#shows, rate, SHOW_BURST).take(people);
  }

  #rateOf(
    { world, login }: Connection,
    rates: UserRates,
    rate: number,
    burst: number,
  ): TokenBucket {
    const connections = this.hub.of(world, login!.user);
    let bucket = rates.get(connections);
    if (!bucket)
      rates.set(connections, (bucket = new TokenBucket(rate, burst)));
    return bucket;
  }

  /**
   * Runs what reads the store and then sends pushes to a world. What was asked for
   * first is sent first.
   */
  inOrder(world: string, effect: () => Promise<void>): void {
    if (this.#closed) return;
    const run = async () => {
      try {
        await effect();
      } catch (error) {
        // The store closes before everything that waited has run. Otherwise the next
        // event of this world reads everything again.
        if (!this.#closed) this.log.error(error);
      }
    };
    const before = this.#effects.get(world);
    const ended = before ? before.then(run) : run();
    this.#effects.set(world, ended);
    void ended.then(() => {
      if (this.#effects.get(world) === ended) this.#effects.delete(world);
    });
  }

  /** Takes a connection that has logged in. It gets pushes from now on. */
  async enterWorld(connection: Connection, login: Login): Promise<void> {
    connection.login = login;
    // The client may have gone while its user was written: then nobody would remove it.
    if (connection.ended) return;
    this.hub.add(connection, login.user);
    await this.notifier.watch(connection.world);
  }

  /** A login that failed after all. */
  forgetLogin(connection: Connection): void {
    this.hub.remove(connection);
    this.chat.leave(connection);
    connection.login = undefined;
    this.#unwatch(connection.world);
  }

  /** A connection has got the answer to its login. */
  opened({ ended, world, id, login }: Connection): void {
    if (ended) return;
    const { user } = login!;
    this.log.debug({ connection: id, user }, "websocket logged in");
    // With fractions, as the order of logins counts.
    const at = performance.timeOrigin + performance.now();
    this.presence.note(world, { do: "open", connection: id, user, at });
  }

  /**
   * Lets a connection into a room.
   * @param told whether those who watch the room are told, if it was there before.
   */
  enterRoom(
    connection: Connection,
    room: string,
    watches: boolean,
    told = true,
  ): void {
    if (connection.ended) return;
    const again = connection.rooms.has(room);
    this.hub.enter(connection, room, watches);
    if (again && !told) return;
    const { world, id } = connection;
    this.presence.note(world, { do: "enter", connection: id, room });
  }

  leaveRoom(connection: Connection, room: string): void {
    if (!connection.rooms.has(room)) return;
    this.hub.leave(connection, room);
    const { world, id } = connection;
    this.presence.note(world, { do: "leave", connection: id, room });
  }

  /** A connection ended, or will end and gets nothing any more. */
  leaveWorld(connection: Connection): void {
    const { world, id, login } = connection;
    if (!login) return;
    this.searches.end(connection);
    this.hub.remove(connection);
    this.chat.leave(connection);
    this.presence.note(world, { do: "close", connection: id });
    this.#unwatch(world);
  }

  #unwatch(world: string): void {
    if (this.hub.in(world).size > 0) return;
    this.notifier.unwatch(world);
    this.states.forget(world);
    this.polls.forget(world);
  }

  close(): void {
    this.#closed = true;
    this.notifier.close();
    this.presence.close();
    this.crowds.close();
    this.reactions.close();
    this.questions.close();
    this.polls.close();
  }
}
