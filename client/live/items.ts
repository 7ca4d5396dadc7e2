import type { CallOptions } from "./options.js";
import type { Listed } from "./listed.js";
import type { Orders } from "./orders.js";
import type { RoomList } from "./room-list.js";

/** The items of one kind in a room that the user may see, and the commands that all kinds have. */
export abstract class Items<T extends Listed> implements AsyncIterable<readonly T[]> {
  /** With which the names of the commands begin. */
  protected abstract readonly kind: "question" | "poll";
  protected readonly orders: Orders;
  readonly #list: RoomList<T>;

  constructor(
    /** The id of the room. */
    readonly room: string,
    list: RoomList<T>,
    orders: Orders,
  ) {
    this.#list = list;
    this.orders = orders;
  }

  /** The list as it is known; undefined without an iteration. */
  get current(): readonly T[] | undefined {
    return this.#list.current;
  }

  /**
   * A slow consumer gets the last list only. The iteration ends with `close()`; it throws
   * a {@link LiveError} when the room or the right to read is lost, when the room takes no
   * polls any more, or when the server turns the client away.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<readonly T[], undefined> {
    return this.#list.read();
  }

  /** Deletes an item and its votes, as a moderator or manager. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    const payload = { room: this.room, id };
    await this.orders.delete(`${this.kind}.delete`, payload, options);
  }

  /** Pins an item instead of another one, as a moderator or manager. */
  async pin(id: string, options?: CallOptions): Promise<void> {
    const payload = { room: this.room, id };
    await this.orders.persist(`${this.kind}.pin`, payload, options);
  }

  /** Pins no item any more, as a moderator or manager. */
  async unpin(options?: CallOptions): Promise<void> {
    const payload = { room: this.room };
    await this.orders.persist(`${this.kind}.unpin`, payload, options);
  }
}
