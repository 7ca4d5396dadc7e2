import type { WorldCopy } from "../../../schemas/world-document.js";
import { OWN_ROOM_COLUMNS, type OwnRoomRow } from "../../rules/room-rows.js";
import {
  IS_KNOWN,
  USER_COLUMNS,
  type UserRow,
  WORLD_COLUMNS,
  type WorldRow,
} from "../../rules/rows.js";
import {
  type Block,
  ENTRY,
  refuseLargeVoting,
  toWorldCopy,
  VOTE,
} from "../../copies/world-copies.js";
import { addAnnouncements } from "../../shared/announcements.js";
import type { Announcement } from "../../contract/announcements.js";
import type { Sql } from "../../shared/sql.js";
import { chatCopyReads } from "./chat-export.js";
import type { chatCopyWrites } from "./chat-import.js";
import type { Connection } from "../engine/connection.js";
import type { WriteLog } from "../log/log-writes.js";
import { pollCopyReads, pollCopyWrites } from "./poll-copies.js";
import { questionCopyReads, questionCopyWrites } from "./question-copies.js";
import type { roomWrites } from "../rooms/room-writes.js";
import type { userWrites } from "../users/user-writes.js";
import type { worldWrites } from "../worlds/world-writes.js";

/** The reads of worlds with all that they hold. */
export function copyReads(db: Connection) {
  const selectWorld = db.prepare<[string], WorldRow>(
    `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = ?`,
  );
  const selectRooms = db.prepare<[string], OwnRoomRow>(
    `SELECT ${OWN_ROOM_COLUMNS} FROM rooms WHERE world_id = ? ORDER BY sorting_priority, name, id`,
  );
  const selectUsers = db.prepare<[string], UserRow>(
    `SELECT ${USER_COLUMNS} FROM users WHERE world_id = ? AND ${IS_KNOWN} ORDER BY id`,
  );
  const selectBlocks = db.prepare<[string], Block>(
    `SELECT user_id, blocked_id FROM blocks WHERE world_id = ? ORDER BY user_id, blocked_id`,
  );
  const measureVoting = db
    .prepare<{ world: string; vote: number }, number>(
      `SELECT coalesce(sum(length(content) + ${ENTRY} + votes * :vote), 0) FROM (
         SELECT world_id, content, score AS votes FROM questions
         UNION ALL SELECT world_id, content, 0 FROM polls
         UNION ALL SELECT world_id, content, votes FROM poll_options)
       WHERE world_id = :world`,
    )
    .pluck();
  const selectAnnouncements = db.prepare<[string], Announcement>(
    "SELECT id, text, show_until, state FROM announcements WHERE world_id = ? ORDER BY number",
  );
  const { exportQuestions } = questionCopyReads(db);
  const { exportPolls } = pollCopyReads(db);
  const chats = chatCopyReads(db);

  return {
    /**
     * @param history whether chat is included.
     * @param votes whether the voters are included.
     */
    exportWorld(
      id: string,
      history: boolean,
      votes: boolean,
    ): WorldCopy | undefined {
      const row = selectWorld.get(id);
      if (!row) return undefined;
      const users = selectUsers.all(id);
      refuseLargeVoting(
        measureVoting.get({ world: id, vote: votes ? VOTE : 0 })!,
      );
      const known = () => new Set(users.map((user) => user.id));
      return toWorldCopy({
        world: row,
        rooms: selectRooms.all(id),
        users,
        blocks: selectBlocks.iterate(id),
        announcements: selectAnnouncements.all(id),
        questions: exportQuestions(id, votes),
        polls: exportPolls(id, votes),
        chat: history ? chats.exportChat(id, known()) : undefined,
      });
    },
  };
}

/** The writes that an import consists of. */
type Parts = Pick<ReturnType<typeof worldWrites>, "addWorld" | "noteCreated"> &
  Pick<ReturnType<typeof roomWrites>, "addRoom"> &
  Pick<ReturnType<typeof userWrites>, "addUser" | "addBlock"> &
  Pick<ReturnType<typeof chatCopyWrites>, "importChat">;

/** The writes of worlds with all that they hold. Each runs inside a transaction of its caller. */
export function copyWrites(
  db: Connection,
  sql: Sql,
  log: WriteLog,
  parts: Parts,
) {
  const savepoint = db.prepare("SAVEPOINT trial");
  const undo = db.prepare("ROLLBACK TO trial");
  const release = db.prepare("RELEASE trial");
  const { importQuestions } = questionCopyWrites(db);
  const { importPolls } = pollCopyWrites(db);

  async function create(copy: WorldCopy): Promise<WorldRow> {
    const { world, rooms, users = [], announcements = [], chat } = copy;
    const { questions = [], polls = [] } = copy;
    const row = parts.addWorld(world);
    for (const room of rooms) parts.addRoom(row.id, room);
    for (const user of users) parts.addUser(row.id, user);
    await addAnnouncements(sql, row.id, announcements);
    if (chat) parts.importChat(row.id, chat);
    importQuestions(row.id, questions);
    importPolls(row.id, polls);
    // A quota comes after all that may be taken.
    for (const { id, blocked = [] } of users) {
      for (const other of blocked) parts.addBlock(row.id, id, other);
    }
    parts.noteCreated(row.id);
    return row;
  }

  return {
    async importWorld(copy: WorldCopy, dryRun: boolean): Promise<WorldRow> {
      if (!dryRun) return create(copy);
      // The caller undoes a write that fails.
      savepoint.run();
      const row = await log.withoutTrace(() => create(copy));
      undo.run();
      release.run();
      return row;
    },
  };
}
