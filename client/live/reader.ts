import type { SentEvent } from "../../schemas/live/index.js";
import type { LiveError } from "./error.js";

/** How many events wait for a slow consumer. It fetches the others when it is ready for them. */
const MAX_WAITING = 1000;

/** The part of a channel that a {@link Reader} uses. */
export interface Source {
  /** The oldest events after an id; `isLast` if there are no more. */
  fetch(after: number, isOver: () => boolean): Promise<{ events: SentEvent[]; isLast: boolean }>;
  /** The iteration has ended. */
  left(reader: Reader): void;
}

/**
 * One iteration over the events of a channel. Pushed events wait for the consumer. When
 * the consumer is too slow, or events may have been missed, there is a gap after the waiting
 * events: the reader drops later pushes, and fetches from the gap on.
 */
export class Reader implements AsyncIterableIterator<SentEvent, undefined> {
  readonly #source: Source;
  /** The events that the consumer gets next. */
  #waiting: SentEvent[] = [];
  /** Pushes during a fetch of older events; undefined without a fetch. */
  #held: SentEvent[] | undefined;
  /** All up to this id are given, wait, or are held; undefined before the beginning. */
  #tail: number | undefined;
  /** Whether there may be events after the tail that were not pushed. */
  #hasGap = false;
  #wake: () => void = () => {};
  #end: { error?: LiveError } | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param after the id of an event to begin after; undefined begins with the next push. */
  constructor(source: Source, after?: number) {
    this.#source = source;
    this.#tail = after;
  }

  /** The id up to which it has everything, if it has begun. */
  get tail(): number | undefined {
    return this.#tail;
  }

  /** Takes an event that was pushed. */
  offer(event: SentEvent): void {
    const { event_id: id } = event;
    if (this.#tail === undefined || this.#hasGap || id <= this.#tail) return;
    const list = this.#held ?? this.#waiting;
    if (list.length >= MAX_WAITING) {
      this.#hasGap = true;
      return;
    }
    list.push(event);
    this.#tail = id;
    this.#wake();
  }

  /** Takes note that events may have been missed. */
  miss(): void {
    if (this.#tail === undefined) return;
    this.#hasGap = true;
    this.#wake();
  }

  /**
   * Goes on after a new subscription.
   * @param newest pushes have ids after this one.
   * @param after `events` follow this id; undefined if there are none.
   * @param isComplete whether there are no more after this id.
   */
  resume(
    newest: number,
    after: number | undefined,
    events: SentEvent[],
    isComplete: boolean,
  ): void {
    if (this.#tail === undefined) this.#tail = newest;
    // A server that was restored from a backup reuses ids.
    else if (this.#tail > newest) this.#tail = newest;
    else if (after === undefined || this.#tail < after) return this.miss();
    this.#hasGap = false;
    for (const event of events) this.offer(event);
    if (!isComplete) this.miss();
    this.#wake();
  }

  /** Ends the iteration; with an error, after the waiting events. */
  end(error?: LiveError): void {
    this.#end ??= error ? { error } : {};
    if (!error) this.#waiting = [];
    this.#wake();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<SentEvent, undefined>> {
    const next = this.#turn.then(() => this.#next());
    this.#turn = next.catch(() => {});
    return next;
  }

  return(): Promise<IteratorResult<SentEvent, undefined>> {
    this.#end = {};
    this.#waiting = [];
    this.#wake();
    this.#source.left(this);
    return Promise.resolve({ done: true, value: undefined });
  }

  async #next(): Promise<IteratorResult<SentEvent, undefined>> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) return { done: false, value: event };
      if (this.#end) {
        const { error } = this.#end;
        this.#end = {};
        if (error) throw error;
        return { done: true, value: undefined };
      }
      const woken = new Promise<void>((wake) => (this.#wake = wake));
      if (this.#hasGap && !this.#held) void this.#fetch();
      await woken;
    }
  }

  /** Fetches the next events. It never rejects. */
  async #fetch(): Promise<void> {
    const after = this.#tail!;
    // Events pushed from now on may be missing in the answer.
    this.#held = [];
    this.#hasGap = false;
    try {
      const isOver = () => this.#end !== undefined;
      const { events, isLast } = await this.#source.fetch(after, isOver);
      if (this.#end) return;
      const last = events.at(-1)?.event_id ?? after;
      this.#waiting = events;
      if (isLast) {
        this.#waiting.push(...this.#held.filter((it) => it.event_id > last));
        this.#tail = Math.max(last, this.#tail!);
      } else {
        this.#tail = last;
        this.#hasGap = true;
      }
    } catch (error) {
      this.end(error as LiveError);
      this.#source.left(this);
    } finally {
      this.#held = undefined;
      this.#wake();
    }
  }
}
