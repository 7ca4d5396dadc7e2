import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import sharp from "sharp";
import t, { type Test } from "tap";
import { type Config, loadConfig } from "../../../config.js";
import type { Store } from "../../../db/contract/store.js";
import { filesOf, usersOf } from "../../support/database.js";
import {
  fileForm,
  filePart,
  finished,
  type Form,
  formOf,
  GUEST,
  headOf,
  images,
  PDF,
  pngBomb,
  textPart,
  unfinished,
  upload,
  uploads,
  urlOf,
} from "../../support/files.js";
import {
  admin,
  ask,
  bearer,
  connectionsOf,
  dial,
  keyOf,
  rawRequest,
  rules,
  tokenOf,
  until,
} from "../../support/helper.js";
import { demo, type Server, startServer } from "../../support/server.js";

// Who may upload, how much, and what refused or aborted uploads leave behind.

const path = "/storage/upload/";
const MIB = 1024 * 1024;
const [missing, type, size] = ["missing", "type", "size"].map((what) => ({
  error: `file.${what}`,
}));
const form = fileForm("a.pdf", PDF);
const other = demo({ id: "other" });

/** Signs a token for the world `demo`, with additional claims as JSON text. */
function signed(more: string): string {
  const { issuer, audience, secret } = keyOf("demo");
  const body = `{"iss":"${issuer}","aud":"${audience}","exp":9999999999,${more}}`;
  const text = [`{"alg":"HS256"}`, body].map((part) => Buffer.from(part).toString("base64url"));
  const hmac = createHmac("sha256", secret).update(text.join("."));
  return `Bearer ${text.join(".")}.${hmac.digest("base64url")}`;
}

const send = ({ call }: Server, as: string | undefined, query = "", host = "demo.localhost") =>
  call({
    method: "POST",
    url: path + query,
    as,
    headers: { ...form.headers, host },
    body: form.body,
  });

