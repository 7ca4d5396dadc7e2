import type { RoomValue } from "../../db/contract/store.js";
import type { SentCrowds } from "./shapes.js";

/** The part of a world's view that determines how it differs from another view. */
export interface Seen {
  /** The rooms in the view, in order. */
  readonly rooms: readonly string[];
  readonly permissions: readonly string[];
  readonly state: {
    readonly world: { readonly value: { readonly id: string } };
    readonly json: { readonly world: string };
    room(id: string): RoomValue | undefined;
  };
  /** Returns a room with the given permissions, as JSON without the closing brace. */
  roomJson(id: string, rights: string): string;
  sees(room: string): boolean;
  /** The permissions on a room, as JSON; undefined if the room is not in the view. */
  rightsIn(room: string): string | undefined;
  /** A room as JSON without its crowd; undefined if the room is not in the view. */
  room(id: string): string | undefined;
  /**
   * Returns a room in the view as JSON.
   * @param crowd the JSON fields about the room's crowd.
   */
  roomWith(id: string, crowd: string): string;
}

/** Whether a room is the same in two views. */
function isSameIn(room: string, one: Seen, other: Seen): boolean {
  if (one.rightsIn(room) !== other.rightsIn(room)) return false;
  return one.state.room(room) === other.state.room(room) || one.room(room) === other.room(room);
}

/** The differences between a world's view and the state that was last sent to a connection. */
export interface Differences {
  /** The new and changed rooms, in order. */
  readonly rooms: readonly string[];
  readonly removed: readonly string[];
  /** All rooms, if their order cannot be derived from the other fields. */
  readonly order?: readonly string[];
  /** JSON. */
  readonly world?: string;
  readonly permissions?: readonly string[];
}

/**
 * The last world state that was sent to a connection. Connections with the same state share one
 * object, so the differences are computed once for all of these connections.
 */
export class SentState {
  readonly #view: Seen;
  /** Rooms that were pushed separately since the view was sent, as JSON; undefined for deleted rooms. */
  readonly #since: ReadonlyMap<string, string | undefined>;
  readonly #next = new Map<string, SentState>();

  /** Use `view.sentState` instead. */
  constructor(view: Seen, since: ReadonlyMap<string, string | undefined> = new Map()) {
    this.#view = view;
    this.#since = since;
  }

  /** Whether the client knows a room. */
  has(room: string): boolean {
    return this.#since.has(room) ? this.#since.get(room) !== undefined : this.#view.sees(room);
  }

  /**
   * Returns a room as the client knows it, as JSON without its crowd, or undefined if the client
   * does not know the room.
   */
  room(id: string): string | undefined {
    return this.#since.has(id) ? this.#since.get(id) : this.#view.room(id);
  }

