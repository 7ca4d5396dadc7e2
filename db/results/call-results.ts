import type { PastCall } from "../contract/call-store.js";
import type { Store } from "../contract/store.js";
import { modeOf } from "./attendance-results.js";
import { type NamedRoom, pagesAfter, results, timeOf } from "./results.js";

const PAGE = 500;

const MINUTE = 60_000;

const toRow = ({ started, ended, mostPeople, personMs }: PastCall, room: NamedRoom) => ({
  room_id: room.id,
  room: room.name,
  started: timeOf(started),
  ended: timeOf(ended),
  most_people: mostPeople,
  person_minutes: Math.round(personMs / MINUTE),
});

async function* callsIn(store: Store, world: string, room: NamedRoom) {
  if ((await modeOf(store, world)) === "off") return;
  const pages = pagesAfter(PAGE, (last?: PastCall) =>
    store.calls.history(world, room.id, { after: last?.number, limit: PAGE }),
  );
  for await (const page of pages) for (const call of page) yield toRow(call, room);
}

/** Statistics about the ended calls in rooms, unless the world's attendance mode is `off`. */
export const calls = results({
  inRooms: [],
  isAnonymous: true,
  columns: ["room_id", "room", "started", "ended", "most_people", "person_minutes"],
  rowsOf: (call: ReturnType<typeof toRow>) => [call],
  records: callsIn,
});
