import { type Client, type LiveError, persist } from "./client.js";
import { Doubts, isSame, type Kind, type Listed } from "./item-kind.js";
import type { Rooms } from "./rooms.js";
import { roomIn } from "./state.js";

/**
 * A list of a room's items, kept up to date while an iteration is running. On each connection, the
 * client enters the room, fetches the list, and then applies pushes to it.
 */
export class ItemList<T extends Listed> {
  readonly #client: Client;
  readonly #rooms: Rooms;
  readonly #kind: Kind<T>;
  readonly #readers = new Set<Latest<readonly T[]>>();
  readonly #doubts = new Doubts(() => void this.#relist());
  #items: readonly T[] | undefined;
  /** Pushes received since the list was requested; undefined if no request is in flight. */
  #held: [name: string, data: unknown][] | undefined;
  /** The user's last known permissions; undefined until they are known. */
  #rights: string | undefined;
  /** Incremented to invalidate the work in flight. */
  #attempt = 0;
  #closed: { error?: LiveError } | undefined;

  constructor(
    client: Client,
    rooms: Rooms,
    readonly room: string,
    kind: Kind<T>,
  ) {
    this.#client = client;
    this.#rooms = rooms;
    this.#kind = kind;
    this.#rights = this.#presentRights() || undefined;
  }

  /** The last known list; undefined before the first fetch, and while no iteration is running. */
  get current(): readonly T[] | undefined {
    return this.#items;
  }

  get #isUsed(): boolean {
    return this.#readers.size > 0;
  }

  /** Begins an iteration, which keeps the list in use. */
  read(): Latest<readonly T[]> {
    const reader = new Latest<readonly T[]>(this);
    if (this.#closed) {
      reader.end(this.#closed.error);
      return reader;
    }
    this.#readers.add(reader);
    if (this.#readers.size === 1) {
      this.#rooms.need(this.room, this);
      this.#renew();
    }
    return reader;
  }

  /** Called when an iteration has ended. */
  left(reader: Latest<readonly T[]>): void {
    if (this.#readers.delete(reader) && !this.#isUsed) this.#release();
  }

  pushed(name: string, data: unknown): void {
    this.#held?.push([name, data]);
    if (!this.#items) return;
    const { items, doubt } = this.#kind.pushed(this.#items, name, data);
    this.#set(items);
    if (doubt) this.#doubts.raise(doubt);
  }

  answered(name: string, payload: unknown, result: unknown): void {
    const known = this.#items;
    const change = this.#kind.answered(known ?? [], name, payload, result);
    if (!known) return;
    this.#set(change.items);
    if (change.doubt) this.#doubts.raise(change.doubt);
  }

  loggedIn(): void {
    this.#rights = this.#presentRights() || undefined;
    this.#renew();
  }

  /** Refetches the list if the user's rights have changed. */
  worldUpdated(): void {
    const before = this.#rights;
    this.#rights = this.#presentRights();
    if (this.#rights !== before) this.#renew();
  }

  disconnected(): void {
    this.#attempt++;
    this.#held = undefined;
    this.#doubts.dismiss();
  }

  /** Ends all iterations, with an error if there is one. */
  end(error?: LiveError): void {
    const isUsed = this.#isUsed;
    for (const reader of this.#readers) reader.end(error);
    this.#readers.clear();
    if (isUsed) this.#release();
  }

  /** Ends all current and future iterations. */
  close(error?: LiveError): void {
    this.#closed = error ? { error } : {};
    this.end(error);
  }

  /** Enters the room if necessary and fetches the list, provided it is in use. */
  #renew(): void {
    this.disconnected();
    if (this.#isUsed && this.#client.isConnected) {
      void this.#try(async (isOver) => {
        await persist(() => this.#rooms.enter(this.room), isOver);
        if (!isOver()) await this.#list(isOver);
      });
    }
  }

  /** Refetches the list, because it may be stale. */
  async #relist(): Promise<void> {
    // The request in flight may predate the change that made the list stale.
    if (this.#held) return this.#doubts.raise("perhaps");
    await this.#try(async (isOver) => {
      const isChanged = await this.#list(isOver);
      if (!isOver()) this.#doubts.settle(isChanged);
    });
  }

  async #try(task: (isOver: () => boolean) => Promise<void>): Promise<void> {
    const attempt = this.#attempt;
    const isOver = () => attempt !== this.#attempt;
    try {
      await task(isOver);
    } catch (error) {
      if (!isOver()) this.end(error as LiveError);
    }
  }

  /**
   * Fetches the list.
   * @returns whether the list contained an action by the user that this client did not know about.
   */
  async #list(isOver: () => boolean): Promise<boolean> {
    const listed = await persist(() => {
      this.#held = [];
      return this.#kind.list();
    }, isOver);
    if (isOver()) return false;
    // A held push may be older than the list. If so, a push with the newer state follows.
    const held = this.#held ?? [];
    this.#held = undefined;
    // The server sent the list although, according to this client's state, the user may not read
    // it. The user may have held the right only briefly, and no push reports such a change.
    if (!this.#kind.isReadable) this.#doubts.raise("certainly");
    const before = this.#items;
    let now: readonly T[] = listed;
    for (const [name, data] of held) {
      const { items, doubt } = this.#kind.pushed(now, name, data);
      now = items;
      if (doubt) this.#doubts.raise(doubt);
    }
    if (before && isSame(before, now)) return false;
    this.#set(now);
    // Only the user's own votes matter here: changes by other users are pushed anyway.
    const own = (items: readonly T[]) => items.map((item) => [item.id, this.#kind.own(item)]);
    return !before || !isSame(own(before), own(now));
  }

  #set(items: readonly T[]): void {
    if (items === this.#items) return;
    this.#items = items;
    for (const reader of this.#readers) reader.changed();
  }

  #release(): void {
    this.disconnected();
    this.#items = undefined;
    this.#rooms.release(this.room, this);
  }

  #presentRights(): string {
    const { module } = this.#kind;
    const room = roomIn(this.#client.state, this.room);
    if (!room) return "";
    const prefix = `room:${module}.`;
    const rights = room.permissions.filter((it) => it.startsWith(prefix));
    const modules = room.modules.filter(({ type }) => type === module);
    return JSON.stringify([rights.sort(), modules]);
  }
}

/** The source that a {@link Latest} iterates over. */
interface Changing<T> {
  /** A new object after each change; undefined until the value is known. */
  readonly current: T | undefined;
  /** Called when an iteration has ended. */
  left(reader: Latest<T>): void;
}

/**
 * A single iteration over a changing value. It yields the current value, and then the new value
 * after each change. A slow consumer receives only the latest value.
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

  /** Wakes the consumer after a change. */
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
