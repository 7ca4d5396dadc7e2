import type { FastifyBaseLogger } from "fastify";
import type { LiveLimits } from "../config.js";
import type { Events } from "../db/contract/events.js";
import type { Clock } from "../db/log/clock.js";
import type { Random } from "../db/log/random.js";
import { type Store, StoreError } from "../db/contract/store.js";
import type { Identify } from "../plugins/auth/identity.js";
import type { Guests } from "../plugins/limits/guests.js";
import { Activity } from "./people/activity.js";
import { Backlog } from "./socket/backlog.js";
import { Chat } from "./modules/chat/chat.js";
import { type Connection, type Login, MAX_FRAME } from "./socket/connection.js";
import { followOwnEvents } from "./delivery/own-events.js";
import { Crowds } from "./modules/rooms/crowds.js";
import { Effects } from "./delivery/effects.js";
import { reload } from "./people/endings.js";
import { Hub } from "./people/hub.js";
import type { LiveMetrics } from "./metrics.js";
import { Notifier } from "./modules/world/notifier.js";
import { Passes } from "./delivery/passes.js";
import { PollPushes } from "./modules/polls/pushes.js";
import { Presence } from "./people/presence.js";
import { Pump } from "./delivery/pump.js";
import { QuestionPushes } from "./modules/questions/pushes.js";
import { Rates } from "./socket/rates.js";
import { Reactions } from "./modules/reactions/reactions.js";
import { Replica } from "./people/replica/replica.js";
import { RoomWatch } from "./modules/rooms/watch.js";
import { Searches } from "./modules/users/searches.js";
import {
  type View,
  type WorldState,
  WorldStates,
} from "./rules/world-state.js";

/** How often timeouts, expiries and pings are looked for, in milliseconds. */
export const TICK = 250;

/** How long a login waits until the log of its world can be read, in milliseconds. */
const FOLLOW_TIMEOUT = 2000;

/** What the live layer is made of. */
export interface LiveParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly events: Events;
  readonly identify: Identify;
  readonly guests: Guests;
  readonly limits: LiveLimits;
  readonly log: FastifyBaseLogger;
  readonly metrics: LiveMetrics | undefined;
}

/** The live layer of one process: who is connected, and what they share. */
export class Live {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  readonly events: Events;
  readonly identify: Identify;
  readonly guests: Guests;
  readonly limits: LiveLimits;
  readonly log: FastifyBaseLogger;
  readonly metrics: LiveMetrics | undefined;
  /** Every open socket, logged in or not, by the id of its connection. */
  readonly sockets = new Map<string, Connection>();
  readonly hub = new Hub();
  readonly replica: Replica;
  readonly rates: Rates;
  readonly effects: Effects;
  readonly states: WorldStates;
  readonly pump: Pump;
  readonly backlog: Backlog;
  readonly passes: Passes;
  readonly presence: Presence;
  readonly activity: Activity;
  readonly crowds: Crowds;
  readonly reactions: Reactions;
  readonly notifier: Notifier;
  readonly chat: Chat;
  readonly questions: QuestionPushes;
  readonly polls: PollPushes;
  readonly searches: Searches;
  /** The connections for which this process follows their worlds. */
  readonly #following = new Set<Connection>();
  readonly #unsubscribe: () => void;
  #unfollowOwn = () => {};

  constructor(parts: LiveParts) {
    const { clock, random, log, metrics } = parts;
    const { store, events, identify, guests, limits } = parts;
    this.clock = clock;
    this.random = random;
    this.store = store;
    this.events = events;
    this.identify = identify;
    this.guests = guests;
    this.limits = limits;
    this.log = log;
    this.metrics = metrics;
    this.replica = new Replica(events, clock);
    this.rates = new Rates(this);
    this.searches = new Searches(this.rates);
    this.effects = new Effects(clock, log);
    this.states = new WorldStates(
      clock,
      store,
      (id) => this.hub.in(id).size > 0,
    );
    this.pump = new Pump(clock, (seconds) => metrics?.delivered(seconds));
    this.passes = new Passes(clock, this.pump);
    this.backlog = new Backlog({
      most: limits.maxUnsentTotal,
      interval: TICK,
      onFull: (connection) => {
        metrics?.relieved();
        log.debug({ connection: connection.id }, "websocket ended for memory");
      },
    });
    this.activity = new Activity(events, clock, this.replica);
    this.crowds = new Crowds(this);
    this.reactions = new Reactions(this);
    this.notifier = new Notifier(this);
    this.chat = new Chat(this);
    this.questions = new QuestionPushes(this);
    this.polls = new PollPushes(this);
    this.presence = new Presence(clock, this.replica, new RoomWatch(this));
    this.#unsubscribe = events.subscribe((event) => {
      if (event.type === "world.reset") this.#reset(event.world);
    });
    // After all others, which have then begun to push what an event asks for.
    this.#unfollowOwn = followOwnEvents(this);
  }

  /** The database has lost what it had: people log in again, and fetch what is true. */
  #reset(world: string): void {
    this.log.warn({ world }, "the log of a world went back");
    for (const connection of [...this.hub.in(world)]) reload(connection);
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

  /** Takes a connection that has logged in. It gets pushes from now on. */
  async enterWorld(connection: Connection, login: Login): Promise<void> {
    connection.login = login;
    // The client may have gone while its user was written: then nobody would remove it.
    if (connection.ended) return;
    await this.#follow(connection);
    await this.chat.channels.begin(connection.world);
    if (connection.ended) return this.#unfollow(connection);
    this.hub.add(connection, login.user);
    await this.notifier.watch(connection.world);
  }

  /** @throws {StoreError} `unusable` if the log cannot be read for some time. */
  async #follow(connection: Connection): Promise<void> {
    const { world } = connection;
    this.#following.add(connection);
    let stop = () => {};
    const late = new Promise<never>((_, reject) => {
      const fault = new StoreError("unusable", "The log cannot be read.");
      stop = this.clock.after(FOLLOW_TIMEOUT, () => reject(fault));
    });
    const followed = Promise.all([
      this.events.follow(world),
      this.replica.follow(world),
    ]);
    await Promise.race([followed, late]).finally(() => stop());
  }

  #unfollow(connection: Connection): void {
    if (!this.#following.delete(connection)) return;
    this.events.unfollow(connection.world);
    this.replica.unfollow(connection.world);
  }

  /** A login that failed after all. */
  forgetLogin(connection: Connection): void {
    this.hub.remove(connection);
    this.chat.leave(connection);
    connection.forgetPushes();
    connection.login = undefined;
    this.#unfollow(connection);
    this.#unwatch(connection.world);
  }

  /** A connection has got the answer to its login. */
  opened({ ended, world, id, login }: Connection): void {
    if (ended) return;
    const { user } = login!;
    this.log.debug({ connection: id, user }, "websocket logged in");
    // With fractions, as the order of logins counts.
    const at = this.clock.origin + this.clock.now();
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
    this.#unfollow(connection);
    this.#unwatch(world);
  }

  #unwatch(world: string): void {
    if (this.hub.in(world).size > 0) return;
    this.notifier.unwatch(world);
    this.states.forget(world);
    this.polls.forget(world);
    this.chat.pages.forget(world);
    this.chat.channels.forget(world);
  }

  close(): void {
    this.#unsubscribe();
    this.#unfollowOwn();
    this.effects.close();
    this.notifier.close();
    this.presence.close();
    this.activity.close();
    this.rates.close();
    this.crowds.close();
    this.reactions.close();
    this.questions.close();
    this.polls.close();
  }
}
