import type { Author } from "./author.js";
import type { ChatDelivery } from "./chat-store.js";

// Part of db/contract/store.ts: the methods shared by all kinds of items in a room.

export interface Item {
  id: string;
  room: string;
  content: string;
  /** At most one item of each kind is pinned in a room. */
  is_pinned: boolean;
  /** Creation time, in milliseconds since 1970. */
  timestamp: number;
}

export interface ItemUpdate<I extends Item> {
  before: I;
  after: I;
  /** The event that the update created in the room's chat. */
  delivery?: ChatDelivery;
  /** The id of the item that the update unpinned. */
  unpinned?: string;
}

/**
 * Stores the items of one kind. In addition to the errors listed for each method, each write fails
 * with a {@link StoreError} `absent` when the room does not exist (`field` is `room`), the item
 * does not exist (`field` is the item's kind), or the user is unknown or erased (`field` is
 * `user`).
 * @typeParam D a new item.
 * @typeParam C the fields that can be changed.
 */
export interface ItemStore<I extends Item, D, C> {
  /** Returns an item in a room, or undefined if the room has no item with this id. */
  get(worldId: string, room: string, id: string): Promise<I | undefined>;
  /** Stores an item with a new UUID as its id. */
  create(worldId: string, room: string, draft: D, by?: Author): Promise<I>;
  /**
   * Replaces the named fields. Pinning an item unpins any other item in the room.
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
  /** Deletes an item along with its votes. @returns the deleted item. */
  delete(worldId: string, room: string, id: string, by?: Author): Promise<I>;
  /**
   * Pins an item, and unpins any other item in the room. Null only unpins.
   * @param user the id of the acting user.
   * @returns the item that is now pinned.
   */
  pin(
    worldId: string,
    room: string,
    id: string | null,
    user: string,
    by?: Author,
  ): Promise<I | undefined>;
}
