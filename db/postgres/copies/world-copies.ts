import type { RoomRecord, WorldCopy } from "../../../schemas/world-document.js";
import { OWN_ROOM_COLUMNS, type OwnRoomRow } from "../../rules/room-rows.js";
import {
  IS_KNOWN,
  readWorld,
  USER_COLUMNS,
  type UserRow,
  WORLD_COLUMNS,
  type WorldRow,
} from "../../rules/rows.js";
import type { WorldStore } from "../../contract/store.js";
import type { Announcement } from "../../contract/announcements.js";
import {
  type Block,
  ENTRY,
  refuseLargeVoting,
  toWorldCopy,
  VOTE,
} from "../../copies/world-copies.js";
import { addAnnouncements } from "../../shared/announcements.js";
import { slices } from "../engine/bulk.js";
import { exportChat } from "./chat-export.js";
import { importChat } from "./chat-import.js";
import type { Database } from "../engine/database.js";
import type { Log } from "../log/log.js";
import { exportPolls, importPolls } from "./poll-copies.js";
import { exportQuestions, importQuestions } from "./question-copies.js";
import { addRooms } from "../rooms/room-writes.js";
import type { Sql } from "../../shared/sql.js";
import { importBlocks, importUsers } from "./user-copies.js";
import { createWorld } from "../worlds/world-writes.js";

const SELECT_WORLD = `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = $1`;

const SELECT_ROOMS = `SELECT ${OWN_ROOM_COLUMNS} FROM rooms
  WHERE world_id = $1 ORDER BY sorting_priority, name, id`;

const SELECT_USERS = `SELECT ${USER_COLUMNS} FROM users WHERE world_id = $1 AND ${IS_KNOWN} ORDER BY id`;

const SELECT_BLOCKS = `SELECT user_id, blocked_id FROM blocks
  WHERE world_id = $1 ORDER BY user_id, blocked_id`;

const SELECT_ANNOUNCEMENTS = `SELECT id, text, show_until, state FROM announcements
  WHERE world_id = $1 ORDER BY number`;

const MEASURE_VOTING = `SELECT coalesce(sum(length(content) + ${ENTRY} + votes * $2::bigint), 0) FROM (
    SELECT content, score AS votes FROM questions WHERE world_id = $1
    UNION ALL SELECT content, 0 FROM polls WHERE world_id = $1
    UNION ALL SELECT content, votes FROM poll_options WHERE world_id = $1) AS entries`;

/** The worlds with all that they hold. */
export const worldCopies = (
  db: Database,
): Pick<WorldStore, "export" | "import"> => ({
  export: (id, { history = false, votes = true } = {}) =>
    db.snapshot((sql) => exportWorld(sql, id, history, votes)),

  import: async (copy, { dryRun = false } = {}, by) =>
    readWorld(
      await db.writeAll(
        copy.world.id,
        async (sql, log) => {
          if (dryRun) return trial(sql, log, copy);
          const row = await importWorld(sql, log, copy);
          log.appendToAll({ type: "world.created" });
          return row;
        },
        by,
      ),
    ),
});

async function exportWorld(
  sql: Sql,
  id: string,
  history: boolean,
  votes: boolean,
): Promise<WorldCopy | undefined> {
  const world = await sql.one<WorldRow>(SELECT_WORLD, [id]);
  if (!world) return undefined;
  const users = await sql.all<UserRow>(SELECT_USERS, [id]);
  refuseLargeVoting(
    (await sql.value<number>(MEASURE_VOTING, [id, votes ? VOTE : 0]))!,
  );
  const known = () => new Set(users.map((user) => user.id));
  return toWorldCopy({
    world,
    rooms: await sql.all<OwnRoomRow>(SELECT_ROOMS, [id]),
    users,
    blocks: await sql.all<Block>(SELECT_BLOCKS, [id]),
    announcements: await sql.all<Announcement>(SELECT_ANNOUNCEMENTS, [id]),
    questions: await exportQuestions(sql, id, votes),
    polls: await exportPolls(sql, id, votes),
    chat: history ? await exportChat(sql, id, known()) : undefined,
  });
}

/** Creates a world with all that it holds, inside a write of all worlds. Its caller appends an entry. */
async function importWorld(
  sql: Sql,
  log: Log,
  copy: WorldCopy,
): Promise<WorldRow> {
  const { world, rooms, users = [], announcements = [], chat } = copy;
  const row = await createWorld(sql, world);
  for (const slice of slices(rooms, sizeOf)) {
    await addRooms(sql, row.id, slice);
  }
  await importUsers(sql, row.id, users);
  await addAnnouncements(sql, row.id, announcements);
  if (chat) await importChat(sql, log, row.id, chat);
  await importQuestions(sql, row.id, copy.questions ?? []);
  await importPolls(sql, row.id, copy.polls ?? []);
  // A quota comes after all that may be taken.
  await importBlocks(sql, row.id, users);
  return row;
}

/** Imports a world and undoes it, so that it fails as the import would. */
async function trial(sql: Sql, log: Log, copy: WorldCopy): Promise<WorldRow> {
  await sql.run("SAVEPOINT trial");
  const row = await log.withoutTrace(() => importWorld(sql, log, copy));
  await sql.run("ROLLBACK TO SAVEPOINT trial");
  return row;
}

/** About how many characters a room has. */
const sizeOf = (room: RoomRecord): number => JSON.stringify(room).length;
