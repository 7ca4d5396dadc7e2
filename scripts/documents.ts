import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";
import { createApp } from "../app.js";
import { LIVE_STYLE, livePage } from "./live-page.js";

// Generates the documents that every server sends, from its routes and commands, and the types of
// the client. scripts/build.js runs this.

const [, , out, types] = process.argv as [string, string, string, string];
const dataDir = await mkdtemp(join(tmpdir(), "foyer-"));
// Includes the routes that exist only if an environment variable enables them.
const adminToken = "a".repeat(32);
const app = createApp({ config: { dataDir, adminToken } });
try {
  await app.ready();
  const openapi = app.openapi();
  const asyncapi = app.asyncapi();
  const files = {
    "openapi.json": JSON.stringify(openapi),
    "asyncapi.json": JSON.stringify(asyncapi),
    "live.html": livePage(asyncapi),
    "live.css": LIVE_STYLE,
  };
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(out, name), text);
  }
  await writeFile(types, astToString(await openapiTS(openapi as unknown as OpenAPI3)));
} finally {
  await app.close();
  await rm(dataDir, { recursive: true });
}
