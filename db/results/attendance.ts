import type { Store } from "../contract/store.js";
import type { Visit } from "../contract/attendance.js";
import { displayNames, timeOf } from "./lists.js";
import { type NamedRoom, results } from "./results.js";

/** How many visits are read at once. */
const VISITS = 500;

const COLUMNS = [
  "user_id",
  "display_name",
  "room_id",
  "room",
  "session_id",
  "first",
  "last",
  "seconds",
] as const;

const toRow = (
  { user, session, first, last, seconds }: Visit,
  room: NamedRoom,
  names: ReadonlyMap<string, string>,
) => ({
  user_id: user,
  display_name: names.get(user) ?? null,
  room_id: room.id,
  room: room.name,
  session_id: session,
  first: timeOf(first),
  last: timeOf(last),
  seconds,
});

async function* visitsIn(store: Store, world: string, room: NamedRoom) {
  let after: Pick<Visit, "user" | "session"> | undefined;
  for (;;) {
    const page: Visit[] = await store.attendance.visits(
      ...([world, room.id, after, VISITS] as const),
    );
    const names = await displayNames(
      ...([store, world, page.map(({ user }) => user)] as const),
    );
    for (const visit of page) yield toRow(visit, room, names);
    if (page.length < VISITS) return;
    after = page.at(-1);
  }
}

/** When people were in rooms, if the world keeps it. */
export const attendance = results({
  inWorld: ["user.list"],
  inRooms: [],
  columns: COLUMNS,
  rowsOf: (visit: ReturnType<typeof toRow>) => [visit],
  records: visitsIn,
});

/** The numbers of people in a room, minute by minute. */
const COUNT_COLUMNS = ["room_id", "room", "at", "people"] as const;

async function* countsIn(store: Store, world: string, room: NamedRoom) {
  let after = 0;
  for (;;) {
    const page = await store.attendance.counts(world, room.id, after, VISITS);
    for (const { at, people } of page) {
      yield { room_id: room.id, room: room.name, at: timeOf(at), people };
    }
    if (page.length < VISITS) return;
    after = page.at(-1)!.at;
  }
}

/** How many people were in rooms, minute by minute. */
export const numbers = results({
  inRooms: [],
  columns: COUNT_COLUMNS,
  rowsOf: (count: {
    room_id: string;
    room: string;
    at: string;
    people: number;
  }) => [count],
  records: countsIn,
});
