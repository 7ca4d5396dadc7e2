import { readFile } from "node:fs/promises";
import addFormats from "ajv-formats";
import { Ajv2020 } from "ajv/dist/2020.js";
import t from "tap";
import { createApp } from "../../app.js";
import { loadConfig } from "../../config.js";
import type { JsonObject } from "../../schemas/document.js";
import { serve } from "../helper.js";

const url = "/api/v1/openapi.json";

void t.test("the document is served, and is the one committed", async (t) => {
  const { call } = await serve(t);
  const { status, body } = await call({ url });
  t.equal(status, 200);
  const committed = await readFile("docs/openapi.json", "utf8");
  t.same(body, JSON.parse(committed), "npm run openapi brings it up to date");
});

void t.test("every route is in it, and has a name of its own", async (t) => {
  const { body } = await (await serve(t)).call({ url });
  const { paths } = body as { paths: Record<string, JsonObject> };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { operationId } = operation as { operationId: string };
      return [`${method} ${path}`, operationId];
    }),
  );
  t.same(Object.fromEntries(operations), {
    "get /healthz": "getHealth",
    "get /api/v1/worlds/{world_id}": "getWorld",
    "patch /api/v1/worlds/{world_id}": "updateWorld",
    "get /api/v1/worlds/{world_id}/rooms": "listRooms",
    "post /api/v1/worlds/{world_id}/rooms": "createRoom",
    "get /api/v1/worlds/{world_id}/rooms/{room_id}": "getRoom",
    "patch /api/v1/worlds/{world_id}/rooms/{room_id}": "updateRoom",
    "delete /api/v1/worlds/{world_id}/rooms/{room_id}": "deleteRoom",
    "get /api/v1/worlds/{world_id}/users": "listUsers",
    "post /api/v1/worlds/{world_id}/delete_user": "deleteUser",
    "get /api/v1/worlds/{world_id}/files": "listFiles",
    "delete /api/v1/worlds/{world_id}/files/{file_id}": "deleteFile",
    "post /storage/upload": "uploadFile",
    "get /media/pub/{world}/{name}": "getFile",
    "get /api/v1/openapi.json": "getOpenapi",
  });
});

void t.test("its examples are valid", async (t) => {
  const { app } = await serve(t);
  const document = app.openapi() as unknown as {
    components: { schemas: Record<string, JsonObject> };
  };
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, "document");
  let count = 0;
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    for (const example of (schema.examples ?? []) as unknown[]) {
      count++;
      const validate = ajv.getSchema(`document#/components/schemas/${name}`);
      t.ok(validate?.(example), `${name}: ${JSON.stringify(example)}`);
    }
  }
  t.ok(count > 10, "and there are examples");
});

void t.test("a browser that opens / lands on the page", async (t) => {
  const { call } = await serve(t);
  const page = await call({ url: "/", headers: { accept: "text/html" } });
  t.match(page, { status: 302, headers: { location: "/docs" } });
  t.equal((await call({ url: "/" })).status, 404, "a program does not");
});

void t.test("answers of other routes go by schemas of their own", async (t) => {
  const answerOf = async (kind: string) => {
    const app = createApp({
      config: { ...loadConfig({}), dataDir: t.testdir() },
    });
    t.teardown(() => app.close());
    app.register(async (scope) => {
      const properties = { [kind]: { type: "string" } };
      app.addSchema({ $id: "Mine", type: "object", properties });
      scope.get(
        "/mine",
        { schema: { response: { 200: { $ref: "Mine#" } } } },
        async () => ({ a: "a", b: "b" }),
      );
    });
    return (await app.inject("/mine")).body;
  };
  t.equal(await answerOf("a"), '{"a":"a"}');
  t.equal(await answerOf("b"), '{"b":"b"}', "by the same name");
});
