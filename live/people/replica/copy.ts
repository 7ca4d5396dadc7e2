import type { Changes, Item, Slice } from "./messages.js";

/** How many items of one process are kept in one scope at most. */
const MAX_ITEMS = 1_000_000;

/** Gets each change in a {@link Copy} once. */
export interface CopyListener {
  put(key: string, value: unknown): void;
  gone(key: string): void;
}

/** The full state of an owner, with some slices still missing. */
interface Whole {
  readonly version: number;
  /** The slices that have arrived. */
  readonly slices: Set<number>;
  readonly keys: Set<string>;
}

/**
 * The copy of another process's {@link Part}. It keeps the keys of the items and their
 * versions. Its listener keeps the values.
 */
export class Copy {
  readonly #listener: CopyListener;
  readonly #items = new Map<string, number>();
  /** It has all changes up to this version; 0 for none. */
  #known = 0;
  /** The highest version that the owner has announced. */
  #newest = 0;
  #whole: Whole | undefined;

  constructor(listener: CopyListener) {
    this.#listener = listener;
  }

  /** The version up to which it has all changes; 0 if it needs everything. */
  get known(): number {
    return this.#known;
  }

  /** Whether the owner has announced changes that are missing here. */
  get isBehind(): boolean {
    return this.#known < this.#newest;
  }

  /** The owner is at a version. */
  hear(version: number): void {
    this.#newest = Math.max(this.#newest, version);
  }

  /** Takes changes, unless others before them are missing. */
  change({ since, version, put, gone }: Changes): void {
    this.hear(version);
    if (since > this.#known || version <= this.#known) return;
    this.#known = version;
    for (const item of put) this.#put(item);
    for (const key of gone) this.#remove(key);
  }

  /**
   * Takes a slice of the full state of the owner. When all slices have come, items that are
   * in none of them are gone.
   */
  take({ version, slice, of, put }: Slice): void {
    this.hear(version);
    if (version <= this.#known || slice >= of) return;
    let whole = this.#whole;
    if (whole && version < whole.version) return;
    if (whole?.version !== version) {
      whole = { version, slices: new Set(), keys: new Set() };
      this.#whole = whole;
      // From here on some items are newer than others.
      this.#known = 0;
    }
    if (whole.slices.has(slice)) return;
    whole.slices.add(slice);
    for (const item of put) {
      whole.keys.add(item[0]);
      this.#put(item);
    }
    if (whole.slices.size < of) return;
    this.#whole = undefined;
    this.#known = version;
    for (const key of this.#items.keys()) {
      if (!whole.keys.has(key)) this.#remove(key);
    }
  }

  /** Forgets everything. @returns the keys of the items. */
  clear(): string[] {
    const keys = [...this.#items.keys()];
    this.#items.clear();
    this.#known = 0;
    this.#whole = undefined;
    return keys;
  }

  #put([key, version, value]: Item): void {
    const before = this.#items.get(key);
    if (before === undefined && this.#items.size >= MAX_ITEMS) return;
    if (before !== undefined && before >= version) return;
    this.#items.set(key, version);
    this.#listener.put(key, value);
  }

  #remove(key: string): void {
    if (this.#items.delete(key)) this.#listener.gone(key);
  }
}
