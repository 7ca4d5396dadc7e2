import { attendanceIn } from "../../schemas/plain/attendance.js";
import type { Visit } from "../contract/attendance-store.js";
import type { Store } from "../contract/store.js";
import {
  displayNames,
  type NamedRoom,
  pagesAfter,
  results,
  timeOf,
  type Times,
} from "./results.js";

const PAGE = 500;

/** Number of message timestamps per read. */
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

/** Returns the world's current attendance mode. */
export async function modeOf(store: Store, world: string) {
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

/** People's presence in rooms and sessions, if the world records it. */
export const attendance = results({
  inWorld: ["user.list"],
  inRooms: [],
  columns: COLUMNS,
  rowsOf: (visit: ReturnType<typeof toRow>) => [visit],
  records: visitsIn,
});

/** The numbers of people in a room and of messages sent to the room, within one time span. */
export interface ActivityAt {
  room_id: string;
  room: string;
  at: string;
  /** Null in a world that does not record attendance. */
  people: number | null;
  /** Null for a caller who is not allowed to read the chat. */
  messages: number | null;
}

/** Maximum assumed difference between the clocks of two processes. */
const CLOCK_SKEW_MS = 5 * MINUTE;

/**
 * Returns the id of a message in the room that precedes all messages sent since `time`, or 0 if
 * there is no such message. Ids increase over time, so a binary search takes few reads even among
 * very many messages.
 */
export async function lastBefore(
  store: Store,
  world: string,
  room: string,
  time: number,
): Promise<number> {
  let low = 0;
  let high = time <= 0 ? 0 : await store.chat.lastId(world);
  while (high - low > SENT) {
    const middle = Math.floor((low + high) / 2);
    const [next] = await store.chat.sent(world, room, middle, 1);
    if (next && next.timestamp < time - CLOCK_SKEW_MS) low = next.id;
    else high = middle;
  }
  return low;
}

interface Spans {
  from: number;
  span: number;
}

/** Counts the messages sent in a room, by the start of each time span. */
async function messagesIn(
  store: Store,
  world: string,
  room: string,
  { from, span }: Spans,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  const before = await lastBefore(store, world, room, from);
  const pages = pagesAfter(SENT, (last?: { id: number }) =>
    store.chat.sent(world, room, last?.id ?? before, SENT),
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

/** Reads how many people were in a room, by the start of each time span. */
async function peopleIn(
  store: Store,
  world: string,
  room: string,
  { from, span }: Spans,
): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  const pages = pagesAfter(PAGE, (last?: { at: number }) =>
    store.attendance.counts(world, room, { from: last ? last.at + span : from, span, limit: PAGE }),
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
  { after = 0, every = 1, readsChat = false }: Times = {},
): AsyncGenerator<ActivityAt> {
  const spans = { from: after, span: every * MINUTE };
  const isKept = (await modeOf(store, world)) !== "off";
  const people = isKept ? await peopleIn(store, world, room_id, spans) : undefined;
  const messages = readsChat ? await messagesIn(store, world, room_id, spans) : undefined;
  const times = new Set([...(people?.keys() ?? []), ...(messages?.keys() ?? [])]);
  for (const time of [...times].sort((a, b) => a - b)) {
    yield {
      room_id,
      room,
      at: timeOf(time),
      people: people ? (people.get(time) ?? 0) : null,
      messages: messages ? (messages.get(time) ?? 0) : null,
    };
  }
}

/** Activity in rooms over time: the numbers of people and messages. */
export const activity = results({
  inRooms: [],
  hasTimes: true,
  isAnonymous: true,
  columns: ["room_id", "room", "at", "people", "messages"],
  rowsOf: (record: ActivityAt) => [{ ...record }],
  records: activityIn,
});
