import type { FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import type { JsonObject } from "../../schemas/openapi/openapi-schema.js";
import { DOCUMENTS, MANUAL } from "../places.js";
import { BuiltFiles, type Coded, codedJson, sendCoded } from "../replies.js";

/** The documents that the build made. */
export const documents = new BuiltFiles(DOCUMENTS);

/** How a server comes by a document of its own. */
interface Making {
  /**
   * Makes it of the one that the build made, of a server with default settings.
   * @returns the same object if that needs no change; undefined if it describes other routes.
   */
  adapt: (built: JsonObject) => JsonObject | undefined;
  /** Makes it without that one. */
  make: () => JsonObject;
}

/** Makes a handler that sends a document of the interface. */
export function documentHandler(name: string, { adapt, make }: Making) {
  let found: Promise<Coded> | undefined;

  async function find(): Promise<Coded> {
    const file = await documents.find(name);
    if (!file) return codedJson(make());
    const built = JSON.parse(String(await file.read(undefined))) as JsonObject;
    const adapted = adapt(built);
    return adapted === built ? file : codedJson(adapted ?? make());
  }

  return async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> =>
    sendCoded(reply, await (found ??= find()));
}

/** Pages have a style, a script and an index to search, all of this server. */
const POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Everything comes from this server; Swagger UI writes its styles into the page. */
const API_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The names of guides and of files beside them. */
const NAME = /^([\w-]+)(\.\w+)?$/;

/**
 * The guides at `/docs/`, the API as a page to read and try at `/docs/api`, and the
 * websocket at `/docs/live`. `npm run build` makes them all.
 */
export default fp(
  async (app) => {
    const config = { requires: "public" } as const;
    const manual = new BuiltFiles(MANUAL);

    async function send(
      reply: FastifyReply,
      files: BuiltFiles,
      name: string,
      policy = POLICY,
    ): Promise<FastifyReply> {
      const file = await files.find(name);
      if (!file) return notFound(reply);
      reply.header("content-security-policy", policy);
      return sendCoded(reply, file);
    }

    app.get("/docs/", { config }, async ({ url }, reply) => {
      const [path = "", query] = url.split("?", 2);
      // Without the slash, the URLs in the page would be relative to the folder above.
      if (!path.endsWith("/")) {
        return reply.redirect(`docs/${query === undefined ? "" : `?${query}`}`);
      }
      return send(reply, manual, "index.html");
    });
    app.get("/docs/api", { config }, async ({ url }, reply) =>
      hasSlash(url) ? reply.redirect("../api") : send(reply, manual, "api.html", API_POLICY),
    );
    app.get("/docs/live", { config }, async ({ url }, reply) =>
      hasSlash(url) ? reply.redirect("../live") : send(reply, documents, "live.html"),
    );
    app.get("/docs/live.css", { config }, async (_, reply) => send(reply, documents, "live.css"));
    app.get("/docs/start.js", { config }, async (_, reply) => send(reply, manual, "start.js"));
    for (const folder of ["static", "guides"]) {
      app.get<{ Params: { name: string } }>(
        `/docs/${folder}/:name`,
        { config },
        async ({ params: { name }, url }, reply) => {
          const [, stem, extension = ".html"] = NAME.exec(name) ?? [];
          if (stem === undefined) return notFound(reply);
          if (hasSlash(url)) return reply.redirect(`../${name}`);
          return send(reply, manual, `${folder}/${stem}${extension}`);
        },
      );
    }
    // As the guides name each other in the repository.
    app.get<{ Params: { name: string } }>("/docs/:name", { config }, async ({ params }, reply) => {
      const [, guide] = /^([\w-]+?)(?:\.md|\.html)?\/?$/.exec(params.name) ?? [];
      const isThere =
        guide !== undefined && (await manual.find(`guides/${guide}.html`)) !== undefined;
      return isThere ? reply.redirect(`guides/${guide}`) : notFound(reply);
    });
  },
  { name: "docs" },
);

/** Whether a path ends with a slash. The URLs in its page would be relative to a folder below. */
const hasSlash = (url: string): boolean => url.split("?", 1)[0]!.endsWith("/");

function notFound(reply: FastifyReply): FastifyReply {
  reply.callNotFound();
  return reply;
}
