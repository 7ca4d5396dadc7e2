import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import multipart from "@fastify/multipart";
import fastifyStatic from "@fastify/static";
import Fastify from "fastify";
import { components } from "../schemas/openapi/components.js";
import { Room, RoomChanges, RoomDraft } from "../schemas/rooms.js";
import { ref } from "../schemas/values.js";
import type { Constants } from "./servers.js";

// The reference: plain Fastify, which answers the same requests with the same bytes and
// headers, without authentication and without a database.

const [, , constants = "", folder = ""] = process.argv;
const { world, room, page, media } = JSON.parse(
  readFileSync(constants, "utf8"),
) as Constants;

const app = Fastify();
for (const schema of components) app.addSchema(schema);
await app.register(multipart);
await app.register(fastifyStatic, { root: media, prefix: "/media/" });

const paths = {
  world: "/api/v1/worlds/:world_id/",
  rooms: "/api/v1/worlds/:world_id/rooms/",
  room: "/api/v1/worlds/:world_id/rooms/:room_id/",
};
// As Foyer does, it sends a text that it has.
for (const [path, { headers, text }] of [
  [paths.world, world],
  [paths.room, room],
  [paths.rooms, page],
] as const) {
  app.get(path, (_request, reply) => {
    reply.headers(headers).send(text);
  });
}

app.post(
  paths.rooms,
  { schema: { body: ref(RoomDraft), response: { 201: ref(Room) } } },
  async (request, reply) => {
    reply.code(201);
    return { ...JSON.parse(room.text), ...(request.body as object) };
  },
);
app.patch(
  paths.room,
  { schema: { body: ref(RoomChanges), response: { 200: ref(Room) } } },
  async (request) => ({
    ...JSON.parse(room.text),
    ...(request.body as object),
  }),
);

app.post("/storage/upload/", async (request, reply) => {
  const form = await request.file();
  const name = join(folder, randomUUID());
  const file = await open(name, "wx");
  try {
    for await (const bytes of form!.file) await file.write(bytes as Buffer);
    await file.sync();
  } finally {
    await file.close();
  }
  return reply.code(201).send({ url: name });
});

await app.listen({ port: 0 });
process.send!({ port: (app.server.address() as AddressInfo).port });
process.once("disconnect", () => process.exit());
process.once("SIGTERM", () => process.exit());
