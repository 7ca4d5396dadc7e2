import { StoreError } from "../contract/store.js";

/** What a row of a table is, and the field that refusals name. */
const KINDS: Readonly<Record<string, readonly [field: string, kind: string]>> = {
  rooms: ["rooms", "a room"],
  users: ["users", "a user, or its name,"],
  announcements: ["announcements", "an announcement"],
  chat_channels: ["chat", "a channel"],
  questions: ["questions", "a question"],
  polls: ["polls", "a poll"],
  poll_options: ["polls", "an option"],
};

/**
 * The error about a row of a document that another has in its place.
 * @param id of the row; undefined if only some row of the table is known to be in conflict.
 */
export function takenAs(table: string, id: string | undefined): StoreError {
  const [field, kind] = KINDS[table] ?? [table, `a row of ${table}`];
  return new StoreError(
    "taken",
    id === undefined
      ? `Two rows of ${table} are the same, or have the same name.`
      : `The id ${id} of ${kind} is taken.`,
    field,
  );
}
