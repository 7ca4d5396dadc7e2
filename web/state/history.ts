import type { components } from "../../client/api.js";

// An event's history: the actions of people with rights.

export type Entry = components["schemas"]["AuditEntry"];

/** Actions that people often repeat, such as creating one link after another. */
const REPEATED = new Set([
  "token.created",
  "invite.created",
  "invitation.created",
  "mail.queued",
  "file.deleted",
]);

/** Maximum time between the actions of a single request, such as an import, in milliseconds. */
const AT_ONCE_MS = 2000;

/**
 * Whether an entry describes the same action as another: the same person repeated it, or applied it
 * to several records at once.
 */
function isAgain(entry: Entry, last: Entry): boolean {
  const [by, author] = [entry.by, last.by];
  const isSame =
    entry.type === last.type &&
    by?.kind === author?.kind &&
    by?.user_id === author?.user_id &&
    by?.token_id === author?.token_id;
  if (!isSame || REPEATED.has(entry.type)) return isSame;
  const isOneRequest = entry.request_id !== null && entry.request_id === last.request_id;
  return isOneRequest && Math.abs(Date.parse(entry.at) - Date.parse(last.at)) <= AT_ONCE_MS;
}

/** Merges consecutive entries that describe the same action. */
export function runsOf(entries: readonly Entry[]): [Entry, ...Entry[]][] {
  const runs: [Entry, ...Entry[]][] = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    if (run && isAgain(entry, run.at(-1)!)) run.push(entry);
    else runs.push([entry]);
  }
  return runs;
}
