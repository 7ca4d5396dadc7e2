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
export class SentState {
  readonly #view: Seen;
  /** Rooms that were pushed by themselves since, as JSON; undefined for deleted ones. */
  readonly #since: ReadonlyMap<string, string | undefined>;
  readonly #next = new Map<string, SentState>();

  /** Use `view.sentState`. */
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
  with(room: string, json: string | undefined): SentState {
    const key = `${room} ${json}`;
    let next = this.#next.get(key);
    if (!next) {
      const since = new Map(this.#since).set(room, json);
      this.#next.set(key, (next = new SentState(this.#view, since)));
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

/** Stands for the world among the rooms. */
const WORLD = "";

/** The right without which a room is not there. */
const SIGHT = "room:view";

/**
 * Rights that a view lost, as the strings that clients get. Pushes and answers that were
 * withheld meanwhile do not come later, so a client must see the loss even if the rights
 * are back before its next push.
 */
export class Losses {
  readonly #places: ReadonlyMap<string, ReadonlySet<string>>;
  readonly #next = new WeakMap<Losses, Losses>();

  private constructor(places: ReadonlyMap<string, ReadonlySet<string>>) {
    this.#places = places;
  }

  /**
   * The rights of a view that a freshly read room lacks; undefined for none.
   * @param rights the user's present rights there.
   */
  static inRoom(before: Seen, room: RoomValue, rights: readonly string[]): Losses | undefined {
    const was = before.state.room(room.id);
    const lost = lostIn(rightsOf(before, room.id), rights, was, room);
    if (lost.length === 0) return undefined;
    return new Losses(new Map([[room.id, new Set(lost)]]));
  }

  /** The losses of a view since an earlier one; undefined for none. */
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

  /** These losses, and later ones. */
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

  /** Whether any of these rights is in a view again. */
  areIn(view: Seen): boolean {
    for (const [place, lost] of this.#places) {
      if (this.#rightsIn(view, place).some((right) => lost.has(right))) return true;
    }
    return false;
  }

  /** The rooms in which a right was lost. */
  roomsWithout(right: string): string[] {
    return [...this.#places].flatMap(([place, lost]) =>
      place !== WORLD && lost.has(right) ? [place] : [],
    );
  }

  /** Some rights on a room, without the ones that were lost there. */
  keptIn(room: string, rights: readonly string[]): readonly string[] {
    const lost = this.#places.get(room);
    return lost ? rights.filter((right) => !lost.has(right)) : rights;
  }

  /** Some rights on the world, without the ones that were lost. */
  kept(rights: readonly string[]): readonly string[] {
    return this.keptIn(WORLD, rights);
  }

  #rightsIn(view: Seen, place: string): readonly string[] {
    return place === WORLD ? view.permissions : rightsOf(view, place);
  }
}

/** A view without the rights that were lost for a while, although they are back. */
export class LessenedView implements Seen {
  readonly rooms: readonly string[];
  readonly permissions: readonly string[];
  readonly state: Seen["state"];
  /** The state of a client that got this. */
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

/** The world, the permissions and the rooms of a view as JSON. */
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

/** The rights on a room that are over, and the ones without use after the end of a module. */
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
      if (right.startsWith(`room:${kind}.`)) lost.add(right);
    }
  }
  return [...lost];
}
