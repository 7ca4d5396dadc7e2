import { readFile } from "node:fs/promises";
import specs from "@asyncapi/specs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import addFormats from "ajv-formats";
import { Ajv } from "ajv";
import t from "tap";

// The committed documents, by the official schema of AsyncAPI and by the rules of a linter
// for OpenAPI. That they are what a server serves is tested beside their contents.

type Json = Record<string, unknown>;

interface AsyncApi extends Json {
  operations: Record<string, Json>;
  channels: { world: { messages: Record<string, Json> } };
}

const read = async (name: string) =>
  JSON.parse(await readFile(`docs/${name}.json`, "utf8")) as Json;

/** What the linter says about an OpenAPI document, with its advice. */
async function faultsOfOpenApi(document: Json): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const source = JSON.stringify(document);
  const found = await lintFromString({ source, config });
  return found.map(
    ({ message, location }) => `${location[0]?.pointer}: ${message}`,
  );
}

void t.test("the document of HTTP is valid", async (t) => {
  t.same(await faultsOfOpenApi(await read("openapi")), []);
});

void t.test("the linter finds faults of the document of HTTP", async (t) => {
  const document = await read("openapi");
  const paths = document.paths as Record<string, { get: Json }>;
  const { get } = paths["/healthz"]!;
  const cases: [name: string, paths: object, expected: RegExp][] = [
    ["a field that is none", { get: { ...get, unknown: 1 } }, /unknown/],
    [
      "an answer without a description",
      { get: { ...get, responses: { 200: {} } } },
      /`description`/,
    ],
    [
      "a reference to nothing",
      {
        get: {
          ...get,
          responses: { 200: { $ref: "#/components/responses/None" } },
        },
      },
      /resolve/,
    ],
  ];
  for (const [name, path, expected] of cases) {
    const broken = { ...document, paths: { ...paths, "/healthz": path } };
    t.match((await faultsOfOpenApi(broken)).join("\n"), expected, name);
  }
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
      .reduce<unknown>((part, name) => (part as Json)?.[name], document) !==
    undefined;
  const lost = [...references].filter((reference) => !isThere(reference));
  return [...faults, ...lost.map((reference) => `no ${reference}`)];
}

void t.test("the document of the websocket is valid", async (t) => {
  const document = await read("asyncapi");
  t.match(JSON.stringify(document), '"$ref"', "it has references");
  t.same(faultsOfAsyncApi(document), []);
});

void t.test("faults of the document of the websocket are found", async (t) => {
  const cases: [
    name: string,
    breaks: (document: AsyncApi) => void,
    expected: RegExp,
  ][] = [
    [
      "an action that is none",
      ({ operations }) => void (operations["room.enter"]!.action = "tell"),
      /room\.enter\/action: must be equal to one of/,
    ],
    [
      "a payload that is no schema",
      ({ channels }) =>
        void (channels.world.messages["command.ping"]!.payload = 7),
      /command\.ping/,
    ],
    [
      "a message that is not there",
      ({ channels }) => void delete channels.world.messages["success.ping"],
      /no #\/channels\/world\/messages\/success\.ping/,
    ],
  ];
  for (const [name, breaks, expected] of cases) {
    const document = (await read("asyncapi")) as AsyncApi;
    breaks(document);
    t.match(faultsOfAsyncApi(document).join("\n"), expected, name);
  }
});
