import { connect } from "node:net";
import t from "tap";
import {
  fileForm,
  finished,
  follow,
  images,
  MP4,
  PDF,
  SVG,
  unfinished,
  upload,
  urlOf,
} from "../../support/files.js";
import { admin, dial, rawRequest, until, worldOf } from "../../support/helper.js";
import { demo, type Server, startServer } from "../../support/server.js";

// Files as clients read them, and as hosts list and delete them.

const uploaded = async (
  server: Server,
  name = "a.pdf",
  bytes: string | Buffer = PDF,
  options: Parameters<typeof upload>[2] = {},
) => urlOf(await upload(server, fileForm(name, bytes), options));

void t.test("the headers of a file", async (t) => {
  const server = await startServer(t);
  const links: [name: string, body: string | Buffer, mime: string][] = [
    ["a.pdf", PDF, "application/pdf"],
    ["a.svg", SVG, "image/svg+xml"],
    ["a.png", await images.png(), "image/png"],
  ];
  for (const [name, body, mime] of links) {
    const url = await uploaded(server, name, body);
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
    t.strictSame([head.status, head.bytes.length], [200, 0], name);
    const { date: _, "x-request-id": id, ...headers } = got.headers;
    t.match(head.headers, headers, `${name}: the same for HEAD`);
    t.ok(id);
  }
});

void t.test("what is not a link finds nothing", async (t) => {
  const server = await startServer(t);
  const path = new URL(await uploaded(server)).pathname;
  const other = await server.store.worlds.create(worldOf("other"));
  const { app, port } = server;
  const name = path.split("/").at(-1)!;
  const [id = "", secret = "", ext = ""] = name.split(".");
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
    ["/media/work", name].join("/"),
    `/media/pub/constructor/${name}`,
    `/media/pub/demo/constructor`,
    `/media/pub/demo/__proto__`,
    `/media/pub/${"x".repeat(10_000)}/${name}`,
  ];
  // Over a raw socket, because HTTP clients would normalize these paths.
  const wire = dial(t, port);
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
    t.strictSame([got.statusCode, got.headers.allow], [405, "GET, HEAD"], method);
  }
  t.equal((await finished(server.dataDir)).length, 1);
});

