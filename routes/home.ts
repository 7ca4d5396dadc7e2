import { createHash } from "node:crypto";
import type { FastifyPluginAsync } from "fastify";

const STYLE =
  "body{font:1.1rem/1.6 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem;color:#222;background:#fff}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}a{color:#8bf}}";

/** Allows the page its own style and nothing else: no script, form, or frame. */
const HOME_POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const HOME_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Foyer</title>
    <link rel="icon" href="data:,">
    <style>${STYLE}</style>
  </head>
  <body>
    <h1>Foyer</h1>
    <p>This is a server for online events. It works, but it has no pages for
      visitors: apps use it through its API.</p>
    <p>If you were invited to an event, open the link that you were given.</p>
    <p>If you build an app, <a href="docs/">read and try the API</a>, and
      <a href="docs/live">read about the websocket</a>.</p>
  </body>
</html>
`;

/** The page at `/`, for people. A program gets the 404 of any unknown path. */
const home: FastifyPluginAsync = async (app) => {
  app.get(
    "/",
    { config: { requires: "public" } },
    async ({ headers }, reply) => {
      reply.header("vary", "accept");
      if (!headers.accept?.includes("text/html")) return reply.callNotFound();
      return reply
        .header("content-security-policy", HOME_POLICY)
        .type("text/html; charset=utf-8")
        .send(HOME_PAGE);
    },
  );
};

export default home;
