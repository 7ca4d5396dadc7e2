import type { FastifyBaseLogger } from "fastify";
import pLimit from "p-limit";
import { type Author, SERVER } from "../../../db/contract/author.js";
import type { CallDevice, CallStore, EndedCall } from "../../../db/contract/call-store.js";
import type { AnyEvent, Events } from "../../../db/contract/events.js";
import type { PushStore } from "../../../db/contract/push-store.js";
import { StoreError } from "../../../db/contract/store.js";
import { changesGrant } from "../../../db/rules/invitation-rows.js";
import { type Clock, detach } from "../../../db/runtime.js";
import { nextPhaseChange } from "../../../schemas/plain/access.js";
import { UUID } from "../../../schemas/plain/texts.js";
import {
  type CallEngine,
  type CallParticipant,
  type CallSource,
  type EngineEvent,
  EngineUnavailable,
} from "../../module.js";
import {
  type CallPlace,
  placeOf,
  type PlacePorts,
  presentAccess,
  sourcesFor,
} from "./call-rights.js";

/** Interval between checks for open calls in all worlds, in milliseconds. */
const LOOK_INTERVAL_MS = 5000;

/** Interval between comparisons of the store with the engine, in milliseconds. */
const RECONCILE_INTERVAL_MS = 60_000;

/** How long a world without open calls is still watched, in milliseconds. */
const LINGER_MS = 30_000;

/** Bounds of the delay before failed work is retried, in milliseconds. */
const FIRST_RETRY_DELAY_MS = 100;
const MAX_RETRY_DELAY_MS = 2000;

/** Maximum number of concurrent requests to the engine. */
const MAX_REQUESTS = 20;

/** Maximum duration of a timer, in milliseconds: the machine's clock may be changed while the timer runs. */
const MAX_TIMER_MS = 60_000;

/** Time after which an unanswered direct call ends, in milliseconds. */
export const RING_MS = 60_000;

/** Ports of the keeper. */
export interface KeeperPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly events: Events;
  readonly engine: CallEngine;
  readonly store: PlacePorts["store"] & { readonly calls: CallStore; readonly push: PushStore };
  /** Called by the process whose write ended a call. */
  readonly onEnded: (world: string, call: EndedCall, by?: Author) => Promise<void>;
}

/** Returns the name of a call at the engine. */
export const engineRoom = (world: string, channel: string): string => `${world}/${channel}`;

const ENGINE_ROOM = new RegExp(`^([^/]+)/(${UUID})$`);
const IDENTITY = new RegExp(`^(${UUID}):[\\w-]+$`);

/** Returns the world and the channel of a call at the engine, or undefined if the call belongs to another system. */
function placeIn(room: string): { world: string; channel: string } | undefined {
  const [, world, channel] = ENGINE_ROOM.exec(room) ?? [];
  return world === undefined || channel === undefined ? undefined : { world, channel };
}

/** Whether a device entered with one of Foyer's tickets, rather than as one of the operator's recorders. */
const isOwn = ({ identity }: { readonly identity: string }): boolean => IDENTITY.test(identity);

/**
 * Enforces the rights of everyone in calls, for as long as they are in the call and even if their
 * websockets have closed. Each process follows the worlds with open calls. After an entry that may
 * change rights, the keeper checks the people in the world's calls, and updates or removes their
 * devices at the engine until the engine confirms. All of these steps are idempotent, so several
 * processes may run them at the same time.
 */
export class CallKeeper {
  readonly #ports: KeeperPorts;
  readonly #worlds = new Map<string, WatchedWorld>();
  readonly #limit = pLimit(MAX_REQUESTS);
  #stopTimer = () => {};
  #reconciledAt = -Infinity;
  #closed = false;

  constructor(ports: KeeperPorts) {
    this.#ports = ports;
  }

