import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { kinds } from "../../db/results/index.js";
import { pages, type Results, type Times } from "../../db/results/results.js";
import { resultsExported } from "../../db/rules/acts.js";
import { authorOf } from "../../plugins/auth/guard.js";
import { clientGone } from "../../plugins/http/connections.js";
import { forbidden } from "../../plugins/http/errors.js";
import { Turns } from "../../plugins/long-work/turns.js";
import { headerRefs } from "../../plugins/openapi/parts.js";
import { type Cell, csvRow } from "../../schemas/plain/csv.js";
import { isWithheld, LIVE, may, SEE } from "../../schemas/plain/permissions.js";
import {
  type ResultsFormat,
  type ResultsKind,
  ResultsParams,
  ResultsQuery,
} from "../../schemas/results/results.js";
import type { Room } from "../../schemas/rooms.js";
import { InvalidData } from "../../schemas/validate.js";
import { endpoint, timeIn } from "../endpoint.js";

/** How many characters are sent at once. */
const CHUNK_CHARACTERS = 16 * 1024;

/** How long records are made ready before others have their turn, in milliseconds. */
const SLICE_MS = 10;

/** The tables that are sent as they are read. A client that reads slowly keeps its place. */
const sent = new Turns("exports of this event", { atOnce: Infinity, ofWorld: 16, waiting: 0 });

