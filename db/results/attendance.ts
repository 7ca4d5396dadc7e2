import { attendanceIn } from "../../schemas/plain/attendance.js";
import type { Visit } from "../contract/attendance.js";
import type { Store } from "../contract/store.js";
import { displayNames, timeOf } from "./lists.js";
import { type NamedRoom, type Times, results } from "./results.js";

/** How many visits or numbers are read at once. */
const PAGE = 500;

const MINUTE = 60_000;

const COLUMNS = [
  "user_id",
  "display_name",
  "room_id",
  "room",
  "session_id",
  "session",
  "first",
  "last",
  "seconds",
] as const;

const toRow = (
  { user, session, title, first, last, seconds }: Visit,
  room: NamedRoom,
  names: ReadonlyMap<string, string>,
) => ({
  user_id: user,
  display_name: names.get(user) ?? null,
  room_id: room.id,
  room: room.name,
  session_id: session || null,
  session: title,
  first: timeOf(first),
  last: timeOf(last),
  seconds,
});

/** What a world keeps now. */
async function modeOf(store: Store, world: string) {
  const found = await store.worlds.get(world);
  return found ? attendanceIn(found.value.config) : "off";
}

async function* visitsIn(store: Store, world: string, room: NamedRoom) {
  if ((await modeOf(store, world)) !== "people") return;
  let after: Visit | undefined;
  for (;;) {
    const page: Visit[] = await store.attendance.visits(
      ...([world, room.id, after, PAGE] as const),
    );
    const users = page.map(({ user }) => user);
    const names = await displayNames(store, world, users);
    for (const visit of page) yield toRow(visit, room, names);
    if (page.length < PAGE) return;
    after = page.at(-1);
  }
}

/** When people were in rooms and sessions, if the world keeps it. */
export const attendance = results({
  inWorld: ["user.list"],
  inRooms: [],
  columns: COLUMNS,
  rowsOf: (visit: ReturnType<typeof toRow>) => [visit],
  records: visitsIn,
});

export interface PeopleAt {
  room_id: string;
  room: string;
  at: string;
  people: number;
}

async function* countsIn(
  store: Store,
  world: string,
  { id: room_id, name: room }: NamedRoom,
  { after = 0, every = 1 }: Times = {},
): AsyncGenerator<PeopleAt> {
  if ((await modeOf(store, world)) === "off") return;
  const span = every * MINUTE;
  for (let from = after; ;) {
    const page = await store.attendance.counts(world, room_id, {
      ...{ from, span, limit: PAGE },
    });
    for (const { at, people } of page) {
      yield { room_id, room, at: timeOf(at), people };
    }
    if (page.length < PAGE) return;
    from = page.at(-1)!.at + span;
  }
}

/** How many people were in rooms, minute by minute. */
export const activity = results({
  inRooms: [],
  hasTimes: true,
  columns: ["room_id", "room", "at", "people"],
  rowsOf: (record: PeopleAt) => [{ ...record }],
  records: countsIn,
});
