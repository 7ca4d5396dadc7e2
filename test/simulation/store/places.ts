import { absent, expectVersion } from "../../../db/rules/preconditions.js";
import {
  movedRooms,
  newRoomRow,
  type OwnRoomRow,
  priorityBehind,
  roomChanges,
  takenName,
} from "../../../db/rules/room-rows.js";
import {
  foldCase,
  readWholeRoom,
  readWorld,
  sameValues,
  type WholeRoomRow,
  type WorldRow,
} from "../../../db/rules/rows.js";
import type {
  AnnouncementStore,
  RoomStore,
  RoomUpdate,
  RoomValue,
  Versioned,
  WorldStore,
} from "../../../db/contract/store.js";
import {
  changedAnnouncement,
  newAnnouncement,
} from "../../../db/contract/announcements.js";
import {
  createdAnnouncement,
  updatedAnnouncement,
} from "../../../db/log/changes.js";
import type { Author } from "../../../db/contract/author.js";
import {
  changedWorld,
  configuredWorld,
  newWorldRow,
} from "../../../db/rules/world-rows.js";
import type { World } from "../../../schemas/worlds.js";
import { clearRoom } from "./program.js";
import type { Sync } from "./sync.js";
import type { Tables } from "./tables.js";
import type { Transaction } from "./transaction.js";

// The worlds, their rooms and their announcements in a simulated store.

const worlds = new WeakMap<object, Versioned<World>>();
const rooms = new WeakMap<object, Map<string, Versioned<RoomValue>>>();

/** A world as readers get it: the same object for the same row. */
function worldOf(row: WorldRow): Versioned<World> {
  let world = worlds.get(row);
  if (!world) worlds.set(row, (world = readWorld(row)));
  return world;
}

const whole = ({ worlds }: Tables, row: RoomOfWorld): WholeRoomRow => {
  const { world, ...own } = row;
  return { ...own, domain: own.domain ?? worlds.get(world)!.domain };
};

type RoomOfWorld = Readonly<OwnRoomRow & { world: string }>;

function roomOf(tables: Tables, row: RoomOfWorld): Versioned<RoomValue> {
  const byDomain = rooms.get(row) ?? new Map<string, Versioned<RoomValue>>();
  rooms.set(row, byDomain);
  const { domain } = tables.worlds.get(row.world)!;
  let room = byDomain.get(domain);
  if (!room) byDomain.set(domain, (room = readWholeRoom(whole(tables, row))));
  return room;
}

const compare = (a: string | number, b: string | number) =>
  a < b ? -1 : a > b ? 1 : 0;

const roomsOf = ({ rooms }: Tables, world: string): RoomOfWorld[] =>
  [...rooms.values()]
    .filter((room) => room.world === world)
    .sort(
      (a, b) =>
        a.sorting_priority - b.sorting_priority ||
        compare(a.name, b.name) ||
        compare(a.id, b.id),
    );

function saveWorld(
  tx: Transaction,
  old: WorldRow,
  row: WorldRow,
  by: Author | undefined,
): Versioned<World> {
  if (sameValues(old, row)) return worldOf(old);
  const saved = { ...row, revision: old.revision + 1 };
  tx.tables.worlds.set(row.id, saved);
  tx.append(row.id, { type: "world.updated" }, by);
  return worldOf(saved);
}

function expectWorld(
  { tables }: Transaction,
  id: string,
  versions?: readonly string[],
): WorldRow {
  const row = tables.worlds.get(id);
  if (!row) throw absent("world");
  expectVersion(() => worldOf(row).version, versions);
  return row;
}

export const worldStore: Sync<WorldStore> = {
  get({ tables }, id) {
    const row = tables.worlds.get(id);
    return row && worldOf(row);
  },
  create(tx, world) {
    const row = newWorldRow(world);
    tx.tables.worlds.set(world.id, row);
    tx.append(world.id, { type: "world.created" });
    return worldOf(row);
  },
  update(tx, id, changes, versions, by) {
    const row = expectWorld(tx, id, versions);
    return saveWorld(tx, row, changedWorld(row, changes), by);
  },
  configure(tx, id, changes, versions, by) {
    const row = expectWorld(tx, id, versions);
    return saveWorld(tx, row, configuredWorld(row, changes), by);
  },
};

function addRoom(
  tx: Transaction,
  world: string,
  draft: Parameters<typeof newRoomRow>[0],
  type: "room.created" | "room.opened",
  by: Author | undefined,
): Versioned<RoomValue> {
  const row = { ...newRoomRow(draft), world };
  tx.tables.rooms.set(row.id, row);
  tx.append(world, { type, room: row.id }, by);
  return roomOf(tx.tables, row);
}

