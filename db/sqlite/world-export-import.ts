import type {
  AnnouncementCopy,
  RoomRecord,
  UserCopy,
  WorldCopy,
} from "../../schemas/world-document.js";
import { type Announcement, StoreError } from "../store.js";
import { announcementReads, type announcementWrites } from "./announcements.js";
import { chatCopyReads } from "./chat-export.js";
import type { chatCopyWrites } from "./chat-import.js";
import type { Connection } from "./database.js";
import { pollCopyReads, pollCopyWrites } from "./poll-copies.js";
import { questionCopyReads, questionCopyWrites } from "./question-copies.js";
import {
  IS_KNOWN,
  ownExtras,
  toRoom,
  toUser,
  toWorld,
  USER_COLUMNS,
  type UserRow,
  type WholeRoomRow,
  WORLD_COLUMNS,
  type WorldRow,
} from "./rows.js";
import type { roomWrites } from "./room-writes.js";
import type { userWrites } from "./user-writes.js";
import type { worldWrites } from "./world-writes.js";

/**
 * How many characters the questions and polls in a document may take, about. The
 * longest string of Node.js has 512 Mi characters.
 */
const MAX_VOTING = 128 * 1024 * 1024;

/** About how many characters a question, poll or option takes, and a vote. */
const ENTRY = 300;
const VOTE = 100;

/** The reads of worlds with all that they hold. */
export function copyReads(db: Connection) {
  const selectWorld = db.prepare<[string], WorldRow>(
    `SELECT ${WORLD_COLUMNS} FROM worlds WHERE id = ?`,
  );
  const selectRooms = db.prepare<[string], OwnRow>(
    `SELECT id, name, description, module_config, permission_config, sorting_priority, domain, revision, extras
     FROM rooms WHERE world_id = ? ORDER BY sorting_priority, name, id`,
  );
  const selectUsers = db.prepare<[string], UserRow>(
    `SELECT ${USER_COLUMNS} FROM users WHERE world_id = ? AND ${IS_KNOWN} ORDER BY id`,
  );
  const selectBlocks = db.prepare<[string], Block>(
    `SELECT user_id, blocked_id FROM blocks
     WHERE user_id IN (SELECT id FROM users WHERE world_id = ?) ORDER BY user_id, blocked_id`,
  );
  const measureVoting = db
    .prepare<{ world: string; vote: number }, number>(
      `SELECT coalesce(sum(length(content) + ${ENTRY} + votes * :vote), 0) FROM (
         SELECT room_id, content, score AS votes FROM questions
         UNION ALL SELECT room_id, content, 0 FROM polls
         UNION ALL SELECT room_id, o.content, votes FROM poll_options AS o
           JOIN polls ON polls.number = o.poll)
       WHERE room_id IN (SELECT id FROM rooms WHERE world_id = :world)`,
    )
    .pluck();
  const announcements = announcementReads(db);
  const { exportQuestions } = questionCopyReads(db);
  const { exportPolls } = pollCopyReads(db);
  const chats = chatCopyReads(db);

  function refuseLargeVoting(world: string, votes: boolean): void {
    const size = measureVoting.get({ world, vote: votes ? VOTE : 0 })!;
    if (size <= MAX_VOTING) return;
    const [taken, most] = [size, MAX_VOTING].map((n) => Math.ceil(n / 2 ** 20));
    throw new StoreError(
      "large",
      `The questions and polls take about ${taken} MiB, and a document holds at most ${most} MiB of them. A backup holds them all.`,
    );
  }

  return {
    /**
     * @param history whether chat is included.
     * @param votes whether it is included who voted.
     */
    exportWorld(
      id: string,
      history: boolean,
      votes: boolean,
    ): WorldCopy | undefined {
      const row = selectWorld.get(id);
      if (!row) return undefined;
      const blocked = new Map<string, string[]>();
      for (const { user_id, blocked_id } of selectBlocks.iterate(id)) {
        const ids = blocked.get(user_id);
        if (ids) ids.push(blocked_id);
        else blocked.set(user_id, [blocked_id]);
      }
      const users = selectUsers
        .all(id)
        .map((user) => toUserCopy(user, blocked.get(user.id)));
      const announced = announcements.list(id).map(toAnnouncementCopy);
      refuseLargeVoting(id, votes);
      const questions = exportQuestions(id, votes);
      const polls = exportPolls(id, votes);
      const known = () => new Set(users.map((user) => user.id));
      const chat = history ? chats.exportChat(id, known()) : undefined;
      return {
        world: { ...toWorld(row), revision: row.revision },
        rooms: selectRooms.all(id).map(toRecord),
        ...(users.length > 0 && { users }),
        ...(announced.length > 0 && { announcements: announced }),
        ...(questions.length > 0 && { questions }),
        ...(polls.length > 0 && { polls }),
        ...(chat && { chat }),
      };
    },
  };
}

