import { Type } from "@sinclair/typebox";
import type { FastifyPluginAsync } from "fastify";
import type { FileRecord } from "../db/contract/store.js";
import { deleteFile as deleteStoredFile } from "../db/world-management.js";
import { authorOf } from "../plugins/auth/guard.js";
import { FileList, FileParams } from "../schemas/files.js";
import { PageQuery, ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { endpoint } from "./endpoint.js";
import { type ListOrder, readPage } from "./pages.js";

const FILES = "/api/v1/worlds/:world_id/files/";
const FILE = "/api/v1/worlds/:world_id/files/:file_id/";

/** A world's files. `uploads.ts` creates them, and `media.ts` serves them. */
const routes: FastifyPluginAsync = async (app) => {
  app.get(FILES, { config: { requires: ["world.update"] }, ...listFiles });
  app.delete(FILE, { config: { requires: ["world.update"] }, ...deleteFile });
};

const BY_TIME: ListOrder<FileRecord> = {
  name: "files",
  types: ["number", "number"],
  placeOf: ({ uploadedAt, number }) => [uploadedAt, number],
};

const listFiles = endpoint(
  {
    operationId: "listFiles",
    summary: "List the files of a world, newest first",
    description: "Newest first. Includes files whose uploader was erased.",
    tags: ["files"],
    params: WorldParams,
    querystring: PageQuery,
    response: { 200: ref(FileList) },
  },
  async (request) => {
    const { base } = request;
    const { store } = request.server;
    const { world_id } = request.params;
    const { found, links } = await readPage(request, request.query, BY_TIME, async (selection) => {
      const { count, files } = await store.files.list(world_id, selection);
      return { count, items: files };
    });
    return {
      count: found.count,
      ...links,
      results: found.items.map(({ id, key, size, type, userId, uploadedAt }) => ({
        id,
        url: `${base}/media/${key}`,
        size,
        type,
        user_id: userId,
        uploaded_at: new Date(uploadedAt).toISOString(),
      })),
    };
  },
);

const deleteFile = endpoint(
  {
    operationId: "deleteFile",
    summary: "Delete a file",
    description:
      "Deletes its bytes; its `url` becomes a 404. Browsers may keep cached copies for a year. A request body is ignored, but must be JSON.",
    tags: ["files"],
    params: FileParams,
    response: { 204: Type.Null({ description: "It is deleted." }) },
  },
  async (request, reply) => {
    const { world_id, file_id } = request.params;
    await deleteStoredFile(request.server, world_id, file_id, authorOf(request));
    return reply.code(204).send(null);
  },
);

export default routes;
