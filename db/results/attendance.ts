import { attendanceIn } from "../../schemas/plain/attendance.js";
import type { Visit } from "../contract/attendance.js";
import type { Store } from "../contract/store.js";
import { displayNames, pagesAfter, timeOf } from "./lists.js";
import { type NamedRoom, type Times, results } from "./results.js";

/** How many visits or numbers are read at once. */
const PAGE = 500;

/** How many times of messages are read at once. */
const SENT = 5000;

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
  const pages = pagesAfter(PAGE, (last?: Visit) =>
    store.attendance.visits(world, room.id, last, PAGE),
  );
  for await (const page of pages) {
    const users = page.map(({ user }) => user);
    const names = await displayNames(store, world, users);
    for (const visit of page) yield toRow(visit, room, names);
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

/** How many people were in a room, and how many messages they sent. */
export interface ActivityAt {
  room_id: string;
  room: string;
  at: string;
  /** Null in a world that keeps no numbers. */
  people: number | null;
  messages: number;
}

interface Spans {
  from: number;
  span: number;
}

/** How many messages were sent in a room, by the beginnings of spans of time. */
async function messagesIn(
  store: Store,
  world: string,
  room: string,
  { from, span }: Spans,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  const pages = pagesAfter(SENT, (last?: { id: number }) =>
    store.chat.sent(world, room, last?.id ?? 0, SENT),
  );
  for await (const page of pages) {
    for (const { timestamp } of page) {
      if (timestamp < from) continue;
      const at = timestamp - (timestamp % span);
      counts.set(at, (counts.get(at) ?? 0) + 1);
    }
  }
  return counts;
}

/** How many people were in a room, by the beginnings of spans of time. */
async function peopleIn(
  store: Store,
  world: string,
  room: string,
  { from, span }: Spans,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  const pages = pagesAfter(PAGE, (last?: { at: number }) =>
    store.attendance.counts(world, room, {
      ...{ from: last ? last.at + span : from, span, limit: PAGE },
    }),
  );
  for await (const page of pages) {
    for (const { at, people } of page) counts.set(at, people);
  }
  return counts;
}

async function* activityIn(
  store: Store,
  world: string,
  { id: room_id, name: room }: NamedRoom,
  { after = 0, every = 1 }: Times = {},
): AsyncGenerator<ActivityAt> {
  const spans = { from: after, span: every * MINUTE };
  const isKept = (await modeOf(store, world)) !== "off";
  const people = isKept
    ? await peopleIn(store, world, room_id, spans)
    : undefined;
  const messages = await messagesIn(store, world, room_id, spans);
  const times = new Set([...(people?.keys() ?? []), ...messages.keys()]);
  for (const time of [...times].sort((a, b) => a - b)) {
    yield {
      ...{ room_id, room, at: timeOf(time) },
      people: people ? (people.get(time) ?? 0) : null,
      messages: messages.get(time) ?? 0,
    };
  }
}

/** What went on in rooms, minute by minute, in numbers. */
export const activity = results({
  inRooms: [],
  hasTimes: true,
  isAnonymous: true,
  columns: ["room_id", "room", "at", "people", "messages"],
  rowsOf: (record: ActivityAt) => [{ ...record }],
  records: activityIn,
});
