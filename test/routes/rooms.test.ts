import { randomUUID } from "node:crypto";
import t from "tap";
import type { Room } from "../../schemas/rooms.js";
import { admin, serve } from "../helper.js";
import { shown } from "../listed.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A room with every field set to something that is no default. */
const whole = {
  name: "Stage",
  description: "*Welcome*",
  module_config: [
    { type: "livestream.native", config: { hls_url: "https://s/x.m3u8" } },
    { type: "chat.native", config: { volatile: true } },
  ],
  permission_config: { "room.announce": ["admin", ["host", "speaker"]] },
  sorting_priority: -7,
  domain: "stage.example.org:8443",
};

void t.test("a room is made, read, changed and deleted", async (t) => {
  const { call, store } = await serve(t);

  const made = await call({
    method: "POST",
    url: rooms,
    as,
    body: { name: "A" },
  });
  t.equal(made.status, 201);
  const { id } = made.body as Room;
  t.match(id, UUID);
  t.strictSame(made.body, {
    id,
    name: "A",
    description: "",
    module_config: [],
    permission_config: {},
    sorting_priority: 0,
    domain: "demo.example.org",
  });
  t.equal(made.headers.location, `http://localhost:8375${rooms}${id}/`);

  const url = `${rooms}${id}/`;
  const read = await call({ url, as });
  t.equal(read.status, 200);
  t.strictSame(read.body, made.body);
  t.equal(read.headers.etag, made.headers.etag);
  t.match(read.headers["content-type"], /^application\/json/);
  t.equal(read.headers["cache-control"], "private, no-cache");

  const changed = await call({ method: "PATCH", url, as, body: whole });
  t.equal(changed.status, 200);
  t.strictSame(changed.body, { id, ...whole });
  t.strictSame((await call({ url, as })).body, changed.body);

  const more = {
    ...{ name: "Hall", picture: "https://a.example/x.png", force_join: true },
    schedule_data: { title: "Opening" },
  };
  const all = await call({ method: "PATCH", url, as, body: more });
  t.strictSame(all.body, { id, ...whole, name: "Hall" });
  const { picture, force_join, schedule_data } = more;
  const stored = async () => (await store.rooms.get("demo", id))!.value;
  t.match((await stored()).extras, { picture, force_join, schedule_data });
  for (const wrong of [
    { picture: 5 },
    { force_join: "yes" },
    { schedule_data: { title: "x".repeat(17_000) } },
  ]) {
    const body = { name: "Half", ...wrong };
    const { status } = await call({ method: "PATCH", url, as, body });
    t.equal(status, 400);
    t.match(await stored(), { name: "Hall", extras: { picture } });
  }
  const none = { picture: "", schedule_data: null };
  await call({ method: "PATCH", url, as, body: none });
  const cleared = { picture: null, schedule_data: null, force_join: true };
  t.match((await stored()).extras, cleared);

  const deleted = await call({ method: "DELETE", url, as });
  t.equal(deleted.status, 204);
  t.equal(deleted.text, "");
  t.equal(deleted.headers["content-type"], undefined);
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const body = method === "PATCH" ? { body: {} } : {};
    t.equal((await call({ method, url, as, ...body })).status, 403, method);
  }
  t.match((await call({ url: rooms, as })).body, { count: 0, results: [] });
});

type Cases = [name: string, body: unknown, status: number, answer: object][];

/** Values of another type than a field has, and what the answer names. */
const wrong: [body: object, field: string][] = [
  [{ name: null }, "name"],
  [{ name: "a\0b" }, "name"],
  [{ description: null }, "description"],
  [{ description: "\ud800" }, "description"],
  [{ module_config: {} }, "module_config"],
  [{ module_config: [[]] }, "module_config.0"],
  [{ module_config: [{ type: null }] }, "module_config.0.type"],
  [{ permission_config: [] }, "permission_config"],
  [{ permission_config: { "a.b": "c" } }, "permission_config.a.b"],
  [{ sorting_priority: 1.5 }, "sorting_priority"],
  [{ sorting_priority: null }, "sorting_priority"],
  [{ domain: false }, "domain"],
];