void t.test("who may upload", async (t) => {
  const demoToken = (claims: object, key = keyOf("demo")) =>
    `Bearer ${tokenOf(key, { uid: "ada", ...claims })}`;
  const past = Math.floor(Date.now() / 1000) - 60;
  const deep = `${'{"a":'.repeat(4000)}1${"}".repeat(4000)}`;
  const rulesOf = [{}, { "world.view": ["attendee"] }, { "file.upload": [["speaker", "host"]] }];
  const cases: [name: string, as: string | undefined, open: number, shut: number, ruled: number][] = [
    ["nobody", undefined, 403, 403, 403],
    ["nothing", "", 403, 403, 403],
    ["garbage", "Bearer x", 403, 403, 403],
    ["Basic", "Basic eDp5", 403, 403, 403],
    ["badly signed", demoToken({}, { ...keyOf("demo"), secret: "x".repeat(40) }), 403, 403, 403],
    ["expired", demoToken({ exp: past }), 403, 403, 403],
    ["of another world", demoToken({ traits: ["attendee", "host"] }, keyOf("other")), 403, 403, 403],
    ["without uid", bearer("demo", "attendee", "host"), 403, 403, 403],
    ["an admin without uid", admin("demo"), 403, 403, 403],
    ["an empty uid", demoToken({ uid: "" }), 403, 403, 403],
    ["a uid that is an object", demoToken({ uid: {} }), 403, 403, 403],
    ["a uid too long", demoToken({ uid: "x".repeat(201) }), 403, 403, 403],
    ["a token", demoToken({}), 201, 403, 403],
    ["a uid that is a number", demoToken({ uid: 7 }), 201, 403, 403],
    ["a uid that is 0", demoToken({ uid: 0 }), 201, 403, 403],
    ["an attendee", demoToken({ traits: ["attendee"] }), 201, 201, 403],
    ["a host", demoToken({ traits: ["host"] }), 201, 403, 201],
    ["attendee and speaker", demoToken({ traits: ["attendee", "speaker"] }), 201, 201, 201],
    ["a client", "Client a.b_c~D-9", 201, 403, 403],
    ["a client in other letters", "client   x", 201, 403, 403],
    ["a client of 200 characters", `Client ${"x".repeat(200)}`, 201, 403, 403],
    ["a client of 201", `Client ${"x".repeat(201)}`, 403, 403, 403],
    ["a client of none", "Client ", 403, 403, 403],
    ["a client with a space", "Client a b", 403, 403, 403],
    ["a client with a slash", "Client ../a", 403, 403, 403],
    ["a client with ü", "Client \u00fc", 403, 403, 403],
    ["a deep profile", signed(`"uid":"u","profile":${deep}`), 403, 403, 403],
    ["a NUL in a profile", signed('"uid":"u","profile":{"a":"\\u0000"}'), 403, 403, 403],
    ["a NUL in the uid", signed('"uid":"u\\u0000"'), 403, 403, 403],
    ["half a character", signed('"uid":"u","traits":["\\ud800"]'), 403, 403, 403],
    ["a NUL in a client ID", "Client a\0", 403, 403, 403],
    ["a profile", signed('"uid":"u","traits":["x"],"profile":{"a":1}'), 201, 403, 403],
  ]; // prettier-ignore
  for (const [i, changes] of rulesOf.entries()) {
    const world = demo({ permission_config: rules(changes as Record<string, string[]>) });
    const server = await startServer(t, { worlds: [world, other] });
    for (const [name, as, ...statuses] of cases) {
      const got = await send(server, as);
      t.equal(got.status, statuses[i], `${name}, rules ${i}`);
      if (got.status === 403) t.equal(got.text, "", `${name}: no body`);
    }
    if (i > 0) continue;
    const users = await usersOf(server.store, "demo");
    const names = new Set(users.map(({ token_id, client_id }) => token_id ?? client_id));
    t.strictSame(names, new Set(["ada", "7", "0", "a.b_c~D-9", "x", "x".repeat(200), "u"]));
    const kept = users.find(({ token_id }) => token_id === "u");
    t.match(kept, { traits: ["x"], profile: { a: 1 } });
  }
});

void t.test("a world that the address or the host names", async (t) => {
  const shut = demo({ id: "shut", permission_config: { "world.view": ["attendee"] } });
  const server = await startServer(t, { worlds: [demo(), shut] });
  const attendee = `Bearer ${server.tokenOf({ uid: "ada", traits: ["attendee"], world: "shut" })}`;
  const cases: [query: string, as: string, world: string | undefined][] = [
    ["", GUEST, "demo"],
    ["?world=demo", GUEST, "demo"],
    ["?world=d%65mo&x=1", GUEST, "demo"],
    ["?world=shut", attendee, "shut"],
    ["?world=shut", GUEST, undefined],
    ["?world=demo", attendee, undefined],
    ["?world=absent", GUEST, undefined],
    ["?world=", GUEST, undefined],
    ["?world=demo&world=demo", GUEST, undefined],
    ["?world=demo&world=shut", GUEST, undefined],
    ["?world=__proto__", GUEST, undefined],
  ];
  for (const host of ["demo.localhost", "elsewhere.org"]) {
    for (const [query, as, world] of cases) {
      const got = await send(server, as, query, host);
      const isFound = world !== undefined && (query !== "" || host !== "elsewhere.org");
      const name = `${host} ${query} by ${as.slice(0, 6)}`;
      t.equal(got.status, isFound ? 201 : 403, name);
      t.match(got.text, isFound ? `/media/pub/${world}/` : /^$/, name);
    }
  }
  const worlds = ["one.org", "two.org"].map((domain, i) => demo({ id: `w${i}`, domain }));
  const two = await startServer(t, { worlds });
  for (const [host, world] of [
    ["one.org", "w0"],
    ["TWO.Org", "w1"],
    ["two.org:8375", "w1"],
    ["three.org", undefined],
  ] as const) {
    const got = await send(two, GUEST, "", host);
    t.equal(got.status, world ? 201 : 403, host);
    if (world) t.match(urlOf(got), `http://${host}/media/pub/${world}/`);
    else t.equal(got.text, "", host);
  }
  const kept = (await finished(server.dataDir)).length;
  t.equal((await send(server, GUEST, "", 'a"b')).status, 400, "a link needs a host name");
  t.equal((await finished(server.dataDir)).length, kept, "it is not kept before");
});

