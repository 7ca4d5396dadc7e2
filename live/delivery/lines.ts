import type { FastifyBaseLogger } from "fastify";
import { type Clock, nextTurn } from "../../db/log/clock.js";
import { StoreError } from "../../db/contract/store.js";

/** What stands in a line. It reads the store, and then sends. */
type Act = () => Promise<unknown>;

/** The pause before something that failed is repeated, in milliseconds. It doubles each time. */
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2000;

/**
 * After how many milliseconds pushes wait for a change of rights. Together with the time
 * for which changes of a world are collected, that is a second.
 */
const LATE = 700;

/** When something is repeated, and until when it is of use. */
interface Persistence {
  /** After which errors it is repeated: by default, those of the store. */
  readonly isRepeated?: (error: unknown) => boolean;
  /** Whether it is no longer of use. */
  readonly isOver?: () => boolean;
  /** Is called after the first failure. */
  readonly onFault?: () => void;
}

/** Something that failed, until it is repeated. */
interface Pausing {
  readonly isOver: () => boolean;
  /** Ends the pause. */
  readonly wake: () => void;
}

/** A store that failed may answer the next time. Any other error is a fault of Foyer. */
const isOfStore = (error: unknown): boolean => error instanceof StoreError;
const isAny = () => true;

/**
 * Later, kind one: in order. Each place, a world or a room, has a line. What stands in it runs
 * one after the other. The line of a room delays nothing that concerns its world, such as a ban.
 */
export class Lines {
  readonly #clock: Clock;
  readonly #log: FastifyBaseLogger;
  /** The end of each line in which something runs or waits. */
  readonly #ends = new Map<string, Promise<void>>();
  /** What waits before it is repeated. */
  readonly #pausing = new Set<Pausing>();
  #closed = false;

  constructor(clock: Clock, log: FastifyBaseLogger) {
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Runs something after all that stands in a line. While the store fails, it is repeated, and
   * what came later waits.
   * @param place the id of a world or of a room.
   */
  inOrder(place: string, act: Act, options?: Persistence): void {
    this.#add(place, () => this.persist(act, options));
  }

  /** Runs something once after all that stands in a line. @returns what it gives, or its error. */
  run<T>(place: string, act: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#add(place, () => act().then(resolve, reject));
    });
  }

  /**
   * Runs in its order what takes away rights, and repeats it whatever fails.
   * @param onLate is called after its first failure, or if it takes long. From then on, the
   *   users it concerns may get no push until it has {@link ended}.
   * @param isOver whether none of these users is there any more.
   */
  enforce(
    place: string,
    act: Act,
    onLate: () => void,
    isOver: () => boolean,
  ): void {
    let isLate = false;
    const late = () => {
      if (!isLate) onLate();
      isLate = true;
    };
    const stop = this.#clock.after(LATE, late);
    this.#add(place, async () => {
      // Reads of this turn may see a state that is older than the entry that takes rights away.
      await nextTurn(this.#clock);
      await this.persist(act, { isRepeated: isAny, isOver, onFault: late });
      stop();
      isLate = true;
    });
  }

  /**
   * Does something, in no line, and repeats it until it succeeds, or the server closes.
   * @returns a promise that never rejects.
   */
  async persist(
    act: Act,
    {
      isRepeated = isOfStore,
      isOver = () => false,
      onFault = () => {},
    }: Persistence = {},
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
      await this.#pause(pause, isOver);
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    }
  }

  #pause(duration: number, isOver: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        stop();
        this.#pausing.delete(pausing);
        resolve();
      };
      const stop = this.#clock.after(duration, wake);
      const pausing: Pausing = { isOver, wake };
      this.#pausing.add(pausing);
    });
  }

  /** People have left: what was repeated for them alone no longer keeps others in its line. */
  dropWhatIsOver(): void {
    for (const { isOver, wake } of this.#pausing) if (isOver()) wake();
  }

  /** @param run must not reject. */
  #add(place: string, run: () => Promise<void>): void {
    if (this.#closed) return;
    const runAndForget = async () => {
      await run();
      if (this.#ends.get(place) === ended) this.#ends.delete(place);
    };
    const before = this.#ends.get(place);
    const ended = before ? before.then(runAndForget) : runAndForget();
    this.#ends.set(place, ended);
  }

  /** @returns what resolves after all that stands in a line now; undefined if nothing does. */
  ended(place: string): Promise<void> | undefined {
    return this.#ends.get(place);
  }

  close(): void {
    this.#closed = true;
  }
}
