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
