import type {
  RoomRecord,
  WorldCopy,
} from "../../../schemas/documents/world-document.js";
import type { Announcement } from "../../contract/announcements.js";
import {
  type Block,
  ENTRY,
  refuseLargeVoting,
  toWorldCopy,
  VOTE,
} from "../../copies/world-copies.js";
import { OWN_ROOM_COLUMNS, type OwnRoomRow } from "../../rules/room-rows.js";
import {
  IS_KNOWN,
  USER_COLUMNS,
  type UserRow,
  WORLD_COLUMNS,
  type WorldRow,
} from "../../rules/rows.js";
import { addAnnouncements } from "../announcements.js";
import type { Sql } from "../sql.js";
import { exportChat } from "./chat-export.js";
import { type ChatImporter, importChat } from "./chat-import.js";
import { exportPolls, importPolls } from "./polls.js";
import { exportQuestions, importQuestions } from "./questions.js";
import { importBlocks, importUsers } from "./users.js";

const SELECT_WORLD = `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = $1`;

const SELECT_ROOMS = `SELECT ${OWN_ROOM_COLUMNS} FROM rooms
  WHERE world_id = $1 ORDER BY sorting_priority, name, id`;

const SELECT_USERS = `SELECT ${USER_COLUMNS} FROM users WHERE world_id = $1 AND ${IS_KNOWN} ORDER BY id`;

const SELECT_BLOCKS = `SELECT user_id, blocked_id FROM blocks
  WHERE world_id = $1 ORDER BY user_id, blocked_id`;

const SELECT_ANNOUNCEMENTS = `SELECT id, text, show_until, state FROM announcements
  WHERE world_id = $1 ORDER BY number`;

const MEASURE_VOTING = `SELECT coalesce(sum(length(content) + ${ENTRY} + votes * CAST($2 AS BIGINT)), 0) FROM (
    SELECT content, score AS votes FROM questions WHERE world_id = $1
    UNION ALL SELECT content, 0 FROM polls WHERE world_id = $1
    UNION ALL SELECT content, votes FROM poll_options WHERE world_id = $1) AS entries`;

/**
 * A world with all that it holds but files; undefined if there is none.
 * @param sql sees one moment.
 * @param isPresent the condition of an event `e` that is not over.
 * @param options as of `WorldStore.export`.
 * @throws {StoreError} `large` if a document cannot hold it.
 */
export async function exportWorld(
  sql: Sql,
  isPresent: string,
  id: string,
  {
    history = false,
    votes = true,
  }: { history?: boolean; votes?: boolean } = {},
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
    chat: history ? await exportChat(sql, id, known(), isPresent) : undefined,
  });
}

/** What an import needs of its engine, inside its transaction. */
export interface WorldImporter extends ChatImporter {
  /** @throws {StoreError} `taken` on `id` or `domain`. */
  addWorld(world: WorldCopy["world"]): Promise<WorldRow>;
  /** @throws {StoreError} `taken` on `rooms`. */
  addRooms(world: string, rooms: readonly RoomRecord[]): Promise<void>;
  /** Undoes what a trial appended to the log. */
  withoutTrace<T>(trial: () => Promise<T>): Promise<T>;
}

/**
 * Creates a world with all that it holds, inside a write of all worlds. Its caller appends
 * that it was created, unless it is a trial.
 * @param dryRun undoes it, so that it fails as the import would.
 * @throws {StoreError} `taken`, `absent` or `quota`.
 */
export async function importWorld(
  sql: Sql,
  engine: WorldImporter,
  copy: WorldCopy,
  dryRun: boolean,
): Promise<WorldRow> {
  if (!dryRun) return create(sql, engine, copy);
  // The caller undoes a write that fails.
  await sql.run("SAVEPOINT trial");
  const row = await engine.withoutTrace(() => create(sql, engine, copy));
  await sql.run("ROLLBACK TO SAVEPOINT trial");
  await sql.run("RELEASE SAVEPOINT trial");
  return row;
}

async function create(
  sql: Sql,
  engine: WorldImporter,
  copy: WorldCopy,
): Promise<WorldRow> {
  const { world, rooms, users = [], announcements = [], chat } = copy;
  const { questions = [], polls = [] } = copy;
  const row = await engine.addWorld(world);
  await engine.addRooms(row.id, rooms);
  await importUsers(sql, row.id, users);
  await addAnnouncements(sql, row.id, announcements);
  if (chat) await importChat(sql, engine, row.id, chat);
  await importQuestions(sql, row.id, questions);
  await importPolls(sql, row.id, polls);
  // A quota comes after all that may be taken.
  await importBlocks(sql, row.id, users);
  return row;
}
