import type { Store } from "../db/contract/store.js";
import { Failure } from "../schemas/plain/failure.js";
import { pages } from "../db/results/lists.js";
import type { NamedRoom } from "../db/results/results.js";

/**
 * The rooms of a world, in the order of its list.
 * @param asked the id or the exact name of the only one that is meant; all by default.
 * @throws {Failure} if there is no such room, or several have the name.
 */
export const roomsIn = async (
  store: Store,
  world: string,
  asked?: string,
): Promise<AsyncIterable<NamedRoom> | NamedRoom[]> =>
  asked === undefined
    ? allRooms(store, world)
    : [await findRoom(store, world, asked)];

const allRooms = (store: Store, world: string) =>
  pages(async (page) =>
    (await store.rooms.all(world, page)).map(({ value: { id, name } }) => ({
      id,
      name,
    })),
  );

async function findRoom(
  store: Store,
  world: string,
  asked: string,
): Promise<NamedRoom> {
  const named: NamedRoom[] = [];
  for await (const room of allRooms(store, world)) {
    if (room.id === asked) return room;
    if (room.name === asked) named.push(room);
  }
  if (named.length > 1) {
    const ids = named.map(({ id }) => id).join(", ");
    throw new Failure(`${named.length} rooms have this name: ${ids}.`);
  }
  if (!named[0]) throw new Failure(`There is no room ${asked} in ${world}.`);
  return named[0];
}
