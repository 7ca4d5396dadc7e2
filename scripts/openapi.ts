import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString, type OpenAPI3 } from "openapi-typescript";

// Writes docs/openapi.json, docs/asyncapi.json and client/api.ts from the documents of the
// build. They are committed, so that a review shows every change of the contract.

const read = async (name: string): Promise<unknown> =>
  JSON.parse(await readFile(`dist/documents/${name}`, "utf8"));

for (const name of ["openapi.json", "asyncapi.json"]) {
  await writeFile(`docs/${name}`, JSON.stringify(await read(name), null, 2));
}
const document = (await read("openapi.json")) as OpenAPI3;
await writeFile("client/api.ts", astToString(await openapiTS(document)));
