import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";
import { createApp } from "../app.js";

// Writes docs/openapi.json and client/api.ts: the interface as the routes have
// it, committed so that a change of the contract is seen in review.

const dataDir = await mkdtemp(join(tmpdir(), "foyer-"));
const app = createApp({ config: { dataDir } });
await app.ready();
const document = app.openapi();
await writeFile("docs/openapi.json", JSON.stringify(document, null, 2));
const types = await openapiTS(document as unknown as OpenAPI3);
await writeFile("client/api.ts", astToString(types));
await app.close();
await rm(dataDir, { recursive: true });
