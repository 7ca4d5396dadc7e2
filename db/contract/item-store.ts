import type { Author } from "./author.js";
import type { Delivery } from "./chat-store.js";

// Part of db/contract/store.ts: the common methods of all kinds of items in a room.

export interface Item {
  id: string;
  room: string;
  content: string;
  /** At most one item of a kind is, in each room. */
  is_pinned: boolean;
  /** When it was created, in milliseconds since 1970. */
  timestamp: number;
}

export interface ItemUpdate<I extends Item> {
  before: I;
  after: I;
  /** The event that the update made in the chat of the room. */
  delivery?: Delivery;
  /** The id of the item whose pin it ended. */
  unpinned?: string;
}

/**
 * The items of one kind, in rooms. Beside its own errors, each write fails with a
 * {@link StoreError} `absent` when the room (`field` is `room`) or the item (the name of its
 * kind) does not exist, or the user is unknown or erased (`user`).
 * @typeParam D a new item.
 * @typeParam C the fields that may change.
 */
export interface ItemStore<I extends Item, D, C> {
  /** An item of a room; undefined if the room has none of this id. */
  get(worldId: string, room: string, id: string): Promise<I | undefined>;
  /** Stores an item with a new UUID as its id. */
  create(worldId: string, room: string, draft: D, by?: Author): Promise<I>;
  /**
   * Replaces the named fields. Pinning an item ends the pin of another.
   * @param user the id of the acting user.
   */
  update(
    worldId: string,
    room: string,
    id: string,
    changes: C,
    user: string,
    by?: Author,
  ): Promise<ItemUpdate<I>>;
  /** Deletes an item with its votes. @returns the item as it was. */
  delete(worldId: string, room: string, id: string, by?: Author): Promise<I>;
  /**
   * Pins an item, and ends the pin of another; with null, only ends a pin.
   * @param user the id of the acting user.
   * @returns the item that is pinned now.
   */
  pin(
    worldId: string,
    room: string,
    id: string | null,
    user: string,
    by?: Author,
  ): Promise<I | undefined>;
}
