import t, { type Test } from "tap";
import { dial, listen, rawRequest, serve, worldOf } from "../helper.js";
import {
  fileForm,
  finished,
  follow,
  images,
  PDF,
  SVG,
  upload,
  urlOf,
} from "../files.js";

/** A server with a file, and the path of its link. */
async function withFile(t: Test, name = "a.pdf", body: string | Buffer = PDF) {
  const server = await serve(t);
  const answer = await upload(server, fileForm(name, body));
  return { ...server, path: new URL(urlOf(answer)).pathname };
}

void t.test("what comes with a file", async (t) => {
  const server = await withFile(t);
  const links: [name: string, body: string | Buffer, mime: string][] = [
    ["a.pdf", PDF, "application/pdf"],
    ["a.svg", SVG, "image/svg+xml"],
    ["a.png", await images.png(), "image/png"],
  ];
  for (const [name, body, mime] of links) {
    const url = urlOf(await upload(server, fileForm(name, body)));
    const got = await follow(server, url);
    t.equal(got.status, 200, name);
    t.match(
      got.headers,
      {
        "content-type": mime,
        "content-length": String(got.bytes.length),
        "accept-ranges": "bytes",
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
        etag: /^(W\/)?"[^"]+"$/,
      },
      name,
    );
    const policy = got.headers["content-security-policy"] ?? "";
    const directives = policy.split(";").map((directive) => directive.trim());
    t.ok(directives.includes("default-src 'none'"), name);
    t.ok(directives.includes("sandbox"), `${name}: and nothing is allowed`);
    t.notMatch(policy, /script-src|allow-scripts|allow-same-origin/, name);

    const head = await follow(server, url, {}, "HEAD");
    t.equal(head.status, 200, name);
    t.equal(head.bytes.length, 0, name);
    const { date: _, "x-request-id": id, ...headers } = got.headers;
    t.match(head.headers, headers, `${name}: HEAD says the same`);
    t.ok(id);
  }
});

void t.test("parts of a file, and copies of it", async (t) => {
  const server = await withFile(t);
  const all = Buffer.from(PDF);
  const { etag = "", "last-modified": modified = "" } = (
    await follow(server, server.path)
  ).headers;
  const cases: [
    name: string,
    headers: Record<string, string>,
    status: number,
    bytes: Buffer,
    range?: string,
  ][] = [
    ["the start", { range: "bytes=0-4" }, 206, all.subarray(0, 5), `bytes 0-4/${all.length}`],
    ["the rest", { range: "bytes=5-" }, 206, all.subarray(5), `bytes 5-${all.length - 1}/${all.length}`],
    ["the end", { range: "bytes=-6" }, 206, all.subarray(-6)],
    ["more than there is", { range: "bytes=5-999999" }, 206, all.subarray(5)],
    ["past the end", { range: "bytes=999999-" }, 416, Buffer.alloc(0), `bytes */${all.length}`],
    ["another unit", { range: "lines=0-1" }, 200, all],
    ["of the same version", { range: "bytes=0-4", "if-range": modified }, 206, all.subarray(0, 5)],
    ["of another version", { range: "bytes=0-4", "if-range": '"x"' }, 200, all],
    ["a copy by its tag", { "if-none-match": etag }, 304, Buffer.alloc(0)],
    ["a copy by its time", { "if-modified-since": modified }, 304, Buffer.alloc(0)],
    ["another copy", { "if-none-match": '"x"' }, 200, all],
  ]; // prettier-ignore
  for (const [name, headers, status, bytes, range] of cases) {
    const got = await follow(server, server.path, headers);
    t.equal(got.status, status, name);
    if (status < 400) t.ok(got.bytes.equals(bytes), name);
    if (range) t.equal(got.headers["content-range"], range, name);
  }
});

void t.test("what is not a link finds nothing", async (t) => {
  const server = await withFile(t);
  const other = await server.store.worlds.create(worldOf("other"));
  const { path, app } = server;
  const [, , , world = "", name = ""] = path.split("/");
  const [id = "", secret = "", ext = ""] = name.split(".");
  t.equal(world, "demo");
  t.equal((await follow(server, `${path}?download=1`)).status, 200);
  const paths = [
    "/media/",
    "/media/pub/",
    "/media/pub/demo/",
    `/media/pub/demo/${id}`,
    `/media/pub/demo/${id}.${ext}`,
    `/media/pub/demo/${id}.${secret}`,
    `/media/pub/demo/${id}.${secret.toLowerCase()}x.${ext}`,
    `/media/pub/demo/${id}.AAAAAAAAAAAA.${ext}`,
    `/media/pub/demo/${id}.${secret}.svg`,
    `/media/pub/demo/${id}.${secret}.PDF`,
    `/media/pub/demo/${id}.${secret}.html`,
    `/media/pub/demo/${id.toUpperCase()}.${secret}.${ext}`,
    `/media/pub/demo/${name}%00`,
    `/media/pub/demo/${name}%20`,
    `/media/pub/demo/${name}/x`,
    `/media/pub/demo/*.pdf`,
    `/media/pub/DEMO/${name}`,
    `/media/pub/${other.value.id}/${name}`,
    `/media/pub/demo/../demo/${name}`,
    `/media/pub/./demo/${name}`,
    `/media/pub//demo/${name}`,
    `/media//pub/demo/${name}`,
    `//media/pub/demo/${name}`,
    `/media/pub/demo/%2e%2e/demo/${name}`,
    `/media/pub/demo%2f${name}`,
    `/media/pub/%2e%2e/%2e%2e/foyer.db`,
    `/media/pub/..%2f..%2ffoyer.db`,
    `/media/pub/../../foyer.db`,
    `/media/../foyer.db`,
    `/media/foyer.db`,
    `/media/pub/demo/..%5c..%5c..%5cfoyer.db`,
    `/media/pub/demo/....//....//foyer.db`,
    `/media/pub/%252e%252e/foyer.db`,
    `/media/pub/demo/%c0%ae%c0%ae%2ffoyer.db`,
    `/media/${"work"}/${name}`,
    `/media/pub/constructor/${name}`,
    `/media/pub/demo/constructor`,
    `/media/pub/demo/__proto__`,
    `/media/pub/${"x".repeat(10_000)}/${name}`,
  ];
  // Over a socket, as what a client would tidy up is the point.
  const wire = dial(t, await listen(app));
  wire.send(rawRequest(`GET ${path}`));
  t.equal((await wire.answer()).text, PDF);
  for (const path of paths) {
    wire.send(rawRequest(`GET ${path}`));
    const { status, headers, text } = await wire.answer();
    const name = path.slice(0, 80);
    t.ok(status === 404 || status === 400, `${name}: ${status}`);
    t.match(headers["content-type"], "application/json", name);
    t.notOk(headers["cache-control"], `${name}: it may be there one day`);
    t.notMatch(text, /%PDF|SQLite/, name);
  }
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    const got = await app.inject({ method: method as "PUT", url: path });
    t.equal(got.statusCode, 405, method);
    t.equal(got.headers.allow, "GET, HEAD", method);
  }
  t.equal((await finished(server.dataDir)).length, 1);
});
