import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { Type } from "@sinclair/typebox";
import { allowSameId } from "../plugins/validation.js";
import {
  Room,
  RoomChanges,
  RoomDraft,
  RoomList,
  RoomParams,
  RoomsQuery,
} from "../schemas/rooms.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { pageLinks } from "./pages.js";

/** The rooms of a world: `/api/v1/worlds/{world_id}/rooms/`. */
const rooms: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/api/v1/worlds/:world_id/rooms/",
    {
      // room.view is checked for each room: the store leaves out hidden rooms.
      config: { requires: [] },
      schema: {
        operationId: "listRooms",
        summary: "List the rooms that the caller may see",
        tags: ["rooms"],
        params: WorldParams,
        querystring: RoomsQuery,
        response: { 200: ref(RoomList) },
      },
    },
    async (request, reply) => {
      const {
        page = 1,
        page_size = 50,
        ordering = "sorting_priority",
        type,
        search,
      } = request.query;
      const list = await app.store.rooms.list(request.params.world_id, {
        traits: request.caller.traits,
        page,
        pageSize: page_size,
        ordering,
        type,
        search,
      });
      const { count } = list.value;
      const links = pageLinks(request, { page, pageSize: page_size, count });
      const { next, previous } = links;
      return reply.sendJson(
        `{"count":${count},"next":${JSON.stringify(next)},"previous":${JSON.stringify(previous)},"results":${list.json}}`,
      );
    },
  );

  app.post(
    "/api/v1/worlds/:world_id/rooms/",
    {
      config: { requires: ["room.create"], versioned: true },
      schema: {
        operationId: "createRoom",
        summary: "Make a room",
        tags: ["rooms"],
        params: WorldParams,
        body: ref(RoomDraft),
        response: { 201: ref(Room) },
      },
    },
    async (request, reply) => {
      const { world_id } = request.params;
      // This comes first, because it fails if the request names no host.
      const { base } = request;
      const room = await app.store.rooms.create(world_id, request.body);
      reply
        .code(201)
        .header(
          "location",
          `${base}/api/v1/worlds/${world_id}/rooms/${room.value.id}/`,
        );
      return reply.sendVersioned(room);
    },
  );

  app.get(
    "/api/v1/worlds/:world_id/rooms/:room_id/",
    {
      config: { requires: ["room.view"], versioned: true },
      schema: {
        operationId: "getRoom",
        summary: "Get a room",
        tags: ["rooms"],
        params: RoomParams,
        response: { 200: ref(Room) },
      },
    },
    (request, reply) => void reply.sendVersioned(request.room),
  );

  app.patch(
    "/api/v1/worlds/:world_id/rooms/:room_id/",
    {
      ...allowSameId("room_id"),
      config: { requires: ["room.view", "room.update"], versioned: true },
      schema: {
        operationId: "updateRoom",
        summary: "Replace fields of a room",
        tags: ["rooms"],
        params: RoomParams,
        body: ref(RoomChanges),
        response: { 200: ref(Room) },
      },
    },
    async (request, reply) => {
      const { world_id, room_id } = request.params;
      return reply.sendVersioned(
        await app.store.rooms.update(
          world_id,
          room_id,
          request.body,
          request.expectedVersions(),
        ),
      );
    },
  );

  app.delete(
    "/api/v1/worlds/:world_id/rooms/:room_id/",
    {
      config: { requires: ["room.view", "room.delete"], versioned: true },
      schema: {
        operationId: "deleteRoom",
        summary: "Delete a room",
        description: "A body, if there is one, is JSON and is ignored.",
        tags: ["rooms"],
        params: RoomParams,
        response: { 204: Type.Null({ description: "It is deleted." }) },
      },
    },
    async (request, reply) => {
      const { world_id, room_id } = request.params;
      await app.store.rooms.delete(
        world_id,
        room_id,
        request.expectedVersions(),
      );
      return reply.code(204).send(null);
    },
  );
};

export default rooms;
