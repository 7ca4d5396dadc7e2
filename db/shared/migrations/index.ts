import auditInLog, { auditColumns } from "./audit-in-log.js";
import attendance from "./attendance.js";
import invites from "./invites.js";
import namedQuestions from "./named-questions.js";
import program from "./program.js";
import programLinks from "./program-links.js";
import pruned from "./pruned.js";
import push from "./push.js";
import rowChanges from "./row-changes.js";
import userCreation from "./user-creation.js";
import webhooksAndAudit from "./webhooks-and-audit.js";
import type { SharedMigration } from "./dialects.js";

/**
 * The migrations of both engines, in order, after the first ones of each. A new migration goes to
 * the end of this list, also if it is for one engine (`{ sqlite: … }`): the version of a database
 * is a position in the whole list of its engine, so nothing may be put before these.
 */
export const shared: readonly SharedMigration[] = [
  pruned,
  program,
  programLinks,
  webhooksAndAudit,
  attendance,
  invites,
  push,
  namedQuestions,
  ...auditColumns,
  auditInLog,
  ...rowChanges,
  userCreation,
];
