import type { FastifyPluginAsync } from "fastify";
import { Activity } from "../../schemas/results/activity.js";
import { may, SEE } from "../../schemas/plain/permissions.js";
import { ref } from "../../schemas/values.js";
import { WorldParams } from "../../schemas/worlds.js";
import { endpoint } from "../endpoint.js";

/** The activity in a world. */
const routes: FastifyPluginAsync = async (app) => {
  app.get("/api/v1/worlds/:world_id/activity/", {
    config: { requires: ["world.update"] },
    ...getActivity,
  });
};

const getActivity = endpoint(
  {
    operationId: "getActivity",
    summary: "Get what goes on in a world",
    description:
      "Counts of the present, and totals since the server started. It is cheap to ask for every few seconds.",
    tags: ["worlds"],
    params: WorldParams,
    response: { 200: ref(Activity) },
  },
  async (request) => {
    const { live, store } = request.server;
    const { caller, world } = request;
    const { world_id } = request.params;
    await live.presence.visit(world_id);
    const { connections, users, rooms } = live.presence.in(world_id);
    const seen = await Promise.all(
      rooms.map(async (room) => {
        const found = await store.rooms.get(world_id, room.id);
        const place = found && { world: world!.value, room: found.value };
        return place && may(caller, SEE, place) ? [room] : [];
      }),
    );
    const { messages, slowReaders, since } = live.activity.of(world_id);
    return {
      connections,
      users,
      messages,
      slow_readers: slowReaders,
      rooms: seen.flat().sort((a, b) => b.viewers - a.viewers),
      since: new Date(since).toISOString(),
    };
  },
);

export default routes;
