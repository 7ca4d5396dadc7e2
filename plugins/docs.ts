import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import fastifyStatic from "@fastify/static";
import fp from "fastify-plugin";

/** Everything from this server; Swagger UI writes its styles into the page. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Swagger UI's files, of which the page needs two. */
const ASSETS = join(
  dirname(createRequire(import.meta.url).resolve("@fastify/swagger-ui")),
  "static",
);
const FILES = ["/swagger-ui.css", "/swagger-ui-bundle.js"];

// Each address is relative to the page: a proxy may put it below any path.
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Foyer API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="static/swagger-ui.css">
    <style>body { margin: 0; background: #fafafa } #api { overflow-x: auto }</style>
  </head>
  <body>
    <div id="api"><noscript>This page needs JavaScript. The document it shows is
      <a href="../api/v1/openapi.json">openapi.json</a>.</noscript></div>
    <script src="static/swagger-ui-bundle.js"></script>
    <script type="module" src="start.js"></script>
  </body>
</html>
`;

// Calls go to where the page came from: PUBLIC_URL may be another origin.
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

/** The interface as a page to read and try, at `/docs/`. */
export default fp(
  async (app) => {
    app.get("/docs/", async ({ url }, reply) => {
      const [path = "", query] = url.split("?", 2);
      // Without the slash, the page's addresses would be relative to the folder above.
      if (!path.endsWith("/")) {
        return reply.redirect(`docs/${query === undefined ? "" : `?${query}`}`);
      }
      return reply
        .header("content-security-policy", POLICY)
        .type("text/html; charset=utf-8")
        .send(PAGE);
    });
    app.get("/docs/start.js", async (_, reply) =>
      reply.type("text/javascript; charset=utf-8").send(START),
    );
    await app.register(fastifyStatic, {
      root: ASSETS,
      prefix: "/docs/static/",
      allowedPath: (path) => FILES.includes(path),
      decorateReply: false,
    });
  },
  { name: "docs" },
);
