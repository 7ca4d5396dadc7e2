import type { FastifyBaseLogger } from "fastify";
import { type Clock, sleep } from "../../db/log/clock.js";
import { StoreError } from "../../db/contract/store.js";

/** What reads the store and then sends pushes to a world or a room. */
type Effect = () => Promise<unknown>;

/** The pause before a failed effect is repeated, in milliseconds. It doubles each time. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2000;

/**
 * After how many milliseconds pushes wait for a change of rights. Together with the time
 * for which changes of a world are collected, that is a second.
 */
const LATE = 700;

/** A store that failed may answer the next time. Any other error is a fault of Foyer. */
const isOfStore = (error: unknown): boolean => error instanceof StoreError;
const isAny = () => true;

/**
 * Runs the effects of each place one after the other. A place is a world or a room: what
 * a crowd does in a room delays nothing that concerns the world, such as a ban.
 */
export class Effects {
  readonly #clock: Clock;
  readonly #log: FastifyBaseLogger;
  /** The last effect of each place in which one runs or waits. */
  readonly #last = new Map<string, Promise<void>>();
  #closed = false;

  constructor(clock: Clock, log: FastifyBaseLogger) {
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Runs an effect after all that were asked for before, so what was asked for first is
   * sent first. While the store fails, the effect is repeated, and later ones wait.
   * @param place the id of a world or of a room.
   * @param isRepeated after which errors it is repeated.
   */
  inOrder(place: string, effect: Effect, isRepeated = isOfStore): void {
    this.#add(place, () => this.persist(effect, { isRepeated }));
  }

  /**
   * Runs an effect that takes away rights, and repeats it whatever fails.
   * @param onLate is called after its first failure, or if it takes long. From then on, the
   *   users it concerns may get no push until it has {@link ended}.
   */
  enforce(place: string, effect: Effect, onLate: () => void): void {
    let isLate = false;
    const late = () => {
      if (!isLate) onLate();
      isLate = true;
    };
    const stop = this.#clock.after(LATE, late);
    this.#add(place, async () => {
      await this.persist(effect, { isRepeated: isAny, onFault: late });
      stop();
      isLate = true;
    });
  }

  /**
   * Does something, and repeats it until it succeeds, or the server closes.
   * @param options.isRepeated after which errors it is repeated.
   * @param options.isOver whether it is no longer of use.
   * @param options.onFault is called after the first failure.
   * @returns a promise that never rejects.
   */
  async persist(
    act: Effect,
    {
      isRepeated = isOfStore,
      isOver = () => false,
      onFault = () => {},
    }: {
      isRepeated?: (error: unknown) => boolean;
      isOver?: () => boolean;
      onFault?: () => void;
    } = {},
  ): Promise<void> {
    let pause = FIRST_PAUSE;
    while (!this.#closed && !isOver()) {
      try {
        await act();
        return;
      } catch (error) {
        // The store closes before everything that waited has run.
        if (this.#closed) return;
        if (pause === FIRST_PAUSE) {
          this.#log.error(error);
          onFault();
        }
        if (!isRepeated(error)) return;
      }
      await sleep(this.#clock, pause);
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }

  /** @param run must not reject. */
  #add(place: string, run: () => Promise<void>): void {
    if (this.#closed) return;
    const runAndForget = async () => {
      await run();
      if (this.#last.get(place) === ended) this.#last.delete(place);
    };
    const before = this.#last.get(place);
    const ended = before ? before.then(runAndForget) : runAndForget();
    this.#last.set(place, ended);
  }

  /** @returns what resolves after all effects of a place that were asked for; undefined if there are none. */
  ended(place: string): Promise<void> | undefined {
    return this.#last.get(place);
  }

  close(): void {
    this.#closed = true;
  }
}
