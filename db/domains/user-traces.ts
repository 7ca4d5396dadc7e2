import type { Given } from "../log/draft.js";
import type { DomainLog, Sql } from "./domain.js";

interface Trace {
  readonly table: string;
  /** Removes it: `$1` is the world, and `$2` the id of the user. */
  readonly statement: string;
  /** Whether the rows hold more than ids. Ids alone are overwritten in their places by SQLite. */
  readonly isPersonal?: boolean;
}

/**
 * What each erased user leaves, beside their own row and chat. What others see stays, without its author.
 * The statements run before the row of the user loses its name.
 */
const USER_TRACES: readonly Trace[] = [
  // Two statements: for both columns in one, SQLite would read all blocks of the world.
  {
    table: "blocks",
    statement: "DELETE FROM blocks WHERE world_id = $1 AND user_id = $2",
    isPersonal: true,
  },
  {
    table: "blocks",
    statement: "DELETE FROM blocks WHERE world_id = $1 AND blocked_id = $2",
    isPersonal: true,
  },
  {
    table: "files",
    statement: "UPDATE files SET user_id = NULL WHERE world_id = $1 AND user_id = $2",
  },
  {
    table: "questions",
    statement: "UPDATE questions SET sender = NULL WHERE world_id = $1 AND sender = $2",
  },
  {
    table: "questions",
    statement: "UPDATE questions SET moderator = NULL WHERE world_id = $1 AND moderator = $2",
  },
  // Votes still count.
  {
    table: "question_votes",
    statement: "UPDATE question_votes SET user_id = NULL WHERE world_id = $1 AND user_id = $2",
  },
  {
    table: "poll_ballots",
    statement: "UPDATE poll_ballots SET user_id = NULL WHERE world_id = $1 AND user_id = $2",
  },
  // The speaker who was this user stays, without the user.
  {
    table: "programs",
    statement: `UPDATE programs SET stamp = stamp || '+' WHERE world_id = $1 AND EXISTS
      (SELECT 1 FROM program_speakers WHERE world_id = $1 AND user_id = $2)`,
  },
  {
    table: "program_places",
    statement: `UPDATE program_places SET changed = changed || '+',
        shown = CASE WHEN shown = '' THEN '' ELSE shown || '+' END
      WHERE world_id = $1 AND EXISTS
        (SELECT 1 FROM program_speakers WHERE world_id = $1 AND user_id = $2)`,
  },
  {
    table: "program_speakers",
    statement: `UPDATE program_speakers SET user_id = NULL, revision = revision + 1
      WHERE world_id = $1 AND user_id = $2`,
  },
  {
    table: "attendance_visits",
    statement: "DELETE FROM attendance_visits WHERE world_id = $1 AND user_id = $2",
  },
  {
    table: "program_links",
    statement: "DELETE FROM program_links WHERE world_id = $1 AND user_id = $2",
  },
  {
    table: "program_favorites",
    statement: "DELETE FROM program_favorites WHERE world_id = $1 AND user_id = $2",
  },
  {
    table: "push_subscriptions",
    statement: "DELETE FROM push_subscriptions WHERE world_id = $1 AND user_id = $2",
    isPersonal: true,
  },
  // The row of the user still has the name.
  {
    table: "api_callers",
    statement: `DELETE FROM api_callers WHERE world_id = $1
      AND token_id = (SELECT token_id FROM users WHERE world_id = $1 AND id = $2)`,
    isPersonal: true,
  },
];

const SPEAKERS = "SELECT id FROM program_speakers WHERE world_id = $1 AND user_id = $2 ORDER BY id";

/**
 * Removes what a user leaves, except their own row and chat.
 * @returns the entries of the speakers who were this user.
 */
export async function removeTraces(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  user: string,
): Promise<Given[]> {
  const speakers = await sql.column<string>(SPEAKERS, [world, user]);
  for (const { table, statement, isPersonal = sql.engine === "postgres" } of USER_TRACES) {
    const count = await sql.run(statement, [world, user]);
    if (count > 0 && isPersonal) log.erased(table);
  }
  return speakers.map((speaker) => ({ type: "speaker.updated", speaker, fields: ["user_id"] }));
}
