import type { FastifyPluginAsync } from "fastify";
import { cursorRefusal, positionOf, readPage } from "../plugins/feed/page.js";
import { responseRef } from "../plugins/openapi/parts.js";
import { FeedPage, FeedQuery } from "../schemas/feed.js";
import { typeFilter } from "../schemas/plain/feed.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";

const STREAM = "text/event-stream";

/** A world's change feed. */
const routes: FastifyPluginAsync = async (app) => {
  app.get("/api/v1/worlds/:world_id/changes/", {
    config: {
      requires: ["world.feed"],
      answers: {
        200: {
          content: {
            [STREAM]: {
              schema: {
                type: "string",
                description:
                  "Events with a cursor as `id`, a type as `event`, and a FeedEntry as `data`.",
              },
            },
          },
        },
        410: responseRef("Expired"),
      },
    },
    ...listChanges,
  });
};

/** Whether a client prefers a stream to JSON: by quality, then by order (RFC 9110, section 12.5.1). */
function asksForStream(accept = ""): boolean {
  const types = accept.split(",").map((part) => {
    const [type = "", ...parameters] = part.toLowerCase().split(";");
    const q = parameters.flatMap((it) => /^ *q=(.*)$/.exec(it)?.[1] ?? []);
    return { type: type.trim(), quality: Number(q[0] ?? 1) };
  });
  const known = types.filter(
    ({ type, quality }) => quality > 0 && [STREAM, "application/json", "*/*"].includes(type),
  );
  const [first] = known.toSorted((a, b) => b.quality - a.quality);
  return first?.type === STREAM;
}

const listChanges = endpoint(
  {
    operationId: "listChanges",
    summary: "Read or follow the changes in a world",
    description:
      "With Accept: text/event-stream, the response is a stream of server-sent events, which Last-Event-ID resumes.",
    tags: ["worlds"],
    params: WorldParams,
    querystring: FeedQuery,
    response: { 200: ref(FeedPage) },
  },
  async (request, reply) => {
    const { store, feeds } = request.server;
    const { world_id: world } = request.params;
    const { after, types, limit = 100 } = request.query;
    const filter = typeFilter(types?.split(","));
    const isStream = asksForStream(request.headers.accept);
    const last = isStream ? request.headers["last-event-id"] : undefined;
    const [name, cursor] =
      last === undefined
        ? (["after", after] as const)
        : (["Last-Event-ID", `${last as string}`] as const);
    const position = await positionOf(store, world, cursor);
    if (typeof position === "string") throw cursorRefusal(position, name);
    if (isStream) {
      if (request.method === "HEAD")
        return reply
          .serializer(String)
          .type(STREAM)
          .send("" as never);
      await feeds.stream(request, reply, { world, cursor: position, filter });
      return reply;
    }
    if (cursor === undefined) {
      return reply.sendJson(pageOf([], position, false));
    }
    const page = await readPage(store, world, position, filter, limit);
    const entries = page.items.map(({ json }) => json);
    return reply.sendJson(pageOf(entries, page.cursor, page.more));
  },
);

const pageOf = (entries: readonly string[], cursor: number, more: boolean) =>
  `{"results":[${entries.join()}],"cursor":"${cursor}","more":${more}}`;

export default routes;
