import type { GivenEntry } from "../../log/draft.js";
import type { DomainLog, Sql } from "../domain.js";

interface Trace {
  readonly table: string;
  /** The SQL that removes the trace. `$1` is the world, and `$2` is the user's id. */
  readonly statement: string;
  /** Whether the rows contain more than ids. SQLite overwrites ids in place. */
  readonly isPersonal?: boolean;
}

/**
 * The data about an erased user, other than the user's own row and chat. Anything that other users
 * can see stays, without its author. The statements run before the names are erased from the user's
 * row.
 */
const USER_TRACES: readonly Trace[] = [
  // Two statements, because SQLite would read all blocks in the world for a single statement with
  // both columns.
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
  // The votes stay, because they still count.
  {
    table: "question_votes",
    statement: "UPDATE question_votes SET user_id = NULL WHERE world_id = $1 AND user_id = $2",
  },
  {
    table: "poll_answers",
    statement: `UPDATE poll_answers SET content = '' WHERE world_id = $1 AND folded = ''
      AND ballot IN (SELECT number FROM poll_ballots WHERE world_id = $1 AND user_id = $2)`,
    isPersonal: true,
  },
  {
    table: "poll_ballots",
    statement: "UPDATE poll_ballots SET user_id = NULL WHERE world_id = $1 AND user_id = $2",
  },
  // A speaker linked to the user stays; only the link is removed.
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
  // The network stays banned until the ban expires.
  {
    table: "network_bans",
    statement: "UPDATE network_bans SET user_id = NULL WHERE world_id = $1 AND user_id = $2",
  },
  {
    table: "attendance_visits",
    statement: "DELETE FROM attendance_visits WHERE world_id = $1 AND user_id = $2",
  },
  // The devices stay recorded until the engine reports that they have left.
  {
    table: "call_people",
    statement: `UPDATE call_people SET access = '{"traits":[]}'
      WHERE world_id = $1 AND user_id = $2`,
    isPersonal: true,
  },
  {
    table: "call_stage",
    statement: "DELETE FROM call_stage WHERE world_id = $1 AND user_id = $2",
  },
  {
    table: "call_hands",
    statement: "DELETE FROM call_hands WHERE world_id = $1 AND user_id = $2",
  },
  {
    table: "program_links",
    statement: "DELETE FROM program_links WHERE world_id = $1 AND user_id = $2",
  },
  // The stars stay, because they still count.
  {
    table: "session_ratings",
    statement: `UPDATE session_ratings SET user_id = NULL, content = ''
      WHERE world_id = $1 AND user_id = $2`,
    isPersonal: true,
  },
  {
    table: "chat_paces",
    statement: "DELETE FROM chat_paces WHERE world_id = $1 AND user_id = $2",
  },
  // The reports still count, without names and texts.
  {
    table: "reports",
    statement: `UPDATE reports SET user_id = NULL, content = '{"type":"deleted"}'
      WHERE world_id = $1 AND user_id = $2`,
    isPersonal: true,
  },
  {
    table: "reports",
    statement: "UPDATE reports SET resolved_by = NULL WHERE world_id = $1 AND resolved_by = $2",
  },
  {
    table: "report_reasons",
    statement: `UPDATE report_reasons SET user_id = NULL, content = ''
      WHERE world_id = $1 AND user_id = $2`,
    isPersonal: true,
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
  {
    table: "passkeys",
    statement: "DELETE FROM passkeys WHERE world_id = $1 AND user_id = $2",
    isPersonal: true,
  },
  // The user's row still contains the user's names at this point. Without the invitation, the
  // person's links end.
  {
    table: "mails",
    statement: `DELETE FROM mails WHERE world_id = $1 AND invitation_id IN (SELECT id FROM invitations
      WHERE world_id = $1 AND uid = (SELECT token_id FROM users WHERE world_id = $1 AND id = $2))`,
    isPersonal: true,
  },
  {
    table: "invitations",
    statement: `DELETE FROM invitations WHERE world_id = $1
      AND uid = (SELECT token_id FROM users WHERE world_id = $1 AND id = $2)`,
    isPersonal: true,
  },
  {
    table: "api_callers",
    statement: `DELETE FROM api_callers WHERE world_id = $1
      AND token_id = (SELECT token_id FROM users WHERE world_id = $1 AND id = $2)`,
    isPersonal: true,
  },
];

const SPEAKERS = "SELECT id FROM program_speakers WHERE world_id = $1 AND user_id = $2 ORDER BY id";

const STAGES =
  "SELECT room_id FROM call_stage WHERE world_id = $1 AND user_id = $2 ORDER BY room_id";

const HANDS =
  "SELECT room_id FROM call_hands WHERE world_id = $1 AND user_id = $2 ORDER BY room_id";

const INVITATIONS = `SELECT id FROM invitations WHERE world_id = $1
  AND uid = (SELECT token_id FROM users WHERE world_id = $1 AND id = $2)`;

/**
 * Removes a user's traces, except the user's own row and chat.
 * @returns the log entries for linked speakers, invitations to the stage, raised hands, and the user's invitation.
 */
export async function removeTraces(
  sql: Sql,
  log: Pick<DomainLog, "erased">,
  world: string,
  user: string,
): Promise<GivenEntry[]> {
  const speakers = await sql.column<string>(SPEAKERS, [world, user]);
  const stages = await sql.column<string>(STAGES, [world, user]);
  const hands = await sql.column<string>(HANDS, [world, user]);
  const invitations = await sql.column<string>(INVITATIONS, [world, user]);
  for (const { table, statement, isPersonal = sql.engine === "postgres" } of USER_TRACES) {
    const count = await sql.run(statement, [world, user]);
    if (count > 0 && isPersonal) log.erased(table);
  }
  return [
    ...speakers.map((speaker) => ({
      type: "speaker.updated" as const,
      speaker,
      fields: ["user_id"],
    })),
    ...stages.map((room) => ({ type: "call.staged" as const, room, user, on: false })),
    ...hands.map((room) => ({ type: "hand.lowered" as const, room, user })),
    ...invitations.map((invitation) => ({ type: "invitation.deleted" as const, invitation })),
  ];
}
