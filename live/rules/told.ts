import type { RoomValue } from "../../db/contract/store.js";
import type { SentCrowds } from "./shapes.js";

/** A view of a world, as far as its differences from another one depend on it. */
export interface Seen {
  /** The rooms in it, in their order. */
  readonly rooms: readonly string[];
  readonly permissions: readonly string[];
  readonly state: {
    readonly world: { readonly value: { readonly id: string } };
    readonly json: { readonly world: string };
    room(id: string): RoomValue | undefined;
  };
  /** A room with some permissions, as JSON without the last brace. */
  roomJson(id: string, rights: string): string;
  sees(room: string): boolean;
  /** The permissions on a room, as JSON; undefined if it is not in the view. */
  rightsIn(room: string): string | undefined;
  /** A room as JSON without its crowd; undefined if it is not in the view. */
  room(id: string): string | undefined;
  /** A room in the view as JSON. @param crowd the fields about its crowd. */
  roomWith(id: string, crowd: string): string;
}

/** Whether a room is the same in two views. */
function isSameIn(room: string, one: Seen, other: Seen): boolean {
  if (one.rightsIn(room) !== other.rightsIn(room)) return false;
  return one.state.room(room) === other.state.room(room) || one.room(room) === other.room(room);
}

/** How the view of a world differs from the state that the connection has. */
export interface Differences {
  /** The rooms that are new or changed, in their order. */
  readonly rooms: readonly string[];
  readonly removed: readonly string[];
  /** All rooms, if the order is not the one that follows from the rest. */
  readonly order?: readonly string[];
  /** JSON. */
  readonly world?: string;
  readonly permissions?: readonly string[];
}

/**
 * The last state of its world that a connection got. Connections with the same state share
 * one object, so the differences are computed once for all of them.
 */
export class Told {
  readonly #view: Seen;
  /** Rooms that were pushed by themselves since, as JSON; undefined for deleted ones. */
  readonly #since: ReadonlyMap<string, string | undefined>;
  readonly #next = new Map<string, Told>();

  /** Use `view.told`. */
  constructor(view: Seen, since: ReadonlyMap<string, string | undefined> = new Map()) {
    this.#view = view;
    this.#since = since;
  }

  /** Whether a room is known. */
  has(room: string): boolean {
    return this.#since.has(room) ? this.#since.get(room) !== undefined : this.#view.sees(room);
  }

  /** A room as it is known, as JSON without its crowd; undefined if it is not. */
  room(id: string): string | undefined {
    return this.#since.has(id) ? this.#since.get(id) : this.#view.room(id);
  }

  /**
   * The state after a push about one room.
   * @param json the room; undefined if it was deleted.
   */
  with(room: string, json: string | undefined): Told {
    const key = `${room} ${json}`;
    let next = this.#next.get(key);
    if (!next) {
      const since = new Map(this.#since).set(room, json);
      this.#next.set(key, (next = new Told(this.#view, since)));
    }
    return next;
  }

  /** The differences to push; undefined if there are none. */
  differences(view: Seen): Differences | undefined {
    const known = this.#rooms();
    const rooms = view.rooms.filter((id) => !this.#isKnown(id, view));
    const removed = known.filter((id) => !view.sees(id));
    const added = rooms.filter((id) => !this.has(id));
    const follows = [...known.filter((id) => view.sees(id)), ...added];
    const isInOrder = view.rooms.every((id, i) => id === follows[i]);
    const { world } = view.state.json;
    const isSameWorld = world === this.#view.state.json.world;
    const permissions = view.permissions.join();
    const maySame = permissions === this.#view.permissions.join();
    const nothing = rooms.length === 0 && removed.length === 0 && isInOrder;
    if (nothing && isSameWorld && maySame) return undefined;
    return {
      rooms,
      removed,
      ...(!isInOrder && { order: view.rooms }),
      ...(!isSameWorld && { world }),
      ...(!maySame && { permissions: view.permissions }),
    };
  }

  /** The known rooms, in the order of the clients. */
  #rooms(): string[] {
    const before = this.#view.rooms.filter((id) => this.has(id));
    const later = [...this.#since.keys()].filter((id) => this.has(id) && !this.#view.sees(id));
    return [...before, ...later];
  }

  #isKnown(room: string, view: Seen): boolean {
    return this.#since.has(room)
      ? this.#since.get(room) === view.room(room)
      : isSameIn(room, view, this.#view);
  }
}

/** Differences as JSON, with the crowds of the rooms in them. */
export function changeOf(
  { rooms, removed, order, world, permissions }: Differences,
  view: Seen,
  crowds: SentCrowds,
): string {
  const sent = (id: string) => view.roomWith(id, crowds.jsonOf(id));
  const fields = [
    `"rooms":[${rooms.map(sent).join()}]`,
    `"removed":${JSON.stringify(removed)}`,
    ...(order ? [`"order":${JSON.stringify(order)}`] : []),
    ...(world ? [`"world":${world}`] : []),
    ...(permissions ? [`"permissions":${JSON.stringify(permissions)}`] : []),
  ];
  return `{${fields.join()}}`;
}
