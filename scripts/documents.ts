import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "../app.js";
import { LIVE_STYLE, livePage } from "./live-page.js";

// Makes the documents that every server sends, from its routes and its commands, in the
// folder that the argument names. scripts/build.js runs it.

const out = process.argv[2]!;
const dataDir = await mkdtemp(join(tmpdir(), "foyer-"));
// With the routes that a server has only if a variable asks for them.
const adminToken = "a".repeat(32);
const app = createApp({ config: { dataDir, adminToken } });
try {
  await app.ready();
  const asyncapi = app.asyncapi();
  const files = {
    "openapi.json": JSON.stringify(app.openapi()),
    "asyncapi.json": JSON.stringify(asyncapi),
    "live.html": livePage(asyncapi),
    "live.css": LIVE_STYLE,
  };
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(out, name), text);
  }
} finally {
  await app.close();
  await rm(dataDir, { recursive: true });
}
