import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import fp from "fastify-plugin";
import { routesRequire } from "../auth/guard.js";
import { LIVE_POLICY, livePage } from "./live-page.js";

/** Everything comes from this server; Swagger UI writes its styles into the page. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The files of Swagger UI; the page needs two of them. */
const ASSETS = join(
  dirname(createRequire(import.meta.url).resolve("@fastify/swagger-ui")),
  "static",
);
const FILES = ["/swagger-ui.css", "/swagger-ui-bundle.js"];

// Each URL is relative to the page: a proxy may serve it under any path.
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Foyer API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="static/swagger-ui.css">
    <style>body { margin: 0; background: #fafafa } #api { overflow-x: auto }
      .live { font: 1rem/1.5 system-ui, sans-serif; margin: 1rem 20px 0 }</style>
  </head>
  <body>
    <p class="live">The <a href="live">websocket</a> has its own page, and so have the <a href="./">guides</a>.</p>
    <div id="api"><noscript>This page needs JavaScript. The document it shows is
      <a href="../api/v1/openapi.json">openapi.json</a>.</noscript></div>
    <script src="static/swagger-ui-bundle.js"></script>
    <script type="module" src="start.js"></script>
  </body>
</html>
`;

// Calls go to the origin of the page: PUBLIC_URL may be another one.
const START = `const page = new URL(".", location.href);
const { href } = new URL("../api/v1/openapi.json", page);
const answer = await fetch(href);
const spec = await answer.json();
spec.servers = [{ url: new URL("..", page).href.replace(/\\/$/, "") }];
spec.externalDocs = { url: href, description: "This document, for programs" };
SwaggerUIBundle({
  spec,
  dom_id: "#api",
  deepLinking: true,
  displayOperationId: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

/** The guides, as `npm run build` renders them: dist/guides. */
const GUIDES = fileURLToPath(new URL("../../guides/", import.meta.url));

/** Guides have a style, a script and an index to search, all of this server. */
const GUIDES_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * The guides at `/docs/`, the API as a page to read and try at `/docs/api`, and the
 * websocket at `/docs/live`.
 */
export default fp(
  async (app) => {
    const config = { requires: "public" } as const;
    app.get("/docs/", { config }, async ({ url }, reply) => {
      const [path = "", query] = url.split("?", 2);
      // Without the slash, the URLs in the page would be relative to the folder above.
      if (!path.endsWith("/")) {
        return reply.redirect(`docs/${query === undefined ? "" : `?${query}`}`);
      }
      const home = await readFile(join(GUIDES, "index.html")).catch(() => "");
      // Only pages that `npm run build` has not made are missing.
      if (home === "") return reply.redirect("api");
      return reply
        .header("content-security-policy", GUIDES_POLICY)
        .type("text/html; charset=utf-8")
        .send(home);
    });
    app.get("/docs/api", { config }, async ({ url }, reply) => {
      const [path = ""] = url.split("?", 1);
      // With the slash, the URLs in the page would be relative to a folder below.
      if (path.endsWith("/")) return reply.redirect("../api");
      return reply
        .header("content-security-policy", POLICY)
        .type("text/html; charset=utf-8")
        .send(PAGE);
    });
    // As the guides name each other in the repository.
    app.get<{ Params: { name: string } }>(
      "/docs/:name",
      { config },
      async ({ params }, reply) => {
        const [, guide] =
          /^([\w-]+?)(?:\.md|\.html)?\/?$/.exec(params.name) ?? [];
        if (guide === undefined || !existsSync(join(GUIDES, `${guide}.html`))) {
          return reply.callNotFound();
        }
        return reply.redirect(`guides/${guide}`);
      },
    );
    app.get("/docs/start.js", { config }, async (_, reply) =>
      reply.type("text/javascript; charset=utf-8").send(START),
    );
    let live: string | undefined;
    app.get("/docs/live", { config }, async ({ url }, reply) => {
      const [path = ""] = url.split("?", 1);
      // With the slash, the URLs in the page would be relative to a folder below.
      if (path.endsWith("/")) return reply.redirect("../live");
      live ??= livePage(app.asyncapi());
      return reply
        .header("content-security-policy", LIVE_POLICY)
        .type("text/html; charset=utf-8")
        .send(live);
    });
    await routesRequire(app, "public", () =>
      app.register(fastifyStatic, {
        root: ASSETS,
        prefix: "/docs/static/",
        allowedPath: (path) => FILES.includes(path),
        decorateReply: false,
      }),
    );
    if (!existsSync(GUIDES)) return;
    await routesRequire(app, "public", () =>
      app.register(fastifyStatic, {
        root: GUIDES,
        prefix: "/docs/guides/",
        extensions: ["html"],
        index: false,
        setHeaders: (reply) =>
          void reply.headers({ "content-security-policy": GUIDES_POLICY }),
        decorateReply: false,
      }),
    );
  },
  { name: "docs", dependencies: ["asyncapi"] },
);
