import { StoreError } from "../store.js";
import { versionOf, type RoomRow, type WorldRow } from "./rows.js";

export const absent = (kind: "world" | "room" | "user" | "file") =>
  new StoreError("absent", `There is no such ${kind}.`);

/** The row, if it is there in one of the versions that the caller knows. */
export function existing<T extends WorldRow | RoomRow>(
  kind: "world" | "room",
  row: T | undefined,
  versions?: readonly string[],
): T {
  if (!row) throw absent(kind);
  if (versions && !versions.includes(versionOf(row))) {
    throw new StoreError("changed", "It was changed in between.");
  }
  return row;
}

/** Whether a row still says what it said: then it is not written again. */
export function same<T extends object>(old: T, row: T): boolean {
  return (Object.keys(row) as (keyof T)[]).every((k) => row[k] === old[k]);
}
