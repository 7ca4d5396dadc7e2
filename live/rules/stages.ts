import { oncePer } from "./once.js";
import type { Program } from "../../db/contract/program.js";
import type { RoomValue, Versioned } from "../../db/contract/store.js";
import { byRoom, nextChange, onStage } from "../../schemas/plain/program.js";

/** What the rooms of a world show now: the id of a session; null between sessions. */
export type Stages = ReadonlyMap<string, string | null>;

/** The sessions that everybody may see who sees their room, by room. */
const shownByRoom = oncePer(({ sessions }: Program) =>
  byRoom(sessions.flatMap(({ value }) => (value.state === "public" ? [value] : []))),
);

/**
 * What the rooms with sessions show. Rooms without sessions are not in it: their own settings
 * decide.
 * @param now in milliseconds since 1970.
 */
export const stagesOf = (program: Program, now: number): Stages =>
  new Map(
    [...shownByRoom(program)].map(([room, sessions]) => [
      room,
      onStage(sessions, now).now?.id ?? null,
    ]),
  );

/** When a room shows something else. @returns undefined if none does. */
export const nextStage = (program: Program, now: number): number | undefined =>
  nextChange([...shownByRoom(program).values()].flat(), now);

/** A room that shows a session, or none, in place of its own schedule data. */
function withSession(room: RoomValue, session: string | null): RoomValue {
  const schedule_data = JSON.stringify(session === null ? null : { session });
  const stored = { ...room.stored, schedule_data };
  // A copy would parse the large fields.
  return Object.create(room, { stored: { value: Object.freeze(stored) } }) as RoomValue;
}

/** Rooms as their sessions let them appear. Their versions stay, as these are of the store. */
export const withStages = (
  rooms: readonly Versioned<RoomValue>[],
  stages: Stages,
): Versioned<RoomValue>[] =>
  rooms.map((room) => {
    const session = stages.get(room.value.id);
    if (session === undefined) return room;
    const { version } = room;
    const value = withSession(room.value, session);
    return {
      version,
      value,
      get json() {
        return room.json;
      },
    };
  });
