import { createRequire } from "node:module";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

// Builds the API reference page, where calls can be tried: Swagger UI, with the files of its
// package.

const ASSETS = join(
  dirname(createRequire(import.meta.url).resolve("@fastify/swagger-ui")),
  "static",
);

// URLs are relative to the page, because a proxy may serve it under any path.
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Foyer API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="static/swagger-ui.css">
    <style>body { margin: 0; background: #fafafa } #api { overflow-x: auto }
      .live { font: 1rem/1.5 system-ui, sans-serif; margin: 0; padding: 1rem 20px 0 }
      .dark-mode body { background: #1c2022 } .dark-mode .live { color: #ddd }
      .dark-mode .live a { color: #a5b4fc }</style>
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

// Calls use the page's own origin, since PUBLIC_URL may be a different one.
const START = `const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();
const page = new URL(".", location.href);
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

/** Builds the page, its script, and the files of Swagger UI in a folder. */
export function buildApiPage(out) {
  mkdirSync(join(out, "static"), { recursive: true });
  writeFileSync(join(out, "api.html"), PAGE);
  writeFileSync(join(out, "start.js"), START);
  for (const name of ["swagger-ui.css", "swagger-ui-bundle.js"]) {
    copyFileSync(join(ASSETS, name), join(out, "static", name));
  }
}