void t.test("a refusal does not wait for the body", async (t) => {
  const config = uploads({ UPLOADS_PER_MINUTE: "2" });
  const { dataDir, port } = await startServer(t, { config });
  const announce = (headers: Record<string, string>) =>
    rawRequest(`POST ${path}`, { ...form.headers, "Content-Length": String(50 * MIB), ...headers });
  const wire = dial(t, port);
  wire.send(announce({}));
  t.match(await wire.answer(), { status: 403, headers: { "content-length": "0" } });
  // The client may send the body anyway, and reuse the connection.
  for (let i = 0; i < 50; i++) wire.send("x".repeat(MIB));
  wire.send(rawRequest("GET /healthz"));
  t.equal((await wire.answer()).status, 200, "the same connection goes on");
  const asking = await ask(t, port, announce({ Expect: "100-continue" }));
  t.equal(asking.status, 403, "and no 100 before it");
  t.equal(asking.headers["connection"], "close", "or its body could follow");

  const welcome = dial(t, port);
  welcome.send(headOf(form, { Expect: "100-continue" }));
  t.equal((await welcome.answer()).status, 100);
  welcome.send(form.body.toString());
  t.equal((await welcome.answer()).status, 201);
  const chunked = dial(t, port);
  const coding = { Authorization: GUEST, "Transfer-Encoding": "chunked" };
  chunked.send(rawRequest(`POST ${path}`, { ...form.headers, ...coding }));
  for (let at = 0; at < form.body.length; at += 50) {
    const bytes = form.body.toString("latin1", at, at + 50);
    chunked.send(`${bytes.length.toString(16)}\r\n${bytes}\r\n`);
  }
  chunked.send("0\r\n\r\n");
  t.equal((await chunked.answer()).status, 201, "chunked");
  const busy = await ask(t, port, announce({ Authorization: GUEST }));
  t.equal(busy.status, 429, "too many are refused at once, too");
  t.strictSame(await unfinished(dataDir), []);
});

void t.test("who is banned or silenced", async (t) => {
  const server = await startServer(t);
  const { store, dataDir, port } = server;
  const start = headOf(form, { Expect: "100-continue" });
  t.equal((await upload(server, form)).status, 201);
  const { id } = (await usersOf(store, "demo"))[0]!;
  for (const state of ["silenced", "banned"] as const) {
    const wire = dial(t, port);
    wire.send(start);
    t.equal((await wire.answer()).status, 100);
    await store.users.moderate("demo", id, state);
    wire.send(form.body.toString());
    t.match(await wire.answer(), { status: 403, text: /^$/ }, `${state} in between`);
    t.match(await ask(t, port, start), { status: 403, text: /^$/ }, `${state} before`);
    const as = `Bearer ${tokenOf(keyOf("demo"), { uid: "ada" })}`;
    t.equal((await upload(server, form, { as })).status, 201, "others may");
    await store.users.moderate("demo", id, "");
    t.equal((await upload(server, form)).status, 201, "and again");
  }
  t.equal((await finished(dataDir)).length, 5);
  t.strictSame(await unfinished(dataDir), []);
});

