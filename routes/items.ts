import type { FastifyPluginAsync } from "fastify";
import { PollList, QuestionList } from "../schemas/items.js";
import { countsIn, summaryIn } from "../schemas/plain/polls.js";
import { LIVE, SEE } from "../schemas/plain/permissions.js";
import { RoomParams } from "../schemas/rooms.js";
import { PageQuery, ref } from "../schemas/values.js";
import { endpoint, perform } from "./endpoint.js";
import { type ListOrder, pageOf } from "./pages.js";

const ROOM = "/api/v1/worlds/:world_id/rooms/:room_id/";

/** A room's questions and polls, through the commands `question.list` and `poll.list`. */
const routes: FastifyPluginAsync = async (app) => {
  app.get(`${ROOM}questions/`, {
    config: { requires: [...LIVE, ...SEE, "question.read"] },
    ...listQuestions,
  });
  app.get(`${ROOM}polls/`, { config: { requires: [...LIVE, ...SEE, "poll.read"] }, ...listPolls });
};

const BY_AGE: ListOrder<{ readonly timestamp: string; readonly id: string }> = {
  name: "items",
  types: ["number", "string"],
  placeOf: ({ timestamp, id }) => [Date.parse(timestamp), id],
};

const listQuestions = endpoint(
  {
    operationId: "listQuestions",
    summary: "List the questions of a room, oldest first",
    description:
      "Callers with `question.moderate` receive all questions; others receive visible questions and their own.",
    tags: ["questions and polls"],
    params: RoomParams,
    querystring: PageQuery,
    response: { 200: ref(QuestionList) },
  },
  async (request, reply) => {
    const { room_id: room } = request.params;
    const all = await perform(request, "question.list", { room });
    const page = await pageOf(request, request.query, all, BY_AGE);
    return reply.sendJson(JSON.stringify(page));
  },
);

const listPolls = endpoint(
  {
    operationId: "listPolls",
    summary: "List the polls of a room, oldest first",
    description:
      "Callers with `poll.manage` receive all polls; others receive those that are open or closed.",
    tags: ["questions and polls"],
    params: RoomParams,
    querystring: PageQuery,
    response: { 200: ref(PollList) },
  },
  async (request, reply) => {
    const { room_id: room } = request.params;
    const polls = await perform(request, "poll.list", { room });
    // Over the websocket, `results` is an empty list for a poll without options, and a summary for
    // some kinds. Generators of typed clients fail on a field of several types.
    const all = polls.map(({ results, ...poll }) => {
      const summary = summaryIn(results);
      return {
        ...poll,
        ...(results && { results: countsIn(results) }),
        ...(summary && { summary }),
      };
    });
    const page = await pageOf(request, request.query, all, BY_AGE);
    return reply.sendJson(JSON.stringify(page));
  },
);

export default routes;
