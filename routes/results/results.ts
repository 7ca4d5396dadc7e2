import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import { kinds } from "../../db/results/index.js";
import { readableTable } from "../../db/results/readable.js";
import { pages, type Results, type Times } from "../../db/results/results.js";
import { resultsExported } from "../../db/rules/acts.js";
import { authorOf } from "../../plugins/auth/guard.js";
import { clientGone } from "../../plugins/http/connections.js";
import { forbidden } from "../../plugins/http/errors.js";
import { WorkQueue } from "../../plugins/long-work/turns.js";
import { headerRefs } from "../../plugins/openapi/parts.js";
import { type Cell, csvRow } from "../../schemas/plain/sheets/csv.js";
import { isWithheld, LIVE, may, SEE } from "../../schemas/plain/permissions.js";
import {
  type ResultsFormat,
  type ResultsKind,
  ResultsParams,
  ResultsQuery,
} from "../../schemas/results/results.js";
import { isTimezone } from "../../schemas/plain/times.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import { InvalidData } from "../../schemas/validate.js";
import { endpoint, timeIn } from "../endpoint.js";

/** Minimum size of a chunk before it is sent, in characters. */
const CHUNK_CHARACTERS = 16 * 1024;

/** Time slice for preparing records before yielding to other work, in milliseconds. */
const SLICE_MS = 10;

/** Tables that are streamed as they are read. A slow client keeps its turn until the stream ends. */
const sent = new WorkQueue("exports of this event", { atOnce: Infinity, ofWorld: 16, waiting: 0 });

const types: Record<ResultsFormat, string> = {
  json: "application/json; charset=utf-8",
  csv: "text/csv; charset=utf-8",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

/** An event's results. */
const routes: FastifyPluginAsync = async (app) => {
  app.get("/api/v1/worlds/:world_id/results/:kind/", {
    config: { requires: [...LIVE, "world.feed"], answers },
    ...getResults,
  });
};

const file = { schema: { type: "string", format: "binary" } };

/** The response in each format. */
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
    summary: "Get the results of an event",
    description:
      "People and attendance also require `user.list`. Omits rooms whose chat (`chat.read`), questions (`question.moderate`) or polls (`poll.manage`) the caller may not see completely. JSON and CSV are streamed. XLSX is limited to 500,000 cells and 16 MiB of text.",
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
 * Sends the results that a request's caller may see.
 * @param request a request with a caller and a world.
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
  const isReadable = query.columns === "readable" && format !== "json";
  reply.header("content-disposition", `attachment; filename="${world}-${kind}.${format}"`);
  if (isReadable) return sendReadable(request, reply, kind, { ...query, format }, records);
  if (format === "xlsx") {
    const { sheets } = request.server;
    const rows = cellsOf(found, records);
    const gone = clientGone(reply.raw);
    const sheetAt = found.sheetBy === undefined ? undefined : found.columns.indexOf(found.sheetBy);
    return reply.send(await sheets.make(world, found.columns, rows, gone, { sheetAt }));
  }
  return sendText(reply, world, format === "json" ? jsonOf(records) : csvOf(found, records));
}

/** Sends results as a table for people. */
async function sendReadable(
  request: FastifyRequest,
  reply: FastifyReply,
  kind: ResultsKind,
  { format, locale = "en" }: ResultsQuery,
  records: AsyncIterable<object>,
): Promise<FastifyReply> {
  const { store, sheets } = request.server;
  const world = request.world!.value;
  const zone = zoneOf(world.config);
  const found = kinds[kind] as unknown as Results<object>;
  const table = readableTable(store, world, kind, found, records, { locale, zone });
  const titles = table.columns.map(({ title }) => title);
  if (format === "xlsx") {
    const gone = clientGone(reply.raw);
    const { rows, sheetAt, ...look } = table;
    return reply.send(await sheets.make(world.id, titles, rows, gone, { look, sheetAt }));
  }
  async function* texts() {
    // By the mark, Excel knows that it is UTF-8.
    yield `\uFEFF${csvRow(titles)}`;
    for await (const row of table.rows) {
      yield csvRow(
        row.map((cell, i) =>
          table.columns[i]!.isTime && typeof cell === "string"
            ? cell.replace("T", " ").slice(0, 16)
            : cell,
        ),
      );
    }
  }
  return sendText(reply, world.id, texts());
}

function zoneOf({ timezone }: World["config"]): string {
  return typeof timezone === "string" && isTimezone(timezone) ? timezone : "UTC";
}

/**
 * Returns the records that the caller may see.
 * @throws {Refusal} 403 if the caller may see no records.
 */
async function recordsFor(
  { server, caller, world: found, callerId }: FastifyRequest,
  { inWorld = [], inRooms, hasTimes = false, records }: Results<object>,
  { room: asked, after, every }: ResultsQuery,
): Promise<AsyncIterable<object>> {
  const { store } = server;
  const times = timesOf({ after, every }, hasTimes);
  const world = found!.value;
  const world_id = world.id;
  if (!may(caller, inWorld, { world })) throw forbidden();
  if (!inRooms) {
    if (asked !== undefined) {
      throw new InvalidData({ room: ["These results cannot be filtered by room."] });
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

/**
 * Parses the time parameters of a query.
 * @throws {InvalidData} if a time does not exist, or if these results have no times.
 */
function timesOf({ after, every }: ResultsQuery, hasTimes: boolean): Times {
  if (!hasTimes && (after ?? every) !== undefined) {
    const field = after === undefined ? "every" : "after";
    throw new InvalidData({ [field]: ["Only activity can be filtered by time."] });
  }
  return { after: timeIn("after", after), every };
}

/** Yields to the event loop between slices of records. */
async function* inSlices<T>(records: AsyncIterable<T>): AsyncGenerator<T> {
  let began = performance.now();
  for await (const record of records) {
    yield record;
    if (performance.now() - began < SLICE_MS) continue;
    await setImmediate();
    began = performance.now();
  }
}

/** Streams text as fast as the client reads it. If the first chunk fails, its error becomes the response. */
export function sendText(
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

/** Joins short strings into chunks. */
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

/** Yields the records' table rows. */
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
