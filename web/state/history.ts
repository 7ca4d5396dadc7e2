import type { components } from "../../client/api.js";

// The history of an event: what people with rights did.

export type Entry = components["schemas"]["AuditEntry"];

/** Acts that people do many times in a row, such as one link after the other. */
const REPEATED = new Set([
  "token.created",
  "invite.created",
  "invitation.created",
  "mail.queued",
  "file.deleted",
]);

/** Acts of one request, such as an import, are done within this time, in milliseconds. */
const AT_ONCE_MS = 2000;

/** Returns whether an entry says the same as another: one person repeated it, or did it at once. */
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

/** Folds consecutive entries that say the same. */
export function runsOf(entries: readonly Entry[]): [Entry, ...Entry[]][] {
  const runs: [Entry, ...Entry[]][] = [];
  for (const entry of entries) {
    const run = runs.at(-1);
    if (run && isAgain(entry, run.at(-1)!)) run.push(entry);
    else runs.push([entry]);
  }
  return runs;
}
