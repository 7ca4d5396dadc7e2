import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest, preHandlerHookHandler } from "fastify";
import type { CaptionSelection, StoredCaption } from "../../db/domains/captions.js";
import { headerRefs } from "../../plugins/openapi/parts.js";
import { type Caption, CaptionDrafts, CaptionsQuery } from "../../schemas/stage/captions.js";
import { CaptionDraft } from "../../schemas/live/captions.js";
import { LIVE, SEE } from "../../schemas/plain/permissions.js";
import { CAPTION, CUE_MS, cueOf, languageIn } from "../../schemas/plain/stage/captions.js";
import { RoomParams } from "../../schemas/rooms.js";
import { compileValidator, InvalidData } from "../../schemas/validate.js";
import { List, ref } from "../../schemas/values.js";
import { endpoint, perform, timeIn } from "../endpoint.js";
import { type ListOrder, readPage } from "../pages.js";
import { edits } from "../program/program-access.js";
import { sendText } from "../results/results.js";

const CAPTIONS = "/api/v1/worlds/:world_id/rooms/:room_id/captions/";

/** A room's captions. Everyone who can see the room may read them. */
const routes: FastifyPluginAsync = async (app) => {
  app.get(CAPTIONS, { config: { requires: [...LIVE, ...SEE], answers }, ...listCaptions });
  app.post(CAPTIONS, {
    config: { requires: [...LIVE, ...SEE, "room.caption"] },
    attachValidation: true,
    preHandler: explainFaults,
    ...sendCaptions,
  });
};

const text = { schema: { type: "string" } };

/** The response in each format. */
const answers = {
  200: {
    description: "The captions.",
    headers: headerRefs("Cache-Control"),
    content: {
      "application/json": { schema: { $ref: "#/components/schemas/CaptionList" } },
      "text/vtt": text,
      "text/plain": text,
    },
  },
};

/** Number of lines per read. */
const LINES_PER_READ = 500;

const Drafts = List(ref(CaptionDraft), CAPTION.lines, { minItems: 1 });

/**
 * Names the invalid field. A union in the route's schema would give the same message for all
 * fields.
 */
const explainFaults: preHandlerHookHandler = (request, _reply, done) => {
  const { body } = request;
  done(compileValidator(Array.isArray(body) ? Drafts : CaptionDraft)(body));
};

const sendCaptions = endpoint(
  {
    operationId: "sendCaptions",
    summary: "Send lines of captions to a room",
    description:
      "Accepts one line, or a list, which is stored completely or not at all. A line replaces the previous line in its language unless the previous line is final; final lines are kept. In addition to the schema, refuses invalid language tags and times, times in the future, and sessions in other rooms.",
    tags: ["captions"],
    params: RoomParams,
    body: ref(CaptionDrafts),
    response: { 204: Type.Null({ description: "They are shown." }) },
  },
  async (request, reply) => {
    const { body, params } = request;
    const lines = Array.isArray(body) ? { captions: body } : body;
    try {
      await perform(request, "room.captions.send", { room: params.room_id, ...lines });
    } catch (error) {
      if (!(error instanceof InvalidData)) throw error;
      // In the command, the list is a field; in the request, it is the body.
      const named = Object.entries(error.faults).map(
        ([field, faults]) => [field.replace(/^captions\./, ""), faults] as const,
      );
      throw new InvalidData(Object.fromEntries(named));
    }
    return reply.code(204).send(null);
  },
);

const BY_TIME: ListOrder<StoredCaption> = {
  name: "captions",
  types: ["number", "number"],
  placeOf: ({ at, number }) => [at, number],
};