/** What holds of a field wherever it is sent. */
const fields: Cases = [
  ["a name of 300 emoji", { name: "🎪".repeat(300) }, 200, {}],
  [
    "a name of 301 characters",
    { name: "n".repeat(301) },
    400,
    { name: ["Must be at most 300 characters."] },
  ],
  ["an empty name", { name: "" }, 400, { name: ["May not be empty."] }],
  ["the highest priority", { sorting_priority: 2147483647 }, 200, {}],
  ["the lowest priority", { sorting_priority: -2147483648 }, 200, {}],
  [
    "a priority over the highest",
    { sorting_priority: 2147483648 },
    400,
    { sorting_priority: ["Must be at most 2147483647."] },
  ],
  [
    "a priority under the lowest",
    { sorting_priority: -2147483649 },
    400,
    { sorting_priority: ["Must be at least -2147483648."] },
  ],
  [
    "100 modules",
    { module_config: Array.from({ length: 100 }, () => ({ type: "x" })) },
    200,
    {},
  ],
  [
    "101 modules",
    { module_config: Array.from({ length: 101 }, () => ({ type: "x" })) },
    400,
    { module_config: ["May hold at most 100 entries."] },
  ],
  [
    "modules of any type, with anything in them",
    { module_config: [{ type: "ünknown", a: [null, { b: 1.5 }], c: false }] },
    200,
    { module_config: [{ type: "ünknown", a: [null, { b: 1.5 }], c: false }] },
  ],
  [
    "a module with an empty type",
    { module_config: [{ type: "x" }, { type: "" }] },
    400,
    { "module_config.1.type": ["May not be empty."] },
  ],
  [
    "rules of every form",
    {
      permission_config: {
        "room.view": [],
        "room.announce": ["a", ["b", "c"], []],
        "anything.at_all.2": ["ä:ö"],
      },
    },
    200,
    { permission_config: { "anything.at_all.2": ["ä:ö"] } },
  ],
  [
    "a rule under an odd key",
    { permission_config: { Room: [] } },
    400,
    { "permission_config.Room": [/^Must be named by a permission key/] },
  ],
  [
    "a rule under a key of 101 characters",
    { permission_config: { [`a.${"b".repeat(99)}`]: [] } },
    400,
    { [`permission_config.a.${"b".repeat(99)}`]: [/^Must be named by/] },
  ],
  [
    "200 rules, one under a key of 100 characters",
    {
      permission_config: {
        [`a.${"b".repeat(98)}`]: [],
        ...Object.fromEntries(
          Array.from({ length: 199 }, (_, i) => [`k.${i}`, []]),
        ),
      },
    },
    200,
    {},
  ],
  [
    "201 rules",
    {
      permission_config: Object.fromEntries(
        Array.from({ length: 201 }, (_, i) => [`k.${i}`, []]),
      ),
    },
    400,
    { permission_config: ["May hold at most 200 keys."] },
  ],
  [
    "a rule of 101 entries",
    {
      permission_config: {
        "room.view": Array.from({ length: 101 }, () => "a"),
      },
    },
    400,
    { "permission_config.room.view": ["May hold at most 100 entries."] },
  ],
  ...["", "a b", "a,b", "a|b", "x".repeat(201), 5, null, [["a"]], ["a b"]].map(
    (trait): Cases[number] => [
      `a trait ${JSON.stringify(trait).slice(0, 20)}`,
      { permission_config: { "chat.x": ["ok", trait] } },
      400,
      { "permission_config.chat.x.1": [/^Must be a trait/] },
    ],
  ),
  ["a domain of its own", { domain: "x-1.y.org" }, 200, {}],
  ["a domain with a port", { domain: "localhost:1" }, 200, {}],
  ...[
    "Upper.org",
    "a b",
    "a.org/",
    "a.org:0",
    "a.org:65536",
    "-a.org",
    "a..org",
    ".",
    `${"a".repeat(64)}.org`,
  ].map((domain): Cases[number] => [
    `the domain ${domain}`,
    { domain },
    400,
    {
      domain: ["Must be a host name in lower case, with an optional :port."],
    },
  ]),
  [
    "a domain of 254 characters",
    { domain: `${"a.".repeat(126)}aa` },
    400,
    { domain: ["Must be at most 253 characters."] },
  ],
  [
    "an unknown field",
    { sort_order: 1, nmae: "x" },
    400,
    { sort_order: ["Unknown field."], nmae: ["Unknown field."] },
  ],
  ...wrong.map(([body, field]): Cases[number] => [
    field,
    body,
    400,
    { [field]: [/^Must/] },
  ]),
  ["a string", '"x"', 400, { non_field_errors: ["Must be an object."] }],
  ["null as a body", "null", 400, { non_field_errors: ["Must be an object."] }],
];

