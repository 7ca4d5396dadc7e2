import { type Readable, writable } from "svelte/store";
import { type Live, type LiveError, persist, type PublicUser } from "../../client/index.js";
import { codeOf } from "./session.js";

/** Presence in a room, as a user in it sees it. */
export interface Presence {
  /** The error code if the room cannot be entered. */
  readonly lost?: string;
  /**
   * The viewers, in the order in which they entered. Undefined for users without `room.viewers`,
   * and until the server has responded.
   */
  readonly viewers?: readonly PublicUser[];
}

/**
 * A stay in a room: enters the room, enters it again after each reconnection, and maintains the
 * list of viewers. As a store, the stay provides the presence. Use {@link visit}.
 */
export class Visit implements Readable<Presence> {
  readonly #live: Live;
  readonly #room: string;
  readonly #store = writable<Presence>({});
  readonly subscribe = this.#store.subscribe;
  readonly #ends: (() => void)[];
  #viewers: ReadonlyMap<string, PublicUser> | undefined;
  #isEntering = false;
  #isOver = false;

  constructor(live: Live, room: string) {
    this.#live = live;
    this.#room = room;
    this.#ends = [
      live.on("room.viewer.added", ({ user }) => {
        if (this.#viewers) this.#set([...this.#viewers.values(), user]);
      }),
      live.on("room.viewer.removed", ({ user_id }) => {
        const others = [...(this.#viewers?.values() ?? [])];
        if (this.#viewers) this.#set(others.filter(({ id }) => id !== user_id));
      }),
      live.on("user.updated", (user) => {
        if (!this.#viewers?.has(user.id)) return;
        this.#set([...this.#viewers.values(), user]);
      }),
      live.on("client.room_restored", ({ room, viewers }) => {
        if (room === this.#room) this.#entered(viewers);
      }),
      live.on("client.room_lost", ({ room, error }) => {
        if (room === this.#room) void this.#enter(error);
      }),
    ];
    this.enter();
  }

  /** Enters the room. If the user is inside already, re-fetches the viewers, which a new permission may show. */
  enter(): void {
    void this.#enter();
  }

  leave(): void {
    this.#isOver = true;
    for (const end of this.#ends) end();
    // If the command fails, the server only sends a few unneeded frames until the connection ends.
    this.#live.call("room.leave", { room: this.#room }).catch(() => {});
  }

  /** @param refusal why the client could not re-enter after a reconnection. */
  async #enter(refusal?: LiveError): Promise<void> {
    if (this.#isEntering || this.#isOver) return;
    this.#isEntering = true;
    const payload = { room: this.#room };
    let failure = refusal;
    const enter = async () => {
      if (!failure) return this.#live.call("room.enter", payload);
      const error = failure;
      failure = undefined;
      throw error;
    };
    try {
      const { viewers } = await persist(enter, () => this.#isOver);
      if (!this.#isOver) this.#entered(viewers);
    } catch (error) {
      const lost = codeOf(error) ?? "client.closed";
      if (!this.#isOver) this.#store.set({ lost });
    } finally {
      this.#isEntering = false;
    }
  }

  #entered(viewers: readonly PublicUser[] | undefined): void {
    if (viewers) this.#set(viewers);
    else {
      this.#viewers = undefined;
      this.#store.set({});
    }
  }

  /** A user with two browsers enters twice but is listed once. */
  #set(viewers: readonly PublicUser[]): void {
    this.#viewers = new Map(viewers.map((user) => [user.id, user]));
    this.#store.set({ viewers: [...this.#viewers.values()] });
  }
}

const stays = sharing(
  (live, room) => new Visit(live, room),
  (stay) => stay.leave(),
);

/**
 * Enters a room for a part of the page. All parts share one stay, which ends when the last part
 * releases it.
 * @returns the stay, and a function that releases it.
 */
export function visit(live: Live, room: string): { visit: Visit; release: () => void } {
  const { shared, release } = stays(live, room);
  return { visit: shared, release };
}

/**
 * Shares a room's resource among several parts of a page. The resource is created for the first
 * part and ended when the last part releases it.
 */
export function sharing<T>(
  make: (live: Live, room: string) => T,
  end: (shared: T) => void,
): (live: Live, room: string) => { shared: T; release: () => void } {
  const all = new WeakMap<Live, Map<string, { shared: T; users: number }>>();
  return (live, room) => {
    const ofLive = all.get(live) ?? new Map<string, never>();
    all.set(live, ofLive);
    const held = ofLive.get(room) ?? { shared: make(live, room), users: 0 };
    ofLive.set(room, held);
    held.users++;
    let isNeeded = true;
    const release = () => {
      if (!isNeeded) return;
      isNeeded = false;
      if (--held.users > 0) return;
      ofLive.delete(room);
      end(held.shared);
    };
    return { shared: held.shared, release };
  };
}
