import type { FastifyBaseLogger } from "fastify";
import { type Clock, sleep } from "../../db/log/clock.js";
import type { Passes } from "./passes.js";

/** What changes often is sent at most once in this time, in milliseconds. */
const INTERVAL = 250;

/** How many bytes the people of one place get in a second, together. */
const BYTES = 50_000_000;

/**
 * How many bytes each of them gets in a second: a fifth of a line with 10 Mbit/s, which
 * messages need as well.
 */
const READER_BYTES = 250_000;

/** How much is sent at once, in milliseconds of these rates. */
const BURST = 50;

/** After a failure, in milliseconds. */
const RETRY = 1000;

/** The authors of the changes in a push: the ids of users and connections. */
export type Authors = ReadonlySet<string>;

/** How many bytes were sent. */
export interface Sent {
  /** To all together. */
  readonly total: number;
  /** To one of them at most. */
  readonly each: number;
}

export const nothingSent: Sent = { total: 0, each: 0 };

/** What throttling needs. */
export interface ThrottlePorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly passes: Passes;
}

/** How a throttle waits. */
export interface ThrottleOptions {
  /** The least time between two sends of a subject, in milliseconds; 250 by default. */
  readonly interval?: number;
  /** Whether the first change waits as well, so that those after it go with it. */
  readonly collects?: boolean;
}

/** What is done when a subject is due. */
export interface Due {
  readonly authors?: Iterable<string>;
  /** How many connections it goes to. To a crowd it is sent with a pass. */
  readonly size?: () => number;
  /** Sends the subject as it is then. It is called again after it failed. */
  readonly send: (authors: Authors) => Promise<Sent> | Sent;
}

type Subject = string | number;

/** What is to be sent to the people of a place. It exists only while something is. */
interface Pending {
  readonly due: Map<Subject, Due & { readonly authors: Set<string> }>;
  /** Since when each subject waits until it may be sent again, in milliseconds of the clock. */
  readonly resting: Map<Subject, number>;
  /** Ends a wait in which nothing was due. */
  wake: () => void;
}

/**
 * Later, kind three: not so often. It sends what changes often: the first change at once, and
 * later ones together, as an interval and the size of what is sent allow, for all people of a
 * place and for each reader. It remembers only the subject and its authors, so the last send has
 * the final state, and an idle subject costs neither a timer nor memory.
 */
export class Throttle {
  readonly #ports: ThrottlePorts;
  readonly #interval: number;
  readonly #collects: boolean;
  readonly #pending = new Map<string, Pending>();
  #closed = false;

  constructor(
    ports: ThrottlePorts,
    { interval = INTERVAL, collects = false }: ThrottleOptions = {},
  ) {
    this.#ports = ports;
    this.#interval = interval;
    this.#collects = collects;
  }

  /**
   * A subject changed.
   * @param place the id of a world, room or channel, whose people share the rate in bytes.
   */
  add(place: string, subject: Subject, due: Due): void {
    if (this.#closed) return;
    const known = this.#pending.get(place);
    const pending: Pending = known ?? {
      due: new Map(),
      resting: new Map(),
      wake() {},
    };
    const authors = pending.due.get(subject)?.authors ?? new Set<string>();
    for (const author of due.authors ?? []) authors.add(author);
    pending.due.set(subject, { ...due, authors });
    const rests = pending.resting.has(subject);
    if (this.#collects && !rests)
      pending.resting.set(subject, this.#ports.clock.now());
    if (known) {
      if (!rests) known.wake();
      return;
    }
    this.#pending.set(place, pending);
    this.#work(place, pending).catch((error) => this.#ports.log.error(error));
  }

  /** Sends nothing more. */
  close(): void {
    this.#closed = true;
    for (const { wake } of this.#pending.values()) wake();
  }

  async #work(place: string, pending: Pending): Promise<void> {
    const { resting } = pending;
    const { clock, passes } = this.#ports;
    while (!this.#closed) {
      const now = clock.now();
      for (const [subject, since] of resting) {
        if (now - since >= this.#interval) resting.delete(subject);
      }
      const next = nextDue(pending);
      if (next !== undefined) {
        const size = pending.due.get(next)!.size?.() ?? 0;
        const turn = passes.turn(place, size);
        if (turn) await turn;
        const pause = await this.#sendDue(place, pending);
        // Timers count in milliseconds.
        if (pause >= 1) await sleep(clock, pause);
      } else if (resting.size > 0) {
        const wait = Math.min(...resting.values()) + this.#interval - now;
        await new Promise<void>((resolve) => {
          const stop = clock.after(wait, resolve);
          pending.wake = () => {
            stop();
            resolve();
          };
        });
      } else break;
    }
    this.#pending.delete(place);
  }

  /** Sends what is due, in one pass. @returns how long nothing else is sent, in milliseconds. */
  async #sendDue(place: string, pending: Pending): Promise<number> {
    const { due, resting } = pending;
    let pause = 0;
    while (pause < BURST && !this.#closed) {
      const subject = nextDue(pending);
      if (subject === undefined) break;
      const next = due.get(subject)!;
      due.delete(subject);
      pause += await this.#try(place, pending, subject, next);
      resting.set(subject, this.#ports.clock.now());
    }
    return pause;
  }

  /** @returns how long nothing else is sent, in milliseconds. */
  async #try(
    place: string,
    pending: Pending,
    subject: Subject,
    due: Due & { readonly authors: Authors },
  ): Promise<number> {
    try {
      const { total, each } = await due.send(due.authors);
      return 1000 * Math.max(total / BYTES, each / READER_BYTES);
    } catch (error) {
      if (this.#closed) return 0;
      this.#ports.log.error(error);
      const newer = pending.due.get(subject);
      this.add(place, subject, { ...due, ...newer, authors: due.authors });
      return RETRY;
    }
  }
}

/** The subject that is to be sent next; undefined if each was sent a moment ago. */
function nextDue({ due, resting }: Pending): Subject | undefined {
  for (const subject of due.keys()) if (!resting.has(subject)) return subject;
  return undefined;
}