function expectRoom(
  { tables }: Transaction,
  world: string,
  id: string,
  versions?: readonly string[],
): RoomOfWorld {
  const row = tables.rooms.get(id);
  if (row?.world !== world) throw absent("room");
  expectVersion(() => roomOf(tables, row).version, versions);
  return row;
}

function changeRoom(
  tx: Transaction,
  row: RoomOfWorld,
  changes: RoomUpdate,
  type: "room.updated" | "room.scheduled",
  by: Author | undefined,
): Versioned<RoomValue> {
  const { tables } = tx;
  const changed = roomChanges(whole(tables, row), row.domain, changes);
  if (Object.keys(changed).length === 0) return roomOf(tables, row);
  const next = { ...row, ...changed, revision: row.revision + 1 };
  tables.rooms.set(row.id, next);
  tx.append(row.world, { type, room: row.id }, by);
  return roomOf(tables, next);
}

export const roomStore: Sync<RoomStore> = {
  get({ tables }, world, id) {
    const row = tables.rooms.get(id);
    return row?.world === world ? roomOf(tables, row) : undefined;
  },
  all({ tables }, world, { page, pageSize }) {
    return roomsOf(tables, world)
      .slice((page - 1) * pageSize, page * pageSize)
      .map((row) => roomOf(tables, row));
  },
  create(tx, world, draft, by) {
    expectWorld(tx, world);
    return addRoom(tx, world, { id: tx.uuid(), ...draft }, "room.created", by);
  },
  open(tx, world, draft, by) {
    expectWorld(tx, world);
    const others = roomsOf(tx.tables, world);
    const name = foldCase(draft.name);
    if (others.some((room) => foldCase(room.name) === name)) {
      throw takenName(draft.name);
    }
    const last = Math.max(0, ...others.map((room) => room.sorting_priority));
    const sorting_priority = priorityBehind(last);
    const record = { id: tx.uuid(), ...draft, sorting_priority };
    return addRoom(tx, world, record, "room.opened", by);
  },
  update(tx, world, id, changes, versions, by) {
    const row = expectRoom(tx, world, id, versions);
    return changeRoom(tx, row, changes, "room.updated", by);
  },
  schedule(tx, world, id, schedule_data, by) {
    const row = expectRoom(tx, world, id);
    const extras = { schedule_data };
    return changeRoom(tx, row, { extras }, "room.scheduled", by);
  },
  reorder(tx, world, ids, by) {
    const { rooms } = tx.tables;
    const moved = movedRooms(roomsOf(tx.tables, world), ids);
    for (const { id, sorting_priority } of moved) {
      const row = rooms.get(id)!;
      rooms.set(id, { ...row, sorting_priority, revision: row.revision + 1 });
    }
    if (moved.length > 0) tx.append(world, { type: "rooms.reordered" }, by);
  },
  delete(tx, world, id, versions, by) {
    const { permission_config } = expectRoom(tx, world, id, versions);
    const { tables } = tx;
    for (const map of [tables.rooms, tables.channels, tables.events]) {
      map.delete(id);
    }
    for (const map of [tables.members, tables.marks, tables.notifications]) {
      for (const [key, { channel }] of map as Map<
        string,
        { channel: string }
      >) {
        if (channel === id) map.delete(key);
      }
    }
    for (const map of [tables.questions, tables.polls]) {
      for (const [key, { room }] of map as Map<string, { room: string }>) {
        if (room === id) map.delete(key);
      }
    }
    const left = clearRoom(tx, world, id);
    tx.erase(world);
    const rules = JSON.parse(
      permission_config,
    ) as RoomValue["permission_config"];
    tx.append(world, { type: "room.deleted", room: id, rules }, by);
    for (const session of left) {
      tx.append(world, { type: "session.updated", session }, by);
    }
    return rules;
  },
};

export const announcementStore: Sync<AnnouncementStore> = {
  list({ tables }, world) {
    return [...tables.announcements.values()]
      .filter((announcement) => announcement.world === world)
      .map(({ world: _, ...announcement }) => announcement);
  },
  create(tx, world, draft, by) {
    expectWorld(tx, world);
    const made = { ...newAnnouncement(draft), id: tx.uuid() };
    tx.tables.announcements.set(made.id, { ...made, world });
    tx.append(world, createdAnnouncement(made), by);
    return made;
  },
  update(tx, world, id, changes, _seen, by) {
    const found = tx.tables.announcements.get(id);
    if (found?.world !== world) throw absent("announcement");
    const { world: _, ...before } = found;
    const after = changedAnnouncement(before, changes);
    if (!sameValues(before, after)) {
      tx.tables.announcements.set(id, { ...after, world });
      tx.append(world, updatedAnnouncement(before, after, tx.now), by);
    }
    return { before, after };
  },
};
