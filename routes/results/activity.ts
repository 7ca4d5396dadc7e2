import type { FastifyPluginAsync } from "fastify";
import type { Store } from "../../db/contract/store.js";
import { TABLE_OVERDUE_MS } from "../../db/erasure/erasure-job.js";
import { may, SEE } from "../../schemas/plain/permissions.js";
import { Activity } from "../../schemas/results/results.js";
import { ref } from "../../schemas/values.js";
import { WorldParams } from "../../schemas/worlds.js";
import { endpoint } from "../endpoint.js";

/** Time for which the check for an overdue erasure is cached, in milliseconds. */
const FRESH_MS = 60_000;

/** The current activity in a world. */
const routes: FastifyPluginAsync = async (app) => {
  app.get("/api/v1/worlds/:world_id/activity/", {
    config: { requires: ["world.update"] },
    ...getActivity,
  });
};

const getActivity = endpoint(
  {
    operationId: "getActivity",
    summary: "Get a world's current activity",
    description:
      "Current counts, and totals of all running processes since the first of them started. Cheap enough to poll every few seconds.",
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
    const overdue = await overdueErasure(store);
    return {
      connections,
      users,
      messages,
      slow_readers: slowReaders,
      rooms: seen.flat().sort((a, b) => b.viewers - a.viewers),
      since: new Date(since).toISOString(),
      ...(overdue !== undefined && { overdue_erasure: overdue }),
    };
  },
);

/** The last check, by store. A store's counts are too expensive to query every two seconds. */
const known = new WeakMap<Store, { at: number; overdue: Promise<string | undefined> }>();

/** Returns the time of a store's oldest overdue erasure, or undefined if no erasure is overdue. */
async function overdueErasure(store: Store): Promise<string | undefined> {
  let last = known.get(store);
  if (!last || performance.now() - last.at > FRESH_MS) {
    const overdue = store
      .counts()
      .then(({ erasureAge }) =>
        erasureAge * 1000 > TABLE_OVERDUE_MS
          ? new Date(Date.now() - erasureAge * 1000).toISOString()
          : undefined,
      );
    overdue.catch(() => known.delete(store));
    known.set(store, (last = { at: performance.now(), overdue }));
  }
  return last.overdue;
}

export default routes;
