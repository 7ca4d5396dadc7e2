import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Place } from "./room-pushes.js";

/** Of how many rooms it is known what people were told last. */
const MAX_ROOMS = 2000;

/** What people were told of one item last. */
interface Told {
  readonly digest: string;
  readonly isPublic: boolean;
}

/** What the people in a room were told. */
interface Known {
  readonly world: string;
  readonly items: Map<string, Told>;
  /** The id of the item that is pinned. */
  pinned: string | null;
  /** Whether somebody has listed those that are not public. */
  hasHidden: boolean;
}

interface Item {
  readonly id: string;
  readonly is_pinned: boolean;
}

/** Finds the items of a room, and tells its people what differs. */
export interface Comparison<T> {
  list: () => Promise<readonly T[]>;
  find: (id: string) => Promise<T | undefined>;
  onChanged: (item: T, wasPublic: boolean) => Promise<unknown>;
  onGone: (id: string, wasPublic: boolean) => Promise<unknown>;
  onPinned: () => Promise<unknown>;
}

/**
 * Remembers what the people in rooms were told of questions, or of polls: all that the
 * first of them listed, and each push since then. If events are missed, only what
 * differs has to be sent.
 */
export class RoomItems<T extends Item> {
  readonly #isPublic: (item: T) => boolean;
  readonly #shown: (item: T) => object;
  readonly #rooms = new LRUCache<string, Known>({ max: MAX_ROOMS });
  #isDue = false;
  #isRunning = false;

  /** @param shown gives all that anybody may see of an item. */
  constructor(isPublic: (item: T) => boolean, shown: (item: T) => object) {
    this.#isPublic = isPublic;
    this.#shown = shown;
  }

  /**
   * Calls `act` for each room whose list a client has got, one after the other. A call in
   * the meantime adds one more round.
   */
  async inEach(act: (place: Place) => Promise<unknown>): Promise<void> {
    this.#isDue = true;
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.#isDue) {
        this.#isDue = false;
        for (const [room, { world }] of [...this.#rooms.entries()]) {
          await act({ world, room });
        }
      }
    } finally {
      this.#isRunning = false;
    }
  }

  /**
   * Somebody has got a list.
   * @param hasHidden whether it has those that are not public, too.
   */
  listed(
    { world, room }: Place,
    items: readonly T[],
    hasHidden: boolean,
  ): void {
    const known = this.#rooms.get(room);
    if (!known) {
      const pinned = items.find(({ is_pinned }) => is_pinned)?.id ?? null;
      const told = items.map((item) => [item.id, this.#told(item)] as const);
      const all = { world, items: new Map(told), pinned, hasHidden };
      this.#rooms.set(room, all);
    } else if (hasHidden && !known.hasHidden) {
      // What is public may be newer in this list than what others were told.
      known.hasHidden = true;
      for (const item of items) {
        if (this.#isPublic(item) || known.items.has(item.id)) continue;
        known.items.set(item.id, this.#told(item));
      }
    }
  }

  /** The people in a room were told of an item. */
  told(room: string, item: T): void {
    this.#rooms.get(room)?.items.set(item.id, this.#told(item));
  }

  pinned(room: string, id: string | null): void {
    const known = this.#rooms.get(room);
    if (known) known.pinned = id;
  }

  gone(room: string, id: string): void {
    this.#rooms.get(room)?.items.delete(id);
  }

  /** Nobody in a room was told of a change. */
  forget(room: string): void {
    this.#rooms.delete(room);
  }

  /** Compares the items as they were pushed with the store. After a failure, it may be repeated. */
  async compare(room: string, comparison: Comparison<T>): Promise<void> {
    const known = this.#rooms.get(room);
    if (!known) return;
    const present = await comparison.list();
    for (const item of present) await this.#compare(known, item, comparison);
    const listed = new Set(present.map(({ id }) => id));
    for (const [id, { isPublic }] of [...known.items]) {
      if (listed.has(id)) continue;
      const item = await comparison.find(id);
      if (item) await this.#compare(known, item, comparison);
      else {
        await comparison.onGone(id, isPublic);
        known.items.delete(id);
      }
    }
    const pinned = present.find(({ is_pinned }) => is_pinned)?.id ?? null;
    if (pinned === known.pinned) return;
    await comparison.onPinned();
    known.pinned = pinned;
  }

  async #compare(
    { items, hasHidden }: Known,
    item: T,
    { onChanged }: Comparison<T>,
  ): Promise<void> {
    const before = items.get(item.id);
    const now = this.#told(item);
    if (before?.digest === now.digest) return;
    if (!before && !now.isPublic && !hasHidden) return;
    try {
      await onChanged(item, before?.isPublic ?? false);
      items.set(item.id, now);
    } catch (error) {
      // The next comparison starts from the last state that was pushed for certain.
      if (before) items.set(item.id, before);
      else items.delete(item.id);
      throw error;
    }
  }

  #told(item: T): Told {
    // Who learns of a pin learns it for all items at the same time.
    const shown = JSON.stringify({ ...this.#shown(item), is_pinned: null });
    const digest = createHash("sha1").update(shown).digest("base64");
    return { digest, isPublic: this.#isPublic(item) };
  }
}
