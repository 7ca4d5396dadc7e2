import type { FileRecord, ListedUser, RoomValue, Store } from "../../db/contract/store.js";
import type { Room } from "../../schemas/rooms.js";

const all = { page: 1, pageSize: 10_000 };

/** All users of a world, in one page. */
export const usersOf = async (store: Store, world: string): Promise<ListedUser[]> =>
  (await store.users.list(world, all)).users;

/** All files of a world, in one page. */
export const filesOf = async (store: Store, world: string): Promise<FileRecord[]> =>
  (await store.files.list(world, all)).files;

/** A room as lists and answers show it. */
export function shown({ extras: _extras, ...room }: RoomValue): Room {
  return room;
}
