import type { FastifyBaseLogger } from "fastify";
import type { LiveLimits } from "../../../config.js";
import type { AnyEvent } from "../../../db/contract/events.js";
import { LogEvents } from "../../../db/log/log-events.js";
import { type Store, StoreError } from "../../../db/contract/store.js";
import { sealReport } from "../../../plugins/auth/sealed-reports.js";
import { composeLive, type LiveLayer } from "../../../live/compose.js";
import {
  type Identified,
  IdentityError,
} from "../../../plugins/auth/identity.js";
import { Guests } from "../../../plugins/limits/guests.js";
import { simulatedStore } from "../store/store.js";
import { ProcessTime } from "../timeline.js";
import type { House } from "./house.js";
import { SimulatedBus } from "./network.js";
import type { ClientEnd } from "./socket.js";
import { Link } from "./socket.js";

const limits: LiveLimits = {
  maxConnections: 1_000,
  authTimeout: 10_000,
  maxFrame: 64 * 1024,
  maxText: 5_000,
  commandsPerSecond: 50,
  messagesPerSecond: 20,
  guestBytesPerMinute: 1024 ** 2,
  chatBytesPerDay: 1024 ** 3,
  maxUnsent: 1024 * 1024,
  maxUnsentTotal: 100 * 1024 * 1024,
  pingInterval: 10_000,
};

/** What a token of the simulation says. */
export interface Token {
  uid: string;
  traits: string[];
  profile: { display_name: string };
}

/** What a process knew of the database: everything up to a commit. */
export interface Knowledge {
  /** For how long the process had been awake, in milliseconds. */
  readonly awake: number;
  readonly commit: number;
}

/** A process of a simulated server, with the real live layer. */
export class Node {
  readonly time: ProcessTime;
  readonly store: Store;
  readonly live: LiveLayer;
  /** What it knew of each world, the newest last. */
  readonly known = new Map<string, Knowledge[]>();
  readonly links = new Set<Link>();
  readonly bus: SimulatedBus;
  readonly #house: House;
  readonly #events: LogEvents;

  constructor(
    house: House,
    readonly name: string,
  ) {
    this.#house = house;
    const { timeline, random, database } = house;
    const time = new ProcessTime(timeline);
    this.time = time;
    const onFault = (error: unknown) => this.#complain(error);
    this.bus = new SimulatedBus(house.network, time, name, onFault);
    const store = simulatedStore({
      ...{ database, timeline, time, random },
      faults: () => house.faults,
      onAppended: (hints) => events.took(hints),
      seen: () => events.seen(),
    });
    const events: LogEvents = new LogEvents({
      ...{ bus: this.bus, log: store.log, clock: time, onFault },
    });
    this.store = store;
    this.#events = events;
    // Before all other listeners: from here on, the process knows the entry.
    events.subscribe((event) => this.#learn(event));
    this.live = composeLive({
      ...{ clock: time, random: { id: () => random.uuid() }, store, events },
      ...{ limits, metrics: undefined, log: this.#logger(), sealReport },
      identify: ({ token, clientId }, world) =>
        this.#identify(token, clientId, world),
      guests: new Guests(store.users, events, {
        ...{ perMinute: 1_000, trustProxy: false },
      }),
    });
  }

  /** Opens a websocket to this process. */
  connect(world: string, client: ClientEnd): Link {
    const { timeline, random } = this.#house;
    const link = new Link(timeline, random, this.time, client);
    this.links.add(link);
    link.open(() => this.live.open(world, link.ws, link.socket, ""));
    if (!this.known.has(world)) this.#know(world, this.#house.database.commit);
    return link;
  }

  pause(duration: number): void {
    if (this.time.isPaused || this.time.isOver) return;
    this.time.pause(duration);
    this.#house.network.paused(this.bus, duration);
  }

  /** The process dies. */
  kill(): void {
    this.time.end();
    this.#house.network.detach(this.bus);
    for (const link of this.links) link.broken();
    this.links.clear();
  }

  close(): void {
    this.time.end();
    this.live.stop();
    void this.#events.close();
  }

  /** How far the process has followed a world. */
  reached(world: string): number {
    return this.#events.reached(world);
  }

  /** The oldest state of a world that the process may still go by. */
  oldest(world: string, grace: number): number {
    const known = this.known.get(world) ?? [];
    const since = this.time.awake - grace;
    const before = known.findLast(({ awake }) => awake <= since);
    return before?.commit ?? known[0]?.commit ?? 0;
  }

  #learn(event: AnyEvent): void {
    const { database } = this.#house;
    if (event.type === "world.reset") {
      this.#know(event.world, database.commit);
    } else if ("seq" in event) {
      const commit = database.commitOf(event.tag);
      this.#know(event.world, commit);
    }
  }

  #know(world: string, commit: number): void {
    const known = this.known.get(world) ?? [];
    this.known.set(world, known);
    known.push({ awake: this.time.awake, commit });
  }

  async #identify(
    token: string | undefined,
    clientId: string | undefined,
    world: string,
  ): Promise<Identified> {
    const found = await this.store.worlds.get(world);
    if (!found) throw new IdentityError("foreign", "Simulated.");
    if (token === undefined) {
      return { identity: { clientId, traits: new Set() }, world: found };
    }
    const { uid: tokenId, traits, profile } = JSON.parse(token) as Token;
    const identity = { tokenId, traits: new Set(traits), profile };
    return { identity, world: found };
  }

  /** What fails other than by the store is a fault of the live layer. */
  #complain(error: unknown): void {
    const fault =
      error instanceof Error
        ? error
        : ((error as { err?: unknown } | undefined)?.err ?? error);
    if (fault instanceof StoreError) return;
    const { stack = String(fault) } = (fault ?? {}) as Error;
    this.#house.complain(`${this.name} failed: ${stack}`);
  }

  #logger(): FastifyBaseLogger {
    const silent = () => {};
    const error = (error: unknown) => this.#complain(error);
    return {
      ...{ level: "silent", silent, child: () => this.#logger() },
      ...{ trace: silent, debug: silent, info: silent, warn: silent },
      ...{ error, fatal: error },
    } as FastifyBaseLogger;
  }
}
