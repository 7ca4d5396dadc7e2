import { randomUUID } from "node:crypto";
import t from "tap";
import type { Store } from "../../../db/contract/store.js";
import type { Room, RoomDraft } from "../../../schemas/rooms.js";
import { shown } from "../../support/database.js";
import { admin, type Answer } from "../../support/helper.js";
import { startServer } from "../../support/server.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A room with every field set to a non-default value. */
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
  const { call, store } = await startServer(t);
  const made = await call({ method: "POST", url: rooms, as, body: { name: "A" } });
  t.equal(made.status, 201);
  const { id } = made.body as Room;
  t.match(id, UUID);
  const empty = { description: "", module_config: [], permission_config: {}, sorting_priority: 0 };
  t.strictSame(made.body, { id, name: "A", ...empty, domain: "demo.localhost" });
  t.equal(made.headers.location, `http://localhost:8375${rooms}${id}/`);

  const url = `${rooms}${id}/`;
  const read = await call({ url, as });
  t.strictSame([read.status, read.body], [200, made.body]);
  t.equal(read.headers.etag, made.headers.etag);
  t.match(read.headers, {
    "content-type": /^application\/json/,
    "cache-control": "private, no-cache",
  });
  const patch = (body: object) => call({ method: "PATCH", url, as, body });
  const changed = await patch(whole);
  t.strictSame([changed.status, changed.body], [200, { id, ...whole }]);
  t.strictSame((await call({ url, as })).body, changed.body);

  const extras = {
    picture: "https://a.example/x.png",
    force_join: true,
    schedule_data: { title: "Opening" },
  };
  t.strictSame((await patch({ name: "Hall", ...extras })).body, { id, ...whole, name: "Hall" });
  const stored = async () => (await store.rooms.get("demo", id))!.value;
  t.match((await stored()).extras, extras);
  const long = { title: "x".repeat(17_000) };
  for (const wrong of [{ picture: 5 }, { force_join: "yes" }, { schedule_data: long }]) {
    t.equal((await patch({ name: "Half", ...wrong })).status, 400);
    t.match(await stored(), { name: "Hall", extras: { picture: extras.picture } });
  }
  await patch({ picture: "", schedule_data: null });
  t.match((await stored()).extras, { picture: null, schedule_data: null, force_join: true });

  const deleted = await call({ method: "DELETE", url, as });
  t.match([deleted.status, deleted.text], [204, ""]);
  t.equal(deleted.headers["content-type"], undefined);
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const body = method === "PATCH" ? { body: {} } : {};
    t.equal((await call({ method, url, as, ...body })).status, 403, method);
  }
  t.match((await call({ url: rooms, as })).body, { count: 0, results: [] });
});

type Cases = [name: string, body: unknown, status: number, answer: object][];

const many = <T>(length: number, value: (i: number) => T) =>
  Array.from({ length }, (_, i) => value(i));
const call = { mode: "stage", start_muted: true, video: false, screen: false };
const wrongCall = { mode: "party", limit: 3001, start_muted: "yes", video: true };
const modules = (count: number) => ({ module_config: many(count, () => ({ type: "x" })) });
const ruled = (rules: object) => ({ permission_config: rules });
const ruledTimes = (count: number, more: object = {}) =>
  ruled({ ...more, ...Object.fromEntries(many(count, (i) => [`k.${i}`, []])) });
const longKey = (length: number) => `a.${"b".repeat(length - 2)}`;
const badDomain = ["Must be a host name in lower case, with an optional :port."];
const odd = [{ type: "ünknown", a: [null, { b: 1.5 }], c: false }];
const anyRule = {
  "room.view": [],
  "room.announce": ["a", ["b", "c"], []],
  "anything.at_all.2": ["ä:ö"],
};
const badTraits = ["", "a b", "a,b", "a|b", "x".repeat(201), 5, null, [["a"]], ["a b"]];
const badDomains = [
  "Upper.org",
  "a b",
  "a.org/",
  "a.org:0",
  "a.org:65536",
  "-a.org",
  "a..org",
  ".",
  `${"a".repeat(64)}.org`,
];
const object = { non_field_errors: ["Must be an object."] };

