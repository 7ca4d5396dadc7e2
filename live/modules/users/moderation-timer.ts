import type { FastifyBaseLogger } from "fastify";
import { SERVER } from "../../../db/contract/author.js";
import type { UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { EntryHandlers } from "../../module.js";

/** Maximum duration of a timer, in milliseconds: the machine's clock may be changed while the timer runs. */
const MAX_TIMER_MS = 10 * 60 * 1000;

/**
 * Delay between an entry and the next read, in milliseconds, so that a crowd of guests causes a
 * single read.
 */
const SETTLE_MS = 500;

/** Delay before the next attempt if the store fails, in milliseconds. */
const RETRY_MS = 3000;

/** Ports of the timer. */
export interface ModerationTimerPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly users: UserStore };
}

interface Watched {
  stop: () => void;
  /** When the timer fires, on the monotonic clock. */
  at: number;
}

/**
 * Ends silences when they expire. Each process handles the worlds in which it has connections;
 * repeating the write has no effect. In other worlds, logins and HTTP requests end expired
 * silences.
 */
export class ModerationTimer {
  readonly #ports: ModerationTimerPorts;
  readonly #watched = new Map<string, Watched>();
  readonly handlers: EntryHandlers;

  constructor(ports: ModerationTimerPorts) {
    this.#ports = ports;
    const changed = ({ world }: { world: string }) => this.#soon(world);
    this.handlers = { "user.moderated": changed, "user.entered": changed };
  }

  /** Starts watching a world when its first connection logs in. */
  watch(world: string): void {
    if (this.#watched.has(world)) return;
    this.#watched.set(world, { stop: () => {}, at: Infinity });
    this.#set(world, 0);
  }

  /** Stops watching a world after its last connection has left. */
  unwatch(world: string): void {
    this.#watched.get(world)?.stop();
    this.#watched.delete(world);
  }

  close(): void {
    for (const world of [...this.#watched.keys()]) this.unwatch(world);
  }

  #soon(world: string): void {
    const watched = this.#watched.get(world);
    const isSoon = watched && watched.at <= this.#ports.clock.now() + SETTLE_MS;
    if (watched && !isSoon) this.#set(world, SETTLE_MS);
  }

  #set(world: string, delay: number): void {
    const watched = this.#watched.get(world);
    if (!watched) return;
    const { clock } = this.#ports;
    watched.stop();
    watched.at = clock.now() + delay;
    watched.stop = clock.after(delay, () => void this.#look(world, watched));
  }

  async #look(world: string, watched: Watched): Promise<void> {
    const { clock, log, store } = this.#ports;
    watched.at = Infinity;
    try {
      let end = await store.users.nextModerationEnd(world);
      if (end !== undefined && end <= clock.date()) {
        await store.users.endModeration(world, clock.date(), SERVER);
        end = await store.users.nextModerationEnd(world);
      }
      if (this.#watched.get(world) !== watched || watched.at !== Infinity || end === undefined) {
        return;
      }
      this.#set(world, Math.max(SETTLE_MS, Math.min(end - clock.date(), MAX_TIMER_MS)));
    } catch (error) {
      log.warn({ err: error, world }, "silences could not be ended");
      if (this.#watched.get(world) === watched) this.#set(world, RETRY_MS);
    }
  }
}
