import type { FastifyPluginAsync } from "fastify";
import { shownEntries, typesOf } from "../plugins/audit/entries.js";
import { AuditList, AuditQuery } from "../schemas/audit.js";
import { InvalidData } from "../schemas/validate.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";
import { pageLinks } from "./pages.js";

/** The audit of a world. */
const routes: FastifyPluginAsync<{ days: number }> = async (app, { days }) => {
  app.get("/api/v1/worlds/:world_id/audit/", {
    config: { requires: ["world.feed"] },
    ...(days === 0 ? emptyAudit : listAudit),
  });
};

/** An RFC 3339 time with an offset, or a date. */
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i;

/** @throws {InvalidData} */
function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  // In a query, a plus sign is a space.
  const time = Date.parse(
    TIME.test(text.replace(" ", "+")) ? text.replace(" ", "+") : "",
  );
  if (!Number.isNaN(time)) return time;
  throw new InvalidData({
    [name]: ["Must be a time like 2027-03-01T09:00:00Z."],
  });
}

const schema = {
  operationId: "listAudit",
  summary: "List what people with rights did",
  tags: ["worlds"],
  params: WorldParams,
  querystring: AuditQuery,
  response: { 200: ref(AuditList) },
};

/** With `AUDIT_DAYS=0`. */
const emptyAudit = endpoint(schema, async () => ({
  ...{ count: 0, next: null, previous: null, results: [] },
}));

const listAudit = endpoint(schema, async (request) => {
  const { store } = request.server;
  const { world_id } = request.params;
  const { page = 1, page_size: pageSize = 50, user, type } = request.query;
  const { count, entries } = await store.audit.list(world_id, {
    ...{ page, pageSize, user, types: typesOf(type) },
    after: timeOf("after", request.query.after),
    before: timeOf("before", request.query.before),
  });
  return {
    count,
    ...pageLinks(request, { page, pageSize, count }),
    results: await shownEntries(store, world_id, entries),
  };
});

export default routes;
