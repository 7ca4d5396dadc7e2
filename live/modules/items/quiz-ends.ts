import type { FastifyBaseLogger } from "fastify";
import { SERVER } from "../../../db/contract/author.js";
import type { PollStore } from "../../../db/contract/poll-store.js";
import { type Clock, detach } from "../../../db/runtime.js";

/**
 * Interval between checks for quizzes that end soon, in milliseconds. No quiz is shorter than 5 s.
 */
const LOOK_INTERVAL_MS = 2000;

/**
 * How long a quiz stays open beyond its end, in milliseconds, because the store may not have
 * processed answers that arrived in time. Answers that arrived later are refused by their arrival
 * time.
 */
const GRACE_MS = 1000;

/** Minimum time between two checks, in milliseconds. */
const MIN_WAIT_MS = 50;

/** Ports of {@link QuizEnds}. */
export interface QuizEndPorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly store: { readonly polls: Pick<PollStore, "ending" | "end"> };
}

/**
 * Closes quizzes in all worlds when their time is up. Every process does so; the store closes each
 * quiz only once. A quiz that ended while no process was running is closed by the first process to
 * start.
 */
export class QuizEnds {
  readonly #ports: QuizEndPorts;
  #stopTimer = () => {};
  #isClosed = false;

  constructor(ports: QuizEndPorts) {
    this.#ports = ports;
  }

  /** Checks now, and again when the next quiz ends. */
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

  /**
   * Closes the quizzes that are due.
   * @returns the delay before the next check, in milliseconds.
   */
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
