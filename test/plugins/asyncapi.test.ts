import { readFile } from "node:fs/promises";
import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import t from "tap";
import { asyncapiDocument } from "../../plugins/asyncapi/document.js";
import { commonErrors } from "../../schemas/live/errors.js";
import {
  commands,
  pushes,
  type CommandName,
} from "../../schemas/live/index.js";
import { serve } from "../helper.js";

const url = "/api/v1/asyncapi.json";
const names = Object.keys(commands) as CommandName[];

void t.test("the document is served, and is the one committed", async (t) => {
  const { call } = await serve(t);
  const { status, body } = await call({ url });
  t.equal(status, 200);
  const committed = await readFile("docs/asyncapi.json", "utf8");
  t.same(body, JSON.parse(committed), "npm run openapi brings it up to date");
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
      t.ok(
        ajv.getSchema(path)?.(payload),
        `${key}: ${JSON.stringify(payload)}`,
      );
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
      {
        properties: {
          code: { enum: [...commands[name].errors, ...commonErrors] },
        },
      },
      "its errors, and the errors of every command",
    );
  }
  const sent = Object.keys(operations).filter(
    (key) => operations[key]!.action === "send",
  );
  t.same(sent, [
    ...Object.keys(pushes)
      .filter((name) => name !== "authenticated")
      .map((name) => `push.${name}`),
    "error",
    "change",
  ]);
});
