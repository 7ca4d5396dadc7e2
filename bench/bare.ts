import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import Fastify from "fastify";
import type { Constants } from "./servers.js";

// The reference: plain Fastify, which answers the same requests with the same bytes and
// headers, without authentication and without a database.

const [, , constants = ""] = process.argv;
const { world, room } = JSON.parse(
  readFileSync(constants, "utf8"),
) as Constants;

const app = Fastify();
// As Foyer does, it sends a text that it has.
for (const [path, { headers, text }] of [
  ["/api/v1/worlds/:world_id/", world],
  ["/api/v1/worlds/:world_id/rooms/:room_id/", room],
] as const) {
  app.get(path, (_request, reply) => {
    reply.headers(headers).send(text);
  });
}

await app.listen({ port: 0 });
process.send!({ port: (app.server.address() as AddressInfo).port });
process.once("disconnect", () => process.exit());
process.once("SIGTERM", () => process.exit());
