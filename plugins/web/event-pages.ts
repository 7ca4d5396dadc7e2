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
import { pageHeaders, permissionsPolicy, playerHeaders } from "./policies.js";
import { callModules, programPreview } from "./preview.js";
import stream from "./stream.js";

interface WebOptions {
  /** The origins that may show a room in a frame. */
  embedOrigins: readonly string[];
  /** The upload limits that the pages display. */
  uploads: Config["uploads"];
}

/** Matches a name into which the build put a content hash. A file with such a name never changes. */
const HASHED = /-[\w-]{8}\.\w+$/;

/** Matches the names of files in dist/pages/web. */
const NAME = /^[\w-]+\.(css|js|md|svg|woff2)$/;

/** Matches a room's id in a URL. */
const ROOM_ID = /^[\w-]{1,100}$/;

const config = { requires: "public" } as const;

/**
 * Serves the web pages: `/` to attend an event, `/console` to run an event, and `/setup` to create
 * the first event.
 */
export default fp<WebOptions>(
  async (app, { embedOrigins, uploads }) => {
    const html = await readPages();
    if (!html) {
      app.log.warn("there are no pages to serve; npm run build makes them");
      return;
    }
    app.register(stream);
    const offered = { uploads, mail: app.mail !== undefined };
    const attend = templateOf(html.attend);
    const console = templateOf(html.console);
    const setup = templateOf(html.setup);
    const player = templateOf(html.player);
    const { linkOrigin } = app.files;
    const fileOrigins = linkOrigin === undefined ? [] : [linkOrigin];
    const alone = pageHeaders([], fileOrigins);
    const embedded = pageHeaders(embedOrigins, fileOrigins);
    const { livekit } = app.callEngines;
    const aloneInCall = livekit && pageHeaders([], fileOrigins, livekit.origins);
    const embeddedInCall = livekit && pageHeaders(embedOrigins, fileOrigins, livekit.origins);
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
      const at = { path, embed, isNew: isEmpty, server: request.base };
      const isShared = template === attend;
      const { screen, preview } = request.query as Record<string, unknown>;
      const invites = screen === undefined && preview === undefined;
      if (isShared && world) reply.headers(await callHeaders(world, embed !== null));
      const page = {
        ...pageConfig(at, world, offered),
        calls: livekit !== undefined,
        ...(isShared && world && (await programPreview(world, app.store, Date.now()))),
      };
      const isSetup = template === setup && isEmpty;
      if (!world && !isSetup) reply.code(404);
      return sendHtml(
        reply,
        template({
          base: page.base,
          title: page.title ?? undefined,
          config: page,
          head: headOf(page, { server: request.base, path, invites }, isShared),
        }),
      );
    }

    /** Returns the headers that permit calls, or no headers if the world's rooms and users have no calls. */
    async function callHeaders(world: World, isFramed: boolean): Promise<Record<string, string>> {
      const { frames, engines } = await callModules(app.store, world.id);
      const own = livekit !== undefined && (engines.has("livekit") || writesDirectly(world));
      const origins = (["bigbluebutton", "jitsi"] as const).flatMap((name) => {
        const engine = app.callEngines[name];
        return engine && engines.has(name) ? [engine.origin] : [];
      });
      if (!own && !frames && origins.length === 0) return {};
      return {
        ...(own && (isFramed ? embeddedInCall : aloneInCall)),
        "permissions-policy": permissionsPolicy({ own, frames, origins }),
      };
    }

    for (const folder of ["/", "/w/:world/"]) {
      // Guests can read these files. For an event that guests may not see, the response is the same
      // as without an event.
      const read = async (request: FastifyRequest) =>
        pageConfig(
          { path: "/", embed: null, server: request.base },
          await worldOf(request),
          offered,
        );
      app.get(`${folder}manifest.webmanifest`, { config }, async (request, reply) => {
        const text = JSON.stringify(manifestOf(await read(request), request.base));
        return sendText(reply, text, "application/manifest+json");
      });
      // The whole program is too large for the page itself.
      app.get(`${folder}front.json`, { config }, async (request, reply) => {
        const world = await worldOf(request);
        const page = await read(request);
        const program = world && (await programPreview(world, app.store, Date.now(), true));
        return sendText(reply, JSON.stringify({ ...page, ...program }), "application/json");
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
          // Lets the service worker control all pages of this server, which a proxy may serve under
          // a path.
          reply.header("service-worker-allowed", "../");
        }
        const caching = HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache";
        return sendCoded(reply, file, caching);
      },
    );
  },
  { name: "web", dependencies: ["errors", "engines", "call-engines", "mail"] },
);

/** Reads the pages that Vite built. Resolves to undefined if the pages do not exist. */
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

/** Finds the world by the request's path or, as for uploads, by the request's host. */
async function worldOf({ params, host, server }: FastifyRequest): Promise<World | undefined> {
  const { world: id } = params as { world?: string };
  const { worlds } = server.store;
  const found = id === undefined ? await worlds.at(host.toLowerCase()) : await worlds.get(id);
  return found?.value;
}

/** Whether any of a world's users may write direct messages, and may therefore call each other. */
const writesDirectly = ({ permission_config }: World): boolean =>
  !permission_config["chat.direct"]?.some((entry) => entry.length === 0);

/**
 * Returns the id of the room to show alone, or an empty string for the first room. Returns null
 * without `?embed=1`.
 */
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
