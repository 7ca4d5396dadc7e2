import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import specs from "@asyncapi/specs";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import t from "tap";
import { asyncapiDocument } from "../../../plugins/asyncapi/asyncapi-document.js";
import { commonErrors, liveErrors } from "../../../schemas/live/errors.js";
import { type CommandName, commands, pushes } from "../../../schemas/live/index.js";
import { startServer } from "../../support/server.js";

// Checks the generated documents with the official AsyncAPI schema and an OpenAPI linter. Other
// tests check that a server serves them.

type Json = Record<string, unknown>;

const read = async (name: string) =>
  JSON.parse(await readFile(`dist/documents/${name}.json`, "utf8")) as Json;

/** Returns the linter's findings in an OpenAPI document, including its recommendations. */
async function faultsOfOpenApi(document: Json): Promise<string[]> {
  const config = await createConfig({ extends: ["recommended"] });
  const source = JSON.stringify(document);
  const found = await lintFromString({ source, config });
  return found.map(({ message, location }) => `${location[0]?.pointer}: ${message}`);
}

void t.test("the document of HTTP is valid", async (t) => {
  t.same(await faultsOfOpenApi(await read("openapi")), []);
});

// The official schema embeds its own meta-schema.
const ajv = new Ajv({ strict: false, meta: false, validateSchema: false });
addFormats.default(ajv);
const isAsyncApi = ajv.compile(specs.schemas["3.0.0"]);

/** Returns the faults of an AsyncAPI document: schema violations and dangling references. */
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

const url = "/api/v1/asyncapi.json";
const names = Object.keys(commands) as CommandName[];

void t.test("the document of the build is served", async (t) => {
  const { call } = await startServer(t);
  const { status, body } = await call({ url });
  t.equal(status, 200);
  t.same(body, JSON.parse(await readFile("dist/documents/asyncapi.json", "utf8")));
});

void t.test("its examples are valid", async (t) => {
  const document = asyncapiDocument({ version: "1.0.0" });
  const ajv = new Ajv({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, "document");
  const { messages } = (document as unknown as Document).channels.world;
  for (const [key, { examples = [] }] of Object.entries(messages)) {
    const path = `document#/channels/world/messages/${key}/payload`;
    for (const { payload } of examples) {
      t.ok(ajv.getSchema(path)?.(payload), `${key}: ${JSON.stringify(payload)}`);
    }
  }
});

interface Document {
  operations: Record<
    string,
    {
      action: string;
      messages: { $ref: string }[];
      reply?: { messages: { $ref: string }[] };
    }
  >;
  channels: {
    world: {
      messages: Record<
        string,
        {
          payload: { items: { allOf?: unknown[] }[] };
          examples?: { payload: unknown }[];
        }
      >;
    };
  };
}

void t.test("every command and push is in it", async (t) => {
  const document = asyncapiDocument({ version: "1.0.0" });
  const { operations, channels } = document as unknown as Document;
  const ref = (key: string) => ({
    $ref: `#/channels/world/messages/${key}`,
  });
  for (const name of names) {
    t.match(
      operations[name],
      {
        action: "receive",
        messages: [ref(`command.${name}`)],
        reply: { messages: [ref(`success.${name}`), ref(`error.${name}`)] },
      },
      name,
    );
    const { messages } = channels.world;
    t.equal(messages[`command.${name}`]?.examples?.length, 1, "an example");
    t.match(
      messages[`error.${name}`]?.payload.items[2]?.allOf?.[1],
      { properties: { code: { enum: [...commands[name].errors, ...commonErrors] } } },
      "its errors, and the errors of every command",
    );
  }
  const sent = Object.keys(operations).filter((key) => operations[key]!.action === "send");
  t.same(sent, [
    ...Object.keys(pushes)
      .filter((name) => name !== "authenticated")
      .map((name) => `push.${name}`),
    "error",
    "change",
  ]);
});

// Checks the tables in docs/live.md.

const page = readFileSync(new URL("../../../../docs/live.md", import.meta.url), "utf8");

/** Returns the cells of a section's table, without its header. */
function tableOf(section: string): string[][] {
  const [text = ""] = page.split(`\n## ${section}\n`)[1]!.split("\n## ", 1);
  return [...text.matchAll(/^\| (.+) \|$/gm)]
    .map(([, row]) => row!.split("|").map((cell) => cell.trim()))
    .slice(2);
}

void t.test("docs/live.md has every code, in the words of the code", async (t) => {
  t.same(
    tableOf("Errors"),
    [
      ...Object.entries(liveErrors),
      ["<module>.unsupported_command", "The module has no such command."],
    ].map(([code, when]) => [`\`${code}\``, when]),
  );
});

void t.test("docs/live.md has every push", async (t) => {
  const named = tableOf("Pushes").flatMap(([cell = ""]) => {
    const names = [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
    // `.removed` abbreviates a name: its prefix is that of the first name in the cell.
    return names.map((name) =>
      name.startsWith(".") ? names[0]!.slice(0, names[0]!.lastIndexOf(".")) + name : name,
    );
  });
  const { authenticated: _, ...sent } = pushes;
  t.same(named.sort(), Object.keys(sent).sort());
});
