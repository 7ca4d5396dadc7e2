import type { Item } from "../../../db/contract/item-store.js";
import type { EntryHandlers } from "../../module.js";
import { SharedReads } from "../../rules/shared-reads.js";
import type { ItemName } from "./shared.js";

/** How many lists of a kind are kept. */
const MAX_LISTS = 256;

/** How large they are, all together and each, in characters of JSON. */
const MAX_SIZE = 16 * 1024 * 1024;
const MAX_LIST = 8 * 1024 * 1024;

/** Which list it is: of a room, with items in every state or only public ones. */
interface ListKey {
  readonly world: string;
  readonly room: string;
  readonly all: boolean;
}

/** A list that many people get. Do not change it. */
export class SharedList<I extends Item> {
  readonly #made = new Map<string, unknown>();

  constructor(readonly items: readonly I[]) {}

  /**
   * Something that is made of the items at its first use.
   * @param name the same for the same thing.
   */
  once<T>(name: string, make: (items: readonly I[]) => T): T {
    if (!this.#made.has(name)) this.#made.set(name, make(this.items));
    return this.#made.get(name) as T;
  }
}

/**
 * The items of rooms as the store has them, without anything that concerns one user. Everybody who
 * enters a room asks for them, and most of them at the same time.
 */
export class ItemLists<I extends Item> {
  readonly #lists: SharedReads<ListKey, SharedList<I>>;
  /** The handlers of entries. */
  readonly handlers: EntryHandlers;

  /** @param isCurrent whether this process has got all entries of a world up to a second ago. */
  constructor(kind: ItemName, isCurrent: (world: string) => boolean) {
    const lists = new SharedReads<ListKey, SharedList<I>>({
      isCurrent,
      placeOf: ({ room }) => room,
      most: MAX_LISTS,
      mostSize: MAX_SIZE,
      mostEach: MAX_LIST,
      // With what is made of it.
      sizeOf: ({ items }) => 3 * JSON.stringify(items).length,
    });
    this.#lists = lists;
    const ofRoom = ({ room }: { room: string }) => lists.forgetPlace(room);
    const ofWorld = ({ world }: { world: string }) => this.forget(world);
    this.handlers = {
      [`${kind}.saved`]: ofRoom,
      [`${kind}.deleted`]: ofRoom,
      [`${kind}.voted`]: ofRoom,
      [`${kind}.pinned`]: ofRoom,
      "user.erased": ofWorld,
      "room.deleted": ofRoom,
      "world.updated": ofWorld,
      "world.deleted": ofWorld,
    };
  }

  /** @param read reads a list that is not kept. */
  get(key: ListKey, read: () => Promise<readonly I[]>): Promise<SharedList<I>> {
    const { world, room, all } = key;
    return this.#lists.get(
      `${world} ${room} ${all}`,
      key,
      async () => new SharedList(await read()),
    );
  }

  /** Forgets the lists of a world. */
  forget(world: string): void {
    this.#lists.forgetWorld(world);
  }
}
