import { Readable } from "node:stream";
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from "fastify";
import pLimit from "p-limit";
import { kinds, type ResultsKind } from "../../db/results/index.js";
import { pages } from "../../db/results/lists.js";
import type { Results, Times } from "../../db/results/results.js";
import { resultsExported } from "../../db/rules/acts.js";
import { authorOf } from "../../plugins/auth/author.js";
import { headerRefs } from "../../plugins/openapi/parts.js";
import { forbidden } from "../../plugins/http/errors.js";
import { type Cell, csvRow } from "../../schemas/plain/csv.js";
import { isWithheld, LIVE, may, SEE } from "../../schemas/plain/permissions.js";
import {
  ResultsParams,
  ResultsQuery,
  type ResultsFormat,
} from "../../schemas/results/results.js";
import type { Room } from "../../schemas/rooms.js";
import { InvalidData } from "../../schemas/validate.js";
import { endpoint } from "../endpoint.js";
import { timeIn } from "./times.js";

/** How many characters are sent at once. */
const CHUNK = 16 * 1024;

/** How large a table may be whose file is made in memory: in cells, and in characters. */
const MAX_CELLS = 500_000;
const MAX_TEXT = 16 * 1024 * 1024;

/** The longest text that a cell of XLSX may have. */
const MAX_CELL = 32_767;

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
      "application/json": {
        schema: { $ref: "#/components/schemas/ResultsList" },
      },
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
    return sendResults(request, reply, kind as ResultsKind, request.query);
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
  const records = await recordsFor(request, found, query);
  if (!found.isAnonymous) {
    await request.server.store.audit.record(
      world,
      resultsExported(kind, format, room),
      authorOf(request),
    );
  }
  reply.header("content-type", types[format]);
  reply.header(
    "content-disposition",
    `attachment; filename="${world}-${kind}.${format}"`,
  );
  switch (format) {
    case "json":
      return send(reply, jsonOf(records));
    case "csv":
      return send(reply, csvOf(found, records));
    case "xlsx":
      return reply.send(await xlsxOf(found, records));
  }
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
  const user =
    callerId === null ? undefined : await store.users.get(world_id, callerId);
  const state = user?.moderation_state ?? "";
  const keys = [...SEE, ...inRooms];
  if (keys.some((key) => isWithheld(state, key))) throw forbidden();
  const recordsOf = (room: Room) => {
    const readsChat =
      !isWithheld(state, "chat.read") &&
      may(caller, ["chat.read"], { world, room });
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

/** Sends texts as fast as they are read. An error of the first one is the answer. */
async function send(
  reply: FastifyReply,
  texts: AsyncGenerator<string>,
): Promise<FastifyReply> {
  const chunks = inChunks(texts);
  const first = await chunks.next();
  const all = async function* () {
    if (!first.done) yield first.value;
    yield* chunks;
  };
  return reply.send(Readable.from(all(), { objectMode: false }));
}

/** Joins short texts. */
async function* inChunks(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = "";
  for await (const text of texts) {
    chunk += text;
    if (chunk.length < CHUNK) continue;
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
  { columns, rowsOf }: Results<object>,
  records: AsyncIterable<object>,
): AsyncGenerator<string> {
  yield csvRow(columns);
  for await (const record of records) {
    for (const row of rowsOf(record)) {
      yield csvRow(columns.map((column) => row[column] ?? null));
    }
  }
}

/** Tables are in memory one at a time. */
const oneAtATime = pLimit(1);

/**
 * The file of a table. All its texts are cells of the type text, in which no program sees formulas.
 * @throws {InvalidData} if it is too large to be made in memory.
 */
const xlsxOf = (
  { columns, rowsOf }: Results<object>,
  records: AsyncIterable<object>,
): Promise<Buffer> =>
  oneAtATime(async () => {
    const head = columns.map((value) => ({
      value,
      fontWeight: "bold" as const,
    }));
    const rows: ReturnType<typeof xlsxCell>[][] = [];
    let size = 0;
    for await (const record of records) {
      for (const row of rowsOf(record)) {
        const cells = columns.map((column) => row[column] ?? null);
        for (const cell of cells) {
          if (typeof cell === "string") size += cell.length;
        }
        rows.push(cells.map(xlsxCell));
        const isLarge =
          size > MAX_TEXT || rows.length * columns.length > MAX_CELLS;
        if (!isLarge) continue;
        throw new InvalidData({
          format: [
            "There is too much for one table. Ask for csv, or for a room.",
          ],
        });
      }
    }
    const { default: writeExcelFile } = await import("write-excel-file/node");
    return writeExcelFile([head, ...rows]).toBuffer();
  });

/** Characters that XML cannot have, and halves of characters. */
const NOT_IN_XML = /[^\P{Cc}\t\n\r]|\p{Cs}|[\uFFFE\uFFFF]/gu;

function xlsxCell(value: Cell) {
  if (value === null) return null;
  if (typeof value === "number") return { value, type: Number };
  if (typeof value === "boolean") return { value, type: Boolean };
  const text = value.replace(NOT_IN_XML, "\uFFFD").slice(0, MAX_CELL);
  return { value: text.toWellFormed(), type: String };
}

export default routes;
