import { readdirSync } from "node:fs";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { Type } from "@sinclair/typebox";
import t from "tap";
import {
  asyncapiDocument,
  type Requirements,
} from "../../../plugins/asyncapi/asyncapi-document.js";
import { type CommandName, commands } from "../../../schemas/live/index.js";
import { livePage } from "../../../scripts/live-page.js";
import { type DocumentSchema, schemaHtml } from "../../../scripts/schema-html.js";
import { startServer } from "../../support/server.js";

void t.test("the page, as it is sent", async (t) => {
  const { call } = await startServer(t);
  const page = await call({ url: "/docs/api" });
  t.match(page, {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": /default-src 'self';/,
    },
  });
  t.match(page.text, /<title>Foyer API<\/title>/);
  t.match(page.text, /<meta name="viewport" content="width=device-width/);
  t.notMatch(page.text, /(src|href)="(\/|https?:)/, "each address is relative");
  const moved = await call({ url: "/docs?x=1" });
  t.match(moved, { status: 302, headers: { location: "docs/?x=1" } });
  for (const file of ["index.html", "../package.json", "swagger-ui.js"]) {
    const { status } = await call({ url: `/docs/static/${file}` });
    t.equal(status, 404, `${file} is not served`);
  }
});

void t.test("the guides, as npm run build renders them", async (t) => {
  const { call } = await startServer(t);
  const policy = /^default-src 'none'; style-src 'self'; script-src 'self';/;
  const home = await call({ url: "/docs/" });
  const headers = { "content-security-policy": policy };
  t.match(home, { status: 200, headers });
  const documents = readdirSync(new URL("../../../../docs/", import.meta.url))
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -3));
  const names = [...documents, "changelog", "security"];
  const pages = new Map<string, string>();
  for (const name of names) {
    const page = await call({ url: `/docs/guides/${name}` });
    t.match(page, { status: 200, headers }, name);
    pages.set(name, page.text);
    t.match(home.text, `href="guides/${name}"`);
  }
  for (const [name, text] of [["", home.text], ...pages] as const) {
    t.notMatch(text, /(src|href)="\/|<script>|<style|style="| on\w+="/, name);
    const base = `http://a/docs/${name && `guides/${name}`}`;
    for (const [, href = ""] of text.matchAll(/(?:href|src)="([^"]+)"/g)) {
      const url = new URL(href.replaceAll("&#38;", "&"), base);
      if (url.host !== "a") continue;
      const { status, text: found } = await call({ url: url.pathname });
      t.equal(status, 200, `${name}: ${href}`);
      const id = decodeURIComponent(url.hash.slice(1));
      if (id) t.match(found, `id="${id}"`, `${name}: ${href}`);
    }
  }
  const { text } = await call({ url: "/docs/guides/search.json" });
  const sections = JSON.parse(text) as Record<string, string>[];
  t.match(
    sections.find(({ text }) => text!.includes("DATABASE_POOL")),
    { page: /^\w+$/, title: /./ },
  );
  for (const { page, id } of sections) {
    t.match(pages.get(page!), id ? `id="${id}"` : "<h1", `${page}#${id}`);
  }
  for (const old of ["configure", "configure.md", "configure.html"]) {
    t.match(await call({ url: `/docs/${old}` }), {
      status: 302,
      headers: { location: "guides/configure" },
    });
  }
  for (const none of ["nothing", "guides/nothing", "guides/..%2fapp.js"]) {
    t.ok([403, 404].includes((await call({ url: `/docs/${none}` })).status));
  }
});

void t.test("what the build made, in the coding that a client takes", async (t) => {
  const { app } = await startServer(t);
  const get = async (url: string, headers: Record<string, string> = {}) => {
    const answer = await app.inject({ url, headers });
    t.equal(answer.headers.vary, "accept-encoding", url);
    t.equal(answer.headers["cache-control"], "no-cache", url);
    return answer;
  };
  for (const url of [
    "/docs/",
    "/docs/api",
    "/docs/live",
    "/docs/guides/configure",
    "/docs/static/swagger-ui.css",
    "/api/v1/openapi.json",
    "/api/v1/asyncapi.json",
  ]) {
    const plain = await get(url);
    t.notOk(plain.headers["content-encoding"], url);
    const { etag } = plain.headers as { etag: string };
    t.match(etag, /^W\/"[\w-]{22}"$/);
    const cases: [accepted: string, coding: string | undefined][] = [
      ["gzip, deflate, br", "br"],
      ["gzip", "gzip"],
      ["br;q=0, gzip;q=0.5", "gzip"],
      ["zstd, identity", undefined],
      ["br;q=0, gzip;q=0", undefined],
    ];
    for (const [accepted, coding] of cases) {
      const headers = { "accept-encoding": accepted };
      const coded = await get(url, headers);
      t.equal(coded.headers["content-encoding"], coding, accepted);
      const { "content-type": type } = plain.headers;
      t.match(coded.headers, { etag, "content-type": type });
      const { rawPayload: bytes } = coded;
      const text =
        coding === "br"
          ? brotliDecompressSync(bytes)
          : coding === "gzip"
            ? gunzipSync(bytes)
            : bytes;
      t.ok(text.equals(plain.rawPayload), `${url}: ${accepted}`);
      if (coding) t.ok(bytes.length < text.length, `${bytes.length}`);
      const known = await get(url, { ...headers, "if-none-match": etag });
      t.match(known, { statusCode: 304, body: "", headers: { etag } });
    }
    const head = await app.inject({ method: "HEAD", url });
    t.match(head, { statusCode: 200, body: "", headers: { etag } });
  }
});

