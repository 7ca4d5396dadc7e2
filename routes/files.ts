import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import { Type } from "@sinclair/typebox";
import { deleteFile } from "../worlds.js";
import { FileList, FileParams } from "../schemas/files.js";
import { PageQuery } from "../schemas/pages.js";
import { ref } from "../schemas/values.js";
import { WorldParams } from "../schemas/worlds.js";
import { pageLinks } from "./pages.js";

/** The files of a world: `/api/v1/worlds/{world_id}/files/`. */
const files: FastifyPluginAsyncTypebox = async (app) => {
  app.get(
    "/api/v1/worlds/:world_id/files/",
    {
      config: { requires: ["world.update"] },
      schema: {
        operationId: "listFiles",
        summary: "List the files of a world, the newest first",
        tags: ["files"],
        params: WorldParams,
        querystring: PageQuery,
        response: { 200: ref(FileList) },
      },
    },
    async (request) => {
      const { page = 1, page_size: pageSize = 50 } = request.query;
      const { count, files } = await app.store.files.list(
        request.params.world_id,
        { page, pageSize },
      );
      const { base } = request;
      return {
        count,
        ...pageLinks(request, { page, pageSize, count }),
        results: files.map(({ id, key, size, type, userId, uploadedAt }) => ({
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

  app.delete(
    "/api/v1/worlds/:world_id/files/:file_id/",
    {
      config: { requires: ["world.update"] },
      schema: {
        operationId: "deleteFile",
        summary: "Delete a file",
        description:
          "Its bytes are gone, and its url is 404. Browsers that have it may keep it for a year. A body, if there is one, is JSON and is ignored.",
        tags: ["files"],
        params: FileParams,
        response: { 204: Type.Null({ description: "It is deleted." }) },
      },
    },
    async (request, reply) => {
      const { world_id, file_id } = request.params;
      await deleteFile(app, world_id, file_id);
      return reply.code(204).send(null);
    },
  );
};

export default files;