void t.test("the right to upload is checked again at the end", async (t) => {
  const body = form.body.toString("latin1");
  const shut = { permission_config: rules({ "world.view": ["attendee"] }) };
  const cases: [name: string, as: string, change: (store: Store) => unknown, status: number][] = [
    ["nothing changed", GUEST, () => {}, 201],
    ["guests are kept out", GUEST, ({ worlds }) => worlds.update("demo", shut), 403],
    ["the key is gone", signed('"uid":"u"'), ({ worlds }) => worlds.update("demo", { config: { JWT_secrets: [keyOf("other")] } }), 403],
    ["the world is gone", GUEST, ({ worlds }) => worlds.delete("demo"), 403],
    ["its domain is another world's", GUEST, ({ worlds }) => worlds.update("demo", { domain: "x.org" }), 403],
  ]; // prettier-ignore
  for (const [name, as, change, status] of cases) {
    const { store, dataDir, port } = await startServer(t);
    const wire = dial(t, port);
    const head = { Authorization: as, Host: "demo.localhost", Expect: "100-continue" };
    wire.send(headOf(form, head));
    t.equal((await wire.answer()).status, 100);
    wire.send(body.slice(0, 100));
    await change(store);
    if (name.includes("another")) {
      const world = (await store.worlds.get("demo"))!.value;
      await store.worlds.create({ ...world, id: "next", domain: "demo.localhost" });
    }
    wire.send(body.slice(100));
    const got = await wire.answer();
    t.equal(got.status, status, name);
    if (status === 403) t.equal(got.text, "", `${name}: the answer is empty`);
    const left = (await finished(dataDir)).filter((file) => file.endsWith(".pdf"));
    t.equal(left.length, status === 201 ? 1 : 0, `${name}: what is stored`);
  }
});

void t.test("a client that sends all before it reads", async (t) => {
  const { port } = await startServer(t);
  const big = Buffer.alloc(30 * MIB, "x");
  const pdf = Buffer.concat([Buffer.from(PDF), big]);
  const typed = (type: string): Form => ({ headers: { "content-type": type }, body: big });
  const cases: [name: string, form: Form, answer: object | undefined][] = [
    ["too large", fileForm("a.pdf", pdf), size],
    ["too large, of a wrong type", fileForm("a.html", big), type],
    ["a field first", formOf(textPart("x", "1"), filePart("a.pdf", pdf)), missing],
    ["another name", formOf(filePart("a.pdf", pdf, "upload")), missing],
    ["no form", typed("text/plain"), missing],
    ["no boundary", typed("multipart/form-data"), missing],
  ];
  for (const [name, form, answer] of cases) {
    const socket = connect(port, "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.write(headOf(form));
    await new Promise((resolve) => socket.write(form.body, resolve));
    socket.write(rawRequest("GET /healthz", { Connection: "close" }));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    t.match(text, /^HTTP\/1.1 400 /, name);
    t.match(text, JSON.stringify(answer), name);
    t.match(text, /HTTP\/1.1 200 OK/, `${name}: and the next request`);
  }
});

void t.test("what is no form is refused before its body arrives", async (t) => {
  const { port } = await startServer(t);
  const types: [name: string, type: string | undefined][] = [
    ["JSON", "application/json"],
    ["JSON with a parameter", "application/json; charset=utf-8"],
    ["JSON in capitals", "APPLICATION/JSON"],
    ["text", "text/plain"],
    ["a form in a URL", "application/x-www-form-urlencoded"],
    ["parts of another kind", "multipart/mixed; boundary=x"],
    ["a kind like it", "multipart/form-database; boundary=x"],
    ["no type", undefined],
    ["an empty type", ""],
    ["a type that is none", "json"],
    ["a list of types", "multipart/form-data, application/json"],
    ["JSON with a boundary", "application/json; boundary=multipart/form-data"],
  ];
  for (const [name, type] of types) {
    for (const body of ['{"a":', ""]) {
      const head = {
        Authorization: GUEST,
        ...(type !== undefined && { "Content-Type": type }),
        "Content-Length": String(1024 * MIB),
        ...(body === "" && { Expect: "100-continue" }),
      };
      const wire = dial(t, port);
      wire.send(rawRequest(`POST ${path}`, head, body));
      const { status, text } = await wire.answer();
      t.strictSame([status, JSON.parse(text)], [400, missing], name);
      wire.hangUp();
    }
  }
});

void t.test("what is left of a refused body has an end", async (t) => {
  const { port } = await startServer(t, { config: uploads({ UPLOAD_MAX_BYTES: "1000" }) });
  const large = fileForm("a.pdf", PDF.padEnd(5000));
  const forms: [name: string, headers: Record<string, string>, body: string][] = [
    ["no form", { "Content-Type": "application/json" }, "{"],
    ["too large", large.headers, large.body.toString().slice(0, 4000)],
    ["not allowed", { Authorization: "" }, ""],
  ];
  for (const [name, headers, body] of forms) {
    const socket = connect(port, "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.on("error", () => {});
    let received = "";
    socket.on("data", (bytes) => (received += bytes.toString()));
    const head = { Authorization: GUEST, ...headers, "Content-Length": String(1024 * MIB) };
    socket.write(rawRequest(`POST ${path}`, head, body));
    await until(() => received.includes("\r\n\r\n"));
    t.match(received, /^HTTP\/1.1 40[03] /, `${name}: it is answered at once`);
    const piece = Buffer.alloc(MIB, "x");
    const written = () =>
      new Promise<boolean>((resolve) => socket.write(piece, (error) => resolve(!error)));
    let sent = 0;
    while (sent < 200 && (await written())) sent++;
    t.ok(sent < 200, `${name}: the connection ends`);
    t.ok(sent > 50, `${name}: but not early, after ${sent} MiB`);
  }
});

void t.test("a route that would hold more than the limit", async (t) => {
  const bodyLimit = 2 * MIB;
  const handler = async () => ({});
  const config = { requires: "public" } as const;
  const inherited = startServer(t, {
    extend: (app) => app.post("/import", { bodyLimit, config }, handler),
  });
  await t.rejects(inherited, /POST \/import .*bodyLimit/, "the parser of JSON that it inherits");
  await startServer(t, {
    extend: (app) => {
      app.post("/small", { bodyLimit: 1000, config }, handler);
      app.post("/meant", { bodyLimit, config: { ...config, holdsLargeBody: true } }, handler);
      app.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser("*", (_request, _body, done) => done(null));
        scope.post("/stream", { bodyLimit, config }, handler);
      });
    },
  });
});

