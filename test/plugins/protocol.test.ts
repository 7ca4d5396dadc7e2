import { once } from "node:events";
import { connect } from "node:net";
import t, { type Test } from "tap";
import { admin, dial, listen, rawRequest, serve } from "../helper.js";

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;
const json = { Authorization: as, "Content-Type": "application/json" };

/** A request that makes a room, with or without its whole body. */
const post = (name: string, length?: number) => {
  const body = JSON.stringify({ name });
  const size = length ?? body.length;
  return rawRequest(
    `POST ${rooms}`,
    { ...json, "Content-Length": String(size) },
    body,
  );
};
const brokenChunk = rawRequest(
  `POST ${rooms}`,
  { ...json, "Transfer-Encoding": "chunked" },
  "zz\r\n",
);
const nonsense = "NONSENSE\r\n\r\n";

/** Sends each request over a connection of its own. */
async function answers(
  t: Test,
  port: number,
  cases: [name: string, sent: string, status: number][],
) {
  for (const [name, sent, status] of cases) {
    const wire = dial(t, port);
    wire.send(sent);
    t.equal((await wire.answer()).status, status, name);
  }
}

void t.test("what was asked before nonsense is answered first", async (t) => {
  const { app, store } = await serve(t);
  const port = await listen(app);
  const cases: [name: string, sent: string, statuses: number[]][] = [
    ["nonsense", nonsense, [400]],
    ["one write", post("a") + nonsense, [201, 400]],
    [
      "three",
      post("b") + post("c") + post("d") + nonsense,
      [201, 201, 201, 400],
    ],
    ["a chunk that is none", brokenChunk, [400]],
    ["a write, then such a chunk", post("e") + brokenChunk, [201, 400]],
    ["refused, then nonsense", rawRequest("GET /x") + nonsense, [404, 400]],
    ["CONNECT", rawRequest("CONNECT a.org:443"), [400]],
    [
      "a write, then CONNECT",
      post("e2") + rawRequest("CONNECT a.org:443"),
      [201, 400],
    ],
    ["more nonsense", post("f") + nonsense.repeat(99), [201, 400]],
  ];
  for (const [name, sent, statuses] of cases) {
    const wire = dial(t, port);
    wire.send(sent);
    for (const status of statuses) {
      const answer = await wire.answer();
      t.equal(answer.status, status, name);
      t.type(JSON.parse(answer.text), "object", name);
    }
    await t.rejects(wire.answer(), /ended/, `${name}: and then it hangs up`);
  }
  const { value: page } = await store.rooms.list("demo", {
    traits: new Set(),
    page: 1,
    pageSize: 50,
    ordering: "name",
  });
  t.strictSame(
    page.rooms.map(({ name }) => name),
    ["a", "b", "c", "d", "e", "e2", "f"],
    "what was answered with 201 is there, and nothing else",
  );
});

void t.test("one Host, or none before HTTP/1.1", async (t) => {
  const { app, store } = await serve(t);
  await store.rooms.create("demo", { name: "a" });
  await store.rooms.create("demo", { name: "b" });
  const port = await listen(app);
  const get = (target: string, version: string, ...hosts: string[]) =>
    [
      `GET ${target} HTTP/${version}`,
      ...hosts.map((host) => `Host: ${host}`),
      `Authorization: ${as}`,
      "\r\n",
    ].join("\r\n");
  const list = `${rooms}?page_size=1`;
  const cases: [name: string, sent: string, status: number, answer: RegExp][] =
    [
      ["none", get(world, "1.1"), 400, /one Host/],
      ["none at /healthz", get("/healthz", "1.1"), 400, /one Host/],
      ["none in HTTP/1.0", get(world, "1.0"), 200, /"demo"/],
      ["none, for a link", get(list, "1.0"), 400, /not a host name/],
      ["an empty one", get(list, "1.1", ""), 400, /Host/],
      ["two", get(world, "1.1", "a.org", "b.org"), 400, /one Host/],
      ["the same twice", get(world, "1.1", "a.org", "a.org"), 400, /one Host/],
      [
        "one",
        get(list, "1.1", "a.org"),
        200,
        /"next":"http:\/\/a\.org\/api\/v1/,
      ],
      [
        "a port that is none",
        get(list, "1.1", "a.org:65536"),
        400,
        /host name/,
      ],
      [
        "the host of a target in absolute form",
        get(`http://b.org${list}`, "1.1", "a.org"),
        200,
        /"next":"http:\/\/b\.org\/api\/v1\/worlds\/demo\/rooms\/\?page_size=1&page=2"/,
      ],
      [
        "a name and a password before it",
        get(`http://a.org@b.org${list}`, "1.1", "a.org"),
        400,
        /not a host name/,
      ],
      ["no path behind it", get("http://b.org", "1.1", "a.org"), 404, /found/],
      ["another scheme", get(`ftp://b.org${world}`, "1.1", "a.org"), 404, /./],
    ];
  for (const [name, sent, status, answer] of cases) {
    const wire = dial(t, port);
    wire.send(sent);
    const got = await wire.answer();
    t.equal(got.status, status, name);
    t.match(got.text, answer, name);
  }
});

