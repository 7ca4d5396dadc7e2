import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";
import { createApp } from "../app.js";

// Writes docs/openapi.json and client/api.ts from the routes, and docs/asyncapi.json from
// the commands. They are committed, so that a review shows every change of the contract.

const dataDir = await mkdtemp(join(tmpdir(), "foyer-"));
const app = createApp({ config: { dataDir } });
await app.ready();
const document = app.openapi();
await writeFile("docs/openapi.json", JSON.stringify(document, null, 2));
const types = await openapiTS(document as unknown as OpenAPI3);
await writeFile("client/api.ts", astToString(types));
await writeFile("docs/asyncapi.json", JSON.stringify(app.asyncapi(), null, 2));
await app.close();
await rm(dataDir, { recursive: true });
