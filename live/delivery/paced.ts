import type { FastifyBaseLogger } from "fastify";
import { type Clock, sleep } from "../../db/log/clock.js";
import type { Passes } from "./passes.js";

/** The same thing is sent at most once in this time, in milliseconds. */
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

/** Something that changes often, such as the votes in a poll. */
export interface Subject<K extends string | number> {
  /** The id of the world. */
  readonly world: string;
  /** Where it is: the id of a room or channel, whose people share {@link BYTES}. */
  readonly place: string;
  readonly id: K;
}

/** Of whom the changes are that a push is about: the ids of users and connections. */
export type Authors = ReadonlySet<string>;

/** How many bytes were sent. */
export interface Sent {
  /** To all together. */
  readonly total: number;
  /** To one of them at most. */
  readonly each: number;
}

export const nothingSent: Sent = { total: 0, each: 0 };

/** What pacing needs. */
export interface PacePorts {
  readonly clock: Clock;
  readonly log: FastifyBaseLogger;
  readonly passes: Passes;
}

/** What is sent to whom. */
export interface PacedParts<K extends string | number> {
  /** Sends a subject as it is now. It is called again after it failed. */
  readonly send: (subject: Subject<K>, authors: Authors) => Promise<Sent>;
  /** How many connections get something of a place. */
  readonly sizeOf: (world: string, place: string) => number;
}

/** What is to be sent to the people of a place. It exists only while something is. */
interface Pending<K> {
  readonly due: Map<K, Set<string>>;
  /** When each subject was sent last, in milliseconds of the clock. */
  readonly sent: Map<K, number>;
  /** Ends a wait in which nothing was due. */
  wake: () => void;
}

/**
 * Sends what changes often: the first change at once, and later ones only as often as
 * an interval and the size of what is sent allow, for all together and for each reader. The last one carries the final state.
 */
export class Paced<K extends string | number> {
  readonly #ports: PacePorts;
  readonly #parts: PacedParts<K>;
  readonly #pending = new Map<string, Pending<K>>();
  #closed = false;

  constructor(ports: PacePorts, parts: PacedParts<K>) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** A subject changed. */
  add({ world, place, id }: Subject<K>, authors: Iterable<string> = []): void {
    const known = this.#pending.get(place);
    const pending: Pending<K> = known ?? {
      due: new Map(),
      sent: new Map(),
      wake() {},
    };
    const due = pending.due.get(id) ?? new Set<string>();
    for (const author of authors) due.add(author);
    pending.due.set(id, due);
    if (known) {
      if (!known.sent.has(id)) known.wake();
      return;
    }
    this.#pending.set(place, pending);
    this.#work(world, place, pending).catch((error) =>
      this.#ports.log.error(error),
    );
  }

  close(): void {
    this.#closed = true;
  }

  async #work(world: string, place: string, pending: Pending<K>) {
    const { due, sent } = pending;
    const { clock } = this.#ports;
    while (!this.#closed) {
      const now = clock.now();
      for (const [id, at] of sent) {
        if (now - at >= INTERVAL) sent.delete(id);
      }
      if (nextDue(pending) !== undefined) {
        const size = this.#parts.sizeOf(world, place);
        await this.#ports.passes.turn(place, size);
        // What is due goes with the same pass.
        let pause = 0;
        for (let id; pause < BURST && (id = nextDue(pending)) !== undefined;) {
          const authors = due.get(id)!;
          due.delete(id);
          pause += await this.#try({ world, place, id }, authors);
          sent.set(id, clock.now());
        }
        // Timers count in milliseconds.
        if (pause >= 1) await sleep(clock, pause);
      } else if (sent.size > 0) {
        const wait = Math.min(...sent.values()) + INTERVAL - now;
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

  /** @returns how long nothing else is sent, in milliseconds. */
  async #try(subject: Subject<K>, authors: Authors): Promise<number> {
    try {
      const { total, each } = await this.#parts.send(subject, authors);
      return 1000 * Math.max(total / BYTES, each / READER_BYTES);
    } catch (error) {
      if (this.#closed) return 0;
      this.#ports.log.error(error);
      this.add(subject, authors);
      return RETRY;
    }
  }
}

/** The subject that is to be sent next; undefined if each was sent a moment ago. */
function nextDue<K>({ due, sent }: Pending<K>): K | undefined {
  for (const id of due.keys()) if (!sent.has(id)) return id;
  return undefined;
}
