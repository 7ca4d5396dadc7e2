import type { Connection } from "../engine/connection.js";
import type { OptionRow } from "../../rules/poll-rows.js";

/** The ballots of users, as writes change them. */
export function pollVotes(db: Connection) {
  const selectChosen = db
    .prepare<[string, string, number], number>(
      `SELECT poll_votes.option FROM poll_ballots CROSS JOIN poll_votes
         ON poll_votes.world_id = poll_ballots.world_id AND poll_votes.ballot = poll_ballots.number
       WHERE poll_ballots.world_id = ? AND poll_ballots.user_id = ? AND poll_ballots.poll = ?`,
    )
    .pluck();
  const nextChange = db
    .prepare<[number], number>(
      "UPDATE polls SET changed = changed + 1 WHERE number = ? RETURNING changed",
    )
    .pluck();
  const saveBallot = db
    .prepare<[string, number, string, number], number>(
      `INSERT INTO poll_ballots (world_id, poll, user_id, changed) VALUES (?, ?, ?, ?)
       ON CONFLICT (world_id, user_id, poll) DO UPDATE SET changed = excluded.changed
       RETURNING number`,
    )
    .pluck();
  const noteLoss = db.prepare<[number, string, number]>(
    `UPDATE poll_ballots SET changed = ?
     WHERE number IN (SELECT ballot FROM poll_votes WHERE world_id = ? AND option = ?)`,
  );
  const addVote = db.prepare<[string, number, number]>(
    "INSERT INTO poll_votes (world_id, ballot, option) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const removeVote = db.prepare<[string, number, number]>(
    "DELETE FROM poll_votes WHERE world_id = ? AND ballot = ? AND option = ?",
  );
  const count = db
    .prepare<[number, number], number>(
      "UPDATE poll_options SET votes = votes + ? WHERE number = ? RETURNING votes",
    )
    .pluck();

  return {
    /** The numbers of the options that a user has chosen. */
    of: (worldId: string, poll: number, user: string): ReadonlySet<number> =>
      new Set(selectChosen.all(worldId, user, poll)),

    /**
     * Replaces the ballot of a user.
     * @param all the options of the poll, in which this updates the votes.
     * @param before the user's present choice.
     * @param chosen some of them.
     * @returns whether that changed anything.
     */
    set(
      worldId: string,
      poll: number,
      user: string,
      all: readonly OptionRow[],
      before: ReadonlySet<number>,
      chosen: readonly OptionRow[],
    ): boolean {
      const changes = all.filter(
        (option) => before.has(option.number) !== chosen.includes(option),
      );
      if (changes.length === 0) return false;
      const ballot = saveBallot.get(
        worldId,
        poll,
        user,
        nextChange.get(poll)!,
      )!;
      for (const option of changes) {
        const adds = chosen.includes(option);
        const vote = (adds ? addVote : removeVote).run(
          worldId,
          ballot,
          option.number,
        );
        if (vote.changes === 0) continue;
        option.votes = count.get(adds ? 1 : -1, option.number)!;
      }
      return true;
    },

    /** Notes that options of a poll, which are deleted next, take their votes with them. */
    lose(worldId: string, poll: number, removed: readonly OptionRow[]): void {
      if (removed.every(({ votes }) => votes === 0)) return;
      const change = nextChange.get(poll)!;
      for (const { number } of removed) noteLoss.run(change, worldId, number);
    },
  };
}
