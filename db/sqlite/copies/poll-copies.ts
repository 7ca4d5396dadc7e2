import type { PollCopy } from "../../../schemas/votes-copy.js";
import {
  BY_POSITION,
  POLL_COLUMNS,
  type PollRow,
} from "../../rules/poll-rows.js";
import type { PollOption } from "../../contract/polls.js";
import {
  type Choice,
  COPIED_POLL_COLUMNS,
  pollValues,
  toBallots,
  toPollCopy,
  totalsOf,
} from "../../copies/vote-copies.js";
import { taken } from "../../copies/world-copies.js";
import type { Connection } from "../engine/connection.js";

/** The reads of all polls of a world. */
export function pollCopyReads(db: Connection) {
  const select = db.prepare<[string], PollRow>(
    `SELECT ${POLL_COLUMNS} FROM polls AS p WHERE p.world_id = ? ORDER BY p.number`,
  );
  const selectOptions = db.prepare<[string, number], PollOption>(
    `SELECT o.id, o.content, o.position AS "order" FROM poll_options AS o
     WHERE o.world_id = ? AND o.poll = ? ORDER BY ${BY_POSITION}`,
  );
  // A ballot that was withdrawn has no votes, so it is left out.
  const selectChoices = db.prepare<[string, number], Choice>(
    `SELECT b.number AS ballot, b.user_id AS user, o.id AS option
     FROM poll_ballots AS b JOIN poll_votes AS v ON v.world_id = b.world_id AND v.ballot = b.number
     JOIN poll_options AS o ON o.number = v.option
     WHERE b.world_id = ? AND b.poll = ? ORDER BY b.user_id IS NULL, b.number, ${BY_POSITION}`,
  );

  return {
    /** @param withVotes whether ballots are included. */
    exportPolls: (worldId: string, withVotes: boolean): PollCopy[] =>
      select
        .all(worldId)
        .map((row) =>
          toPollCopy(
            row,
            selectOptions.all(worldId, row.number),
            withVotes
              ? toBallots(selectChoices.iterate(worldId, row.number))
              : [],
          ),
        ),
  };
}

/** The writes of all polls of a world. */
export function pollCopyWrites(db: Connection) {
  const has = db.prepare<[string]>("SELECT 1 FROM polls WHERE id = ?");
  const hasOption = db.prepare<[string]>(
    "SELECT 1 FROM poll_options WHERE id = ?",
  );
  const add = db.prepare<unknown[]>(
    `INSERT INTO polls (world_id, ${COPIED_POLL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const addOption = db.prepare<unknown[]>(
    "INSERT INTO poll_options (world_id, id, poll, content, position, votes) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const addBallot = db.prepare<unknown[]>(
    "INSERT INTO poll_ballots (world_id, poll, user_id, changed) VALUES (?, ?, ?, ?)",
  );
  const addVote = db.prepare<unknown[]>(
    "INSERT INTO poll_votes (world_id, ballot, option) VALUES (?, ?, ?)",
  );

  function refuseTaken({ id, options }: PollCopy): void {
    if (has.get(id)) throw taken("polls", id);
    const option = options.find((one) => hasOption.get(one.id));
    if (option) throw taken("polls", option.id, "an option");
  }

  return {
    /**
     * Creates the polls of a world that has its rooms and users already.
     * @throws {StoreError} `taken` on `polls`, also if an option has the id of another.
     */
    importPolls: (worldId: string, polls: readonly PollCopy[]): void => {
      for (const poll of polls) {
        refuseTaken(poll);
        const { options, ballots = [] } = poll;
        const totals = totalsOf(poll);
        const added = add.run(worldId, ...pollValues(poll, totals));
        const numbers = new Map(
          options.map(({ id, content, order }) => [
            id,
            addOption.run(
              worldId,
              id,
              added.lastInsertRowid,
              content,
              order,
              totals.votes.get(id)!,
            ).lastInsertRowid,
          ]),
        );
        ballots.forEach(({ user = null, options }, i) => {
          const ballot = addBallot.run(
            worldId,
            added.lastInsertRowid,
            user,
            i + 1,
          );
          for (const id of options) {
            addVote.run(worldId, ballot.lastInsertRowid, numbers.get(id)!);
          }
        });
      }
    },
  };
}
