import type { PollCopy } from "../../schemas/votes-copy.js";
import type { PollOption } from "../polls.js";
import { StoreError } from "../store.js";
import type { Connection } from "./database.js";
import { BY_POSITION, POLL_COLUMNS, type PollRow } from "./poll-reads.js";

/** One option that a ballot has. */
interface Choice {
  ballot: number;
  user: string | null;
  option: string;
}

type BallotCopy = NonNullable<PollCopy["ballots"]>[number];

/** The reads of all polls of a world. */
export function pollCopyReads(db: Connection) {
  const select = db.prepare<[string], PollRow>(
    `SELECT ${POLL_COLUMNS} FROM rooms JOIN polls AS p ON p.room_id = rooms.id
     WHERE rooms.world_id = ? ORDER BY p.number`,
  );
  const selectOptions = db.prepare<[number], PollOption>(
    `SELECT o.id, o.content, o.position AS "order" FROM poll_options AS o
     WHERE o.poll = ? ORDER BY ${BY_POSITION}`,
  );
  // A ballot that was withdrawn has no votes, so it is left out.
  const selectChoices = db.prepare<[number], Choice>(
    `SELECT b.number AS ballot, b.user_id AS user, o.id AS option
     FROM poll_ballots AS b JOIN poll_votes AS v ON v.ballot = b.number
     JOIN poll_options AS o ON o.number = v.option
     WHERE b.poll = ? ORDER BY b.user_id IS NULL, b.number, ${BY_POSITION}`,
  );

  function ballotsOf(poll: number): BallotCopy[] {
    const ballots = new Map<number, BallotCopy>();
    for (const { ballot, user, option } of selectChoices.iterate(poll)) {
      const found = ballots.get(ballot);
      if (found) found.options.push(option);
      else {
        ballots.set(ballot, {
          ...(user !== null && { user }),
          options: [option],
        });
      }
    }
    return [...ballots.values()];
  }

  return {
    /** @param withVotes whether ballots are included. */
    exportPolls: (worldId: string, withVotes: boolean): PollCopy[] =>
      select
        .all(worldId)
        .map((row) =>
          toPollCopy(
            row,
            selectOptions.all(row.number),
            withVotes ? ballotsOf(row.number) : [],
          ),
        ),
  };
}

const toPollCopy = (
  { id, room, content, state, poll_type, timestamp, ...row }: PollRow,
  options: PollOption[],
  ballots: BallotCopy[],
): PollCopy => ({
  id,
  room,
  content,
  state,
  poll_type,
  timestamp: new Date(timestamp).toISOString(),
  ...(row.is_pinned && { is_pinned: true }),
  options,
  ...(row.results !== null && {
    results: JSON.parse(row.results) as Record<string, number>,
  }),
  ...(ballots.length > 0 && { ballots }),
});

/** The writes of all polls of a world. */
export function pollCopyWrites(db: Connection) {
  const has = db.prepare<[string]>("SELECT 1 FROM polls WHERE id = ?");
  const hasOption = db.prepare<[string]>(
    "SELECT 1 FROM poll_options WHERE id = ?",
  );
  const add = db.prepare<unknown[]>(
    `INSERT INTO polls (id, room_id, content, state, poll_type, is_pinned, timestamp, changed, results)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const addOption = db.prepare<unknown[]>(
    "INSERT INTO poll_options (id, poll, content, position, votes) VALUES (?, ?, ?, ?, ?)",
  );
  const addBallot = db.prepare<unknown[]>(
    "INSERT INTO poll_ballots (poll, user_id, changed) VALUES (?, ?, ?)",
  );
  const addVote = db.prepare<unknown[]>(
    "INSERT INTO poll_votes (ballot, option) VALUES (?, ?)",
  );

  function refuseTaken({ id, options }: PollCopy): void {
    const [taken, kind] = has.get(id)
      ? [id, "a poll"]
      : [options.find((one) => hasOption.get(one.id))?.id, "an option"];
    if (taken === undefined) return;
    const message = `The id ${taken} of ${kind} is taken.`;
    throw new StoreError("taken", message, "polls");
  }

  return {
    /**
     * Creates the polls of a world that has its rooms and users already.
     * @throws {StoreError} `taken` on `polls`, also if an option has the id of another.
     */
    importPolls: (polls: readonly PollCopy[]): void => {
      for (const poll of polls) {
        refuseTaken(poll);
        const { state, options, ballots = [] } = poll;
        const votes = new Map(options.map(({ id }) => [id, 0]));
        for (const id of ballots.flatMap((ballot) => ballot.options)) {
          votes.set(id, votes.get(id)! + 1);
        }
        const isFrozen = state === "closed" || state === "archived";
        const results = poll.results ?? Object.fromEntries(votes);
        const added = add.run(
          poll.id,
          poll.room,
          poll.content,
          state,
          poll.poll_type,
          Number(poll.is_pinned ?? false),
          Date.parse(poll.timestamp),
          ballots.length,
          isFrozen ? JSON.stringify(results) : null,
        );
        const numbers = new Map(
          options.map(({ id, content, order }) => [
            id,
            addOption.run(
              id,
              added.lastInsertRowid,
              content,
              order,
              votes.get(id)!,
            ).lastInsertRowid,
          ]),
        );
        ballots.forEach(({ user = null, options }, i) => {
          const ballot = addBallot.run(added.lastInsertRowid, user, i + 1);
          for (const id of options) {
            addVote.run(ballot.lastInsertRowid, numbers.get(id)!);
          }
        });
      }
    },
  };
}