const types: Record<ResultsFormat, string> = {
  json: "application/json; charset=utf-8",
  csv: "text/csv; charset=utf-8",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

/** What is left of an event. */
const routes: FastifyPluginAsync = async (app) => {
  app.get("/api/v1/worlds/:world_id/results/:kind/", {
    config: { requires: [...LIVE, "world.feed"], answers },
    ...getResults,
  });
};

const file = { schema: { type: "string", format: "binary" } };

/** Beside JSON. */
const answers = {
  200: {
    description: "The records.",
    headers: headerRefs("Cache-Control", "Content-Disposition"),
    content: {
      "application/json": { schema: { $ref: "#/components/schemas/ResultsList" } },
      "text/csv": file,
      [types.xlsx]: file,
    },
  },
};

const getResults = endpoint(
  {
    operationId: "getResults",
    summary: "Get what is left of an event",
    description:
      "People and attendance also ask for `user.list`. Rooms are left out whose chat (`chat.read`), questions (`question.moderate`) or polls (`poll.manage`) the caller may not see as a whole. JSON and CSV are sent as they are read. XLSX is at most 500,000 cells and 16 MiB of text.",
    tags: ["results"],
    params: ResultsParams,
    querystring: ResultsQuery,
  },
  async (request, reply) => {
    const { kind } = request.params;
    if (!Object.hasOwn(kinds, kind)) throw forbidden();
    return sendResults(request, reply, kind, request.query);
  },
);

/**
 * Sends the results that the caller of a request may see.
 * @param request of a caller with a world.
 */
export async function sendResults(
  request: FastifyRequest,
  reply: FastifyReply,
  kind: ResultsKind,
  query: ResultsQuery,
): Promise<FastifyReply> {
  const { room, format = "json" } = query;
  const world = request.world!.value.id;
  const found = kinds[kind] as unknown as Results<object>;
  const seen = await recordsFor(request, found, query);
  const records = (async function* () {
    if (!found.isAnonymous) {
      await request.server.store.audit.record(
        world,
        resultsExported(kind, format, room),
        authorOf(request),
      );
    }
    yield* inSlices(seen);
  })();
  reply.header("content-type", types[format]);
  reply.header("content-disposition", `attachment; filename="${world}-${kind}.${format}"`);
  if (format === "xlsx") {
    const { sheets } = request.server;
    const rows = cellsOf(found, records);
    const gone = clientGone(reply.raw);
    return reply.send(await sheets.make(world, found.columns, rows, gone));
  }
  return send(reply, world, format === "json" ? jsonOf(records) : csvOf(found, records));
}

/**
 * The records that a caller may see.
 * @throws {Refusal} 403 if they may see none of them.
 */
async function recordsFor(
  { server, caller, world: found, callerId }: FastifyRequest,
  { inWorld = [], inRooms, hasTimes = false, records }: Results<object>,
  { room: asked, ...rest }: ResultsQuery,
): Promise<AsyncIterable<object>> {
  const { store } = server;
  const times = timesOf(rest, hasTimes);
  const world = found!.value;
  const world_id = world.id;
  if (!may(caller, inWorld, { world })) throw forbidden();
  if (!inRooms) {
    if (asked !== undefined) {
      throw new InvalidData({ room: ["These results belong to no room."] });
    }
    return records(store, world_id, { id: "", name: "" });
  }
  const user = callerId === null ? undefined : await store.users.get(world_id, callerId);
  const state = user?.moderation_state ?? "";
  const keys = [...SEE, ...inRooms];
  if (keys.some((key) => isWithheld(state, key))) throw forbidden();
  const recordsOf = (room: Room) => {
    const readsChat =
      !isWithheld(state, "chat.read") && may(caller, ["chat.read"], { world, room });
    return records(store, world_id, room, { ...times, readsChat });
  };
  if (asked !== undefined) {
    const room = await store.rooms.get(world_id, asked);
    if (!room || !may(caller, keys, { world, room: room.value })) {
      throw forbidden();
    }
    return recordsOf(room.value);
  }
  return (async function* () {
    const rooms = pages(async (page) =>
      (await store.rooms.all(world_id, page)).map(({ value }) => value),
    );
    for await (const room of rooms) {
      if (may(caller, keys, { world, room })) yield* recordsOf(room);
    }
  })();
}

/** @throws {InvalidData} */
function timesOf({ after, every }: ResultsQuery, hasTimes: boolean): Times {
  if (!hasTimes && (after ?? every) !== undefined) {
    const field = after === undefined ? "every" : "after";
    throw new InvalidData({ [field]: ["Only activity is kept by time."] });
  }
  return { after: timeIn("after", after), every };
}

/** Lets others have their turn between slices of records. */
async function* inSlices<T>(records: AsyncIterable<T>): AsyncGenerator<T> {
  let began = performance.now();
  for await (const record of records) {
    yield record;
    if (performance.now() - began < SLICE_MS) continue;
    await setImmediate();
    began = performance.now();
  }
}

/** Sends texts as fast as they are read. An error of the first one is the answer. */
function send(
  reply: FastifyReply,
  world: string,
  texts: AsyncGenerator<string>,
): Promise<FastifyReply> {
  return new Promise((resolve, reject) => {
    const work = async () => {
      const chunks = inChunks(texts);
      const first = await chunks.next();
      const all = async function* () {
        if (!first.done) yield first.value;
        yield* chunks;
      };
      const stream = Readable.from(all(), { objectMode: false });
      const closed = new Promise((close) => stream.once("close", close));
      resolve(reply.send(stream));
      await closed;
    };
    sent.run(world, clientGone(reply.raw), work).catch(reject);
  });
}

/** Joins short texts. */
async function* inChunks(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = "";
  for await (const text of texts) {
    chunk += text;
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") yield chunk;
}

async function* jsonOf(records: AsyncIterable<object>): AsyncGenerator<string> {
  let before = '{"results":[';
  for await (const record of records) {
    yield before + JSON.stringify(record);
    before = ",";
  }
  yield before === "," ? "]}" : `${before}]}`;
}

async function* csvOf(
  found: Results<object>,
  records: AsyncIterable<object>,
): AsyncGenerator<string> {
  yield csvRow(found.columns);
  for await (const row of cellsOf(found, records)) yield csvRow(row);
}

/** The rows of records in a table. */
async function* cellsOf(
  { columns, rowsOf }: Results<object>,
  records: AsyncIterable<object>,
): AsyncGenerator<Cell[]> {
  for await (const record of records) {
    for (const row of rowsOf(record)) {
      yield columns.map((column) => row[column] ?? null);
    }
  }
}

export default routes;