void t.test("what a room may hold", async (t) => {
  const { call, store } = await serve(t);
  const { value: room } = await store.rooms.create("demo", { name: "Old" });
  const url = `${rooms}${room.id}/`;

  for (const [name, body, status, answer] of fields) {
    const isFields =
      typeof body === "object" && body !== null && !Array.isArray(body);
    // A PATCH sends the fields alone, a POST with the name that it cannot do without.
    const requests = [
      { method: "PATCH", url, body, status },
      {
        method: "POST",
        url: rooms,
        body: isFields ? { name: "New", ...body } : body,
        status: status === 200 ? 201 : status,
      },
    ];
    for (const { status, ...request } of requests) {
      const got = await call({ ...request, as });
      t.equal(got.status, status, `${name}, ${request.method}`);
      const sent = status < 300 && isFields ? body : answer;
      t.match(got.body, sent, `${name}, ${request.method}`);
      if (status === 400) {
        t.strictSame(Object.keys(got.body as object), Object.keys(answer));
      }
    }
  }
});

void t.test("what only a POST refuses", async (t) => {
  const { call } = await serve(t);
  const cases: Cases = [
    ["nothing", {}, 400, { name: ["This field is required."] }],
    ["no name", whole.description, 400, { detail: /not valid JSON/ }],
    ["an id", { name: "x", id: randomUUID() }, 400, { id: ["Unknown field."] }],
    [
      "all faults at once",
      { description: 1, sorting_priority: "x", extra: true },
      400,
      {
        name: ["This field is required."],
        description: ["Must be a string."],
        sorting_priority: ["Must be a whole number."],
        extra: ["Unknown field."],
      },
    ],
    ["no body at all", undefined, 400, {}],
  ];
  for (const [name, body, status, answer] of cases) {
    const got = await call({ method: "POST", url: rooms, as, body });
    t.equal(got.status, status, name);
    t.match(got.body, answer, name);
    t.not(Object.keys(got.body as object).length, 0, `${name} is explained`);
  }
  t.match((await call({ url: rooms, as })).body, { count: 0 });
});

void t.test("what a PATCH leaves alone", async (t) => {
  const { call, store } = await serve(t);
  const room = shown((await store.rooms.create("demo", whole)).value);
  const url = `${rooms}${room.id}/`;
  const cases: Cases = [
    ["nothing", {}, 200, room],
    ["its own id", { id: room.id }, 200, room],
    ["all that a GET gave", room, 200, room],
    ["another id", { id: randomUUID() }, 400, { id: ["May not be changed."] }],
    [
      "another id and a fault",
      { id: 5, name: "" },
      400,
      { id: ["May not be changed."], name: ["May not be empty."] },
    ],
    ["a name", { name: "B" }, 200, { ...room, name: "B" }],
    [
      "modules, as a whole",
      { module_config: [{ type: "x" }] },
      200,
      { ...room, name: "B", module_config: [{ type: "x" }] },
    ],
    [
      "rules, as a whole",
      { permission_config: { "chat.moderate": [] } },
      200,
      {
        ...room,
        name: "B",
        module_config: [{ type: "x" }],
        permission_config: { "chat.moderate": [] },
      },
    ],
  ];
  for (const [name, body, status, answer] of cases) {
    const got = await call({ method: "PATCH", url, as, body });
    t.equal(got.status, status, name);
    t.strictSame(got.body, answer, name);
  }
  const none = await call({ method: "PATCH", url, as });
  t.equal(none.status, 400, "no body at all is a fault, not a change");
  t.not(Object.keys(none.body as object).length, 0);
});

