import type { Connection } from "../engine/connection.js";
import type { Rules } from "../../rules/contradictions.js";
import { findContradictions } from "./rules.js";

/** Rows that name a user of another world than their question or poll. */
const strangers = (rows: string): string =>
  `SELECT t.id, count(*) AS count FROM ${rows}
   JOIN users ON users.id = t.user_id JOIN rooms ON rooms.id = t.room_id
   WHERE users.world_id != rooms.world_id GROUP BY t.id ORDER BY t.id`;

const RULES: Rules = {
  questionsOfStrangers:
    strangers(`(SELECT id, room_id, sender AS user_id FROM questions
      UNION ALL SELECT id, room_id, moderator FROM questions) AS t`),
  votesOfStrangers:
    strangers(`(SELECT q.id, q.room_id, v.user_id FROM question_votes AS v
      JOIN questions AS q ON q.number = v.question) AS t`),
  ballotsOfStrangers:
    strangers(`(SELECT p.id, p.room_id, b.user_id FROM poll_ballots AS b
      JOIN polls AS p ON p.number = b.poll) AS t`),
  scoreMiscounted: `SELECT id, score AS count, counted FROM (SELECT id, score,
       (SELECT count(*) FROM question_votes WHERE question = questions.number) AS counted
       FROM questions) WHERE score != counted ORDER BY id`,
  optionMiscounted: `SELECT id, votes AS count, counted FROM (SELECT id, votes,
       (SELECT count(*) FROM poll_votes WHERE option = poll_options.number) AS counted
       FROM poll_options) WHERE votes != counted ORDER BY id`,
  votesElsewhere: `SELECT p.id, count(*) AS count FROM poll_votes AS v
     JOIN poll_ballots AS b ON b.number = v.ballot JOIN polls AS p ON p.number = b.poll
     JOIN poll_options AS o ON o.number = v.option
     WHERE o.poll != b.poll GROUP BY p.id ORDER BY p.id`,
  ballotsTooNew: `SELECT p.id, count(*) AS count FROM polls AS p
     JOIN poll_ballots AS b ON b.poll = p.number
     WHERE b.changed > p.changed GROUP BY p.id ORDER BY p.id`,
  // The ids may name options that were deleted since.
  resultsUnreadable: `SELECT id, 1 AS count FROM (SELECT id, results,
       CASE WHEN json_valid(results) THEN results ELSE 'null' END AS parsed
       FROM polls WHERE results IS NOT NULL)
     WHERE json_type(parsed) != 'object' OR EXISTS
       (SELECT 1 FROM json_each(parsed) WHERE type != 'integer' OR value < 0) ORDER BY id`,
};

/** Contradictions in questions, polls and their votes. */
export const voteContradictions = (db: Connection): string[] =>
  findContradictions(db, RULES);
