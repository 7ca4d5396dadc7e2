import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync } from "fastify";
import type { CallDevice } from "../../db/contract/call-store.js";
import type { UserRecord } from "../../db/contract/store.js";
import { authorOf } from "../../plugins/auth/guard.js";
import { ForgedEvent } from "../../plugins/calls/engine.js";
import { Refusal, unauthenticated } from "../../plugins/http/errors.js";
import { responseRef } from "../../plugins/openapi/parts.js";
import { CallEngineList, JoinedCall, RoomCall } from "../../schemas/stage/calls.js";
import { CALL_ENGINES } from "../../schemas/plain/calls.js";
import { allowedProfile } from "../../schemas/plain/moderation/blocked-words.js";
import { LIVE, SEE } from "../../schemas/plain/permissions.js";
import { RoomParams } from "../../schemas/rooms.js";
import { ref } from "../../schemas/values.js";
import { WorldParams } from "../../schemas/worlds.js";
import { endpoint, perform } from "../endpoint.js";

const CALL = "/api/v1/worlds/:world_id/rooms/:room_id/call/";
const answers = { 404: responseRef("NoCall") };

/** Maximum size of an event from the engine, in bytes. */
const MAX_EVENT = 256 * 1024;

/** The calls in a world's rooms. The commands `call.join` and `call.end` join and end a call. */
const routes: FastifyPluginAsync = async (app) => {
  const moderates = { requires: [...LIVE, ...SEE, "call.moderate"], answers } as const;
  app.post(`${CALL}join/`, {
    config: {
      requires: [...LIVE, ...SEE, "call.join"],
      answers: { ...answers, 409: responseRef("FullCall") },
    },
    ...joinCall,
  });
  app.get(CALL, { config: moderates, ...getCall });
  app.delete(CALL, { config: moderates, ...endCall });
  app.get("/api/v1/worlds/:world_id/call-engines/", {
    config: { requires: [] },
    ...listCallEngines,
  });
  app.register(engineEvents);
};

const unknownCall = () => new Refusal(404, "There is no call here.", {}, "call.unknown");

const joinCall = endpoint(
  {
    operationId: "joinCall",
    summary: "Get access to the call of a room, for one more device",
    description:
      "For your own clients. The user with the token's `uid` is created if necessary, and needs a display name. A request body is ignored, but must be JSON. It fails with 400 `call.missing_uid` or `call.missing_profile`, 404 `call.unknown`, 409 `call.full`, and 503 `call.unavailable`.",
    tags: ["calls"],
    params: RoomParams,
    response: { 200: ref(JoinedCall) },
  },
  async (request) => {
    const { server, caller, params } = request;
    const { tokenId, traits, profile, pretalxId } = caller;
    if (!tokenId) {
      const detail = "This asks for a token with a uid, which yours lacks.";
      throw new Refusal(400, detail, {}, "call.missing_uid");
    }
    const { users } = server.store;
    const allowed = allowedProfile(request.world!.value.config, profile);
    const visitor = { tokenId, traits, profile: allowed, pretalxId };
    request.callerId = (await users.enter(params.world_id, visitor, authorOf(request))).id;
    return perform(request, "call.join", { room: params.room_id });
  },
);

const getCall = endpoint(
  {
    operationId: "getCall",
    summary: "Get the people in a room's call",
    description: "A person with several devices is listed once. Screens are not listed.",
    tags: ["calls"],
    params: RoomParams,
    response: { 200: ref(RoomCall) },
  },
  async (request) => {
    const { store } = request.server;
    const { world_id, room_id } = request.params;
    const module = request.room.value.module_config.find(({ type }) => type === "call.native");
    if (!module) throw unknownCall();
    const { mode } = (module.config ?? {}) as { mode?: unknown };
    const { call, devices, stage, hands } = await store.calls.get(world_id, room_id);
    const people = byPerson(devices);
    const users = new Map<string, UserRecord>();
    for (const user of await store.users.getMany(world_id, [...people.keys()])) {
      users.set(user.id, user);
    }
    return {
      mode: mode === "stage" ? ("stage" as const) : ("call" as const),
      people: call?.people ?? 0,
      started: call ? new Date(call.started).toISOString() : null,
      participants: Array.from(people, ([user_id, own]) => {
        const has = (source: "microphone" | "camera" | "screen") => own.some((it) => it[source]);
        const [microphone, camera, screen] = [has("microphone"), has("camera"), has("screen")];
        const name = users.get(user_id)?.profile?.display_name;
        return {
          user_id,
          name: typeof name === "string" ? name : "",
          joined: new Date(Math.min(...own.map(({ joined }) => joined!))).toISOString(),
          speaks: microphone || camera || screen,
          on_stage: stage.includes(user_id),
          microphone,
          camera,
          screen,
        };
      }).sort((a, b) => Date.parse(a.joined) - Date.parse(b.joined)),
      hands: hands.map(({ user, raised }) => ({ user, raised: new Date(raised).toISOString() })),
    };
  },
);

/** Groups a call's visible devices by user. Omits devices that are not in the call at present. */
function byPerson(devices: readonly CallDevice[]): ReadonlyMap<string, CallDevice[]> {
  const people = new Map<string, CallDevice[]>();
  for (const device of devices) {
    if (device.hidden || device.joined === null) continue;
    people.set(device.user, [...(people.get(device.user) ?? []), device]);
  }
  return people;
}

const endCall = endpoint(
  {
    operationId: "endCall",
    summary: "End the call of a room",
    description: "Everyone leaves. A request body is ignored, but must be JSON.",
    tags: ["calls"],
    params: RoomParams,
    response: { 204: Type.Null({ description: "It is over." }) },
  },
  async (request, reply) => {
    await perform(request, "call.end", { room: request.params.room_id });
    return reply.code(204).send(null);
  },
);

const listCallEngines = endpoint(
  {
    operationId: "listCallEngines",
    summary: "List the server's call engines",
    description: "Rooms with the module of any other engine cannot hold calls.",
    tags: ["calls"],
    params: WorldParams,
    response: { 200: ref(CallEngineList) },
  },
  async ({ server: { callEngines } }) => ({
    results: CALL_ENGINES.filter((name) => callEngines[name]),
  }),
);

/** Receives events from LiveKit, which signs each event. */
const engineEvents: FastifyPluginAsync = async (app) => {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string", bodyLimit: MAX_EVENT }, (_, body, done) =>
    done(null, body),
  );
  app.post("/api/v1/calls/livekit/", { config: { requires: "public" } }, async (request, reply) => {
    const { livekit } = app.callEngines;
    const { authorization } = request.headers;
    try {
      if (!livekit) throw new ForgedEvent("This server has no LiveKit.");
      const { body } = request;
      const event = await livekit.hear(typeof body === "string" ? body : "", authorization);
      if (event) await app.live.calls.heard(event);
    } catch (error) {
      if (!(error instanceof ForgedEvent)) throw error;
      throw unauthenticated("The event was not signed by the engine.");
    }
    return reply.code(204).send();
  });
};

export default routes;
