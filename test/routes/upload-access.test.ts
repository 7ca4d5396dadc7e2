import { connect } from "node:net";
import t from "tap";
import {
  admin,
  bearer,
  dial,
  keyOf,
  listen,
  rawRequest,
  rules,
  serve,
  tokenOf,
  worldOf,
} from "../helper.js";
import {
  fileForm,
  filePart,
  finished,
  type Form,
  formOf,
  GUEST,
  PDF,
  textPart,
  unfinished,
  upload,
  uploads,
  urlOf,
  headOf,
} from "../files.js";
import { usersOf } from "../listed.js";

const path = "/storage/upload/";
const MIB = 1024 * 1024;
const missing = { error: "file.missing" };
const type = { error: "file.type" };
const size = { error: "file.size" };

void t.test("who may upload", async (t) => {
  const demo = (claims: object, key = keyOf("demo")) =>
    `Bearer ${tokenOf(key, { uid: "ada", ...claims })}`;
  const past = Math.floor(Date.now() / 1000) - 60;
  const open = worldOf("demo");
  const shut = worldOf("demo", {
    permission_config: rules({ "world.view": ["attendee"] }),
  });
  const ruled = worldOf("demo", {
    permission_config: rules({ "file.upload": [["speaker", "host"]] }),
  });
  const cases: [
    name: string,
    as: string | undefined,
    open: number,
    shut: number,
    ruled: number,
  ][] = [
    ["nobody", undefined, 403, 403, 403],
    ["nothing", "", 403, 403, 403],
    ["garbage", "Bearer x", 403, 403, 403],
    ["Basic", "Basic eDp5", 403, 403, 403],
    ["badly signed", demo({}, { ...keyOf("demo"), secret: "x".repeat(40) }), 403, 403, 403],
    ["expired", demo({ exp: past }), 403, 403, 403],
    ["of another world", demo({ traits: ["attendee", "host"] }, keyOf("other")), 403, 403, 403],
    ["without uid", bearer("demo", "attendee", "host"), 403, 403, 403],
    ["an admin without uid", admin("demo"), 403, 403, 403],
    ["an empty uid", demo({ uid: "" }), 403, 403, 403],
    ["a uid that is an object", demo({ uid: {} }), 403, 403, 403],
    ["a uid too long", demo({ uid: "x".repeat(201) }), 403, 403, 403],
    ["a token", demo({}), 201, 403, 403],
    ["a uid that is a number", demo({ uid: 7 }), 201, 403, 403],
    ["a uid that is 0", demo({ uid: 0 }), 201, 403, 403],
    ["an attendee", demo({ traits: ["attendee"] }), 201, 201, 403],
    ["a host", demo({ traits: ["host"] }), 201, 403, 201],
    ["attendee and speaker", demo({ traits: ["attendee", "speaker"] }), 201, 201, 201],
    ["a client", "Client a.b_c~D-9", 201, 403, 403],
    ["a client in other letters", "client   x", 201, 403, 403],
    ["a client of 200 characters", `Client ${"x".repeat(200)}`, 201, 403, 403],
    ["a client of 201", `Client ${"x".repeat(201)}`, 403, 403, 403],
    ["a client of none", "Client ", 403, 403, 403],
    ["a client with a space", "Client a b", 403, 403, 403],
    ["a client with a slash", "Client ../a", 403, 403, 403],
    ["a client with ü", "Client \u00fc", 403, 403, 403],
  ]; // prettier-ignore
  const form = fileForm("a.pdf", PDF);
  for (const [i, world] of [open, shut, ruled].entries()) {
    await t.test(`rules ${i}`, async (t) => {
      const { call, store } = await serve(t, [world, worldOf("other")]);
      for (const [name, as, ...statuses] of cases) {
        // Not by `upload`, which is a guest without a name.
        const got = await call({
          method: "POST",
          url: path,
          as,
          headers: { ...form.headers, host: "demo.example.org" },
          body: form.body,
        });
        t.equal(got.status, statuses[i], name);
        if (got.status === 403) t.equal(got.text, "", `${name}: no body`);
      }
      if (world !== open) return;
      const users = await usersOf(store, "demo");
      t.strictSame(
        new Set(users.map(({ token_id, client_id }) => token_id ?? client_id)),
        new Set(["ada", "7", "0", "a.b_c~D-9", "x", "x".repeat(200)]),
      );
    });
  }
});

void t.test("a world that the address names", async (t) => {
  const form = fileForm("a.pdf", PDF);
  const { call } = await serve(t, [
    worldOf("demo"),
    worldOf("shut", { permission_config: { "world.view": ["attendee"] } }),
  ]);
  const attendee = `Bearer ${tokenOf(keyOf("shut"), { uid: "ada", traits: ["attendee"] })}`;
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
  for (const host of ["demo.example.org", "elsewhere.org"]) {
    for (const [query, as, world] of cases) {
      const { headers, body } = form;
      const got = await call({
        ...{ method: "POST", url: path + query, as, body },
        headers: { ...headers, host },
      });
      const isFound =
        world !== undefined && (query !== "" || host !== "elsewhere.org");
      const name = `${host} ${query} by ${as.slice(0, 6)}`;
      t.equal(got.status, isFound ? 201 : 403, name);
      if (!isFound) t.equal(got.text, "", "no body");
      else t.match(got.text, `/media/pub/${world}/`, name);
    }
  }
});