void t.test("with origins that may call, too", async (t) => {
  const { app } = await startServer(t, {
    worlds: [],
    config: { corsOrigins: ["https://a.org"] },
  });
  const headers = { origin: "https://a.org" };
  const { headers: got } = await app.inject({ url: "/docs/", headers });
  t.match(got, {
    vary: "Origin, accept-encoding",
    "access-control-allow-origin": "https://a.org",
  });
});

void t.test("the page about the websocket", async (t) => {
  const { app, call } = await startServer(t);
  const page = await call({ url: "/docs/live" });
  t.match(page, {
    status: 200,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": /^default-src 'none'; style-src 'self';/,
    },
  });
  t.notMatch(page.text, /(src|href)="(\/|https?:)/, "each address is relative");
  t.notMatch(page.text, /<style|style="|<script/, "its style is a file");
  t.match(await call({ url: "/docs/live.css" }), {
    status: 200,
    headers: { "content-type": "text/css; charset=utf-8" },
  });
  const links = [...page.text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  t.ok(links.length > 100, `${links.length} links within it`);
  const ids = [...page.text.matchAll(/id="([^"]+)"/g)].map(([, id]) => id!);
  t.same(new Set(ids).size, ids.length, "no two places have the same name");
  t.same(
    [...new Set(links)].filter((id) => !ids.includes(id!)),
    [],
  );

  const { operations } = app.asyncapi() as {
    operations: Record<string, { action: string; title: string; channel: { $ref: string } }>;
  };
  for (const { action, title, channel } of Object.values(operations)) {
    // The page covers the WebSocket only.
    if (channel.$ref !== "#/channels/world") continue;
    const kind = action === "receive" ? "command" : "push";
    t.ok(ids.includes(`${kind}-${title}`), title);
  }
  for (const code of ["room.unknown", "user.unsupported_command"]) {
    t.ok(ids.includes(`code-${code}`), code);
  }
  for (const path of ["live", "guides/configure"]) {
    const moved = await call({ url: `/docs/${path}/` });
    const location = `../${path.split("/").at(-1)}`;
    t.match(moved, { status: 302, headers: { location } });
  }
});

void t.test("what the page makes of a schema", async (t) => {
  const text = Type.String({ minLength: 1, maxLength: 5 });
  const shapes: Record<string, [schema: object, html: string]> = {
    "a tuple": [{ type: "array", items: [{ const: "a<b" }, {}] }, "[&#34;a&#60;b&#34;, any]"],
    "a list of either": [
      Type.Array(Type.Union([Type.Integer(), Type.Null()])),
      "(integer | null)[]",
    ],
    "two types": [{ type: ["string", "null"] }, "string | null"],
    words: [{ enum: ["a", "b"] }, "&#34;a&#34; | &#34;b&#34;"],
    "a reference": [{ $ref: "#/components/schemas/Room" }, '<a href="#Room">Room</a>'],
    "a narrowed reference": [
      { allOf: [{ $ref: "#/components/schemas/Room" }, {}] },
      '<a href="#Room">Room</a>',
    ],
    "a map": [{ type: "object", additionalProperties: text }, "{ [name]: string }"],
    "no field": [{ type: "object", additionalProperties: false }, "{}"],
    fields: [
      Type.Object({
        "a.b": text,
        c: Type.Optional(Type.Object({ d: Type.Boolean({ description: "&" }) })),
      }),
      "{\n  &#34;a.b&#34;: string <i>// 1 to 5 characters</i>\n  c?: {\n    d: boolean <i>// &#38;</i>\n  }\n}",
    ],
  };
  for (const [name, [schema, html]] of Object.entries(shapes)) {
    t.equal(schemaHtml(schema as DocumentSchema), html, name);
  }
});

void t.test("the page says what a command requires", async (t) => {
  const names = Object.keys(commands) as CommandName[];
  const requirements = Object.fromEntries(
    names.map((name) => [name, `<b>${name}</b>`]),
  ) as Requirements;
  const page = livePage(asyncapiDocument({ version: "1.0.0", requirements }));
  t.match(page, /<p>Requires: &#60;b&#62;room\.enter&#60;\/b&#62;<\/p>/);
});
