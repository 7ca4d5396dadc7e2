import type { FastifyBaseLogger } from "fastify";

/** What reads the store and then sends pushes to a world. */
type Effect = () => Promise<unknown>;

/** Runs the effects of each world one after the other. */
export class Effects {
  readonly #log: FastifyBaseLogger;
  /** The last effect of each world in which one runs or waits. */
  readonly #last = new Map<string, Promise<void>>();
  #closed = false;

  constructor(log: FastifyBaseLogger) {
    this.#log = log;
  }

  /** Runs an effect after all that were asked for before, so what was asked for first is sent first. */
  inOrder(world: string, effect: Effect): void {
    if (this.#closed) return;
    const run = async () => {
      try {
        await effect();
      } catch (error) {
        // The store closes before everything that waited has run. Otherwise the next
        // event of this world reads everything again.
        if (!this.#closed) this.#log.error(error);
      }
    };
    const before = this.#last.get(world);
    const ended = before ? before.then(run) : run();
    this.#last.set(world, ended);
    void ended.then(() => {
      if (this.#last.get(world) === ended) this.#last.delete(world);
    });
  }

  close(): void {
    this.#closed = true;
  }
}
