import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import type { SessionWritten } from "../../db/contract/program-store.js";
import type { Versioned } from "../../db/contract/store.js";
import { seenProgram, seesSession } from "../../db/rules/program-views.js";
import { foldCase } from "../../schemas/plain/folding.js";
import { authorOf } from "../../plugins/auth/guard.js";
import { missingTo } from "../../plugins/http/errors.js";
import { responseRef } from "../../plugins/openapi/parts.js";
import { allowSameId } from "../../plugins/validation.js";
import {
  Session,
  SessionChanges,
  SessionDraft,
  SessionList,
  SessionParams,
  SessionsQuery,
  type Speaker,
  WrittenSession,
} from "../../schemas/program/program.js";
import { InvalidData } from "../../schemas/validate.js";
import { ref } from "../../schemas/values.js";
import { WorldParams } from "../../schemas/worlds.js";
import { endpoint, timeIn } from "../endpoint.js";
import type { ListOrder } from "../pages.js";
import { accepted, jsonPageOf, readerOf } from "./program-access.js";

/**
 * Returns the filter that a query describes.
 * @param speakers the speakers that the caller may see; a search also matches the speakers' names.
 * @throws {InvalidData} if a time does not exist.
 */
export function filterOf(
  query: SessionsQuery,
  speakers: readonly Versioned<Speaker>[],
): (session: Session) => boolean {
  const { room, speaker, track, search } = query;
  const from = timeIn("from", query.from);
  const to = timeIn("to", query.to);
  const matches = search === undefined ? undefined : finder(search, speakers);
  return (session) =>
    (room === undefined || session.room_id === room) &&
    (speaker === undefined || session.speaker_ids.includes(speaker)) &&
    (track === undefined || session.track === track) &&
    overlaps(session, from, to) &&
    (matches === undefined || matches(session));
}

/** Whether a session overlaps a time range. A session without times overlaps only an unlimited range. */
function overlaps(
  { starts_at, ends_at }: Session,
  from: number | undefined,
  to: number | undefined,
): boolean {
  if (from === undefined && to === undefined) return true;
  if (starts_at === null || ends_at === null) return false;
  return (
    (from === undefined || Date.parse(ends_at) > from) &&
    (to === undefined || Date.parse(starts_at) < to)
  );
}

function finder(search: string, speakers: readonly Versioned<Speaker>[]) {
  const term = foldCase(search);
  const holds = (text: string) => foldCase(text).includes(term);
  const found = new Set(speakers.flatMap(({ value }) => (holds(value.name) ? [value.id] : [])));
  return (session: Session): boolean =>
    [
      session.title,
      session.subtitle,
      session.abstract,
      session.description,
      session.track,
      ...session.tags,
    ].some(holds) || session.speaker_ids.some((id) => found.has(id));
}

const SESSIONS = "/api/v1/worlds/:world_id/sessions/";
const SESSION = "/api/v1/worlds/:world_id/sessions/:session_id/";

/** The sessions in a world's program. */
const routes: FastifyPluginAsync = async (app) => {
  const answers = { 409: responseRef("Conflict") };
  app.get(SESSIONS, { config: { requires: ["program.read"] }, ...listSessions });
  app.post(SESSIONS, {
    config: { requires: ["program.update"], versioned: true, answers },
    ...createSession,
  });
  app.get(SESSION, { config: { requires: ["program.read"], versioned: true }, ...getSession });
  app.patch(SESSION, {
    config: { requires: ["program.update"], versioned: true, answers },
    ...allowSameId("session_id"),
    ...updateSession,
  });
  app.delete(SESSION, {
    config: { requires: ["program.update"], versioned: true },
    ...deleteSession,
  });
};

/** The order of the program: sessions without a time come last. */
const BY_START: ListOrder<Versioned<Session>> = {
  name: "sessions",
  types: ["number", "string", "string"],
  placeOf: ({ value: { starts_at, title, id } }) => [
    starts_at === null ? Number.MAX_SAFE_INTEGER : Date.parse(starts_at),
    title,
    id,
  ],
};

