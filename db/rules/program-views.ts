import { hash } from "node:crypto";
import type { Session, Speaker } from "../../schemas/program/program.js";
import {
  NO_ROOM,
  type ProgramScope,
  type ScopeStamps,
  type Program,
  UNNAMED,
} from "../contract/program-store.js";
import type { Versioned } from "../contract/store.js";

/** The fields that determine a session's scope and visibility. */
export type Placed = Pick<Session, "room_id" | "state">;

export class ScopeChanges {
  /** For each scope, whether readers without `program.update` see the change. */
  protected readonly places: Map<ProgramScope, boolean>;

  constructor(places: Iterable<readonly [ProgramScope, boolean]> = []) {
    this.places = new Map(places);
  }

  session({ room_id, state }: Placed): void {
    const place = room_id ?? NO_ROOM;
    const isShown = this.places.get(place) || state === "public";
    this.places.set(place, isShown);
  }

  /** Records that a speaker was added, changed or deleted. @param sessions the sessions that name the speaker. */
  speaker(sessions: Iterable<Placed>): void {
    if (!this.places.has(UNNAMED)) this.places.set(UNNAMED, false);
    for (const session of sessions) this.session(session);
  }

  list(): [ProgramScope, boolean][] {
    return [...this.places];
  }
}

// Determines the part of a program that a reader sees, and the version of this part.

/** A reader's permissions, independent of the program itself. */
export interface ProgramReader {
  /** Whether the reader holds `program.update`, and so sees drafts and all speakers. */
  readonly edits: boolean;
  readonly seesRoom: (id: string) => boolean;
}

/**
 * Whether a reader sees a session. The session must be public, unless the reader edits the program,
 * and the session's room, if any, must be visible.
 */
export const seesSession = (
  { edits, seesRoom }: ProgramReader,
  { room_id, state }: Pick<Session, "room_id" | "state">,
): boolean => (edits || state === "public") && (room_id === null || seesRoom(room_id));

interface SeenProgram {
  readonly sessions: readonly Versioned<Session>[];
  readonly speakers: readonly Versioned<Speaker>[];
}

/** Returns the part of a program that a reader sees, in the same order. */
export function seenProgram(
  { sessions, speakers }: SeenProgram,
  reader: ProgramReader,
): SeenProgram {
  const seen = sessions.filter(({ value }) => seesSession(reader, value));
  if (reader.edits) return { sessions: seen, speakers };
  const named = new Set(seen.flatMap(({ value }) => value.speaker_ids));
  return { sessions: seen, speakers: speakers.filter(({ value }) => named.has(value.id)) };
}

/** Returns the stamps of the scopes whose sessions a reader may see, in a fixed order. */
function scopesOf({ places }: Program, { edits, seesRoom }: ProgramReader) {
  const isSeen = (place: string) =>
    place === NO_ROOM || (place === UNNAMED ? edits : seesRoom(place));
  const stampOf = ({ shown, all }: ScopeStamps) => (edits ? all : shown);
  return (
    [...places]
      .filter(([place]) => isSeen(place))
      .map(([place, stamps]) => [place, stampOf(stamps)] as const)
      // Skip scopes that have only ever had drafts.
      .filter(([, stamp]) => stamp !== "")
  );
}

/** Identifies the part of a program that a reader sees. Readers with the same key see the same part. */
export const viewKey = (program: Program, reader: ProgramReader): string =>
  [reader.edits ? "edits" : "reads", ...scopesOf(program, reader).map(([place]) => place)].join(
    "\n",
  );

/**
 * Returns the version of the part of a program that a reader sees. The version is derived from
 * stored stamps, so all servers with the same program compute the same version, and versions never
 * recur.
 * @param more data sent along with the program: the event's dates.
 */
export function programVersion(program: Program, reader: ProgramReader, more: unknown): string {
  const parts = [
    program.settings,
    more,
    ...(reader.edits && program.places.size > 0 ? ["edits"] : []),
    ...scopesOf(program, reader),
  ];
  return hash("sha256", JSON.stringify(parts), "base64url").slice(0, 22);
}
