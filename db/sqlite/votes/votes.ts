import {
  BY_POSITION,
  castIn,
  OPTION_COLUMNS,
  type OptionRow,
  POLL_COLUMNS,
  type PollRow,
} from "../../rules/poll-rows.js";
import { absent, denied } from "../../rules/preconditions.js";
import {
  QUESTION_COLUMNS,
  type QuestionRow,
  seesQuestion,
  toQuestion,
} from "../../rules/question-rows.js";
import { IS_KNOWN } from "../../rules/rows.js";
import type { EngineWrites } from "../../shared/domain.js";
import type { Connection } from "../engine/connection.js";

/** Checks the room and the user of an action in a room. */
function participantChecks(db: Connection) {
  const findRoom = db.prepare<[string, string]>(
    "SELECT 1 FROM rooms WHERE id = ? AND world_id = ?",
  );
  const stateOf = db
    .prepare<[string, string], string>(
      `SELECT moderation_state FROM users WHERE id = ? AND world_id = ? AND ${IS_KNOWN}`,
    )
    .pluck();

  /**
   * @returns the moderation state of the user.
   * @throws {StoreError} `absent` on `user`, also if the user is erased.
   */
  const expectUser = (worldId: string, user: string): string => {
    const state = stateOf.get(user, worldId);
    if (state === undefined) throw absent("user");
    return state;
  };

  return {
    expectUser,

    /** The error about an item that a room does not have, or about the room if the world does not have it. */
    missing: (worldId: string, room: string, item: "poll" | "question") =>
      absent(findRoom.get(room, worldId) ? item : "room"),

    /** @throws {StoreError} `absent` as {@link expectUser}, or `denied` if the user is banned or silenced. */
    expectActive: (worldId: string, user: string): void => {
      if (expectUser(worldId, user) !== "") {
        throw denied("The user is banned or silenced.");
      }
    },
  };
}

/** The votes of users, as writes change them. */
export function voteWrites(
  db: Connection,
): Pick<EngineWrites, "castBallot" | "countVote"> {
  const { missing, expectActive } = participantChecks(db);
  const selectPoll = db.prepare<[string, string, string], PollRow>(
    `SELECT ${POLL_COLUMNS} FROM polls AS p WHERE p.id = ? AND p.world_id = ? AND p.room_id = ?`,
  );
  const selectOptions = db.prepare<[string, number], OptionRow>(
    `SELECT ${OPTION_COLUMNS} FROM poll_options AS o
     WHERE o.world_id = ? AND o.poll = ? ORDER BY ${BY_POSITION}`,
  );
  const selectChosen = db
    .prepare<[string, string, number], number>(
      `SELECT v.option FROM poll_ballots AS b CROSS JOIN poll_votes AS v
         ON v.world_id = b.world_id AND v.ballot = b.number
       WHERE b.world_id = ? AND b.user_id = ? AND b.poll = ?`,
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
  const choose = db.prepare<[string, number, number]>(
    "INSERT INTO poll_votes (world_id, ballot, option) VALUES (?, ?, ?)",
  );
  const reject = db.prepare<[string, number, number]>(
    "DELETE FROM poll_votes WHERE world_id = ? AND ballot = ? AND option = ?",
  );
  const countOption = db.prepare<[number, number]>(
    "UPDATE poll_options SET votes = votes + ? WHERE number = ?",
  );
  const selectQuestion = db.prepare<[string, string, string], QuestionRow>(
    `SELECT ${QUESTION_COLUMNS} FROM questions AS q
     WHERE q.id = ? AND q.world_id = ? AND q.room_id = ?`,
  );
  const addVote = db.prepare<[string, number, string]>(
    `INSERT INTO question_votes (world_id, question, user_id) VALUES (?, ?, ?)
     ON CONFLICT (world_id, user_id, question) DO NOTHING`,
  );
  const removeVote = db.prepare<[string, number, string]>(
    "DELETE FROM question_votes WHERE world_id = ? AND question = ? AND user_id = ?",
  );
  const countQuestion = db
    .prepare<[number, number], number>(
      "UPDATE questions SET score = score + ? WHERE number = ? RETURNING score",
    )
    .pluck();

  return {
    async castBallot(world, room, id, user, named) {
      const row = selectPoll.get(id, world, room);
      if (!row) throw missing(world, room, "poll");
      expectActive(world, user);
      const { number } = row;
      const options = selectOptions.all(world, number);
      const chosen = new Set(selectChosen.all(world, user, number));
      const { added, removed, answer } = castIn(row, options, named, chosen);
      if (added.length + removed.length === 0) return answer;
      const change = nextChange.get(number)!;
      const ballot = saveBallot.get(world, number, user, change)!;
      for (const option of added) {
        choose.run(world, ballot, option);
        countOption.run(1, option);
      }
      for (const option of removed) {
        reject.run(world, ballot, option);
        countOption.run(-1, option);
      }
      return answer;
    },

    async countVote(world, room, id, user, vote, all) {
      const row = selectQuestion.get(id, world, room);
      if (!row) throw missing(world, room, "question");
      expectActive(world, user);
      if (!seesQuestion(row, user, all)) throw absent("question");
      const { changes } = (vote ? addVote : removeVote).run(
        world,
        row.number,
        user,
      );
      if (changes > 0)
        row.score = countQuestion.get(vote ? 1 : -1, row.number)!;
      return toQuestion(row);
    },
  };
}