// RFC 9110, sections 13 and 14, over one keep-alive connection.
void t.test("conditions and ranges", async (t) => {
  const server = await startServer(t);
  const { pathname } = new URL(await uploaded(server));
  const wire = dial(t, server.port);
  const ask = async (headers: Record<string, string>, method = "GET") => {
    wire.send(rawRequest(`${method} ${pathname}`, headers));
    if (method === "HEAD") wire.expectNoBody();
    return wire.answer();
  };
  const { headers } = await ask({});
  const { etag = "", "last-modified": modified = "" } = headers;
  const size = Buffer.byteLength(PDF);
  t.equal(headers["content-length"], String(size));
  t.match(etag, /^"[\da-f]+-[\da-f]+"$/);
  const [before, after] = [-1000, 1000].map((by) =>
    new Date(Date.parse(modified) + by).toUTCString(),
  ) as [string, string];
  const weak = `W/${etag}`;
  const all = `0-${size - 1}`;
  const cases: [headers: Record<string, string>, status: number, part?: string][] = [
    [{ "If-None-Match": etag }, 304],
    [{ "If-None-Match": weak }, 304],
    [{ "If-None-Match": `"x", ${etag}` }, 304],
    [{ "If-None-Match": "*" }, 304],
    [{ "If-None-Match": '"x"' }, 200],
    [{ "If-None-Match": etag, Range: "bytes=0-4" }, 304],
    [{ "If-None-Match": '"x"', "If-Modified-Since": after }, 200],
    [{ "If-Modified-Since": modified }, 304],
    [{ "If-Modified-Since": after }, 304],
    [{ "If-Modified-Since": before }, 200],
    [{ "If-Modified-Since": "yesterday" }, 200],
    [{ "If-Match": "*" }, 200],
    [{ "If-Match": '"x"' }, 412],
    [{ "If-Match": etag }, 200],
    [{ "If-Match": `"x", ${etag}` }, 200],
    [{ "If-Match": weak }, 412],
    [{ "If-Unmodified-Since": before }, 412],
    [{ "If-Unmodified-Since": modified }, 200],
    [{ "If-Unmodified-Since": "yesterday" }, 200],
    [{ Range: "bytes=0-4" }, 206, "0-4"],
    [{ Range: "BYTES=0-4" }, 206, "0-4"],
    [{ Range: "bytes=4-4" }, 206, "4-4"],
    [{ Range: "bytes=0-" }, 206, all],
    [{ Range: "bytes=5-" }, 206, `5-${size - 1}`],
    [{ Range: "bytes=-5" }, 206, `${size - 5}-${size - 1}`],
    [{ Range: `bytes=-${size}` }, 206, all],
    [{ Range: `bytes=-${size + 1}` }, 206, all],
    [{ Range: "bytes=-9999999999" }, 206, all],
    [{ Range: `bytes=-${"9".repeat(400)}` }, 206, all],
    [{ Range: "bytes=5-99999999999999999999" }, 206, `5-${size - 1}`],
    [{ Range: `bytes=5-${"9".repeat(400)}` }, 206, `5-${size - 1}`],
    [{ Range: "bytes= 0-4 ," }, 206, "0-4"],
    [{ Range: "bytes=0-4, 9999-" }, 206, "0-4"],
    [{ Range: `bytes=${size}-` }, 416],
    [{ Range: `bytes=${size}-${size + 9}` }, 416],
    [{ Range: `bytes=${"9".repeat(400)}-` }, 416],
    [{ Range: "bytes=-0" }, 416],
    [{ Range: "bytes=-0, 9999-" }, 416],
    [{ Range: "bytes=0-4, 6-9" }, 200],
    [{ Range: "bytes=0-0, -1" }, 200],
    [{ Range: "bytes=5-4" }, 200],
    [{ Range: "bytes=4" }, 200],
    [{ Range: "bytes=-" }, 200],
    [{ Range: "bytes=" }, 200],
    [{ Range: "bytes=," }, 200],
    [{ Range: "bytes=a-b" }, 200],
    [{ Range: "bytes=0x0-4" }, 200],
    [{ Range: "bytes=0 - 4" }, 200],
    [{ Range: "bytes=--5" }, 200],
    [{ Range: "bytes=1.5-4" }, 200],
    [{ Range: "lines=0-4" }, 200],
    [{ Range: "0-4" }, 200],
    [{ Range: "bytes=0-4", "If-Range": modified }, 206, "0-4"],
    [{ Range: "bytes=0-4", "If-Range": after }, 200],
    [{ Range: "bytes=0-4", "If-Range": before }, 200],
    [{ Range: "bytes=0-4", "If-Range": '"x"' }, 200],
    [{ Range: "bytes=0-4", "If-Range": etag }, 206, "0-4"],
    [{ Range: "bytes=0-4", "If-Range": weak }, 200],
    [{ Range: "bytes=9999-", "If-Range": '"x"' }, 200],
  ]; // prettier-ignore
  for (const [sent, status, part] of cases) {
    const name = JSON.stringify(sent).slice(0, 80);
    const got = await ask(sent);
    t.equal(got.status, status, name);
    const [start = 0, end = 0] = (part ?? all).split("-").map(Number);
    if (status < 300) {
      t.equal(got.text, PDF.slice(start, end + 1), name);
      t.equal(got.headers["content-type"], "application/pdf", name);
    }
    const ranges: Record<number, string> = { 416: `bytes */${size}`, 206: `bytes ${part}/${size}` };
    t.equal(got.headers["content-range"], ranges[status], name);
    const { etag: tag, "last-modified": time } = got.headers;
    t.strictSame([tag, time], status < 400 ? [etag, modified] : [undefined, undefined], name);
    if (status === 304) t.notOk("content-length" in got.headers, name);
  }
  const sent: Record<string, string>[] = [{}, { Range: "bytes=0-4" }, { Range: "bytes=9999-" }];
  for (const headers of sent) {
    const head = await ask(headers, "HEAD");
    const expected = { status: 200, headers: { "content-length": String(size) }, text: "" };
    t.match(head, expected, `HEAD ${JSON.stringify(headers)}`);
  }
  const known = await ask({ "If-None-Match": etag }, "HEAD");
  t.equal(known.status, 304);
  t.notOk("content-length" in known.headers);
  t.equal((await ask({})).text, PDF, "the connection goes on");
});

const url = "/api/v1/worlds/demo/files/";
const as = admin("demo");
const at = (world: string) => ({ headers: { host: `${world}.localhost` } });
const worlds = [demo(), demo({ id: "other" })];

interface File {
  id: string;
  url: string;
  uploaded_at: string;
}

interface List {
  count: number;
  next: string | null;
  results: File[];
}

const list = async ({ call }: Server, query = "") =>
  (await call({ url: url + query, as })).body as List;
const remove = ({ call }: Server, id: string, body?: unknown) =>
  call({ method: "DELETE", url: `${url}${id}/`, as, body });
const idIn = (link: string) => /([0-9a-f-]{36})\./.exec(link)![1]!;