/** A room whose domain is null unless it has one of its own. */
type OwnRow = Omit<WholeRoomRow, "domain"> & { domain: string | null };

interface Block {
  user_id: string;
  blocked_id: string;
}

function toRecord({ domain, ...row }: OwnRow): RoomRecord {
  return {
    ...toRoom({ ...row, domain: domain ?? "" }),
    domain: domain ?? undefined,
    ...ownExtras(row.extras),
    revision: row.revision,
  };
}

function toUserCopy(row: UserRow, blocked: string[] | undefined): UserCopy {
  const { id, token_id, client_id, profile, traits, ...rest } = toUser(row);
  const { moderation_state, client_state, pretalx_id, last_login } = rest;
  return {
    id,
    token_id,
    client_id,
    profile,
    traits,
    last_seen: timeOf(row.last_seen),
    ...(moderation_state !== "" && { moderation_state }),
    ...(row.client_state !== null && { client_state }),
    ...(pretalx_id !== null && { pretalx_id }),
    ...(last_login !== null && { last_login: timeOf(last_login) }),
    ...(blocked && { blocked }),
  };
}

const toAnnouncementCopy = ({
  show_until,
  ...announcement
}: Announcement): AnnouncementCopy => ({
  ...announcement,
  show_until: show_until === null ? null : timeOf(show_until),
});

const timeOf = (milliseconds: number) => new Date(milliseconds).toISOString();

/** The writes that an import consists of. */
type Parts = Pick<ReturnType<typeof worldWrites>, "createWorld"> &
  Pick<ReturnType<typeof roomWrites>, "addRoom"> &
  Pick<ReturnType<typeof userWrites>, "addUser" | "blockUser"> &
  Pick<ReturnType<typeof announcementWrites>, "addAnnouncement"> &
  Pick<ReturnType<typeof chatCopyWrites>, "importChat">;

/** The writes of worlds with all that they hold. Each runs inside a transaction of its caller. */
export function copyWrites(db: Connection, parts: Parts) {
  const savepoint = db.prepare("SAVEPOINT trial");
  const undo = db.prepare("ROLLBACK TO trial");
  const release = db.prepare("RELEASE trial");
  const { importQuestions } = questionCopyWrites(db);
  const { importPolls } = pollCopyWrites(db);

  return {
    importWorld(copy: WorldCopy, dryRun: boolean): WorldRow {
      savepoint.run();
      const { world, rooms, users = [], announcements = [], chat } = copy;
      const { questions = [], polls = [] } = copy;
      const row = parts.createWorld(world);
      for (const room of rooms) parts.addRoom(row.id, room);
      for (const user of users) parts.addUser(row.id, user);
      for (const { id, blocked = [] } of users) {
        for (const other of blocked) parts.blockUser(row.id, id, other);
      }
      for (const each of announcements) parts.addAnnouncement(row.id, each);
      if (chat) parts.importChat(row.id, chat);
      importQuestions(questions);
      importPolls(polls);
      // The caller undoes a write that fails.
      if (dryRun) undo.run();
      release.run();
      return row;
    },
  };
}
