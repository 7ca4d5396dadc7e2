import type { PermissionKey } from "../../schemas/plain/permissions.js";
import type { Cell } from "../../schemas/plain/csv.js";
import type { Store } from "../contract/store.js";

/** A room, as results name it. */
export interface NamedRoom {
  id: string;
  name: string;
}

/** Which records of times are asked for. */
export interface Times {
  /** Only from this time on, in milliseconds since 1970. */
  after?: number | undefined;
  /** One record for so many minutes, with their largest number. */
  every?: number | undefined;
  /** Whether the caller may read the chat of the room. */
  readsChat?: boolean;
}

/** One kind of what is left of an event. */
export interface Results<T = object> {
  /** The names of the columns of a table. */
  readonly columns: readonly string[];
  /** The rows of a record in a table, with a cell for each column. */
  readonly rowsOf: (record: T) => readonly Readonly<Record<string, Cell>>[];
  /** The keys for the records of a room; undefined if the records belong to no room. */
  readonly inRooms?: readonly PermissionKey[];
  /** The keys on the world. */
  readonly inWorld?: readonly PermissionKey[];
  /** Whether the records have times that can be selected. */
  readonly hasTimes?: boolean;
  /** Whether the records are numbers only. A read of them is no export. */
  readonly isAnonymous?: boolean;
  /** The records of a room, or of all, in their order. */
  readonly records: (
    store: Store,
    world: string,
    room: NamedRoom,
    times?: Times,
  ) => AsyncIterable<T>;
}

/** Declares results, so that the types of records and rows are checked against each other. */
export const results = <T extends object>(declared: Results<T>): Results<T> => declared;