void t.test("too many from one caller", async (t) => {
  const config = uploads({ UPLOADS_PER_MINUTE: "2" });
  const server = await startServer(t, { worlds: [demo(), other], config });
  const ada = (...traits: string[]) => `Bearer ${server.tokenOf({ uid: "guest-1", traits })}`;
  const cases: [name: string, as: string, world: string, status: number][] = [
    ["one", GUEST, "demo", 201],
    ["two", GUEST, "demo", 201],
    ["three", GUEST, "demo", 429],
    ["four", GUEST, "demo", 429],
    ["another guest", "Client guest-2", "demo", 201],
    ["a user of the same name", ada(), "demo", 201],
    ["with another token of it", ada("x"), "demo", 201],
    ["and a third", ada("y"), "demo", 429],
    ["in another world", GUEST, "other", 201],
  ];
  for (const [name, as, world, status] of cases) {
    const got = await send(server, as, "", `${world}.localhost`);
    t.equal(got.status, status, name);
    const seconds = got.headers["retry-after"];
    t.match(seconds ?? "", status === 429 ? /^([1-9]|[1-5]\d|60)$/ : /^$/, name);
    if (status === 429) t.match(got.body, { detail: /Too many/ }, name);
  }
});

void t.test("too much in one world", async (t) => {
  const config = uploads({ UPLOAD_WORLD_MAX_BYTES: "1000" });
  const server = await startServer(t, { worlds: [demo(), other], config });
  const sized = (bytes: number) => fileForm("a.pdf", PDF.padEnd(bytes, " "));
  const cases: [name: string, bytes: number, world: string, fits: boolean][] = [
    ["some", 600, "demo", true],
    ["one byte too many", 401, "demo", false],
    ["as much as there is room for", 400, "demo", true],
    ["one that would not have fitted anyway", 100, "demo", false],
    ["another world has room of its own", 1000, "other", true],
  ];
  for (const [name, bytes, world, fits] of cases) {
    const got = await upload(server, sized(bytes), { headers: { host: `${world}.localhost` } });
    t.equal(got.status, fits ? 201 : 400, name);
    if (!fits) t.strictSame(got.body, size, name);
  }
  t.equal(await server.store.files.size("demo"), 1000);
  t.equal((await finished(server.dataDir)).length, 3);
  const rush = await startServer(t, { config });
  const answers = await Promise.all(Array.from({ length: 10 }, () => upload(rush, sized(300))));
  const statuses = answers.map(({ status }) => status).sort();
  t.strictSame(statuses, [201, 201, 201, ...Array<number>(7).fill(400)], "at once");
  t.equal((await finished(rush.dataDir)).length, 3);
  t.strictSame(await unfinished(rush.dataDir), []);
});

