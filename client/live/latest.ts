import type { LiveError } from "./error.js";

/** The source of a {@link Latest}. */
interface Changing<T> {
  /** A new object after each change; undefined until it is known. */
  readonly current: T | undefined;
  /** The iteration has ended. */
  left(reader: Latest<T>): void;
}

/**
 * One iteration over something that changes: its present value, then a newer one after each
 * change. A slow consumer gets the last value only.
 */
export class Latest<T> implements AsyncIterableIterator<T, undefined> {
  readonly #source: Changing<T>;
  #given: T | undefined;
  #wake: () => void = () => {};
  #end: { error?: LiveError } | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(source: Changing<T>) {
    this.#source = source;
  }

  /** Takes note that the value has changed. */
  changed(): void {
    this.#wake();
  }

  /** Ends the iteration, with an error if there is one. */
  end(error?: LiveError): void {
    this.#end ??= error ? { error } : {};
    this.#wake();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const next = this.#turn.then(() => this.#next());
    this.#turn = next.catch(() => {});
    return next;
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#end = {};
    this.#wake();
    this.#source.left(this);
    return Promise.resolve({ done: true, value: undefined });
  }

  async #next(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      if (this.#end) {
        const { error } = this.#end;
        this.#end = {};
        if (error) throw error;
        return { done: true, value: undefined };
      }
      const { current } = this.#source;
      if (current !== undefined && current !== this.#given) {
        this.#given = current;
        return { done: false, value: current };
      }
      await new Promise<void>((wake) => (this.#wake = wake));
    }
  }
}
