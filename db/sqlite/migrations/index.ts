import worldsAndRooms from "./0001-worlds-and-rooms.js";
import usersAndFiles from "./0002-users-and-files.js";
import lists from "./0003-lists-of-users-and-files.js";
import changes from "./0004-world-changes.js";

/** Every migration, in order: the nth makes version n of the database out of version n - 1. */
export const migrations: readonly string[] = [
  worldsAndRooms,
  usersAndFiles,
  lists,
  changes,
];