const { load, uploads: defaults } = loadConfig({});

/** An image that takes seconds to re-encode: 96 million pixels. */
const slow = fileForm("a.png", pngBomb(9800, 9800));

const started = (t: Test, config: Partial<Config> = {}) => startServer(t, { config });

/** Sends the beginning of an upload over its own socket. */
function begin(t: Test, port: number, form: Form, bytes?: number) {
  const socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(headOf(form));
  socket.write(form.body.subarray(0, bytes));
  return socket;
}

/** Counts the images that are waiting or being processed. */
const scratches = async ({ dataDir }: Server) => (await unfinished(dataDir)).length;
/** Waits until an upload is accepted. */
const accepts = (server: Server, sent = form) =>
  until(async () => (await upload(server, sent)).status === 201);
const answerTo = async (socket: ReturnType<typeof begin>) =>
  String(((await once(socket, "data")) as [Buffer])[0]);

void t.test("an image whose client is gone leaves the queue", async (t) => {
  const server = await started(t, { load: { ...load, uploads: 3 } });
  const running = begin(t, server.port, slow);
  const answered = answerTo(running);
  await until(async () => (await scratches(server)) === 1);
  const waiting = [1, 2].map(() => begin(t, server.port, slow));
  await until(async () => (await scratches(server)) === 3);
  t.equal((await upload(server, form)).status, 503, "full");
  for (const socket of waiting) socket.destroy();
  await until(async () => (await scratches(server)) === 1);
  t.equal(running.bytesRead, 0, "while another is worked on");
  await accepts(server);
  t.equal(running.bytesRead, 0, "and its slot is free");
  t.match(await answered, /^HTTP\/1.1 201 /, "who stays is answered");
});

void t.test("an image that is worked on keeps its slot", async (t) => {
  /** Counts the live child processes of this process. */
  const imageProcesses = () =>
    process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap").length;
  // Child processes of earlier tests may still be exiting.
  await until(() => imageProcesses() === 0);
  const server = await started(t, { load: { ...load, uploads: 1 } });
  const running = begin(t, server.port, slow);
  await until(() => imageProcesses() === 1);
  running.destroy();
  await until(async () => (await connectionsOf(server.app)) === 0);
  t.equal((await upload(server, form)).status, 503, "it is not done yet");
  await accepts(server);
  t.equal(await scratches(server), 0);
  t.equal((await finished(server.dataDir)).length, 1, "the image is dropped");
});

