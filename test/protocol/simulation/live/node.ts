import type { FastifyBaseLogger } from "fastify";
import type { LiveLimits } from "../../../../config.js";
import type { AnyEvent } from "../../../../db/contract/events.js";
import { StoreError } from "../../../../db/contract/store.js";
import { composeLive, type LiveLayer } from "../../../../live/compose.js";
import { type Identified, IdentityError } from "../../../../plugins/auth/identity.js";
import { sealReport } from "../../../../plugins/auth/sealed.js";
import { Guests } from "../../../../plugins/limits/guests.js";
import { Process } from "../timeline.js";
import type { House } from "./house.js";
import { type ClientEnd, Link } from "./socket.js";

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

/** The claims of a simulated token. */
export interface Token {
  uid: string;
  traits: string[];
  profile: { display_name: string };
}

/** A process's knowledge of the database: everything up to a commit. */
export interface Knowledge {
  /** How long the process had been awake by then, in milliseconds. */
  readonly awake: number;
  readonly commit: number;
}

/** A process of a simulated server, with the real live layer. */
export class Node extends Process {
  readonly live: LiveLayer;
  /** What it knew of each world, from oldest to newest. */
  readonly known = new Map<string, Knowledge[]>();
  readonly links = new Set<Link>();
  readonly #house: House;

  constructor(
    house: House,
    readonly name: string,
  ) {
    super(house, name, (error) => this.#complain(error));
    this.#house = house;
    const { store, events, time } = this;
    // Subscribes before all other listeners: from here on, the process knows the entry.
    events.subscribe((event) => this.#learn(event));
    this.live = composeLive({
      clock: time,
      random: { id: () => house.random.uuid() },
      store,
      events,
      limits,
      metrics: undefined,
      log: this.#logger(),
      sealReport,
      identify: ({ token, clientId }, world) => this.#identify(token, clientId, world),
      guests: new Guests(store.users, { perMinute: 1_000, trustProxy: false }),
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

  override kill(): void {
    super.kill();
    for (const link of this.links) link.broken();
    this.links.clear();
  }

  override close(): void {
    super.close();
    this.live.stop();
  }

  /** Returns the oldest commit of a world that the process may still act on. */
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

  /** Reports errors. Any error not caused by the store is a bug in the live layer. */
  #complain(error: unknown): void {
    const fault =
      error instanceof Error ? error : ((error as { err?: unknown } | undefined)?.err ?? error);
    if (fault instanceof StoreError) return;
    const { stack = String(fault) } = (fault ?? {}) as Error;
    this.#house.complain(`${this.name} failed: ${stack}`);
  }

  #logger(): FastifyBaseLogger {
    const silent = () => {};
    const error = (error: unknown) => this.#complain(error);
    return {
      level: "silent",
      silent,
      child: () => this.#logger(),
      trace: silent,
      debug: silent,
      info: silent,
      warn: silent,
      error,
      fatal: error,
    } as FastifyBaseLogger;
  }
}
