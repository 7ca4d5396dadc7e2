import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync, FastifyRequest } from "fastify";
import {
  createWorld as createFrom,
  deleteWorld,
  draftWorld,
  invitationLink,
  inviteHost,
} from "../../db/world-management.js";
import { operator, tokenAuthor } from "../../plugins/auth/guard.js";
import { responseRef } from "../../plugins/openapi/parts.js";
import { linkTo } from "../../schemas/plain/links.js";
import { domain as domainText, textFault } from "../../schemas/plain/texts.js";
import { NewWorld, WorldDraft, WorldList } from "../../schemas/servers.js";
import { InvalidData } from "../../schemas/validate.js";
import { PageQuery, ref } from "../../schemas/values.js";
import { type World, WorldParams } from "../../schemas/worlds.js";
import { endpoint } from "../endpoint.js";
import { type ListOrder, readPage } from "../pages.js";

const WORLDS = "/api/v1/worlds/";

/** Number of worlds per read. */
const WORLDS_READ = 1000;

/** The server's own API. With ADMIN_TOKEN, the server's operator creates, lists and deletes worlds. */
const routes: FastifyPluginAsync<{ adminToken: string }> = async (app, { adminToken }) => {
  const config = { requires: operator(adminToken), operated: true } as const;
  app.get(WORLDS, { config, ...listWorlds });
  app.post(WORLDS, {
    config: { ...config, answers: { 409: responseRef("Conflict") } },
    ...createWorld,
  });
  app.delete(`${WORLDS}:world_id/`, { config, ...removeWorld });
};

const BY_ID: ListOrder<World> = { name: "worlds", types: ["string"], placeOf: ({ id }) => [id] };

const listWorlds = endpoint(
  {
    operationId: "listWorlds",
    summary: "List the worlds of the server",
    description: "For the operator of the server, with `ADMIN_TOKEN`.",
    tags: ["server"],
    querystring: PageQuery,
    response: { 200: ref(WorldList) },
  },
  async (request) => {
    const { store } = request.server;
    const { worlds: count } = await store.counts();
    const { found, links } = await readPage(
      request,
      request.query,
      BY_ID,
      async ({ page, pageSize, after: [id] = [] }) => {
        let after = id === undefined ? undefined : String(id);
        // Skip the preceding pages by reading the worlds on them.
        for (let skip = (page - 1) * pageSize; skip > 0 && skip < count;) {
          const limit = Math.min(skip, WORLDS_READ);
          const skipped = await store.worlds.list({ ...(after !== undefined && { after }), limit });
          if (skipped.length === 0) break;
          after = skipped.at(-1)!.id;
          skip -= skipped.length;
        }
        const isPast = (page - 1) * pageSize >= count && page > 1;
        const items = isPast
          ? []
          : await store.worlds.list({ ...(after !== undefined && { after }), limit: pageSize });
        return { count, items };
      },
    );
    const results = found.items.map(({ id, title, domain }) => ({ id, title, domain }));
    return { count, ...links, results };
  },
);

const createWorld = endpoint(
  {
    operationId: "createWorld",
    summary: "Create a world",
    description:
      "The response contains the world's key, and a link that opens its console: that of an invitation with the role `admin`, which never expires.",
    tags: ["server"],
    body: ref(WorldDraft),
    response: { 201: ref(NewWorld) },
  },
  async (request, reply) => {
    const { base: address, body, server } = request;
    const { id, title, template } = body;
    const domain = body.domain ?? domainFor(id, address);
    const draft = draftWorld({ id, title, domain });
    const value = await createFrom(server.store, draft, template, operatorOf(request));
    const host = await inviteHost(server.store, value, "", operatorOf(request));
    reply.code(201).header("location", `${address}${WORLDS}${id}/`);
    return {
      ...value,
      key: value.config.JWT_secrets[0]!,
      links: {
        console: await invitationLink(value, host, address),
        event: linkTo("event", { address, world: id }),
      },
    };
  },
);

/**
 * Returns a world's default domain: the world's id as a subdomain of the server's host.
 * @throws {InvalidData} if the result is not a valid domain.
 */
function domainFor(id: string, address: string): string {
  const domain = `${id}.${new URL(address).host}`;
  if (textFault(domainText, domain) === undefined) return domain;
  throw new InvalidData({ domain: ["This field is required."] });
}

const removeWorld = endpoint(
  {
    operationId: "deleteWorld",
    summary: "Delete a world and everything in it",
    description: "This cannot be undone. A request body is ignored, but must be JSON.",
    tags: ["server"],
    params: WorldParams,
    response: { 204: Type.Null({ description: "It is deleted." }) },
  },
  async (request, reply) => {
    const { world_id } = request.params;
    await deleteWorld(request.server, world_id, operatorOf(request));
    return reply.code(204).send(null);
  },
);

/** Returns the operator as the author of a write in the log. */
const operatorOf = ({ headers }: FastifyRequest) => tokenAuthor(headers.authorization);

export default routes;
