import type { FastifyBaseLogger } from "fastify";

/** What reads the store and then sends pushes to a world or a room. */
type Effect = () => Promise<unknown>;

/**
 * Runs the effects of each place one after the other. A place is a world or a room: what
 * a crowd does in a room delays nothing that concerns the world, such as a ban.
 */
export class Effects {
  readonly #log: FastifyBaseLogger;
  /** The last effect of each place in which one runs or waits. */
  readonly #last = new Map<string, Promise<void>>();
  #closed = false;

  constructor(log: FastifyBaseLogger) {
    this.#log = log;
  }

  /**
   * Runs an effect after all that were asked for before, so what was asked for first is sent first.
   * @param place the id of a world or of a room.
   */
  inOrder(place: string, effect: Effect): void {
    if (this.#closed) return;
    const run = async () => {
      try {
        await effect();
      } catch (error) {
        // The store closes before everything that waited has run. Otherwise the next
        // event of this place reads everything again.
        if (!this.#closed) this.#log.error(error);
      }
    };
    const before = this.#last.get(place);
    const ended = before ? before.then(run) : run();
    this.#last.set(place, ended);
    void ended.then(() => {
      if (this.#last.get(place) === ended) this.#last.delete(place);
    });
  }

  /** @returns what resolves after all effects of a place that were asked for; undefined if there are none. */
  ended(place: string): Promise<void> | undefined {
    return this.#last.get(place);
  }

  close(): void {
    this.#closed = true;
  }
}
