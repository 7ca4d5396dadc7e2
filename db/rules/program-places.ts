import { NO_ROOM, type Place, UNNAMED } from "../contract/program.js";
import type { Session } from "../../schemas/program/program.js";

/** A session as far as its place depends on it. */
export type Placed = Pick<Session, "room_id" | "state">;

/** The places at which a write changes a program. */
export class PlaceChanges {
  /** By place, whether readers without `program.update` see the change. */
  protected readonly places: Map<Place, boolean>;

  constructor(places: Iterable<readonly [Place, boolean]> = []) {
    this.places = new Map(places);
  }

  /** A session appears, changes, or goes. */
  session({ room_id, state }: Placed): void {
    const place = room_id ?? NO_ROOM;
    const isShown = this.places.get(place) || state === "public";
    this.places.set(place, isShown);
  }

  /** A speaker appears, changes, or goes. @param sessions that name the speaker. */
  speaker(sessions: Iterable<Placed>): void {
    if (!this.places.has(UNNAMED)) this.places.set(UNNAMED, false);
    for (const session of sessions) this.session(session);
  }

  list(): [Place, boolean][] {
    return [...this.places];
  }
}
