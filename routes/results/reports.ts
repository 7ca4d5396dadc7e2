import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import { resultOf } from "../../db/results/index.js";
import { closedTo, speakersAtDoor } from "../../db/rules/doors.js";
import { unsealReport } from "../../plugins/auth/sealed.js";
import { forbidden } from "../../plugins/http/errors.js";
import { headerRefs } from "../../plugins/openapi/parts.js";
import { isWithheld, may } from "../../schemas/plain/permissions.js";
import { ReportParams } from "../../schemas/results/results.js";
import { endpoint } from "../endpoint.js";
import { sendResults } from "./results.js";

/** Serves the report URLs that `world.report.status` returns. */
const routes: FastifyPluginAsync = async (app) => {
  app.get("/api/v1/worlds/:world_id/reports/:report/", {
    config: { requires: reader, answers },
    ...getReport,
  });
};

const file = { schema: { type: "string", format: "binary" } };
const answers = {
  403: { $ref: "#/components/responses/Forbidden" },
  200: {
    description: "The table.",
    headers: headerRefs("Cache-Control", "Content-Disposition"),
    content: {
      "text/csv": file,
      "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": file,
    },
  },
};

/**
 * Admits the bearer of a report URL, with the current rights of the person who requested the
 * report.
 * @throws {Refusal} 403, whatever the reason.
 */
async function reader(request: FastifyRequest): Promise<void> {
  const { world_id, report } = request.params as {
    world_id: string;
    report: string;
  };
  const { worlds, users } = request.server.store;
  const world = await worlds.get(world_id);
  const found = world && unsealReport(world.value, report);
  const user = found && (await users.get(world_id, found.user));
  if (!user || user.deleted) throw forbidden();
  // Keep only the token's traits that the user still has.
  const traits = found.traits.filter((trait) => user.traits.includes(trait));
  const caller = { traits: new Set(traits) };
  const keys = ["world.view", "world.feed"] as const;
  const isGone = keys.some((key) => isWithheld(user.moderation_state, key));
  if (isGone || !may(caller, keys, { world: world.value })) throw forbidden();
  const now = Date.now();
  const speakers = await speakersAtDoor(request.server.store.program, world.value, now);
  const entrant = { ...caller, isInvited: user.token_id !== null, user: user.id };
  if (closedTo(world.value, entrant, speakers, now)) throw forbidden();
  request.caller = caller;
  request.callerId = user.id;
  request.world = world;
}

const getReport = endpoint(
  {
    operationId: "getReport",
    summary: "Get a report",
    description:
      "The URL from `world.report.status` is self-contained. It is valid for an hour, but no longer than the token of the person who requested it, and only while this person keeps the right.",
    tags: ["results"],
    params: ReportParams,
  },
  async (request, reply) => {
    const { report } = request.params;
    const found = unsealReport(request.world!.value, report);
    // The report may have expired since the check above.
    if (!found) throw forbidden();
    const { name, format, room } = found;
    reply.headers({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
    return sendResults(request, reply, resultOf(name), { format, room });
  },
);

export default routes;
