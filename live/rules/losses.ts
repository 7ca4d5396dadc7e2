import type { RoomValue } from "../../db/contract/store.js";
import type { SentCrowds } from "./shapes.js";
import { type Seen, Told } from "./told.js";

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
  readonly told: Told = new Told(this);
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
