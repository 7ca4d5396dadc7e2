/** How long patient items gather, in milliseconds. */
const WINDOW = 8;

/** The most items that are delivered at once while none is urgent. */
const MAX_GATHERED = 500;

/** The most urgent items of one turn of the event loop that are delivered at once. */
const MAX_URGENT = 8;

/**
 * Collects items and delivers them together, in the order of their arrival.
 *
 * An urgent item leaves at the end of this turn of the event loop, with everything
 * that came before it. So does a patient item, unless there is a crowd: then it waits
 * until {@link WINDOW} has passed since the last delivery, and others join it. Items
 * are a crowd when one comes before the last one is dealt with. A caller that waits for
 * each result before the next item is no crowd, and is never held up.
 */
export class Gathering<T> {
  readonly #deliver: (items: T[]) => void;
  #items: T[] = [];
  #leaving: NodeJS.Immediate | undefined;
  #waiting: NodeJS.Timeout | undefined;
  #deliveredAt = -Infinity;
  #crowded = false;

  /** @param deliver gets the items, at least one. */
  constructor(deliver: (items: T[]) => void) {
    this.#deliver = deliver;
  }

  /** @param busy whether earlier items are not dealt with yet. */
  add(item: T, { patient, busy }: { patient: boolean; busy: boolean }): void {
    const count = this.#items.push(item);
    if (!patient) {
      // A long turn delivers several times, so that the receiver is not idle meanwhile.
      if (this.#leaving && count >= MAX_URGENT) this.flush();
      else this.#leaving ??= setImmediate(this.flush);
      return;
    }
    if (busy || count > 1) this.#crowded = true;
    if (count === MAX_GATHERED) this.flush();
    if (count > 1) return;
    const wait = this.#crowded
      ? this.#deliveredAt + WINDOW - performance.now()
      : 0;
    if (wait > 0) this.#waiting = setTimeout(this.flush, wait);
    else this.#leaving = setImmediate(this.flush);
  }

  /** Delivers the gathered items. */
  readonly flush = (): void => {
    clearImmediate(this.#leaving);
    clearTimeout(this.#waiting);
    this.#leaving = this.#waiting = undefined;
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#crowded = items.length > 1;
    this.#deliveredAt = performance.now();
    this.#deliver(items);
  };
}