void t.test("a header counts however many come before it", async (t) => {
  const { app, store } = await serve(t);
  const { value: room } = await store.rooms.create("demo", { name: "a" });
  const port = await listen(app);
  const filler = "a:\r\n".repeat(3000);
  const behind = (text: string, header: string) =>
    text
      .replace("\r\n", `\r\n${filler}`)
      .replace("\r\n\r\n", `\r\n${header}\r\n\r\n`);
  const remove = rawRequest(`DELETE ${rooms}${room.id}/`, {
    Authorization: as,
  });
  const cases: [name: string, sent: string, status: number][] = [
    ["a stale If-Match", behind(remove, 'If-Match: "stale"'), 412],
    [
      "an If-Match in two lines",
      behind(remove, 'If-Match: "x"\r\nIf-Match: "y"'),
      412,
    ],
    ["a second Authorization", behind(remove, `Authorization: ${as}`), 400],
    ["a second Host", behind(remove, "Host: localhost"), 400],
    ["a second type", behind(post("x"), "Content-Type: text/plain"), 400],
    [
      "a known version",
      behind(
        rawRequest(`GET ${world}`, { Authorization: as }),
        "If-None-Match: *",
      ),
      304,
    ],
  ];
  await answers(t, port, cases);
});

void t.test("trailers, codings and expectations", async (t) => {
  const { app } = await serve(t);
  const port = await listen(app);
  const body = '{"name":"x"}';
  const chunked = (headers: object, trailer: string) =>
    rawRequest(
      `POST ${rooms}`,
      {
        "Content-Type": "application/json",
        "Transfer-Encoding": "chunked",
        ...headers,
      },
      `${body.length.toString(16)}\r\n${body}\r\n0\r\n${trailer}\r\n\r\n`,
    );
  const cases: [name: string, sent: string, status: number][] = [
    ["who is calling", chunked({}, `Authorization: ${as}`), 401],
    [
      "another owner",
      chunked({ Authorization: as }, "Authorization: Bearer x"),
      201,
    ],
    ["another type", chunked(json, "Content-Type: text/plain"), 201],
    [
      "a coding that is not chunked",
      chunked(json, "A: b").replace("chunked", "gzip, chunked"),
      415,
    ],
    [
      "an unknown expectation",
      rawRequest(`GET ${world}`, { Authorization: as, Expect: "tea" }),
      200,
    ],
  ];
  await answers(t, port, cases);
});

void t.test("a Host that is no host is refused on every path", async (t) => {
  const { app, store } = await serve(t);
  const port = await listen(app);
  const form = { "Content-Type": "multipart/form-data; boundary=x" };
  const guest = { Authorization: "Client guest", ...form };
  const length = { "Content-Length": "900000" };
  const requests: [name: string, line: string, headers: object][] = [
    ["an upload", "POST /storage/upload/", { ...guest, ...length }],
    ["a new room", `POST ${rooms}`, { ...json, ...length }],
    ["a world", `GET ${world}`, json],
    ["a file", "GET /media/pub/demo/x.png", {}],
    ["the health", "GET /healthz", {}],
  ];
  for (const Host of [
    ...["a:99999", "a b", "a/b", "x@a", "[::", "a:1:2"],
    ...["evil.org/x?", "a.org:123456"],
  ]) {
    for (const [name, line, headers] of requests) {
      const wire = dial(t, port);
      wire.send(rawRequest(line, { ...headers, Host }));
      const { status, text } = await wire.answer();
      t.equal(status, 400, `${name}: ${Host}, before its body`);
      t.match(JSON.parse(text), {
        detail: "The Host header is not a host name.",
        code: "invalid_request",
      });
    }
  }

  // HTTP/1.0 asks for none; without one there is no link to what was made.
  const none = dial(t, port);
  none.send(
    post("x")
      .replace("HTTP/1.1", "HTTP/1.0")
      .replace(/Host:.*\r\n/, ""),
  );
  t.equal((await none.answer()).status, 400);
  const {
    value: { count },
  } = await store.rooms.list("demo", {
    traits: new Set(),
    page: 1,
    pageSize: 1,
    ordering: "name",
  });
  t.equal(count, 0, "and nothing was made");
});

void t.test("a half-closed connection gets one answer", async (t) => {
  const { app } = await serve(t);
  const socket = connect(await listen(app), "127.0.0.1");
  t.teardown(() => socket.destroy());
  let received = "";
  socket.on("data", (bytes) => (received += bytes.toString("latin1")));
  const closed = once(socket, "close");
  socket.write(
    "POST /api/v1/worlds/demo/rooms/ HTTP/1.1\r\nHost: demo.example.org\r\n" +
      'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"name":',
  );
  await once(socket, "data");
  socket.end();
  await closed;
  t.strictSame(received.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 401"]);
});
