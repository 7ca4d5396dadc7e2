import { persist, type Client } from "./client.js";
import { Doubts, type Doubt } from "./doubts.js";
import type { LiveError } from "./error.js";
import { Latest } from "./latest.js";
import { isSame, type Listed } from "./listed.js";
import type { Rooms } from "./rooms.js";
import type { LiveState } from "./state.js";

/** What a push changes in a list. */
export interface Change<T> {
  items: readonly T[];
  doubt?: Doubt | undefined;
}

/** What is listed, and how answers and pushes change it. */
export interface Kind<T> {
  /** The module of the room, with which the names of the rights begin too. */
  readonly module: "question" | "poll";
  /** Asks the server for the list. */
  list(): Promise<T[]>;
  /** What pushes do not tell of something: what the user did with it. */
  own(item: T): unknown;
  /** The list after a push. */
  pushed(items: readonly T[], name: string, data: unknown): Change<T>;
  /** The list after a command that this client called. */
  answered(
    items: readonly T[],
    name: string,
    payload: unknown,
    result: unknown,
  ): readonly T[];
}

/**
 * A list of what a room has, kept right for as long as anybody iterates over it: that
 * enters the room, lists, and then follows the pushes. Each connection begins anew.
 */
export class RoomList<T extends Listed> {
  readonly #client: Client;
  readonly #rooms: Rooms;
  readonly #kind: Kind<T>;
  readonly #readers = new Set<Latest<readonly T[]>>();
  readonly #doubts = new Doubts(() => void this.#relist());
  #items: readonly T[] | undefined;
  /** What was pushed since the server was asked for the list; undefined if it was not. */
  #held: [name: string, data: unknown][] | undefined;
  /** What the user may do, when last seen; undefined if it was not known yet. */
  #rights: string | undefined;
  /** Counts up whenever what is under way no longer counts. */
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

  /** The list as it is known; undefined if it is not, or nobody uses it. */
  get current(): readonly T[] | undefined {
    return this.#items;
  }

  get #isUsed(): boolean {
    return this.#readers.size > 0;
  }

  /** Begins an iteration, and so a use. */
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

  /** An iteration has ended. */
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
    const items = this.#kind.answered(known ?? [], name, payload, result);
    if (known) this.#set(items);
  }

  loggedIn(): void {
    this.#rights = this.#presentRights() || undefined;
    this.#renew();
  }

  /** A right that was lost or came back: the server says what holds now. */
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

  /** Ends all iterations; without an error, as if the list were at its end. */
  end(error?: LiveError): void {
    const isUsed = this.#isUsed;
    for (const reader of this.#readers) reader.end(error);
    this.#readers.clear();
    if (isUsed) this.#release();
  }

  /** Ends all iterations, and all to come. */
  close(error?: LiveError): void {
    this.#closed = error ? { error } : {};
    this.end(error);
  }

  /** Enters the room, if it is not entered, and lists, if anybody uses the list. */
  #renew(): void {
    this.disconnected();
    if (this.#isUsed && this.#client.isConnected) {
      void this.#try(async (isOver) => {
        await persist(() => this.#rooms.enter(this.room), isOver);
        if (!isOver()) await this.#list(isOver);
      });
    }
  }

  /** Asks again, as the server may not have told all. */
  async #relist(): Promise<void> {
    // What is asked for at the moment may be older than the doubt.
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

  /** @returns whether the user did anything that was not known. */
  async #list(isOver: () => boolean): Promise<boolean> {
    const listed = await persist(() => {
      this.#held = [];
      return this.#kind.list();
    }, isOver);
    if (isOver()) return false;
    // Each of these may be older than the list. But then, the newer state is pushed too.
    const held = this.#held ?? [];
    this.#held = undefined;
    const before = this.#items;
    let now: readonly T[] = listed;
    for (const [name, data] of held) {
      const { items, doubt } = this.#kind.pushed(now, name, data);
      now = items;
      if (doubt) this.#doubts.raise(doubt);
    }
    if (before && isSame(before, now)) return false;
    this.#set(now);
    // What others did in the meantime is pushed anyway.
    const own = (items: readonly T[]) =>
      items.map((item) => [item.id, this.#kind.own(item)]);
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

/** A room that the user may see. */
const roomIn = (state: LiveState | undefined, id: string) =>
  state?.rooms.find((room) => room.id === id);

/** Whether the user may do something in a room, as far as is known. */
export const mayIn = (
  { state }: Client,
  room: string,
  permission: string,
): boolean => roomIn(state, room)?.permissions.includes(permission) ?? false;
