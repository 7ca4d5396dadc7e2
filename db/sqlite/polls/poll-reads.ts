import {
  ballotsIn,
  BY_POSITION,
  OPTION_COLUMNS,
  type OptionRow,
  POLL_COLUMNS,
  POLL_OVERHEAD,
  type PollRow,
  toPoll,
} from "../../rules/poll-rows.js";
import type {
  Ballot,
  Poll,
  PollSelection,
  Voters,
} from "../../contract/polls.js";
import type { Connection } from "../engine/connection.js";

/** How many characters a poll counts in a list: see {@link PollSelection}. */
const sizeOf = (poll: PollRow, options: readonly OptionRow[]): number =>
  [poll, ...options].reduce(
    (sum, { content }) => sum + content.length + POLL_OVERHEAD,
    0,
  );

interface InRoom {
  world: string;
  room: string;
}

const IN_ROOM = "p.world_id = @world AND p.room_id = @room";

/** The reads of polls. */
export function pollReads(db: Connection) {
  const select = db.prepare<InRoom & { id: string }, PollRow>(
    `SELECT ${POLL_COLUMNS} FROM polls AS p WHERE p.id = @id AND ${IN_ROOM}`,
  );
  const listed = (order: string) =>
    db.prepare<InRoom & { all: number }, PollRow>(
      `SELECT ${POLL_COLUMNS} FROM polls AS p
       WHERE ${IN_ROOM} AND (@all OR p.state IN ('open', 'closed')) ${order}`,
    );
  const selectPinned = listed("AND p.is_pinned = 1");
  const selectNewest = listed("ORDER BY p.number DESC");
  const selectOptions = db.prepare<[string, number], OptionRow>(
    `SELECT ${OPTION_COLUMNS} FROM poll_options AS o WHERE o.world_id = ? AND o.poll = ? ORDER BY ${BY_POSITION}`,
  );
  const selectBallots = db.prepare<
    InRoom & { user: string },
    { poll: string; option: string }
  >(
    `SELECT p.id AS poll, o.id AS option FROM poll_ballots AS b
     CROSS JOIN polls AS p ON p.number = b.poll
     CROSS JOIN poll_votes AS v ON v.world_id = b.world_id AND v.ballot = b.number
     CROSS JOIN poll_options AS o ON o.number = v.option
     WHERE b.world_id = @world AND b.user_id = @user AND ${IN_ROOM} ORDER BY p.number, ${BY_POSITION}`,
  );
  const selectChanged = db.prepare<
    InRoom & { id: string },
    { number: number; changed: number }
  >(
    `SELECT p.number, p.changed FROM polls AS p WHERE p.id = @id AND ${IN_ROOM}`,
  );
  const selectVoters = db.prepare<
    [string, number, number],
    { id: string; voted: number }
  >(
    `SELECT user_id AS id, EXISTS (SELECT 1 FROM poll_votes
       WHERE world_id = poll_ballots.world_id AND ballot = poll_ballots.number) AS voted
     FROM poll_ballots WHERE world_id = ? AND poll = ? AND changed > ? AND user_id IS NOT NULL`,
  );

  return {
    get(worldId: string, room: string, id: string): Poll | undefined {
      const row = select.get({ world: worldId, room, id });
      return row && toPoll(row, selectOptions.all(worldId, row.number));
    },

    list(
      worldId: string,
      room: string,
      { limit, size = Infinity, isPublic = false }: PollSelection,
    ): Poll[] {
      const from = { world: worldId, room, all: Number(!isPublic) };
      const found: { number: number; poll: Poll }[] = [];
      let left = size;
      const take = (row: PollRow): boolean => {
        const options = selectOptions.all(worldId, row.number);
        left -= sizeOf(row, options);
        // A pinned poll comes first, and is listed however large it is.
        if (left < 0 && !row.is_pinned) return false;
        found.push({ number: row.number, poll: toPoll(row, options) });
        return true;
      };
      const pinned = selectPinned.get(from);
      if (pinned) take(pinned);
      for (const row of selectNewest.iterate(from)) {
        if (found.length >= limit) break;
        if (!row.is_pinned && !take(row)) break;
      }
      return found.sort((a, b) => a.number - b.number).map(({ poll }) => poll);
    },

    ballots: (worldId: string, room: string, user: string): Ballot[] =>
      ballotsIn(selectBallots.iterate({ world: worldId, room, user })),

    voters(
      worldId: string,
      room: string,
      id: string,
      since: number,
    ): Voters | undefined {
      const poll = selectChanged.get({ world: worldId, room, id });
      if (!poll) return undefined;
      const users = selectVoters
        .all(worldId, poll.number, since)
        .map(({ id, voted }) => ({ id, voted: voted === 1 }));
      return { changed: poll.changed, users };
    },
  };
}
