import { may, type PermissionConfig, type Rule, SEE } from "../../schemas/plain/permissions.js";
import type { RoomOrdering } from "../../schemas/rooms.js";
import { readRoom, type RoomRow } from "./room-rows.js";
import type { RoomPage, RoomSelection, Versioned } from "../contract/store.js";
import { versioned } from "./versions.js";

// Shared by the engines: lists of rooms.

/** The largest page, in bytes. A larger one would block the event loop for too long. */
export const MAX_ROOM_PAGE = 4 * 1024 * 1024;

/** Each order has an index that gives the rooms in that order. */
export const ROOM_ORDERS: Record<RoomOrdering, string> = {
  sorting_priority: "sorting_priority, name, id",
  "-sorting_priority": "sorting_priority DESC, name, id",
  name: "name, sorting_priority, id",
  "-name": "name DESC, sorting_priority, id",
};

/** The filters of a list. */
export interface RoomFilter {
  /** The type of a module; empty for any. */
  type: string;
  /** With case folded; empty for any. */
  search: string;
}

/** Whether a list has to look at every room. */
export const isFiltered = ({ type, search }: RoomFilter): boolean => type !== "" || search !== "";

/** Rooms that the same people may see. */
export interface ViewGroup {
  id: number;
  rooms: number;
  /** The `room.view` rule that these rooms share; empty if they leave it to their world. */
  permission_config: { "room.view"?: Rule };
}

/** A {@link ViewGroup} as it is stored. */
export interface ViewGroupRow {
  id: number;
  /** As JSON; empty if there is none. */
  rule: string;
  rooms: number;
}

/** The group in a row. */
export const toViewGroup = ({ id, rule, rooms }: ViewGroupRow): ViewGroup => ({
  id,
  rooms,
  permission_config: rule === "" ? {} : { "room.view": JSON.parse(rule) as Rule },
});

/**
 * The rooms of a world that a caller may see.
 * @param groups all groups of the world.
 * @returns the ids of their groups.
 */
export const seenRooms = (
  world: { permission_config: PermissionConfig },
  groups: readonly ViewGroup[],
  traits: RoomSelection["traits"],
): number[] => groups.filter((room) => may({ traits }, SEE, { world, room })).map(({ id }) => id);

/** @param count of the rooms on all pages. */
export function toRoomPage(count: number, rows: readonly RoomRow[]): Versioned<RoomPage> {
  const records = rows.map(readRoom);
  const rooms = () => Object.freeze(records.map((it) => it.value));
  return versioned(
    () => Object.freeze({ count, rooms: rooms() }),
    () => `[${records.map(({ json }) => json).join()}]`,
    count,
  );
}
