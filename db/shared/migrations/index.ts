import attendance from "./attendance.js";
import invites from "./invites.js";
import program from "./program.js";
import programLinks from "./program-links.js";
import pruned from "./pruned.js";
import push from "./push.js";
import webhooksAndAudit from "./webhooks-and-audit.js";

/** The migrations of both engines, which follow those of each alone, in order: see `dialects.ts`. */
export const shared: readonly string[] = [
  pruned,
  program,
  programLinks,
  webhooksAndAudit,
  attendance,
  invites,
  push,
];
