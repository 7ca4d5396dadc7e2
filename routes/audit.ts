import type { FastifyPluginAsync } from "fastify";
import type { AuditEntry } from "../db/contract/audit-store.js";
import type { Store } from "../db/contract/store.js";
import { authorOf, namesOf } from "../plugins/feed/feed-items.js";
import { AuditList, AuditQuery } from "../schemas/audit.js";
import { FEED_TYPES, typeFilter } from "../schemas/plain/feed.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint, timeIn } from "./endpoint.js";
import { type ListOrder, readPage } from "./pages.js";

/** A world's audit entries. */
const routes: FastifyPluginAsync<{ days: number }> = async (app, { days }) => {
  app.get("/api/v1/worlds/:world_id/audit/", {
    config: { requires: ["world.feed"] },
    ...(days === 0 ? emptyAudit : listAudit),
  });
};

const schema = {
  operationId: "listAudit",
  summary: "List the actions of people with rights",
  description: "The audit: the actions of people with rights, including commands and API calls.",
  tags: ["worlds"],
  params: WorldParams,
  querystring: AuditQuery,
  response: { 200: ref(AuditList) },
};

/** The endpoint for `AUDIT_DAYS=0`, which always returns an empty list. */
const emptyAudit = endpoint(schema, async () => ({
  count: 0,
  next: null,
  previous: null,
  results: [],
}));

const BY_NUMBER: ListOrder<AuditEntry> = {
  name: "audit",
  types: ["number"],
  placeOf: ({ number }) => [number],
};

const listAudit = endpoint(schema, async (request) => {
  const { store } = request.server;
  const { world_id } = request.params;
  const { user, type } = request.query;
  const filter = {
    user,
    types: typesOf(type),
    after: timeIn("after", request.query.after),
    before: timeIn("before", request.query.before),
  };
  const { found, links } = await readPage(
    request,
    request.query,
    BY_NUMBER,
    async ({ page, pageSize, after: place }) => {
      const asked = { page, pageSize, place, ...filter };
      const { count, entries } = await store.audit.list(world_id, asked);
      return { count, items: entries };
    },
  );
  return {
    count: found.count,
    ...links,
    results: await shownEntries(store, world_id, found.items),
  };
});

export default routes;

/** Types of entries that occur in the audit, but not in the feed. */
const AUDIT_TYPES = [
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
  "mail.queued",
  "passkey.created",
  "passkey.deleted",
] as const;

/** Returns the types that a comma-separated list selects, as in the feed's `types`, or undefined for all types. */
export function typesOf(text: string | undefined): string[] | undefined {
  const filter = typeFilter(text?.split(","));
  if (filter.key === "*") return undefined;
  return [...FEED_TYPES, ...AUDIT_TYPES].filter((type) => filter.has(type));
}

/** Converts audit entries to the form that the API returns. */
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