const listSessions = endpoint(
  {
    operationId: "listSessions",
    summary: "List the sessions that the caller may see",
    description:
      "Drafts, and sessions in restricted rooms, are listed only for callers with `program.update` who may see the room.",
    tags: ["program"],
    params: WorldParams,
    querystring: SessionsQuery,
    response: { 200: ref(SessionList) },
  },
  async (request, reply) => {
    const { world_id } = request.params;
    const program = await request.server.store.program.get(world_id);
    const reader = await readerOf(request, program);
    const seen = seenProgram(program, reader);
    const matches = filterOf(request.query, seen.speakers);
    const sessions = seen.sessions.filter(({ value }) => matches(value));
    const page = jsonPageOf(request, request.query, sessions, BY_START);
    return reply.sendJson(await page);
  },
);

const createSession = endpoint(
  {
    operationId: "createSession",
    summary: "Make a session",
    description:
      "In addition to the schema, refuses unknown rooms and speakers, an `import_id` that is already taken, invalid URLs, and times that are invalid, in the wrong order or more than 31 days apart.",
    tags: ["program"],
    params: WorldParams,
    body: ref(SessionDraft),
    response: { 201: ref(WrittenSession) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id } = request.params;
    // Read the base URL first, because its getter throws if the request names no host.
    const { base } = request;
    await expectVisibleRoom(request, request.body.room_id);
    const written = accepted(
      await store.program.createSession(world_id, request.body, authorOf(request)),
    );
    const { id } = written.session.value;
    const location = `${base}/api/v1/worlds/${world_id}/sessions/${id}/`;
    reply.code(201).header("location", location);
    return reply.sendVersioned(withWarnings(written));
  },
);

const getSession = endpoint(
  {
    operationId: "getSession",
    summary: "Get a session",
    description: "A session that the caller may not see is a 403, like one that does not exist.",
    tags: ["program"],
    params: SessionParams,
    response: { 200: ref(Session) },
  },
  async (request, reply) => {
    const { world_id, session_id } = request.params;
    return reply.sendVersioned(await find(request, world_id, session_id));
  },
);

const updateSession = endpoint(
  {
    operationId: "updateSession",
    summary: "Replace fields of a session",
    description:
      "Each field sent replaces the current value. The resulting session must follow the rules for new sessions: it has both times or neither.",
    tags: ["program"],
    params: SessionParams,
    body: ref(SessionChanges),
    response: { 200: ref(WrittenSession) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id, session_id } = request.params;
    const { value } = await find(request, world_id, session_id);
    const { room_id } = request.body;
    if (room_id !== value.room_id) await expectVisibleRoom(request, room_id);
    const written = accepted(
      await store.program.updateSession(
        world_id,
        session_id,
        request.body,
        request.expectedVersions(),
        authorOf(request),
      ),
    );
    return reply.sendVersioned(withWarnings(written));
  },
);

const deleteSession = endpoint(
  {
    operationId: "deleteSession",
    summary: "Delete a session",
    description: "A request body is ignored, but must be JSON.",
    tags: ["program"],
    params: SessionParams,
    response: { 204: Type.Null({ description: "It is deleted." }) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id, session_id } = request.params;
    await find(request, world_id, session_id);
    await store.program.deleteSession(
      world_id,
      session_id,
      request.expectedVersions(),
      authorOf(request),
    );
    return reply.code(204).send(null);
  },
);

/**
 * Returns a session that the caller may see.
 * @throws {Refusal} 403 if the session does not exist, or if the caller may not see it.
 */
async function find(
  request: FastifyRequest,
  world: string,
  id: string,
): Promise<Versioned<Session>> {
  const program = await request.server.store.program.get(world);
  const session = program.sessions.find(({ value }) => value.id === id);
  if (!session) throw missingTo(request, "session");
  const reader = await readerOf(request, { sessions: [session] });
  if (!seesSession(reader, session.value)) throw missingTo(request, "session");
  return session;
}

/**
 * Rejects a room that the caller may not see, with the same error as a room that does not exist.
 * @throws {InvalidData}
 */
async function expectVisibleRoom(
  request: FastifyRequest,
  room_id: string | null | undefined,
): Promise<void> {
  if (room_id === null || room_id === undefined) return;
  const session = { value: { room_id } };
  const { seesRoom } = await readerOf(request, { sessions: [session] });
  if (seesRoom(room_id)) return;
  throw new InvalidData({ room_id: ["The world has no such room."] });
}

/** Returns the response to a write. Warnings are not part of the session, nor of its version. */
function withWarnings({ session, warnings }: SessionWritten) {
  if (warnings.length === 0) return session;
  const { version, value, json } = session;
  const list = JSON.stringify(warnings);
  return { version, value, json: `${json.slice(0, -1)},"warnings":${list}}` };
}

export default routes;
