import { hash } from "node:crypto";
import type { Session, Speaker } from "../../schemas/program/program.js";
import {
  NO_ROOM,
  type Place,
  type PlaceStamps,
  type Program,
  UNNAMED,
} from "../contract/program-store.js";
import type { Versioned } from "../contract/store.js";

/** A session as far as its place depends on it. */
export type Placed = Pick<Session, "room_id" | "state">;

export class PlaceChanges {
  /** By place, whether readers without `program.update` see the change. */
  protected readonly places: Map<Place, boolean>;

  constructor(places: Iterable<readonly [Place, boolean]> = []) {
    this.places = new Map(places);
  }

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

// Who sees what of a program, and the version of what they see.

/** What a reader may see, apart from the program itself. */
export interface Reader {
  /** Whether the reader holds `program.update`, and so sees drafts and all speakers. */
  readonly edits: boolean;
  readonly seesRoom: (id: string) => boolean;
}

/** Whether a reader sees a session: its room is visible, or it has none. */
export const seesSession = (
  { edits, seesRoom }: Reader,
  { room_id, state }: Pick<Session, "room_id" | "state">,
): boolean => (edits || state === "public") && (room_id === null || seesRoom(room_id));

interface SeenProgram {
  readonly sessions: readonly Versioned<Session>[];
  readonly speakers: readonly Versioned<Speaker>[];
}

/** The part of a program that a reader sees, in the same order. */
export function seenProgram({ sessions, speakers }: SeenProgram, reader: Reader): SeenProgram {
  const seen = sessions.filter(({ value }) => seesSession(reader, value));
  if (reader.edits) return { sessions: seen, speakers };
  const named = new Set(seen.flatMap(({ value }) => value.speaker_ids));
  return { sessions: seen, speakers: speakers.filter(({ value }) => named.has(value.id)) };
}

/** The stamps of the places whose sessions a reader may see, in a fixed order. */
function placesOf({ places }: Program, { edits, seesRoom }: Reader) {
  const isSeen = (place: string) =>
    place === NO_ROOM || (place === UNNAMED ? edits : seesRoom(place));
  const stampOf = ({ shown, all }: PlaceStamps) => (edits ? all : shown);
  return (
    [...places]
      .filter(([place]) => isSeen(place))
      .map(([place, stamps]) => [place, stampOf(stamps)] as const)
      // A place that only ever had drafts.
      .filter(([, stamp]) => stamp !== "")
  );
}

/** Names the part of a program that a reader sees. Readers with the same key see the same. */
export const viewKey = (program: Program, reader: Reader): string =>
  [reader.edits ? "edits" : "reads", ...placesOf(program, reader).map(([place]) => place)].join(
    "\n",
  );

/**
 * The version of what a reader sees. It follows from stored stamps, so it is the same on every
 * server that has the program, and none comes back.
 * @param more what readers get with the program: the dates of the event.
 */
export function programVersion(program: Program, reader: Reader, more: unknown): string {
  const parts = [
    program.settings,
    more,
    ...(reader.edits && program.places.size > 0 ? ["edits"] : []),
    ...placesOf(program, reader),
  ];
  return hash("sha256", JSON.stringify(parts), "base64url").slice(0, 22);
}
