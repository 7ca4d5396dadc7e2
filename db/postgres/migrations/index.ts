import attendance from "../../shared/migrations/attendance.js";
import program from "../../shared/migrations/program.js";
import programLinks from "../../shared/migrations/program-links.js";
import type { Migration } from "./migration.js";
import everything from "./0001-everything.js";
import erasedEdits from "./0002-erased-edits.js";
import foldedFields from "./0003-folded-fields.js";
import log from "./0004-log.js";
import { forPostgres } from "../../shared/migrations/dialects.js";
import invites from "../../shared/migrations/invites.js";
import push from "../../shared/migrations/push.js";
import pruned from "../../shared/migrations/pruned.js";
import webhooksAndAudit from "../../shared/migrations/webhooks-and-audit.js";

/** All migrations, in order. The nth upgrades the database from version n - 1 to version n. */
export const migrations: readonly Migration[] = [
  { tables: everything },
  { tables: erasedEdits },
  foldedFields,
  log,
  { tables: forPostgres(pruned) },
  { tables: forPostgres(program) },
  { tables: forPostgres(programLinks) },
  { tables: forPostgres(webhooksAndAudit) },
  { tables: forPostgres(attendance) },
  { tables: forPostgres(invites) },
  { tables: forPostgres(push) },
];
