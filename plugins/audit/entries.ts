import type { AuditEntry } from "../../db/contract/audit-store.js";
import type { Store } from "../../db/contract/store.js";
import { FEED_TYPES, typeFilter } from "../../schemas/plain/feed.js";
import { authorOf, namesOf } from "../feed/items.js";

/** The types of the audit that the feed does not have. */
export const AUDIT_TYPES = [
  "webhook.created",
  "webhook.updated",
  "webhook.deleted",
  "token.created",
  "results.exported",
  "world.exported",
  "user.admin_updated",
  "invite.created",
  "invite.ended",
  "kiosk.created",
] as const;

/** The types that a list of names selects, as in `types` of the feed; undefined for all. */
export function typesOf(text: string | undefined): string[] | undefined {
  const filter = typeFilter(text?.split(","));
  if (filter.key === "*") return undefined;
  return [...FEED_TYPES, ...AUDIT_TYPES].filter((type) => filter.has(type));
}

/** Entries of the audit as programs get them. */
export async function shownEntries(store: Store, world: string, entries: readonly AuditEntry[]) {
  const names = await namesOf(
    store,
    world,
    entries.map(({ by }) => by),
  );
  return entries.map(({ number, at, by, ...rest }) => ({
    id: number,
    at: new Date(at).toISOString(),
    by: authorOf(by, names),
    ...rest,
  }));
}
