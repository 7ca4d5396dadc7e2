import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync } from "fastify";
import { authorOf } from "../plugins/auth/guard.js";
import { clientGone } from "../plugins/http/connections.js";
import { allowSameId } from "../plugins/validation.js";
import { definedFields } from "../schemas/plain/given.js";
import { SEE } from "../schemas/plain/permissions.js";
import {
  Room,
  RoomChanges,
  RoomCopy,
  RoomDraft,
  RoomList,
  type RoomOrdering,
  RoomParams,
  RoomsQuery,
} from "../schemas/rooms.js";
import { InvalidData, scheduleFault } from "../schemas/validate.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";
import { type ListOrder, readPage } from "./pages.js";

const ROOMS = "/api/v1/worlds/:world_id/rooms/";
const ROOM = "/api/v1/worlds/:world_id/rooms/:room_id/";

/** A world's rooms. */
const routes: FastifyPluginAsync = async (app) => {
  app.get(ROOMS, {
    // The store filters out the rooms that the caller may not see.
    config: { requires: [] },
    ...listRooms,
  });
  app.post(ROOMS, { config: { requires: ["room.create"], versioned: true }, ...createRoom });
  app.post(`${ROOM}copy/`, {
    config: { requires: [...SEE, "room.create"], versioned: true },
    ...copyRoom,
  });
  app.get(ROOM, { config: { requires: SEE, versioned: true }, ...getRoom });
  app.patch(ROOM, {
    config: { requires: [...SEE, "room.update"], versioned: true },
    ...allowSameId("room_id"),
    ...updateRoom,
  });
  app.delete(ROOM, {
    config: { requires: [...SEE, "room.delete"], versioned: true },
    ...deleteRoom,
  });
};

const listRooms = endpoint(
  {
    operationId: "listRooms",
    summary: "List the rooms that the caller may see",
    description: "Only rooms that the caller may see are listed and counted.",
    tags: ["rooms"],
    params: WorldParams,
    querystring: RoomsQuery,
    response: { 200: ref(RoomList) },
  },
  async (request, reply) => {
    const { ordering = "sorting_priority", type, search } = request.query;
    const { store } = request.server;
    const { world_id } = request.params;
    const { traits } = request.caller;
    const asked = { traits, ordering, type, search };
    // A search scans every room, so it is aborted when the client disconnects.
    const signal = (type ?? search) === undefined ? undefined : clientGone(reply.raw);
    const { found, links } = await readPage(
      request,
      request.query,
      orderBy(ordering),
      async (selection) => {
        const list = await store.rooms.list(world_id, { ...selection, ...asked, signal });
        return {
          count: list.value.count,
          // A getter, because a page selected by number needs only the JSON.
          get items() {
            return list.value.rooms;
          },
          json: list.json,
        };
      },
    );
    const { count, json } = found;
    const head = JSON.stringify({ count, ...links }).slice(0, -1);
    return reply.sendJson(`${head},"results":${json}}`);
  },
);

const orderBy = (ordering: RoomOrdering): ListOrder<Room> =>
  ordering.endsWith("name")
    ? {
        name: `rooms ${ordering}`,
        types: ["string", "number", "string"],
        placeOf: (room) => [room.name, room.sorting_priority, room.id],
      }
    : {
        name: `rooms ${ordering}`,
        types: ["number", "string", "string"],
        placeOf: (room) => [room.sorting_priority, room.name, room.id],
      };

const createRoom = endpoint(
  {
    operationId: "createRoom",
    summary: "Make a room",
    description: "A room without its own domain has the domain of the world.",
    tags: ["rooms"],
    params: WorldParams,
    body: ref(RoomDraft),
    response: { 201: ref(Room) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id } = request.params;
    // Read the base URL first, because its getter throws if the request names no host.
    const { base } = request;
    const room = await store.rooms.create(world_id, request.body, authorOf(request));
    const location = `${base}/api/v1/worlds/${world_id}/rooms/${room.value.id}/`;
    reply.code(201).header("location", location);
    return reply.sendVersioned(room);
  },
);

const copyRoom = endpoint(
  {
    operationId: "copyRoom",
    summary: "Copy a room",
    description:
      "The copy has the same modules, rules and description, but no content that people wrote in the room.",
    tags: ["rooms"],
    params: RoomParams,
    body: ref(RoomCopy),
    response: { 201: ref(Room) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id } = request.params;
    // Read the base URL first, because its getter throws if the request names no host.
    const { base } = request;
    const { description, module_config, permission_config, sorting_priority } = request.room.value;
    const draft = { description, module_config, permission_config, sorting_priority };
    const { name } = request.body;
    const room = await store.rooms.create(world_id, { ...draft, name }, authorOf(request));
    const location = `${base}/api/v1/worlds/${world_id}/rooms/${room.value.id}/`;
    reply.code(201).header("location", location);
    return reply.sendVersioned(room);
  },
);

const getRoom = endpoint(
  {
    operationId: "getRoom",
    summary: "Get a room",
    description: "A room that the caller may not see is a 403, like one that does not exist.",
    tags: ["rooms"],
    params: RoomParams,
    response: { 200: ref(Room) },
  },
  (request, reply) => void reply.sendVersioned(request.room),
);

const updateRoom = endpoint(
  {
    operationId: "updateRoom",
    summary: "Replace fields of a room",
    description: "Each field sent replaces the current value as a whole; all others stay.",
    tags: ["rooms"],
    params: RoomParams,
    body: ref(RoomChanges),
    response: { 200: ref(Room) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id, room_id } = request.params;
    const { picture, force_join, schedule_data, ...fields } = request.body;
    const fault = scheduleFault(schedule_data);
    if (fault) throw new InvalidData({ schedule_data: [fault] });
    const extras = definedFields({
      picture: picture === "" ? null : picture,
      force_join,
      schedule_data,
    });
    const versions = request.expectedVersions();
    return reply.sendVersioned(
      await store.rooms.update(
        world_id,
        room_id,
        { ...fields, extras },
        versions,
        authorOf(request),
      ),
    );
  },
);

const deleteRoom = endpoint(
  {
    operationId: "deleteRoom",
    summary: "Delete a room",
    description: "A request body is ignored, but must be JSON.",
    tags: ["rooms"],
    params: RoomParams,
    response: { 204: Type.Null({ description: "It is deleted." }) },
  },
  async (request, reply) => {
    const { store } = request.server;
    const { world_id, room_id } = request.params;
    const versions = request.expectedVersions();
    await store.rooms.delete(world_id, room_id, versions, authorOf(request));
    return reply.code(204).send(null);
  },
);

export default routes;