/** Cases that apply to both POST and PATCH. */
const fields: Cases = [
  ["a name of 300 emoji", { name: "🎪".repeat(300) }, 200, {}],
  ["a name of 301", { name: "n".repeat(301) }, 400, { name: ["Must be at most 300 characters."] }],
  ["an empty name", { name: "" }, 400, { name: ["May not be empty."] }],
  ["the highest priority", { sorting_priority: 2147483647 }, 200, {}],
  ["the lowest priority", { sorting_priority: -2147483648 }, 200, {}],
  [
    "one over the highest",
    { sorting_priority: 2147483648 },
    400,
    { sorting_priority: ["Must be at most 2147483647."] },
  ],
  [
    "one under the lowest",
    { sorting_priority: -2147483649 },
    400,
    { sorting_priority: ["Must be at least -2147483648."] },
  ],
  ["100 modules", modules(100), 200, {}],
  ["101 modules", modules(101), 400, { module_config: ["May hold at most 100 entries."] }],
  [
    "modules of any type, with anything in them",
    { module_config: odd },
    200,
    { module_config: odd },
  ],
  [
    "a module with an empty type",
    { module_config: [{ type: "x" }, { type: "" }] },
    400,
    { "module_config.1.type": ["May not be empty."] },
  ],
  ["rules of every form", ruled(anyRule), 200, ruled(anyRule)],
  [
    "a rule under an odd key",
    ruled({ Room: [] }),
    400,
    { "permission_config.Room": [/^Must be named by a permission key/] },
  ],
  [
    "a key of 101 characters",
    ruled({ [longKey(101)]: [] }),
    400,
    { [`permission_config.${longKey(101)}`]: [/^Must be named by/] },
  ],
  [
    "200 rules, one under a key of 100 characters",
    ruledTimes(199, { [longKey(100)]: [] }),
    200,
    {},
  ],
  ["201 rules", ruledTimes(201), 400, { permission_config: ["May hold at most 200 keys."] }],
  [
    "a rule of 101 entries",
    ruled({ "room.view": many(101, () => "a") }),
    400,
    { "permission_config.room.view": ["May hold at most 100 entries."] },
  ],
  ...badTraits.map((trait): Cases[number] => [
    `a trait ${JSON.stringify(trait).slice(0, 20)}`,
    ruled({ "chat.x": ["ok", trait] }),
    400,
    { "permission_config.chat.x.1": [/^Must be a trait/] },
  ]),
  ["a domain of its own", { domain: "x-1.y.org" }, 200, {}],
  ["a domain with a port", { domain: "localhost:1" }, 200, {}],
  ...badDomains.map((domain): Cases[number] => [
    `the domain ${domain}`,
    { domain },
    400,
    { domain: badDomain },
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
  ...[
    { name: null },
    { name: "a\0b" },
    { description: null },
    { description: "\ud800" },
    { module_config: {} },
    { permission_config: [] },
    { sorting_priority: 1.5 },
    { sorting_priority: null },
    { domain: false },
  ].map((body): Cases[number] => [
    JSON.stringify(body),
    body,
    400,
    { [Object.keys(body)[0]!]: [/^Must/] },
  ]),
  [
    "a call with every setting",
    { module_config: [{ type: "call.native", config: { ...call, limit: 2, other: "x" } }] },
    200,
    {},
  ],
  [
    "wrong settings of a call",
    { module_config: [{ type: "chat.native" }, { type: "call.native", config: wrongCall }] },
    400,
    {
      "module_config.1.config.mode": ["Must be call or stage."],
      "module_config.1.config.limit": ["Must be a whole number from 2 to 3000."],
      "module_config.1.config.start_muted": ["Must be true or false."],
    },
  ],
  [
    "two calls in a room",
    { module_config: [{ type: "call.native" }, { type: "call.jitsi" }] },
    400,
    { module_config: ["May hold only one module for calls."] },
  ],
  ["a list as a module", { module_config: [[]] }, 400, { "module_config.0": [/^Must/] }],
  [
    "a type that is null",
    { module_config: [{ type: null }] },
    400,
    { "module_config.0.type": [/^Must/] },
  ],
  ["a rule that is text", ruled({ "a.b": "c" }), 400, { "permission_config.a.b": [/^Must/] }],
  ["a string", '"x"', 400, object],
  ["null as a body", "null", 400, object],
];

void t.test(
  "a copy has the modules and rules of its room, and nothing of what people wrote",
  async (t) => {
    const { call, store } = await startServer(t);
    const { name: _, domain, ...settings } = whole;
    const made = await call({
      method: "POST",
      url: rooms,
      as,
      body: { ...settings, name: "Stage" },
    });
    const { id } = made.body as Room;
    const extras = { picture: "https://a.example/x.png", import_id: "r1", force_join: true };
    await store.rooms.update("demo", id, { domain, extras });
    const { id: sender } = await store.users.enter("demo", { tokenId: "ada", traits: new Set() });
    const content = { type: "text", body: "secret" };
    await store.chat.send("demo", id, { sender, content, volatile: true });

    const copy = await call({
      method: "POST",
      url: `${rooms}${id}/copy/`,
      as,
      body: { name: "B" },
    });
    const { id: other } = copy.body as Room;
    t.equal(copy.status, 201);
    t.match(other, UUID);
    t.not(other, id);
    t.strictSame(copy.body, { id: other, name: "B", ...settings, domain: "demo.localhost" });
    t.equal(copy.headers.location, `http://localhost:8375${rooms}${other}/`);
    t.strictSame((await call({ url: `${rooms}${other}/`, as })).body, copy.body);
    const messages = await call({ url: `${rooms}${other}/messages/`, as });
    t.strictSame((messages.body as { results: unknown[] }).results, []);
    const nameless = await call({ method: "POST", url: `${rooms}${id}/copy/`, as, body: {} });
    t.match(nameless, { status: 400, body: { name: [String] } });
  },
);

void t.test("what a room may hold", async (t) => {
  const { call, store } = await startServer(t);
  const { value: room } = await store.rooms.create("demo", { name: "Old" });
  const url = `${rooms}${room.id}/`;
  for (const [name, body, status, answer] of fields) {
    const isFields = typeof body === "object" && body !== null && !Array.isArray(body);
    // PATCH sends only the fields; POST adds the required name.
    for (const request of [
      { method: "PATCH", url, body },
      { method: "POST", url: rooms, body: isFields ? { name: "New", ...body } : body },
    ]) {
      const got = await call({ ...request, as });
      const isMade = status === 200 && request.method === "POST";
      t.equal(got.status, isMade ? 201 : status, `${name}, ${request.method}`);
      t.match(got.body, status < 300 && isFields ? body : answer, `${name}, ${request.method}`);
      if (status === 400) t.strictSame(Object.keys(got.body as object), Object.keys(answer));
    }
  }
});

void t.test("what only a POST or a PATCH refuses", async (t) => {
  const { call, store } = await startServer(t);
  const required = ["This field is required."];
  const faults = { description: 1, sorting_priority: "x", extra: true };
  const all = {
    name: required,
    description: ["Must be a string."],
    sorting_priority: ["Must be a whole number."],
    extra: ["Unknown field."],
  };
  const posts: Cases = [
    ["nothing", {}, 400, { name: required }],
    ["no JSON", whole.description, 400, { detail: /not valid JSON/ }],
    ["an id", { name: "x", id: randomUUID() }, 400, { id: ["Unknown field."] }],
    ["all faults at once", faults, 400, all],
    ["no body at all", undefined, 400, {}],
  ];
  for (const [name, body, status, answer] of posts) {
    const got = await call({ method: "POST", url: rooms, as, body });
    t.match(got, { status, body: answer }, name);
    t.not(Object.keys(got.body as object).length, 0, `${name} is explained`);
  }
  t.match((await call({ url: rooms, as })).body, { count: 0 });

  const room = shown((await store.rooms.create("demo", whole)).value);
  const url = `${rooms}${room.id}/`;
  const fixed = { id: ["May not be changed."] };
  const modular = { ...room, name: "B", module_config: [{ type: "x" }] };
  const patches: Cases = [
    ["nothing", {}, 200, room],
    ["its own id", { id: room.id }, 200, room],
    ["all that a GET gave", room, 200, room],
    ["another id", { id: randomUUID() }, 400, fixed],
    ["and a fault", { id: 5, name: "" }, 400, { ...fixed, name: ["May not be empty."] }],
    ["a name", { name: "B" }, 200, { ...room, name: "B" }],
    ["modules, as a whole", { module_config: [{ type: "x" }] }, 200, modular],
    ["rules, as a whole", ruled({ "a.b": [] }), 200, { ...modular, ...ruled({ "a.b": [] }) }],
  ];
  for (const [name, body, status, answer] of patches) {
    const got = await call({ method: "PATCH", url, as, body });
    t.strictSame([got.status, got.body], [status, answer], name);
  }
  const none = await call({ method: "PATCH", url, as });
  t.equal(none.status, 400, "no body at all is a fault");
  t.not(Object.keys(none.body as object).length, 0);
});

void t.test("DELETE ignores whatever JSON it is sent", async (t) => {
  const { call, store } = await startServer(t);
  const typed = (type: string) => ({ headers: { "content-type": type } });
  const cases: [name: string, sent: object, status: number][] = [
    ["nothing", {}, 204],
    ["a JSON content type on nothing", typed("application/json"), 204],
    ["an object", { body: { name: "x" } }, 204],
    ["a list", { body: [1] }, 204],
    ["null", { body: "null" }, 204],
    ["what does not parse", { body: "{" }, 400],
    ["text", { body: "x", ...typed("text/plain") }, 415],
  ];
  for (const [name, sent, status] of cases) {
    const { value: room } = await store.rooms.create("demo", { name });
    const got = await call({ method: "DELETE", url: `${rooms}${room.id}/`, as, ...sent });
    t.equal(got.status, status, name);
    if (status === 204) t.equal(got.text, "", name);
    const left = await store.rooms.get("demo", room.id);
    t.equal(left === undefined, status === 204, name);
  }
});

void t.test("every path works without its trailing slash", async (t) => {
  const { call } = await startServer(t);
  const list = rooms.slice(0, -1);
  const made = await call({ method: "POST", url: list, as, body: { name: "A" } });
  t.equal(made.status, 201);
  const url = `${list}/${(made.body as Room).id}`;
  for (const [line, status] of [
    ["GET /api/v1/worlds/demo", 200],
    ["PATCH /api/v1/worlds/demo", 200],
    [`GET ${list}`, 200],
    [`GET ${list}?page=1`, 200],
    [`GET ${url}`, 200],
    [`PATCH ${url}`, 200],
    [`DELETE ${url}`, 204],
  ] as const) {
    const [method = "", url = ""] = line.split(" ");
    const body = method === "PATCH" ? { body: {} } : {};
    t.equal((await call({ method, url, as, ...body })).status, status, line);
  }
});

void t.test("a room keeps the domain that it inherits until it has its own", async (t) => {
  const { call, store } = await startServer(t);
  const send = (method: string, url: string, body: object, tag?: string) =>
    call({ method, url, as, body, headers: tag === undefined ? {} : { "if-match": tag } });
  const made = await send("POST", rooms, { name: "own", domain: "own.org" });
  const url = `${rooms}${(made.body as Room).id}/`;
  const read = () => call({ url, as });
  const removed = await send("PATCH", url, { domain: null }, made.headers.etag);
  const inherited = { ...(made.body as Room), domain: "demo.localhost" };
  t.strictSame([removed.status, removed.body], [200, inherited]);
  t.not(removed.headers.etag, made.headers.etag);
  t.match(await read(), { body: inherited, headers: { etag: removed.headers.etag } });

  for (const body of [{ domain: null, name: "own" }, inherited]) {
    const again = await send("PATCH", url, body);
    t.equal(again.headers.etag, removed.headers.etag, "nothing changes");
  }
  t.equal((await send("PATCH", url, { domain: null }, made.headers.etag)).status, 412);
  await store.worlds.update("demo", { domain: "moved.org" });
  t.match((await read()).body, { domain: "moved.org" });
  t.match((await send("PATCH", url, { domain: "own.org" })).body, { domain: "own.org" });
  await store.worlds.update("demo", { domain: "newer.org" });
  t.match((await read()).body, { domain: "own.org" });
  const plain = await send("POST", rooms, { name: "plain", domain: null });
  t.match(plain, { status: 201, body: { domain: "newer.org" } });
});

const base = `http://localhost:8375${rooms}`;

interface Page {
  count: number;
  next: string | null;
  previous: string | null;
  results: { name: string; id: string }[];
}

function pageOf({ body }: Answer) {
  const { results, ...rest } = body as Page;
  return { ...rest, names: results.map(({ name }) => name).join(" ") };
}

async function fill(store: Store, drafts: RoomDraft[]): Promise<void> {
  for (const draft of drafts) await store.rooms.create("demo", draft);
}

void t.test("pages of rooms, and the links between them", async (t) => {
  const { call, store } = await startServer(t);
  for (const query of ["", "?page=3"]) {
    const empty = { count: 0, next: null, previous: null, results: [] };
    t.strictSame((await call({ url: rooms + query, as })).body, empty, "no page, so no link");
  }
  const names = ["a", "b", "c", "d", "e"];
  await fill(
    store,
    names.map((name) => ({ name, description: name < "d" ? "what? a & b" : "" })),
  );
  const search = "?search=what%3F+a+%26+b&page_size=1&page=";
  const cases: [query: string, names: string, next: string | null, previous: string | null][] = [
    ["", "a b c d e", null, null],
    ["?page_size=5", "a b c d e", null, null],
    ["?page_size=2", "a b", "?page_size=2&page=2", null],
    ["?page_size=2&page=2", "c d", "?page_size=2&page=3", "?page_size=2&page=1"],
    ["?page_size=2&page=3", "e", null, "?page_size=2&page=2"],
    // Past the end, `previous` links to the last page that has rows.
    ["?page_size=2&page=4", "", null, "?page_size=2&page=3"],
    ["?page=2&page_size=5", "", null, "?page=1&page_size=5"],
    ["?page=999999999999999&page_size=1000", "", null, "?page=1&page_size=1000"],
    [`${search}2`, "b", `${search}3`, `${search}1`],
    ["?type=", "a b c d e", null, null],
    ["?search=", "a b c d e", null, null],
  ];
  for (const [query, names, next, previous] of cases) {
    const answer = await call({ url: rooms + query, as });
    const links = { next: next && base + next, previous: previous && base + previous };
    const count = query.startsWith(search) ? 3 : 5;
    t.strictSame([answer.status, pageOf(answer)], [200, { count, ...links, names }], query);
  }
  await Promise.all(many(996, (i) => store.rooms.create("demo", { name: String(i) })));
  for (const [query, length, next] of [
    ["", 50, "?page=2"],
    ["?page=21", 1, null],
    ["?page_size=1", 1, "?page_size=1&page=2"],
    ["?page_size=1000", 1000, "?page_size=1000&page=2"],
  ] as const) {
    const page = (await call({ url: rooms + query, as })).body as Page;
    const expected = [1001, length, next && base + next];
    t.strictSame([page.count, page.results.length, page.next], expected, query);
  }
});

void t.test("a bad parameter is named", async (t) => {
  const { call } = await startServer(t);
  const whole = { page: ["Must be a whole number."] };
  const least = "Must be at least 1.";
  const sorts = "sorting_priority, -sorting_priority, name, -name";
  const cases: [query: string, answer: object][] = [
    ...["", "x", "1.5", "1e3", "%201", "1&page=2"].map((page): [string, object] => [
      `page=${page}`,
      whole,
    ]),
    ["page=0", { page: [least] }],
    ["page=-1", { page: [least] }],
    ["page_size=0", { page_size: [least] }],
    ["page_size=1001", { page_size: ["Must be at most 1000."] }],
    ["page_size=all", { page_size: whole.page }],
    ["ordering=id", { ordering: [`Must be one of ${sorts}.`] }],
    ["ordering=", { ordering: [/^Must be one of/] }],
    ["ordering=name,id", { ordering: [/^Must be one of/] }],
    ["type=a&type=b", { type: ["Must be a string."] }],
    ["search=a%00b", { search: ["Must be free of NUL characters."] }],
    ["page=x&page_size=0&ordering=id", { ...whole, page_size: [least], ordering: [/^Must/] }],
  ];
  for (const [query, answer] of cases) {
    const got = await call({ url: `${rooms}?${query}`, as });
    t.match(got, { status: 400, body: answer }, query);
    t.strictSame(Object.keys(got.body as object), Object.keys(answer), query);
  }
});

void t.test("a page that would not fit in memory", async (t) => {
  const { call, store } = await startServer(t);
  const description = "d".repeat(1_048_000);
  await Promise.all(many(65, () => store.rooms.create("demo", { name: "x", description })));
  const got = await call({ url: `${rooms}?page_size=1000`, as });
  t.match(got, { status: 400, body: { page_size: [/Request fewer/] } });
  const few = await call({ url: `${rooms}?page_size=4`, as });
  t.match(few, { status: 200, body: { count: 65 } });
});
