import type { FastifyBaseLogger } from "fastify";

/** What reads the store and then sends pushes to a world or a room. */
type Effect = () => Promise<unknown>;

/**
 * Runs the effects of each place one after the other. A place is a world or a room: what
 * a crowd does in a room delays nothing that concerns the world, such as a ban.
 */
export class Effects {
  readonly #log: FastifyBaseLogger;
  /** The places in which an effect runs or waits: the last one, and how many there are. */
  readonly #pending = new Map<string, { last: Promise<void>; count: number }>();
  #closed = false;

  constructor(log: FastifyBaseLogger) {
    this.#log = log;
  }

  /** How many effects of a place run or wait. */
  pendingIn(place: string): number {
    return this.#pending.get(place)?.count ?? 0;
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
    const pending = this.#pending.get(place) ?? {
      last: Promise.resolve(),
      count: 0,
    };
    this.#pending.set(place, pending);
    const last = pending.count > 0 ? pending.last.then(run) : run();
    pending.last = last;
    pending.count++;
    void last.then(() => {
      pending.count--;
      if (pending.count === 0) this.#pending.delete(place);
    });
  }

  close(): void {
    this.#closed = true;
  }
}