const listCaptions = endpoint(
  {
    operationId: "listCaptions",
    summary: "Get the transcript of a room",
    description:
      "The final lines, in the order in which they were spoken. `json`, the default, is paginated; `vtt` (WebVTT) and `txt` contain all lines, without pages. WebVTT times count from the start of the session or, without `session_id`, from the first line; a cue lasts until the next line in its language, for at most 7 seconds.",
    tags: ["captions"],
    params: RoomParams,
    querystring: CaptionsQuery,
  },
  async (request, reply) => {
    const { query } = request;
    const { world_id: world, room_id: room } = request.params;
    const { captions } = request.server.store;
    const lang = query.lang === undefined ? undefined : languageIn(query.lang);
    if (query.lang !== undefined && lang === undefined) {
      throw new InvalidData({ lang: ["Must be a language tag such as de or pt-BR."] });
    }
    const start = await startOf(request, query.session_id);
    const after = timeIn("after", query.after);
    const wanted = { lang, session: query.session_id, after };
    const { format = "json" } = query;
    if (format !== "json") {
      for (const name of ["page", "page_size", "cursor"] as const) {
        if (query[name] !== undefined) throw new InvalidData({ [name]: ["Only json has pages."] });
      }
      const lines = linesOf(request, wanted);
      reply.header("content-type", `text/${format === "vtt" ? "vtt" : "plain"}; charset=utf-8`);
      return sendText(reply, world, format === "vtt" ? vttOf(lines, start) : textOf(lines));
    }
    const { found, links } = await readPage(request, query, BY_TIME, async (selection) => {
      const { page, pageSize, after: from } = selection;
      const count = await captions.count(world, room, { ...wanted, limit: 0 });
      const items = await captions.list(world, room, {
        ...wanted,
        from: from as [number, number] | undefined,
        offset: Math.min((page - 1) * pageSize, count),
        limit: pageSize,
      });
      return { count, items };
    });
    const results = found.items.map(shown);
    return reply.sendJson(JSON.stringify({ count: found.count, ...links, results }));
  },
);

const shown = ({ lang, text, at, session }: StoredCaption): Caption => ({
  lang,
  text,
  at: new Date(at).toISOString(),
  session_id: session,
});

/**
 * Returns the start of a session, in milliseconds since 1970.
 * @returns undefined if no session is given, or if the session has no time.
 * @throws {InvalidData} if the room has no such session that the caller may see.
 */
async function startOf(
  request: FastifyRequest,
  id: string | undefined,
): Promise<number | undefined> {
  if (id === undefined) return undefined;
  const { world_id, room_id } = request.params as { world_id: string; room_id: string };
  const { sessions } = await request.server.store.program.get(world_id);
  const session = sessions.find(({ value }) => value.id === id && value.room_id === room_id);
  if (!session || (session.value.state === "draft" && !edits(request))) {
    throw new InvalidData({ session_id: ["Must be a session of this room."] });
  }
  const { starts_at } = session.value;
  return starts_at === null ? undefined : Date.parse(starts_at);
}

/** Reads lines as they are sent. */
async function* linesOf(
  request: FastifyRequest,
  wanted: Omit<CaptionSelection, "limit">,
): AsyncGenerator<StoredCaption> {
  const { world_id, room_id } = request.params as { world_id: string; room_id: string };
  const { captions } = request.server.store;
  let from: readonly [number, number] | undefined;
  for (;;) {
    const lines = await captions.list(world_id, room_id, {
      ...wanted,
      from,
      limit: LINES_PER_READ,
    });
    yield* lines;
    const last = lines.at(-1);
    if (!last || lines.length < LINES_PER_READ) return;
    from = [last.at, last.number];
  }
}

async function* textOf(lines: AsyncIterable<StoredCaption>): AsyncGenerator<string> {
  for await (const { text } of lines) yield `${text.replace(/\s+/g, " ")}\n`;
}

async function* vttOf(
  lines: AsyncIterable<StoredCaption>,
  start: number | undefined,
): AsyncGenerator<string> {
  yield "WEBVTT\n";
  // The lines whose cues have not been written yet: cues are in chronological order, and a cue
  // lasts until the next line in its language.
  const waiting: { line: StoredCaption; next?: StoredCaption }[] = [];
  let first = start;
  for await (const line of lines) {
    first ??= line.at;
    const before = waiting.findLast((one) => one.line.lang === line.lang);
    if (before) before.next = line;
    const end = waiting.findIndex((one) => !one.next && one.line.at + CUE_MS > line.at);
    for (const one of waiting.splice(0, end === -1 ? waiting.length : end)) {
      yield cueOf(one.line, one.next, first);
    }
    waiting.push({ line });
  }
  for (const { line, next } of waiting) yield cueOf(line, next, first!);
}

export default routes;
