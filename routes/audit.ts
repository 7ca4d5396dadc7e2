import type { FastifyPluginAsync } from "fastify";
import { shownEntries, typesOf } from "../plugins/audit/entries.js";
import { AuditList, AuditQuery } from "../schemas/audit.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";
import { pageLinks } from "./pages.js";
import { timeIn } from "./results/times.js";

/** The audit of a world. */
const routes: FastifyPluginAsync<{ days: number }> = async (app, { days }) => {
  app.get("/api/v1/worlds/:world_id/audit/", {
    config: { requires: ["world.feed"] },
    ...(days === 0 ? emptyAudit : listAudit),
  });
};

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
    after: timeIn("after", request.query.after),
    before: timeIn("before", request.query.before),
  });
  return {
    count,
    ...pageLinks(request, { page, pageSize, count }),
    results: await shownEntries(store, world_id, entries),
  };
});

export default routes;
