import worldsAndRooms from "./0001-worlds-and-rooms.js";
import usersAndFiles from "./0002-users-and-files.js";
import lists from "./0003-lists-of-users-and-files.js";
import changes from "./0004-world-changes.js";
import live from "./0005-live.js";
import chat from "./0006-chat.js";
import questionsAndPolls from "./0007-questions-and-polls.js";
import erasedEdits from "./0008-erased-edits.js";
import foldedFields from "./0009-folded-fields.js";
import log from "./0010-log.js";
import worldInEveryKey from "./0011-world-in-every-key.js";
import { forSqlite } from "../../shared/migrations/dialects.js";
import { shared } from "../../shared/migrations/index.js";

/**
 * All migrations, in order. The nth upgrades the database from version n - 1 to
 * version n. They may call the functions that `upgrade` defines.
 */
export const migrations: readonly string[] = [
  worldsAndRooms,
  usersAndFiles,
  lists,
  changes,
  live,
  chat,
  questionsAndPolls,
  erasedEdits,
  foldedFields,
  log,
  worldInEveryKey,
  ...shared.map(forSqlite),
];
