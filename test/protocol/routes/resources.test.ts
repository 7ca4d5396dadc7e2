import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { JsonObject } from "../../../schemas/openapi/openapi-schema.js";
import { RECORDS } from "../../../schemas/plain/records.js";
import { rules, worldOf } from "../../support/helper.js";
import { admin, type Answer } from "../../support/helper.js";
import { identified } from "../../support/resources.js";
import { startServer } from "../../support/server.js";

// The life cycle of one record of each resource: its responses, its versions, and its entries in
// the feed, the audit and the world document.

const idOf = ({ body }: Answer) => (body as { id: string }).id;

for (const { life, parameter } of identified) {
  if (!life) continue;
  const { list, draft, changes, record } = life;
  void t.test(`the life of a ${record}`, async (t) => {
    const world = worldOf("demo", { permission_config: rules({ "world.feed": ["admin"] }) });
    const server = await startServer(t, { worlds: [world] });
    const as = admin("demo");
    const path = list.replace(":world_id", "demo");
    const call = (method: string, url: string, body?: object, headers = {}) =>
      server.call({ method, url, as, headers, ...(body && { body }) });

    const made = await call("POST", path, draft);
    const id = idOf(made);
    const twin = await call("POST", path, { ...draft, ...changes });
    t.not(twin.headers.etag, made.headers.etag, "a version belongs to one value");
    await call("DELETE", `${path}${idOf(twin)}/`);
    const one = `${path}${id}/`;
    t.match(made, { status: 201, body: { ...draft, id } });
    t.ok(made.headers.location!.endsWith(one));
    const { etag } = made.headers;
    t.match(await call("GET", path), { body: { count: 1, results: [made.body] } });
    t.match(await call("GET", `${path}?cursor=`), { body: { count: 1, results: [made.body] } });
    const got = await call("GET", one);
    t.match(got, { status: 200, body: made.body as object, headers: { etag: etag! } });
    t.equal((await call("GET", one, undefined, { "if-none-match": etag! })).status, 304);

    t.equal((await call("PATCH", one, { id: "x" })).status, 400, "the id stays");
    t.equal((await call("PATCH", one, { unknown: 1 })).status, 400);
    t.match(await call("PATCH", one, { id }), { status: 200, headers: { etag: etag! } });
    const ifMatch = { "if-match": etag! };
    const changed = await call("PATCH", one, changes, ifMatch);
    t.match(changed, { status: 200, body: { ...draft, ...changes, id } });
    t.not(changed.headers.etag, etag);
    t.equal((await call("PATCH", one, changes, ifMatch)).status, 412);

    const copy: string[] = [];
    for await (const line of server.store.worlds.export("demo")) copy.push(line);
    t.match(copy.join(""), id, "it is in the document");

    t.equal((await call("DELETE", one, undefined, ifMatch)).status, 412);
    t.equal((await call("DELETE", one)).status, 204);
    t.match(await call("GET", one), { status: 403, body: { code: "missing" } });
    t.match(await call("DELETE", one), { status: 403, body: { code: "missing" } });

    const base = "/api/v1/worlds/demo/";
    const types = `?types=${record}.*`;
    const feed = await call("GET", `${base}changes/${types}&after=0`);
    const { results } = feed.body as { results: { type: string; data: object }[] };
    const data = { [parameter]: id };
    const fields = Object.keys(changes);
    t.strictSame(
      results.filter(({ type, data }) => !type.endsWith("updated") || "fields" in data).at(0)?.data,
      data,
    );
    t.match(results.at(-1), { type: `${record}.deleted`, data });
    t.match(results.at(-2), { type: `${record}.updated`, data: { ...data, fields } });
    const audit = await call("GET", `${base}audit/?type=${record}.*`);
    const deleted = { type: `${record}.deleted`, subject: data };
    t.match(audit.body, { results: [deleted, { type: `${record}.updated`, subject: data }] });
  });
}

const root = join(import.meta.dirname, "../../../..");
const textOf = (path: string) => readFileSync(join(root, path), "utf8");

void t.test("no step of the recipe for a resource is left out", async (t) => {
  const expect = (isDone: boolean, step: string) =>
    t.ok(isDone, isDone ? step : `${step} (CONTRIBUTING.md, "A resource")`);

  const app = textOf("app.ts");
  for (const path of readdirSync(join(root, "routes"), { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".ts") || !textOf(`routes/${path}`).includes("export default")) continue;
    const isRegistered = app.includes(`./routes/${path.replace(".ts", ".js")}"`);
    expect(isRegistered, `Register routes/${path} in app.ts.`);
  }
  const index = textOf("db/domains/index.ts");
  for (const name of readdirSync(join(root, "db/domains"))) {
    if (!name.endsWith(".ts") || !textOf(`db/domains/${name}`).includes(" = domain({")) continue;
    const isRegistered = index.includes(`./${name.replace(".ts", ".js")}"`);
    expect(
      isRegistered,
      `Add db/domains/${name} to \`domains\` and \`Store\` in db/domains/index.ts.`,
    );
  }

  const table = textOf("docs/api.md");
  const [, conditional = ""] = /^## Conditional requests$(.*?)^## /ms.exec(table) ?? [];
  const changelog = textOf("CHANGELOG.md");
  const parameters = new Set(identified.map(({ parameter }) => parameter));
  for (const record of RECORDS) {
    expect(
      parameters.has(`${record}_id`),
      `Say what tests know of a ${record}, in a file in test/support/resources/.`,
    );
    expect(
      conditional.includes(record),
      `Name a ${record} under "Conditional requests" in docs/api.md.`,
    );
    expect(
      new RegExp(`\\b${record}`, "i").test(changelog),
      `Tell of ${record}s under "Unreleased" in CHANGELOG.md.`,
    );
  }

  const server = await startServer(t);
  const { paths } = server.app.openapi() as { paths: Record<string, JsonObject> };
  for (const [path, methods] of Object.entries(paths)) {
    if (!path.startsWith("/api/v1/worlds/")) continue;
    for (const method of Object.keys(methods)) {
      const row = new RegExp(
        `^\\| ${method.toUpperCase()} +\\| \`${path.replace(/[{}]/g, "\\$&")}/?\``,
        "m",
      );
      expect(row.test(table), `Add a row for ${method.toUpperCase()} ${path} to docs/api.md.`);
    }
  }
});
