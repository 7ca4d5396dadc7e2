import { setTimeout as delay } from "node:timers/promises";
import type { Live } from "../live.js";

/** The reactions to one event are sent at most once in this time, in milliseconds. */
const INTERVAL = 250;

/** How many bytes of reactions the subscribers of one channel get in a second, together. */
const BYTES = 50_000_000;

/** After a failure, in milliseconds. */
const RETRY = 1000;

/** The reactions of a channel that are not sent yet. */
interface Pending {
  readonly due: Set<number>;
  /** When each event was sent last, as `performance.now()` gives it. */
  readonly sent: Map<number, number>;
}

/**
 * Sends the reactions to events: the first at once, and then only as often as the
 * size of the event and of the audience allow. The last one carries the final state.
 */
export class ReactionPushes {
  readonly #live: Live;
  readonly #send: (
    world: string,
    channel: string,
    event: number,
  ) => Promise<number>;
  readonly #pending = new Map<string, Pending>();
  readonly #stop = new AbortController();

  /** @param send sends an event with its reactions. @returns how many bytes that were. */
  constructor(
    live: Live,
    send: (world: string, channel: string, event: number) => Promise<number>,
  ) {
    this.#live = live;
    this.#send = send;
  }

  /** The reactions to an event changed. */
  add(world: string, channel: string, event: number): void {
    const pending = this.#pending.get(channel);
    if (pending) {
      pending.due.add(event);
      return;
    }
    const next = { due: new Set([event]), sent: new Map<number, number>() };
    this.#pending.set(channel, next);
    void this.#work(world, channel, next).catch(() => {
      // Only the end of the server interrupts it.
      this.#pending.delete(channel);
    });
  }

  close(): void {
    this.#stop.abort();
  }

  async #work(world: string, channel: string, pending: Pending): Promise<void> {
    const { due, sent } = pending;
    for (;;) {
      const began = performance.now();
      for (const [event, at] of sent) {
        if (began - at >= INTERVAL) sent.delete(event);
      }
      const next = [...due].find((event) => !sent.has(event));
      if (next !== undefined) {
        due.delete(next);
        sent.set(next, began);
        await this.#wait(await this.#try(world, channel, next, due));
      } else if (sent.size > 0) {
        await this.#wait(Math.min(...sent.values()) + INTERVAL - began);
      } else break;
    }
    this.#pending.delete(channel);
  }

  /** @returns how long nothing else is sent, in milliseconds. */
  async #try(
    world: string,
    channel: string,
    event: number,
    due: Set<number>,
  ): Promise<number> {
    try {
      return (1000 * (await this.#send(world, channel, event))) / BYTES;
    } catch (error) {
      this.#live.log.error(error);
      due.add(event);
      return RETRY;
    }
  }

  async #wait(milliseconds: number): Promise<void> {
    // Timers count in milliseconds.
    if (milliseconds < 1) return;
    const { signal } = this.#stop;
    await delay(milliseconds, undefined, { signal, ref: false });
  }
}
