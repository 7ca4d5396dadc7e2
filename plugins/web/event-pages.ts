import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../../config.js";
import type { World } from "../../schemas/worlds.js";
import { PAGES } from "../places.js";
import { BuiltFiles, hasVersion, sendCoded } from "../replies.js";
import { isNew } from "../setup.js";
import { type Filling, headOf, iconOf, manifestOf, templateOf } from "./head.js";
import { pageConfig } from "./page-config.js";
import { CALLS, pageHeaders, playerHeaders } from "./policies.js";
import { hasCalls, programPreview } from "./preview.js";
import stream from "./stream.js";

interface WebOptions {
  /** The origins whose pages may show a room in a frame. */
  embedOrigins: readonly string[];
  /** The limits of uploads that the pages show. */
  uploads: Config["uploads"];
}

/** The build puts a hash of the content into the name: such a file never changes. */
const HASHED = /-[\w-]{8}\.\w+$/;

/** The names of files in dist/pages/web. */
const NAME = /^[\w-]+\.(css|js|md|svg|woff2)$/;

/** The id of a room, as an address may have it. */
const ROOM_ID = /^[\w-]{1,100}$/;

const config = { requires: "public" } as const;

/** The pages for people: `/` to attend, `/console` to run an event. */
export default fp<WebOptions>(
  async (app, { embedOrigins, uploads }) => {
    const html = await readPages();
    if (!html) {
      app.log.warn("there are no pages to serve; npm run build makes them");
      return;
    }
    app.register(stream);
    const attend = templateOf(html.attend);
    const console = templateOf(html.console);
    const setup = templateOf(html.setup);
    const player = templateOf(html.player);
    const { linkOrigin } = app.files;
    const fileOrigins = linkOrigin === undefined ? [] : [linkOrigin];
    const alone = pageHeaders([], fileOrigins);
    const embedded = pageHeaders(embedOrigins, fileOrigins);
    const ofPlayer = playerHeaders(embedOrigins, fileOrigins);

    for (const path of ["/", "/w/:world"]) {
      app.get(path, { config }, async (request, reply) => {
        if (path === "/") {
          reply.header("vary", "accept");
          if (!request.headers.accept?.toLowerCase().includes("text/html")) {
            return reply.callNotFound();
          }
        }
        const embed = embedOf(request);
        const headers = embed === null ? alone : embedded;
        return sendPage(reply.headers(headers), attend, embed);
      });
    }
    for (const path of ["/console", "/w/:world/console"]) {
      app.get(path, { config }, async (_request, reply) => sendPage(reply.headers(alone), console));
    }

    app.get("/setup", { config }, async (_request, reply) => sendPage(reply.headers(alone), setup));

    async function sendPage(
      reply: FastifyReply,
      template: (filling: Filling) => string,
      embed: string | null = null,
    ): Promise<FastifyReply> {
      const { request } = reply;
      const world = await worldOf(request);
      const [path = ""] = request.url.split(/[?#]/, 1);
      const isEmpty = !world && (await isNew(app.store));
      const at = { path, embed, isNew: isEmpty };
      const isShared = template === attend;
      const page = {
        ...pageConfig(at, world, uploads),
        ...(isShared && world && (await programPreview(world, app.store, Date.now()))),
      };
      if (isShared && world && (await hasCalls(app.store, world.id))) {
        reply.headers(CALLS);
      }
      const isSetup = template === setup && isEmpty;
      if (!world && !isSetup) reply.code(404);
      return sendHtml(
        reply,
        template({
          base: page.base,
          title: page.title ?? undefined,
          config: page,
          head: headOf(page, { server: request.base, path }, isShared),
        }),
      );
    }

    for (const folder of ["/", "/w/:world/"]) {
      // Guests read them: of an event that is not theirs, they are as without an event.
      const read = async (request: FastifyRequest) =>
        pageConfig({ path: "/", embed: null }, await worldOf(request), uploads);
      app.get(`${folder}manifest.webmanifest`, { config }, async (request, reply) => {
        const text = JSON.stringify(manifestOf(await read(request), request.base));
        return sendText(reply, text, "application/manifest+json");
      });
      app.get(`${folder}icon.svg`, { config }, async (request, reply) => {
        reply.header("content-security-policy", "default-src 'none'");
        return sendText(reply, iconOf(await read(request)), "image/svg+xml");
      });
    }

    const playerPage = player({ base: "../" });
    app.get("/web/player.html", { config }, async (_request, reply) =>
      sendHtml(reply.headers(ofPlayer), playerPage),
    );
    const files = new BuiltFiles(join(PAGES, "web"));
    app.get<{ Params: { name: string } }>(
      "/web/:name",
      { config },
      async ({ params: { name } }, reply) => {
        const file = NAME.test(name) && (await files.find(name));
        if (!file) return reply.callNotFound();
        if (name === "worker.js") {
          // It works for all pages of this server, which may be under a path of a proxy.
          reply.header("service-worker-allowed", "../");
        }
        const caching = HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache";
        return sendCoded(reply, file, caching);
      },
    );
  },
  { name: "web", dependencies: ["errors", "engines"] },
);

/** The pages as Vite built them; undefined if they were not built. */
async function readPages() {
  const read = (name: string) => readFile(join(PAGES, name), "utf8");
  try {
    const [attend, console, player, setup] = await Promise.all(
      ["index.html", "console.html", "player.html", "setup.html"].map(read),
    );
    return { attend: attend!, console: console!, player: player!, setup: setup! };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** The world that the path of a request names, or else its host, as for uploads. */
async function worldOf({ params, host, server }: FastifyRequest): Promise<World | undefined> {
  const { world: id } = params as { world?: string };
  const { worlds } = server.store;
  const found = id === undefined ? await worlds.at(host.toLowerCase()) : await worlds.get(id);
  return found?.value;
}

/** The room that an address asks for alone, with `?embed=1`; empty for the first. */
function embedOf({ query }: FastifyRequest): string | null {
  const { embed, room } = query as Record<string, unknown>;
  if (embed !== "1") return null;
  return typeof room === "string" && ROOM_ID.test(room) ? room : "";
}

const sendHtml = (reply: FastifyReply, html: string): FastifyReply =>
  sendText(reply, html, "text/html; charset=utf-8");

function sendText(reply: FastifyReply, text: string, type: string): FastifyReply {
  const tag = `"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`;
  reply.headers({ etag: tag, "cache-control": "no-cache" });
  if (reply.statusCode === 200 && hasVersion(reply.request, tag)) {
    return reply.code(304).send();
  }
  return reply.type(type).send(text);
}