  /** Checks for open calls, now and at regular intervals. */
  start(): void {
    const { clock, log } = this.#ports;
    const next = () => {
      if (this.#closed) return;
      this.#stopTimer = clock.after(LOOK_INTERVAL_MS, () => this.start());
    };
    const failed = (error: unknown) => {
      if (!this.#closed) log.warn({ err: error }, "calls have to wait");
    };
    detach(this.#look().catch(failed).then(next));
  }

  stop(): void {
    this.#closed = true;
    this.#stopTimer();
    this.#limit.clearQueue();
    for (const world of this.#worlds.values()) world.close();
    this.#worlds.clear();
  }

  /**
   * Follows a world. Once the promise resolves, no later change to rights is missed.
   * @param channel the channel of a call in the world.
   */
  async watch(world: string, channel: string): Promise<void> {
    const watched = this.#watched(world);
    watched.add(channel);
    await watched.following;
  }

  /**
   * Records a ticket.
   * @param sources the sources that the ticket allows. They need not be set at the engine
   * separately.
   * @param expires the expiry of the login, in seconds since 1970.
   */
  issued(
    world: string,
    identity: string,
    sources: readonly CallSource[],
    expires: number | undefined,
  ): void {
    const watched = this.#watched(world);
    watched.applied.set(identity, nameOf(sources));
    if (expires !== undefined) watched.wakeAt(1000 * expires);
  }

  /**
   * Handles an event from the engine. Events may arrive late or more than once.
   * @throws {StoreError} if the event could not be stored; the engine then sends the event again.
   */
  async heard(event: EngineEvent): Promise<void> {
    const place = placeIn(event.room);
    if (!place) return;
    const { world, channel } = place;
    const { store, clock } = this.#ports;
    if (!(await placeOf(this.#ports, world, channel))) {
      if (event.type === "left" || event.type === "roomFinished") return;
      this.#watched(world).endAtEngine(channel);
      return;
    }
    await this.watch(world, channel);
    const watched = this.#watched(world);
    if (!("identity" in event)) {
      // The event may be late, but the engine knows who is in the call now.
      watched.reconcileSoon(channel);
      return;
    }
    if (!isOwn(event)) return;
    const { identity, session, at } = event;
    const visit = { identity, session };
    const times = { at, now: clock.date() };
    switch (event.type) {
      case "joined": {
        watched.joined(identity, event.sources);
        const { isKnown } = await store.calls.joined(world, channel, visit, times, SERVER);
        if (!isKnown) watched.removeAtEngine(channel, identity);
        watched.checkUser(userOf(identity));
        return;
      }
      case "left": {
        const { ended } = await store.calls.left(world, channel, visit, times, SERVER);
        if (ended) await this.#ports.onEnded(world, ended);
        return;
      }
      default: {
        const change = { ...times, source: event.source, on: event.type === "published" };
        const { isKnown } = await store.calls.published(world, channel, visit, change, SERVER);
        if (!isKnown) watched.removeAtEngine(channel, identity);
      }
    }
  }

  /**
   * Ends a call in the store, and at the engine. The request to the engine is repeated until the
   * engine confirms.
   * @param options.id if given, only the call with this id is ended.
   */
  async end(
    world: string,
    channel: string,
    { id, by = SERVER }: { id?: string; by?: Author } = {},
  ): Promise<void> {
    const { store, clock, onEnded } = this.#ports;
    const now = clock.date();
    const ended = await store.calls.end(world, channel, { now, id }, by);
    if (!ended) return;
    this.#watched(world).endAtEngine(channel);
    await onEnded(world, ended, by);
  }

  #watched(world: string): WatchedWorld {
    let watched = this.#worlds.get(world);
    if (!watched) {
      watched = new WatchedWorld(world, this.#ports, this, this.#limit);
      this.#worlds.set(world, watched);
    }
    watched.usedAt = this.#ports.clock.now();
    return watched;
  }

  async #look(): Promise<void> {
    const { clock, store, log } = this.#ports;
    const now = clock.now();
    const open = new Map<string, Set<string>>();
    for (const { world, channel } of await store.calls.open()) {
      const channels = open.get(world) ?? new Set();
      open.set(world, channels.add(channel));
    }
    for (const [world, channels] of open) {
      const watched = this.#watched(world);
      for (const channel of channels) watched.add(channel);
    }
    for (const [id, watched] of this.#worlds) {
      watched.keepOnly(open.get(id) ?? new Set());
      if (open.has(id) || watched.isBusy || now - watched.usedAt < LINGER_MS) continue;
      watched.close();
      this.#worlds.delete(id);
    }
    if (now - this.#reconciledAt < RECONCILE_INTERVAL_MS || this.#closed) return;
    this.#reconciledAt = now;
    // The engine may take long to respond, and new calls must not wait for the response.
    const failed = (error: unknown) => {
      if (!this.#closed) log.warn({ err: error }, "calls cannot be compared with their engine");
    };
    detach(this.#reconcile(open).catch(failed));
  }

  async #reconcile(open: ReadonlyMap<string, ReadonlySet<string>>): Promise<void> {
    const { clock, engine, store } = this.#ports;
    const minute = Math.floor(clock.date() / RECONCILE_INTERVAL_MS);
    const due = new Map([...open].map(([world, channels]) => [world, new Set(channels)]));
    for (const room of await engine.rooms()) {
      const { world, channel } = placeIn(room) ?? {};
      if (world === undefined || channel === undefined) continue;
      const channels = due.get(world) ?? new Set();
      due.set(world, channels.add(channel));
    }
    for (const [world, channels] of due) {
      const isKnown = (await store.worlds.get(world)) !== undefined;
      // Each minute, only one process compares a world's calls with those at the engine.
      if (isKnown && !(await store.push.claim(world, `calls ${minute}`, clock.date()))) continue;
      if (this.#closed) return;
      const watched = this.#watched(world);
      for (const channel of channels) {
        if (isKnown) watched.reconcileSoon(channel);
        else watched.endAtEngine(channel);
      }
    }
  }
}

const nameOf = (sources: readonly CallSource[]): string => [...sources].sort().join();

const userOf = (identity: string): string => identity.slice(0, identity.indexOf(":"));

/** The pending work in a world. */
interface Work {
  /** Whether to check everyone. */
  all: boolean;
  /** The users to check. */
  readonly users: Set<string>;
  /** The erased users to look for at the engine, because the store no longer knows their devices. */
  readonly erased: Set<string>;
  /** The channels to compare with the engine. */
  readonly compare: Set<string>;
  /** The channels whose calls are to be ended at the engine. */
  readonly end: Set<string>;
  /** The devices to remove at the engine: the channel of each device, by the device's identity. */
  readonly remove: Map<string, string>;
}

const noWork = (): Work => ({
  all: false,
  users: new Set(),
  erased: new Set(),
  compare: new Set(),
  end: new Set(),
  remove: new Map(),
});

const isDone = ({ all, users, erased, compare, end, remove }: Work): boolean =>
  !all && users.size + erased.size + compare.size + end.size + remove.size === 0;

/** A world with open calls. Its work is done in rounds, and failed work is retried. */
class WatchedWorld {
  /** Resolves once the world is followed: no entry added after that is missed. */
  readonly following: Promise<void>;
  /**
   * The sources that the engine last allowed each device to publish. A device whose sources are
   * unknown is missing.
   */
  readonly applied = new Map<string, string>();
  /** When the keeper last used this world, by the monotonic clock. */
  usedAt = 0;
  readonly #world: string;
  readonly #ports: KeeperPorts;
  readonly #keeper: CallKeeper;
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #channels = new Set<string>();
  #work = noWork();
  #isRunning = false;
  #pause = FIRST_RETRY_DELAY_MS;
  #stopRetry: (() => void) | undefined;
  #stopTimer = () => {};
  #wakesAt = Infinity;
  readonly #unsubscribe: () => void;
  #closed = false;

  constructor(
    world: string,
    ports: KeeperPorts,
    keeper: CallKeeper,
    limit: ReturnType<typeof pLimit>,
  ) {
    this.#world = world;
    this.#ports = ports;
    this.#keeper = keeper;
    this.#limit = limit;
    const { events } = ports;
    this.#unsubscribe = events.subscribe((event) => this.#handle(event), world);
    this.following = events.follow(world);
  }

  get isBusy(): boolean {
    return this.#isRunning || this.#stopRetry !== undefined || !isDone(this.#work);
  }

  /** Adds a channel with a call. If the channel is new, everyone in the world's calls is checked. */
  add(channel: string): void {
    if (this.#channels.has(channel)) return;
    this.#channels.add(channel);
    this.#do((work) => (work.all = true));
  }

  /** Forgets channels without an open call, unless the world is busy or was used recently. */
  keepOnly(open: ReadonlySet<string>): void {
    if (this.isBusy || this.#ports.clock.now() - this.usedAt < LINGER_MS) return;
    for (const channel of this.#channels) {
      if (!open.has(channel)) this.#channels.delete(channel);
    }
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
    this.#ports.events.unfollow(this.#world);
    this.#stopRetry?.();
    this.#stopTimer();
  }

  /**
   * Handles the event that a device has joined. The device has the sources that its ticket allows,
   * even if the allowed sources have changed since. A late event, however, says nothing about the
   * current state.
   */
  joined(identity: string, sources: readonly CallSource[]): void {
    if (this.applied.get(identity) !== nameOf(sources)) this.applied.delete(identity);
  }

  checkUser(user: string): void {
    this.#do(({ users }) => users.add(user));
  }

  reconcileSoon(channel: string): void {
    this.#channels.add(channel);
    this.#do(({ compare }) => compare.add(channel));
  }

  endAtEngine(channel: string): void {
    this.#do(({ end }) => end.add(channel));
  }

  removeAtEngine(channel: string, identity: string): void {
    this.#do(({ remove }) => remove.set(identity, channel));
  }

  #handle(event: AnyEvent): void {
    switch (event.type) {
      case "world.deleted":
        for (const channel of this.#channels) this.endAtEngine(channel);
        break;
      case "room.deleted":
        if (this.#channels.has(event.room)) this.endAtEngine(event.room);
        break;
      // A speaker may be allowed to stay when others are not.
      case "speaker.updated":
      case "speaker.deleted":
      case "program.imported":
      case "world.updated":
      case "world.reset":
      case "room.updated":
        this.#do((work) => (work.all = true));
        break;
      case "invitation.updated":
      case "invitation.deleted":
        if (changesGrant(event)) this.#do((work) => (work.all = true));
        break;
      case "user.erased":
        this.#do(({ erased }) => erased.add(event.user));
        break;
      case "user.moderated":
      case "user.updated":
      case "call.staged":
        this.checkUser(event.user);
        break;
      case "call.started":
        this.#channels.add(event.channel);
        this.#do((work) => (work.all = true));
        break;
      default:
    }
  }

  #do(add: (work: Work) => unknown): void {
    if (this.#closed) return;
    add(this.#work);
    if (!this.#isRunning && !this.#stopRetry) this.#run();
  }

  #run(): void {
    this.#isRunning = true;
    detach(
      this.#round().then((isComplete) => {
        this.#isRunning = false;
        if (this.#closed) return;
        if (isComplete) {
          this.#pause = FIRST_RETRY_DELAY_MS;
          if (!isDone(this.#work)) this.#run();
          return;
        }
        const retry = () => {
          this.#stopRetry = undefined;
          this.#run();
        };
        this.#stopRetry = this.#ports.clock.after(this.#pause, retry);
        this.#pause = Math.min(2 * this.#pause, MAX_RETRY_DELAY_MS);
      }),
    );
  }

  /** @returns whether all work was done. Failed work is added to the next round. */
  async #round(): Promise<boolean> {
    const work = this.#work;
    this.#work = noWork();
    let isComplete = true;
    const attempt = async (act: () => Promise<void>, again: (work: Work) => unknown) => {
      try {
        await act();
      } catch (error) {
        if (this.#closed) return;
        isComplete = false;
        again(this.#work);
        this.#report(error);
      }
    };
    // Reads in this turn of the event loop may miss entries that arrive in the same turn.
    await new Promise<void>((resolve) => void this.#ports.clock.soon(resolve));
    await Promise.all([
      ...Array.from(work.end, (channel) =>
        attempt(
          () => this.#endNow(channel),
          ({ end }) => end.add(channel),
        ),
      ),
      ...Array.from(work.remove, ([identity, channel]) =>
        attempt(
          () => this.#removeNow(channel, identity),
          ({ remove }) => remove.set(identity, channel),
        ),
      ),
      ...(work.all || work.users.size > 0
        ? [
            attempt(
              () => this.#check(work.all ? undefined : work.users),
              (again) => {
                again.all ||= work.all;
                for (const user of work.users) again.users.add(user);
              },
            ),
          ]
        : []),
      ...Array.from(work.erased, (user) =>
        attempt(
          () => this.#removeUser(user),
          ({ erased }) => erased.add(user),
        ),
      ),
      ...Array.from(work.compare, (channel) =>
        attempt(
          () => this.#compare(channel),
          ({ compare }) => compare.add(channel),
        ),
      ),
    ]);
    return isComplete;
  }

  #report(error: unknown): void {
    // Only the first failure is reported, because the work is retried until it succeeds.
    if (this.#pause !== FIRST_RETRY_DELAY_MS) return;
    const { log } = this.#ports;
    const isExpected = error instanceof StoreError || error instanceof EngineUnavailable;
    log[isExpected ? "warn" : "error"](
      { err: error, world: this.#world },
      "rights in a call have to wait",
    );
  }

  #ask<T>(request: (engine: CallEngine) => Promise<T>): Promise<T> {
    return this.#limit(() => request(this.#ports.engine));
  }

  async #endNow(channel: string): Promise<void> {
    await this.#ask((engine) => engine.end(engineRoom(this.#world, channel)));
    this.#channels.delete(channel);
  }

  async #removeNow(channel: string, identity: string): Promise<void> {
    await this.#ask((engine) => engine.remove(engineRoom(this.#world, channel), identity));
    this.applied.delete(identity);
  }

  async #removeUser(user: string): Promise<void> {
    await Promise.all(
      Array.from(this.#channels, async (channel) => {
        const room = engineRoom(this.#world, channel);
        const devices = await this.#ask((engine) => engine.participants(room));
        const own = devices.filter((it) => isOwn(it) && userOf(it.identity) === user);
        await Promise.all(own.map(({ identity }) => this.#removeNow(channel, identity)));
      }),
    );
  }

  /** @param users the users to check; by default, everyone. */
  async #check(users?: ReadonlySet<string>): Promise<void> {
    let next = Infinity;
    const results = await Promise.allSettled(
      Array.from(this.#channels, async (channel) => {
        const due = await this.#checkChannel(channel, users);
        next = Math.min(next, due);
      }),
    );
    this.#wakesAt = Infinity;
    this.wakeAt(next);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }

  /** @returns the time of the next expiry that no entry announces, in milliseconds since 1970. */
  async #checkChannel(channel: string, users?: ReadonlySet<string>): Promise<number> {
    const { store, clock } = this.#ports;
    const { calls } = store;
    const place = await placeOf(this.#ports, this.#world, channel);
    if (!place) {
      await this.#endNow(channel);
      return Infinity;
    }
    const { call, devices, stage } = await calls.get(this.#world, channel);
    const now = clock.date();
    if (call?.caller != null && call.mostPeople < 2) {
      const ends = call.started + RING_MS;
      if (now < ends) return this.#checkDevices(place, channel, devices, stage, users, ends);
      await this.#keeper.end(this.#world, channel, { id: call.id });
      return Infinity;
    }
    return this.#checkDevices(place, channel, devices, stage, users, Infinity);
  }

  async #checkDevices(
    place: Omit<CallPlace, "stage">,
    channel: string,
    all: readonly CallDevice[],
    stage: readonly string[],
    users: ReadonlySet<string> | undefined,
    ends: number,
  ): Promise<number> {
    const { store, clock } = this.#ports;
    const devices = users ? all.filter(({ user }) => users.has(user)) : all;
    const ids = [...new Set(devices.map(({ user }) => user))];
    const found = await store.users.getMany(this.#world, ids);
    const byId = new Map(found.map((user) => [user.id, user]));
    const now = clock.date();
    const whole = { ...place, stage: new Set(stage) };
    const expiries = all.flatMap(({ access }) =>
      access.expires === undefined ? [] : [access.expires * 1000],
    );
    await Promise.all(
      devices.map(async (device) => {
        const user = byId.get(device.user);
        const access = await presentAccess(this.#ports, place.world, user, device.access);
        const sources = access && sourcesFor(whole, user, access, now);
        if (access?.expires !== undefined) expiries.push(access.expires * 1000);
        if (sources) await this.#allow(channel, device, sources);
        else await this.#expel(channel, device);
      }),
    );
    const phase = nextPhaseChange(place.world.config, now) ?? Infinity;
    return Math.min(ends, phase, ...expiries.filter((at) => at > now));
  }

  async #allow(
    channel: string,
    { identity, hidden }: CallDevice,
    sources: readonly CallSource[],
  ): Promise<void> {
    const wanted = nameOf(sources);
    if (this.applied.get(identity) === wanted) return;
    const room = engineRoom(this.#world, channel);
    await this.#ask((engine) => engine.update(room, identity, { sources, hidden }));
    this.applied.set(identity, wanted);
  }

  async #expel(channel: string, { identity, joined }: CallDevice): Promise<void> {
    await this.#removeNow(channel, identity);
    // The engine also reports the removal, but the report may be lost.
    if (joined !== null) this.reconcileSoon(channel);
  }

  /** Updates the store to match the engine, and checks everyone in the world's calls. */
  async #compare(channel: string): Promise<void> {
    const { store, clock, onEnded } = this.#ports;
    const room = engineRoom(this.#world, channel);
    if (!(await placeOf(this.#ports, this.#world, channel))) return this.#endNow(channel);
    const asked = clock.date();
    const present = (await this.#ask((engine) => engine.participants(room))).filter(isOwn);
    const devices = present.map(engineDevice);
    const times = { asked, now: clock.date() };
    const { unknown, ended } = await store.calls.reconciled(
      this.#world,
      channel,
      devices,
      times,
      SERVER,
    );
    for (const { identity, sources } of present) this.applied.set(identity, nameOf(sources));
    await Promise.all(unknown.map((identity) => this.#removeNow(channel, identity)));
    if (ended) await onEnded(this.#world, ended);
    this.#do((work) => (work.all = true));
  }

  /**
   * Schedules a check of everyone for a given time, in milliseconds since 1970, unless an earlier
   * check is already scheduled.
   */
  wakeAt(at: number): void {
    if (at >= this.#wakesAt || this.#closed) return;
    this.#wakesAt = at;
    this.#stopTimer();
    const { clock } = this.#ports;
    const check = () => {
      this.#wakesAt = Infinity;
      this.#do((work) => (work.all = true));
    };
    const wait = Math.max(0, Math.min(at - clock.date(), MAX_TIMER_MS));
    this.#stopTimer = clock.after(wait, check);
  }
}

const engineDevice = ({ identity, session, joined, tracks }: CallParticipant) => ({
  identity,
  session,
  joined,
  sources: tracks.flatMap(({ source, muted }) => (muted ? [] : [source])),
});