void t.test("a client that hangs up gives its slot back", async (t) => {
  const server = await started(t, { load: { ...load, uploads: 1 } });
  const form = fileForm("a.pdf", PDF.padEnd(2 * MIB, "x"));
  const image = fileForm("a.png", await images.png(3000, 3000));
  const { length } = form.body;
  const cases: [name: string, form: Form, bytes: number][] = [
    ["before the body", form, 0],
    ["in the first boundary", form, 5],
    ["in the head of the part", form, 60],
    ["in what is looked at", form, 30_000],
    ["in the bytes", form, MIB],
    ["in the last boundary", form, length - 10],
    ["before its dashes", form, length - 4],
    ["after everything", form, length],
    ["in an image", image, 300],
    ["after an image", image, image.body.length],
    ["in a file of a wrong type", fileForm("a.exe", "x".repeat(MIB)), 1000],
    ["in a second part", { ...form, body: Buffer.concat([form.body.subarray(0, -4), Buffer.from("\r\nx")]) }, length - 2],
  ]; // prettier-ignore
  for (const [name, form, bytes] of cases) {
    const requested = once(server.app.server, "request");
    const socket = begin(t, server.port, form, bytes);
    await requested;
    if (bytes === MIB) await until(async () => (await scratches(server)) > 0);
    socket.destroy();
    await accepts(server);
    t.equal(await scratches(server), 0, name);
  }
  // Uploads that arrived completely may be kept.
  const sizes = (await filesOf(server.store, "demo")).map(({ size }) => size);
  const kept = sizes.filter((size) => size !== PDF.length);
  t.ok(kept.length <= 2, `${kept.join()} bytes are kept`);
});

void t.test("an image that grows over the limit", async (t) => {
  const noise = Buffer.alloc(300 * 300 * 3);
  let state = 1;
  for (let i = 0; i < noise.length; i++) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    noise[i] = state >> 16;
  }
  const raw = { width: 300, height: 300, channels: 3 } as const;
  const small = await sharp(noise, { raw }).jpeg({ quality: 20 }).toBuffer();
  const again = await sharp(small).jpeg({ quality: 90 }).toBuffer();
  t.ok(again.length > small.length + 1000, "it grows");
  for (const limit of ["maxBytes", "worldMaxBytes"]) {
    const server = await started(t, { uploads: { ...defaults, [limit]: small.length + 100 } });
    const refused = await upload(server, fileForm("a.jpg", small));
    t.strictSame([refused.status, refused.body], [400, size], limit);
    t.strictSame(await unfinished(server.dataDir), []);
    t.strictSame(await finished(server.dataDir), []);
    t.equal(await server.store.files.size("demo"), 0);
  }
});

void t.test("what is under way counts for the quota", async (t) => {
  const server = await started(t, { uploads: { ...defaults, worldMaxBytes: 3 * MIB } });
  const form = fileForm("a.pdf", PDF.padEnd(2 * MIB, "x"));
  let stored = 0;
  const { files } = server.app;
  async function* counted(source: AsyncIterable<Uint8Array>) {
    for await (const chunk of source) {
      stored += chunk.length;
      yield chunk;
    }
  }
  const put = files.put.bind(files);
  const counting: typeof put = (key, source, ...rest) => put(key, counted(source), ...rest);
  t.capture(files, "put", counting);
  const first = begin(t, server.port, form, form.body.length - 100);
  // With fewer bytes stored, the first upload could still be the one that exceeds the limit.
  await until(() => stored > MIB);
  const second = await upload(server, form);
  t.strictSame([second.status, second.body], [400, size], "it does not fit beside the first");
  const answered = answerTo(first);
  first.write(form.body.subarray(form.body.length - 100));
  t.match(await answered, /^HTTP\/1.1 201 /);
  const half = begin(t, server.port, fileForm("b.pdf", PDF.padEnd(900_000)), 800_000);
  await until(async () => (await scratches(server)) > 0);
  half.destroy();
  await until(async () => (await scratches(server)) === 0);
  await accepts(server, fileForm("a.pdf", PDF.padEnd(MIB, "x")));
  t.equal(await server.store.files.size("demo"), 3 * MIB, "to the last byte");
});
