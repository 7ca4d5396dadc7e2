import { readFile } from "node:fs/promises";
import specs from "@asyncapi/specs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import addFormats from "ajv-formats";
import { Ajv } from "ajv";
import t from "tap";

// The documents of the build, by the official schema of AsyncAPI and by the rules of a linter
// for OpenAPI. That a server serves them is tested beside their contents.

type Json = Record<string, unknown>;

const read = async (name: string) =>
  JSON.parse(await readFile(`dist/documents/${name}.json`, "utf8")) as Json;

/** What the linter says about an OpenAPI document, with its advice. */
async function faultsOfOpenApi(document: Json): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const source = JSON.stringify(document);
  const found = await lintFromString({ source, config });
  return found.map(({ message, location }) => `${location[0]?.pointer}: ${message}`);
}

void t.test("the document of HTTP is valid", async (t) => {
  t.same(await faultsOfOpenApi(await read("openapi")), []);
});

// The official schema contains its own meta schema.
const ajv = new Ajv({ strict: false, meta: false, validateSchema: false });
addFormats.default(ajv);
const isAsyncApi = ajv.compile(specs.schemas["3.0.0"]);

/** What is wrong with an AsyncAPI document: by its schema, and references to nothing. */
function faultsOfAsyncApi(document: Json): string[] {
  isAsyncApi(document);
  const faults = (isAsyncApi.errors ?? []).map(
    ({ instancePath, message }) => `${instancePath}: ${message}`,
  );
  const references = new Set(
    [...JSON.stringify(document).matchAll(/"\$ref":("[^"]+")/g)].map(
      ([, text]) => JSON.parse(text!) as string,
    ),
  );
  const isThere = (reference: string) =>
    reference
      .replace(/^#\//, "")
      .split("/")
      .map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
      .reduce<unknown>((part, name) => (part as Json)?.[name], document) !== undefined;
  const lost = [...references].filter((reference) => !isThere(reference));
  return [...faults, ...lost.map((reference) => `no ${reference}`)];
}

void t.test("the document of the websocket is valid", async (t) => {
  const document = await read("asyncapi");
  t.match(JSON.stringify(document), '"$ref"', "it has references");
  t.same(faultsOfAsyncApi(document), []);
});
