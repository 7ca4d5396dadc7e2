import type { RoomValue } from "../../../db/contract/store.js";
import type { Commands } from "../../../schemas/live/index.js";
import { given } from "../../../schemas/plain/given.js";
import { RoomChanges } from "../../../schemas/rooms.js";
import { compileValidator, scheduleFault } from "../../../schemas/validate.js";
import type { CommandTable, Context, RoomContext } from "../../module.js";
import { invalidPayload, LiveError } from "../../rules/problems.js";
import { mayInRoom } from "../../rules/rights.js";
import { roomSettings } from "../../rules/shapes.js";
import type { RoomPorts } from "./ports.js";

/** How many rooms are read at a time. */
const PAGE = 500;

const validateChanges = compileValidator(RoomChanges);

/** The settings of rooms that exist. */
export const settings: CommandTable<
  `room.config.${"get" | "patch" | "list" | "reorder"}` | "room.schedule",
  RoomPorts
> = {
  "room.config.get": { inRoom: "room.update", handler: getConfig },
  "room.config.patch": {
    large: true,
    inRoom: "room.update",
    invalid: "config.invalid",
    handler: patchConfig,
  },
  "room.config.list": { requires: "room.update", handler: listConfigs },
  "room.config.reorder": { large: true, requires: "room.update", handler: reorder },
  "room.schedule": { inRoom: "room.announce", handler: schedule },
};

/** Reads the store: what others see of the room may be older than the last write. */
async function getConfig({ ports, connection, room }: RoomContext<RoomPorts>) {
  const { rooms } = ports.store;
  const now = await rooms.get(connection.world, room.value.id);
  return roomSettings((now ?? room).value);
}

/** Decimal text as a number. */
const whole = (value: number | string | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

async function patchConfig(
  { ports, connection, room }: RoomContext<RoomPorts>,
  payload: Commands["room.config.patch"]["payload"],
) {
  const { trait_grants, module_config, name, description } = payload;
  const { picture, pretalx_id, force_join, schedule_data } = payload;
  const changes = given({
    name,
    description: description === null ? "" : description,
    module_config,
    permission_config: trait_grants,
    sorting_priority: whole(payload.sorting_priority),
  });
  const extras = given({
    picture: picture === "" ? null : picture,
    pretalx_id: whole(pretalx_id),
    force_join,
    schedule_data,
  });
  const invalid = validateChanges(changes);
  if (invalid) throw invalidPayload(invalid.faults, "config.invalid");
  boundSchedule(schedule_data, "config.invalid");
  const { rooms } = ports.store;
  const all = { ...changes, extras };
  const { id } = room.value;
  const by = connection.author;
  const { world } = connection;
  const updated = await rooms.update(world, id, all, undefined, by);
  return roomSettings(updated.value);
}

/** All rooms in their order, and whether the caller sees each. */
async function roomsFor(context: Context<RoomPorts>) {
  const { ports, connection, login, world } = context;
  const rooms: { room: RoomValue; isSeen: boolean }[] = [];
  for (let page = 1; ; page++) {
    const selection = { page, pageSize: PAGE };
    const found = await ports.store.rooms.all(connection.world, selection);
    for (const { value: room } of found) {
      const isSeen = mayInRoom(login, "room.view", world.value, room);
      rooms.push({ room, isSeen });
    }
    if (found.length < PAGE) return rooms;
  }
}

async function listConfigs(context: Context<RoomPorts>) {
  const rooms = await roomsFor(context);
  return rooms.flatMap(({ room, isSeen }) => (isSeen ? roomSettings(room) : []));
}

/** Rooms that the caller does not see keep their places among the others. */
async function reorder(
  context: Context<RoomPorts>,
  payload: Commands["room.config.reorder"]["payload"],
) {
  const { ports, connection } = context;
  const rooms = await roomsFor(context);
  const seen = new Set(rooms.flatMap(({ room, isSeen }) => (isSeen ? room.id : [])));
  const named = payload.filter((id) => seen.has(id as string)) as string[];
  const order = new Set([...named, ...seen]).values();
  const ids = rooms.map(({ room, isSeen }) => (isSeen ? order.next().value! : room.id));
  await ports.store.rooms.reorder(connection.world, ids, connection.author);
  return listConfigs(context);
}

/** The keys of the schedule data that clients use. */
const SCHEDULE_KEYS = new Set(["session", "title", "computeSession"]);

/** Bounds the schedule data, which all viewers of the room get with it. */
function boundSchedule(data: unknown, code?: string): void {
  const fault = scheduleFault(data);
  if (fault) throw invalidPayload({ schedule_data: [fault] }, code);
}

async function schedule(
  { ports, connection, room }: RoomContext<RoomPorts>,
  { schedule_data: data }: Commands["room.schedule"]["payload"],
) {
  const isKnown = data === null || Object.keys(data).every((key) => SCHEDULE_KEYS.has(key));
  if (!isKnown) {
    throw new LiveError("room.unknown_schedule_data", "Unknown schedule data");
  }
  boundSchedule(data);
  const { rooms } = ports.store;
  await rooms.schedule(connection.world, room.value.id, data, connection.author);
  return {};
}