  /**
   * Returns the state after a push about one room.
   * @param json the room; undefined if the room was deleted.
   */
  with(room: string, json: string | undefined): SentState {
    const key = `${room} ${json}`;
    let next = this.#next.get(key);
    if (!next) {
      const since = new Map(this.#since).set(room, json);
      this.#next.set(key, (next = new SentState(this.#view, since)));
    }
    return next;
  }

  /** Returns the differences to push, or undefined if there are none. */
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

  /** Returns the rooms that the client knows, in the client's order. */
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

/** Encodes differences as JSON, including the crowds of the affected rooms. */
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

/** Represents the whole world in places where a room id is expected. */
const WORLD = "";

/** The right without which a room is invisible. */
const SIGHT = "room:view";

/**
 * Rights that a view has lost, as the strings that clients receive. Pushes and results that were
 * withheld in the meantime are never sent, so a client must see the loss even if the rights are
 * restored before the next push.
 */
export class Losses {
  readonly #places: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #next = new WeakMap<Losses, Losses>();

  private constructor(places: ReadonlyMap<string, ReadonlySet<string>>) {
    this.#places = places;
  }

  /**
   * Returns the rights that a user had in a view and no longer has in a freshly read room, or
   * undefined if there are none.
   * @param rights the user's current rights in the room.
   */
  static inRoom(before: Seen, room: RoomValue, rights: readonly string[]): Losses | undefined {
    const was = before.state.room(room.id);
    const lost = lostIn(rightsOf(before, room.id), rights, was, room);
    if (lost.length === 0) return undefined;
    return new Losses(new Map([[room.id, new Set(lost)]]));
  }

  /** Returns the rights that a view has lost since an earlier view, or undefined if there are none. */
  static between(before: Seen, now: Seen): Losses | undefined {
    const places = new Map<string, ReadonlySet<string>>();
    const note = (place: string, lost: readonly string[]) => {
      if (lost.length > 0) places.set(place, new Set(lost));
    };
    note(WORLD, without(before.permissions, now.permissions));
    for (const room of before.rooms) {
      const was = before.state.room(room);
      const is = now.state.room(room);
      if (was === is && before.rightsIn(room) === now.rightsIn(room)) continue;
      note(room, lostIn(rightsOf(before, room), rightsOf(now, room), was, is));
    }
    return places.size > 0 ? new Losses(places) : undefined;
  }

  /** Returns these losses combined with later losses. */
  and(later: Losses | undefined): Losses {
    if (!later || later === this) return this;
    let all = this.#next.get(later);
    if (!all) {
      const places = new Map(this.#places);
      for (const [place, lost] of later.#places) {
        places.set(place, new Set([...(places.get(place) ?? []), ...lost]));
      }
      this.#next.set(later, (all = new Losses(places)));
    }
    return all;
  }

  /** Whether a view contains any of these rights again. */
  areIn(view: Seen): boolean {
    for (const [place, lost] of this.#places) {
      if (this.#rightsIn(view, place).some((right) => lost.has(right))) return true;
    }
    return false;
  }

  /** Returns the rooms in which a right was lost. */
  roomsWithout(right: string): string[] {
    return [...this.#places].flatMap(([place, lost]) =>
      place !== WORLD && lost.has(right) ? [place] : [],
    );
  }

  /** Returns the given rights in a room, without the rights that were lost there. */
  keptIn(room: string, rights: readonly string[]): readonly string[] {
    const lost = this.#places.get(room);
    return lost ? rights.filter((right) => !lost.has(right)) : rights;
  }

  /** Returns the given rights on the world, without the rights that were lost there. */
  kept(rights: readonly string[]): readonly string[] {
    return this.keptIn(WORLD, rights);
  }

  #rightsIn(view: Seen, place: string): readonly string[] {
    return place === WORLD ? view.permissions : rightsOf(view, place);
  }
}

/** A view without the rights that were temporarily lost, even though these rights have been restored. */
export class ReducedView implements Seen {
  readonly rooms: readonly string[];
  readonly permissions: readonly string[];
  readonly state: Seen["state"];
  /** The state of a client that has received this view. */
  readonly sentState: SentState = new SentState(this);
  readonly #rights: ReadonlyMap<string, string>;
  readonly #view: Seen;

  constructor(view: Seen, losses: Losses) {
    this.state = view.state;
    this.#view = view;
    this.permissions = losses.kept(view.permissions);
    this.#rights = new Map(
      view.rooms.flatMap((room) => {
        const rights = losses.keptIn(room, rightsOf(view, room));
        return rights.includes(SIGHT) ? [[room, JSON.stringify(rights)]] : [];
      }),
    );
    this.rooms = [...this.#rights.keys()];
  }

  sees(room: string): boolean {
    return this.#rights.has(room);
  }

  rightsIn(room: string): string | undefined {
    return this.#rights.get(room);
  }

  room(id: string): string | undefined {
    const rights = this.#rights.get(id);
    return rights && `${this.roomJson(id, rights)}}`;
  }

  roomJson(id: string, rights: string): string {
    return this.#view.roomJson(id, rights);
  }

  roomWith(id: string, crowd: string): string {
    return `${this.roomJson(id, this.#rights.get(id)!)},${crowd}}`;
  }

  json(crowds: SentCrowds): Buffer {
    return Buffer.from(jsonOfSeen(this, crowds));
  }
}

/** Encodes a view's world, permissions and rooms as JSON. */
export function jsonOfSeen(view: Seen, crowds: SentCrowds): string {
  const rooms = view.rooms.map((id) => view.roomWith(id, crowds.jsonOf(id)));
  const permissions = JSON.stringify(view.permissions);
  return `{"world":${view.state.json.world},"permissions":${permissions},"rooms":[${rooms.join()}]}`;
}

const rightsOf = (view: Seen, room: string): readonly string[] =>
  JSON.parse(view.rightsIn(room) ?? "[]") as string[];

const without = (before: readonly string[], now: readonly string[]): readonly string[] => {
  const kept = new Set(now);
  return before.filter((right) => !kept.has(right));
};

/**
 * Returns the rights in a room that were lost. Rights that refer to a removed or changed module
 * count as lost, too.
 */
function lostIn(
  before: readonly string[],
  now: readonly string[],
  was: RoomValue | undefined,
  is: RoomValue | undefined,
): readonly string[] {
  const lost = new Set(without(before, now));
  if (!was || !is || was.stored.module_config === is.stored.module_config) return [...lost];
  const present = new Set(is.module_config.map((it) => JSON.stringify(it)));
  for (const module of was.module_config) {
    if (present.has(JSON.stringify(module))) continue;
    const [kind] = module.type.split(".", 1);
    for (const right of before) {
      const isOfModule =
        right.startsWith(`room:${kind}.`) || (kind === "call" && right.startsWith("room:bbb."));
      if (isOfModule) lost.add(right);
    }
  }
  return [...lost];
}