void t.test("DELETE ignores whatever JSON it is sent", async (t) => {
  const { call, store } = await serve(t);
  const json = { "content-type": "application/json" };
  const cases: [
    name: string,
    sent: { body?: unknown; headers?: Record<string, string> },
    status: number,
  ][] = [
    ["nothing", {}, 204],
    ["a JSON content type on nothing", { headers: json }, 204],
    ["an object", { body: { name: "x" } }, 204],
    ["a list", { body: [1] }, 204],
    ["null", { body: "null" }, 204],
    ["what does not parse", { body: "{" }, 400],
    ["text", { body: "x", headers: { "content-type": "text/plain" } }, 415],
  ];
  for (const [name, sent, status] of cases) {
    const { value: room } = await store.rooms.create("demo", { name });
    const url = `${rooms}${room.id}/`;
    const got = await call({ method: "DELETE", url, as, ...sent });
    t.equal(got.status, status, name);
    if (status === 204) t.equal(got.text, "", name);
    const left = await store.rooms.get("demo", room.id);
    t.equal(left === undefined, status === 204, name);
  }
});

void t.test("every path works without its trailing slash", async (t) => {
  const { call } = await serve(t);
  const list = rooms.slice(0, -1);
  const made = await call({
    method: "POST",
    url: list,
    as,
    body: { name: "A" },
  });
  t.equal(made.status, 201);
  const url = `${list}/${(made.body as Room).id}`;
  const cases: [method: string, url: string, body: unknown, status: number][] =
    [
      ["GET", "/api/v1/worlds/demo", undefined, 200],
      ["PATCH", "/api/v1/worlds/demo", {}, 200],
      ["GET", list, undefined, 200],
      ["GET", `${list}?page=1`, undefined, 200],
      ["GET", url, undefined, 200],
      ["PATCH", url, {}, 200],
      ["DELETE", url, undefined, 204],
    ];
  for (const [method, url, body, status] of cases) {
    const got = await call({ method, url, as, body });
    t.equal(got.status, status, `${method} ${url}`);
  }
});

void t.test("null removes a room's own domain", async (t) => {
  const { call, store } = await serve(t);
  const send = (method: string, url: string, body: object, ifMatch?: string) =>
    call({
      method,
      url,
      as,
      body,
      headers: ifMatch === undefined ? {} : { "if-match": ifMatch },
    });
  const made = await send("POST", rooms, { name: "own", domain: "own.org" });
  const url = `${rooms}${(made.body as Room).id}/`;
  const removed = await send("PATCH", url, { domain: null }, made.headers.etag);
  t.equal(removed.status, 200);
  t.strictSame(removed.body, {
    ...(made.body as Room),
    domain: "demo.example.org",
  });
  t.not(removed.headers.etag, made.headers.etag);
  const read = await call({ url, as });
  t.strictSame(read.body, removed.body);
  t.equal(read.headers.etag, removed.headers.etag);

  const again = await send("PATCH", url, { domain: null, name: "own" });
  t.equal(again.headers.etag, read.headers.etag, "nothing left to change");
  const late = await send("PATCH", url, { domain: null }, made.headers.etag);
  t.equal(late.status, 412);

  await store.worlds.update("demo", { domain: "moved.org" });
  t.match((await call({ url, as })).body, { domain: "moved.org" });
  const back = await send("PATCH", url, { domain: "own.org" });
  t.match(back.body, { domain: "own.org" });
  const plain = await send("POST", rooms, { name: "plain", domain: null });
  t.match(plain, { status: 201, body: { domain: "moved.org" } });
});
