import type { FastifyBaseLogger } from "fastify";
import { SERVER } from "../../../db/contract/author.js";
import type { PollStore } from "../../../db/contract/poll-store.js";
import { type Clock, detach } from "../../../db/runtime.js";

/** How often to look for quizzes that end soon, in milliseconds. None is shorter than 5 s. */
const LOOK_INTERVAL_MS = 2000;

/**
 * How long a quiz stays open after its end, in milliseconds: answers that arrived in time may still
 * wait for the store. Later answers are refused by the time of their arrival.
 */
const GRACE_MS = 1000;

/** Minimum time between two looks, in milliseconds. */
const MIN_WAIT_MS = 50;

/** Ports of {@link QuizEnds}. */
export interface QuizEndPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly polls: Pick<PollStore, "ending" | "end"> };
}

/**
 * Closes quizzes when their time is over, in all worlds. All processes do; the store closes each
 * quiz once. A quiz whose time ended while no process ran is closed by the first one that starts.
 */
export class QuizEnds {
  readonly #ports: QuizEndPorts;
  #stopTimer = () => {};
  #isClosed = false;

  constructor(ports: QuizEndPorts) {
    this.#ports = ports;
  }

  /** Looks now, and again when the next quiz ends. */
  start(): void {
    const { clock, log } = this.#ports;
    const failed = (error: unknown) => {
      if (!this.#isClosed) log.warn({ err: error }, "quizzes could not be closed");
      return LOOK_INTERVAL_MS;
    };
    const next = (wait: number) => {
      if (!this.#isClosed) this.#stopTimer = clock.after(wait, () => this.start());
    };
    detach(this.#look().catch(failed).then(next));
  }

  stop(): void {
    this.#isClosed = true;
    this.#stopTimer();
  }

  /** @returns how long to wait before the next look, in milliseconds. */
  async #look(): Promise<number> {
    const { clock, store } = this.#ports;
    const found = await store.polls.ending(clock.date() + LOOK_INTERVAL_MS);
    let next = Infinity;
    for (const { world, room, id, ends_at } of found) {
      const now = clock.date();
      if (ends_at + GRACE_MS > now) next = Math.min(next, ends_at + GRACE_MS - now);
      else await store.polls.end(world, room, id, now, SERVER);
    }
    return Math.max(MIN_WAIT_MS, Math.min(next, LOOK_INTERVAL_MS));
  }
}