void t.test("the files of a world, the newest first", async (t) => {
  const server = await startServer(t, { worlds });
  t.strictSame(await list(server), { count: 0, next: null, previous: null, results: [] });
  const before = Date.now();
  const ada = `Bearer ${server.tokenOf({ uid: "ada" })}`;
  const pdf = await uploaded(server, "a.pdf", PDF, at("demo"));
  const mp4 = await uploaded(server, "B.MP4", MP4, { as: ada, ...at("demo") });
  await uploaded(server, "c.pdf", PDF, at("other"));
  const { users } = await server.store.users.list("demo", { page: 1, pageSize: 9 });
  const userOf = (name: string) =>
    users.find(({ token_id, client_id }) => (token_id ?? client_id) === name)!.id;

  const got = await server.call({ url, as, ...at("demo") });
  t.equal(got.headers["cache-control"], "private, no-cache");
  const { results, ...page } = got.body as List;
  t.strictSame(page, { count: 2, next: null, previous: null });
  t.strictSame(
    results.map(({ uploaded_at: _, ...file }) => file),
    [
      { id: idIn(mp4), url: mp4, size: MP4.length, type: "video/mp4", user_id: userOf("ada") },
      { id: idIn(pdf), url: pdf, size: PDF.length, type: "application/pdf", user_id: userOf("guest-1") },
    ], // prettier-ignore
  );
  for (const { url, uploaded_at } of results) {
    t.equal((await follow(server, url)).status, 200, "at its link");
    t.match(uploaded_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const time = Date.parse(uploaded_at);
    t.ok(time >= before && time <= Date.now());
  }
  await server.store.users.erase("demo", { token_id: "ada" });
  const [erased] = (await list(server)).results;
  t.match(erased, { id: idIn(mp4), user_id: null }, "without a user");
  t.equal((await remove(server, erased!.id)).status, 204);

  const publicUrl = "https://files.example.org";
  const proxied = await startServer(t, { config: { publicUrl } });
  const link = await uploaded(proxied);
  t.match(await list(proxied, "?page_size=1"), { next: null, results: [{ url: link }] });
  t.ok(link.startsWith(`${publicUrl}/media/pub/demo/`));
});

void t.test("a file is deleted", async (t) => {
  const server = await startServer(t, { worlds });
  const link = await uploaded(server, "a.pdf", PDF, at("demo"));
  const kept = await uploaded(server, "a.pdf", PDF, at("demo"));
  const foreign = await uploaded(server, "a.pdf", PDF, at("other"));
  const missing = { status: 403, body: { detail: "There is no such file.", code: "missing" } };
  const id = idIn(link);
  for (const odd of [
    "00000000-0000-4000-8000-000000000000",
    idIn(foreign),
    link
      .split("/")
      .at(-1)!
      .replace(/\.pdf$/, ""),
    id.toUpperCase(),
    "%25",
    `..%2Fother%2F${idIn(foreign)}`,
  ]) {
    t.match(await remove(server, odd), missing, odd);
  }
  t.equal((await finished(server.dataDir)).length, 3);
  t.match(await remove(server, id, { ignored: true }), { status: 204, text: "" });
  for (const method of ["GET", "HEAD"] as const) {
    t.equal((await follow(server, link, {}, method)).status, 404);
  }
  t.match(await remove(server, id), missing, "twice");
  t.match(await list(server), { count: 1, results: [{ id: idIn(kept) }] });
  for (const one of [kept, foreign]) t.equal((await follow(server, one)).status, 200);
  t.equal(await server.store.files.size("demo"), PDF.length);
  t.equal((await finished(server.dataDir)).length, 2);
  t.strictSame(await unfinished(server.dataDir), [], "nothing is under way");
  const wrong = await server.call({ url: `${url}${id}/`, as });
  t.strictSame([wrong.status, wrong.headers.allow], [405, "DELETE"]);
});

void t.test("files are added and deleted at once", async (t) => {
  const server = await startServer(t);
  const ten = () => Promise.all(Array.from({ length: 10 }, () => uploaded(server)));
  const links = await ten();
  const [kept, answers] = await Promise.all([
    ten(),
    Promise.all([...links, ...links, ...links].map((link) => remove(server, idIn(link)))),
  ]);
  const expected = [204, 403, 403].flatMap((status) => links.map(() => status));
  t.strictSame(answers.map(({ status }) => status).sort(), expected.sort(), "each is deleted once");
  const { count, results } = await list(server);
  t.equal(count, kept.length);
  t.strictSame(results.map(({ id }) => id).sort(), kept.map(idIn).sort());
  t.equal((await finished(server.dataDir)).length, kept.length);
  t.equal(await server.store.files.size("demo"), kept.length * PDF.length);
  t.strictSame(await unfinished(server.dataDir), []);
});

void t.test("a client that is reading a file may finish", async (t) => {
  const server = await startServer(t);
  const bytes = Buffer.concat([MP4, Buffer.alloc(8 * 1024 * 1024, 7)]);
  const link = await uploaded(server, "a.mp4", bytes);
  const socket = connect(server.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  let size = 0;
  let ended = false;
  socket.on("end", () => (ended = true));
  socket.write(rawRequest(`GET ${new URL(link).pathname}`, { Connection: "close" }));
  // Pauses mid-download, so that the file is deleted while it is being sent.
  await new Promise<void>((resolve) =>
    socket.once("data", (chunk: Buffer) => {
      size += chunk.length;
      socket.pause();
      resolve();
    }),
  );
  t.equal((await remove(server, idIn(link))).status, 204);
  t.strictSame(await finished(server.dataDir), []);
  socket.on("data", (chunk: Buffer) => (size += chunk.length));
  socket.resume();
  await until(() => ended);
  t.ok(size > bytes.length, `${size} bytes arrived`);
  t.equal((await follow(server, link)).status, 404);
});