void t.test("which world a host stands for", async (t) => {
  const form = fileForm("a.pdf", PDF);
  const server = await serve(
    t,
    ["one.org", "two.org"].map((domain, i) => worldOf(`w${i}`, { domain })),
  );
  for (const [host, world] of [
    ["one.org", "w0"],
    ["TWO.Org", "w1"],
    ["two.org:8375", "w1"],
    ["three.org", undefined],
  ] as const) {
    const got = await upload(server, form, { headers: { host } });
    t.equal(got.status, world ? 201 : 403, host);
    if (world) t.match(urlOf(got), `http://${host}/media/pub/${world}/`);
    else t.equal(got.text, "", host);
  }

  await t.test("a link needs a host name", async (t) => {
    const server = await serve(t);
    const got = await upload(server, form, { headers: { host: 'a"b' } });
    t.equal(got.status, 400);
    t.strictSame(await finished(server.dataDir), [], "it is not kept before");
  });
});

void t.test("a refusal does not wait for the body", async (t) => {
  const { app, dataDir } = await serve(t, undefined, {
    config: uploads({ UPLOADS_PER_MINUTE: "2" }),
  });
  const port = await listen(app);
  const form = fileForm("a.pdf", PDF);
  const announce = (headers: Record<string, string>) =>
    rawRequest(`POST ${path}`, {
      ...form.headers,
      "Content-Length": String(50 * MIB),
      ...headers,
    });

  const wire = dial(t, port);
  wire.send(announce({}));
  const first = await wire.answer();
  t.equal(first.status, 403);
  t.equal(first.headers["content-length"], "0");
  // It may send all the same, and then go on.
  const piece = "x".repeat(MIB);
  for (let i = 0; i < 50; i++) wire.send(piece);
  wire.send(rawRequest("GET /healthz"));
  t.equal((await wire.answer()).status, 200, "the same connection goes on");

  const asking = dial(t, port);
  asking.send(announce({ Expect: "100-continue" }));
  const second = await asking.answer();
  t.equal(second.status, 403, "and no 100 before it");
  t.equal(second.headers["connection"], "close", "or its body could follow");

  const welcome = dial(t, port);
  welcome.send(headOf(form, { Expect: "100-continue" }));
  t.equal((await welcome.answer()).status, 100);
  welcome.send(form.body.toString());
  t.equal((await welcome.answer()).status, 201);

  const chunked = dial(t, port);
  chunked.send(
    rawRequest(`POST ${path}`, {
      ...form.headers,
      Authorization: GUEST,
      "Transfer-Encoding": "chunked",
    }),
  );
  for (let at = 0; at < form.body.length; at += 50) {
    const bytes = form.body.toString("latin1", at, at + 50);
    chunked.send(`${bytes.length.toString(16)}\r\n${bytes}\r\n`);
  }
  chunked.send("0\r\n\r\n");
  t.equal((await chunked.answer()).status, 201, "chunked");

  const busy = dial(t, port);
  busy.send(announce({ Authorization: GUEST }));
  t.equal(
    (await busy.answer()).status,
    429,
    "too many get their answer at once, too",
  );
  t.strictSame(await unfinished(dataDir), []);
});

void t.test("who is banned or silenced", async (t) => {
  const server = await serve(t);
  const { app, store, dataDir } = server;
  const port = await listen(app);
  const form = fileForm("a.pdf", PDF);
  const start = (wire: ReturnType<typeof dial>) =>
    wire.send(headOf(form, { Expect: "100-continue" }));
  t.equal((await upload(server, form)).status, 201);
  const { id } = (await usersOf(store, "demo"))[0]!;
  for (const state of ["silenced", "banned"] as const) {
    const wire = dial(t, port);
    start(wire);
    t.equal((await wire.answer()).status, 100);
    await store.users.moderate("demo", id, state);
    wire.send(form.body.toString());
    const late = await wire.answer();
    t.same([late.status, late.text], [403, ""], `${state} in between`);

    const next = dial(t, port);
    start(next);
    const refused = await next.answer();
    t.same([refused.status, refused.text], [403, ""], `${state} before`);

    const as = `Bearer ${tokenOf(keyOf("demo"), { uid: "ada" })}`;
    t.equal((await upload(server, form, { as })).status, 201, "others may");
    await store.users.moderate("demo", id, "");
    t.equal((await upload(server, form)).status, 201, "and again");
  }
  t.equal((await finished(dataDir)).length, 5);
  t.strictSame(await unfinished(dataDir), []);
});

void t.test("a client that sends all before it reads", async (t) => {
  const { app } = await serve(t);
  const port = await listen(app);
  const big = Buffer.alloc(30 * MIB, "x");
  const pdf = Buffer.concat([Buffer.from(PDF), big]);
  const cases: [name: string, form: Form, status: number, answer: object][] = [
    ["too large", fileForm("a.pdf", pdf), 400, size],
    ["too large, of a wrong type", fileForm("a.html", big), 400, type],
    ["a field first", formOf(textPart("x", "1"), filePart("a.pdf", pdf)), 400, missing],
    ["another name", formOf(filePart("a.pdf", pdf, "upload")), 400, missing],
    ["no form", { headers: { "content-type": "text/plain" }, body: big }, 400, missing],
    [
      "no boundary",
      { headers: { "content-type": "multipart/form-data" }, body: big },
      400,
      missing,
    ],
  ]; // prettier-ignore
  for (const [name, form, status, answer] of cases) {
    const socket = connect(port, "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.write(headOf(form));
    await new Promise((resolve) => socket.write(form.body, resolve));
    socket.write(rawRequest("GET /healthz", { Connection: "close" }));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    t.match(text, new RegExp(`^HTTP/1.1 ${status} `), name);
    t.match(text, JSON.stringify(answer), name);
    t.match(text, /HTTP\/1.1 200 OK/, `${name}: and the next request`);
  }
});
