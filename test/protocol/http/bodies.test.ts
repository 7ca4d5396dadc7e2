import t from "tap";
import type { Store } from "../../../db/contract/store.js";
import type { Room } from "../../../schemas/rooms.js";
import type { World } from "../../../schemas/worlds.js";
import { admin, dial, keyOf, rawRequest, rules, tokenOf, worldOf } from "../../support/helper.js";
import { startServer } from "../../support/server.js";

const as = admin("demo");
const world = "/api/v1/worlds/demo/";
const rooms = `${world}rooms/`;

/** Returns the JSON of a world's config with arbitrary content, which no serializer would produce. */
const config = (inner: string) => `{"config":{"a":${inner}}}`;
const nested = (levels: number, open = "[", close = "]") =>
  open.repeat(levels) + close.repeat(levels);

void t.test("JSON that is out to harm", async (t) => {
  const { call } = await startServer(t);
  const before = (await call({ url: world, as })).body;
  const nul = ["Must be free of NUL characters."];
  const surrogate = ["Must be free of unpaired surrogates."];
  const deep = ["May be nested at most 100 levels deep."];
  const number = ["Must be a number that fits in 64 bits."];
  const notJson = { detail: /not valid/, code: "invalid_json" };
  const forbiddenName = {
    detail: /not valid JSON, or contains a forbidden name/,
    code: "invalid_json",
  };

  const cases: [name: string, body: string | Buffer, answer: object][] = [
    ["a NUL", '{"title":"a\\u0000b"}', { title: nul }],
    ["a NUL, deep inside", config('[{"b":"\\u0000"}]'), { "config.a.0.b": nul }],
    [
      "a NUL in a name",
      config('{"\\u0000":1}'),
      { "config.a": ["Its names must be free of NUL characters."] },
    ],
    ["a raw NUL", '{"title":"a\0b"}', notJson],
    ["half a surrogate pair", '{"title":"\\ud83c"}', { title: surrogate }],
    ["its other half", '{"title":"x\\udfaa"}', { title: surrogate }],
    ["a pair turned round", '{"title":"\\udfaa\\ud83c"}', { title: surrogate }],
    [
      "half a pair in a name",
      config('{"\\ud83c":1}'),
      { "config.a": ["Its names must be free of unpaired surrogates."] },
    ],
    [
      "half a pair in an unknown field",
      '{"\\ud83c":1}',
      {
        "\ud83c": ["Unknown field."],
        non_field_errors: ["Its names must be free of unpaired surrogates."],
      },
    ],
    [
      "bytes that are no UTF-8",
      Buffer.from([...Buffer.from('{"title":"'), 0xff, ...Buffer.from('"}')]),
      { detail: "The body is not valid UTF-8.", code: "invalid_json" },
    ],
    [
      "a surrogate in UTF-8",
      Buffer.from('{"title":"\xed\xa0\xbc"}', "latin1"),
      { detail: "The body is not valid UTF-8.", code: "invalid_json" },
    ],
    ["UTF-16", Buffer.from('{"title":"x"}', "utf16le"), notJson],
    ["__proto__", '{"__proto__":{"title":"x"}}', forbiddenName],
    ["__proto__, deep", config('{"__proto__":1}'), forbiddenName],
    ["__proto__, escaped", config('{"__pr\\u006fto__":1}'), forbiddenName],
    ["constructor.prototype", config('{"constructor":{"prototype":{"x":1}}}'), forbiddenName],
    ["5,000 levels of lists", config(nested(5000)), { "config.a": deep }],
    ["5,000 levels of objects", config(nested(5000, '{"b":[', "]}")), { "config.a": deep }],
    [
      "500,000 levels of nothing else",
      nested(500_000),
      { non_field_errors: ["Must be an object."] },
    ],
    [
      "a list of what cannot be stored",
      '["\\u0000",1e999]',
      { non_field_errors: ["Must be an object."] },
    ],
    ["500,000 levels", config(nested(500_000)), { "config.a": deep }],
    ["500,000 levels, cut off", "[".repeat(500_000), notJson],
    ["a number without end", config("1e999"), { "config.a": number }],
    ["its negative", config("[-1e999]"), { "config.a.0": number }],
    ["a priority without end", '{"title":1e999}', { title: number }],
    ["NaN", config("NaN"), notJson],
    ["a comma too many", config("[1,]"), notJson],
    ["two values", "{}{}", notJson],
    ["a name that belongs to all objects", '{"toString":1}', { toString: ["Unknown field."] }],
    ["a name that is empty", '{"":1}', { non_field_errors: ["Unknown field."] }],
    ["a name like a path", '{"a/b~c.d":1}', { "a/b~c.d": ["Unknown field."] }],
    [
      "a name of half a megabyte",
      `{"${"x".repeat(500_000)}":1}`,
      { [`${"x".repeat(199)}…`]: ["Unknown field."] },
    ],
  ];
  for (const [name, body, answer] of cases) {
    const got = await call({ method: "PATCH", url: world, as, body });
    t.equal(got.status, 400, name);
    t.match(got.body, answer, name);
    t.strictSame(Object.keys(got.body as object).sort(), Object.keys(answer).sort(), name);
    t.ok(got.text.length < 1000, `${name} is answered briefly`);
  }
  t.strictSame((await call({ url: world, as })).body, before);
  t.equal(({} as { title?: string }).title, undefined, "no prototype changed");
});

void t.test("what is odd and no harm reads back as it was sent", async (t) => {
  const { call } = await startServer(t);
  const values: [name: string, value: unknown][] = [
    ["emoji", "🎪👩‍👩‍👧‍👦\u{1f1e9}\u{1f1ea}"],
    ["controls", "\u0001\b\t\n\r\u001f\u007f\u0085"],
    ["separators of lines", "\u2028\u2029"],
    ["a byte order mark", "\ufeffx\ufffe\uffff"],
    ["the replacement character", "\ufffd"],
    ["what looks like an escape", '\\u0000 \\" \\\\ </script>'],
    ["two ways to write a letter", ["é", "e\u0301"]],
    ["right to left", "\u202eabc שלום"],
    ["100 levels, with the config", JSON.parse(nested(97))],
    ["numbers", [0, -1, 1.5, 1e300, 5e-324, 2 ** 53 - 1, -(2 ** 31)]],
    ["empty things", [null, true, false, "", [], {}, [[]], [{}]]],
    [
      "names that belong to all objects",
      { toString: 1, valueOf: [], hasOwnProperty: null, toJSON: "x", then: 2, length: 3 },
    ],
    ["a constructor", { constructor: { name: "x" } }],
    ["a prototype", { prototype: { x: 1 } }],
    ["names with signs", { "": 1, "a/b": 2, "~0": 3, "a.b": 4, $ref: "#", "\u2028": 5 }],
    ["names like numbers", { 10: "a", 9: "b", "-1": "c", "1.5": "d" }],
    ["many names", Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`n${i}`, i]))],
    ["what a schema means", { type: "object", required: ["x"], $id: "x" }],
  ];
  for (const [name, value] of values) {
    // A config accepts any value, and so does a module next to its type.
    const sent = { JWT_secrets: [keyOf("demo")], value };
    const body = { config: sent };
    const patched = await call({ method: "PATCH", url: world, as, body });
    t.equal(patched.status, 200, name);
    // Compared as text, which preserves order and supports names that break deep comparisons.
    const read = (await call({ url: world, as })).body as World;
    t.equal(JSON.stringify(read.config), JSON.stringify(sent), name);

    const module_config = [{ type: "x", value }];
    const description = typeof value === "string" ? value : "";
    const made = await call({
      method: "POST",
      url: rooms,
      as,
      body: { name: "x", module_config, description },
    });
    t.equal(made.status, 201, name);
    const room = (await call({ url: made.headers.location!, as })).body as Room;
    t.equal(room.description, description, name);
    t.equal(JSON.stringify(room.module_config), JSON.stringify(module_config), name);
  }
});

void t.test("at most 20 fields are named", async (t) => {
  const { call } = await startServer(t);
  const many = <T>(length: number, value: (i: number) => T) =>
    Array.from({ length }, (_, i) => value(i));
  const unknown = Object.fromEntries(many(10_000, (i) => [`x${i}`, i]));
  const cases: [name: string, method: string, url: string, body: object][] = [
    ["10,000 unknown fields", "POST", rooms, unknown],
    ["10,000 unknown fields", "PATCH", world, unknown],
    ["and an id on top", "PATCH", world, { ...unknown, id: "other" }],
    ["10,000 strings that cannot be stored", "PATCH", world, { config: { a: many(10_000, () => "\0") } }],
    ["100 modules with a fault", "POST", rooms, { name: "x", module_config: many(100, () => ({ type: "" })) }],
    ["100 bad traits", "PATCH", world, { permission_config: { "a.b": many(100, () => "a b") } }],
  ]; // prettier-ignore
  for (const [name, method, url, body] of cases) {
    const got = await call({ method, url, as, body });
    t.equal(got.status, 400, name);
    t.equal(Object.keys(got.body as object).length, 20, name);
    for (const messages of Object.values(got.body as object))
      t.match(messages, [/^[A-Z].*\.$/], name);
    if ("id" in body) t.match(got.body, { id: ["May not be changed."] });
  }
});

const twice = ["This name may occur only once."];
const number = ["Must be a number that fits in 64 bits as it is written."];
const numbered = (json: string) => `{"config":{"n":${json}}}`;

void t.test("numbers that a double does not hold", async (t) => {
  const { call } = await startServer(t);
  const patch = (body: string) => call({ method: "PATCH", url: world, as, body });
  const refused = [
    "9007199254740993",
    "-9007199254740993",
    "12345678901234567890",
    "1e-400",
    "-1E-400",
    "1e-99999999999999999999",
    "0.1000000000000000055511151231257827",
    "1.00000000000000000001",
    "4e-324",
    "123456789012345678e-3",
    `0.${"0".repeat(400)}1`,
    `1${"0".repeat(200_000)}1e-200000`,
    `1.${"0".repeat(200_000)}1`,
  ];
  for (const json of refused) {
    const { status, body } = await patch(numbered(json));
    t.strictSame([status, body], [400, { "config.n": number }], json.slice(0, 40));
  }
  const taken = [
    "0",
    "-0",
    "0.0",
    "0e5",
    "0e-9999",
    "1.0",
    "1.50",
    "1e2",
    "1E+2",
    "100",
    "0.1",
    "1e23",
    "9007199254740992",
    "9007199254740994",
    "5e-324",
    "1.7976931348623157e308",
    "0.30000000000000004",
    "1.0000000000000000000000000",
    "12300000000000000000000000e-20",
    `1${"0".repeat(300)}`,
  ];
  for (const json of taken) {
    const got = await patch(numbered(json));
    t.equal(got.status, 200, json);
    const { n } = (got.body as { config: { n: number } }).config;
    t.equal(n, Number(json) + 0, json);
  }
  const got = await patch(numbered("1e400"));
  t.strictSame(got.body, { "config.n": ["Must be a number that fits in 64 bits."] });
});

void t.test("names that occur twice", async (t) => {
  const { call } = await startServer(t);
  const cases: [name: string, body: string, answer: object][] = [
    ["at the top", '{"name":"a","name":"a"}', { name: twice }],
    ["three times", '{"name":"a","name":"b","name":"c"}', { name: twice }],
    ["escaped", '{"name":"a","n\\u0061me":"b"}', { name: twice }],
    [
      "in a list, after strings with everything in them",
      '{"name":"\\"{[,:","module_config":[{"type":"a\\\\"},{"type":"b","x":{"y":1,"y":2}}]}',
      { "module_config.1.x.y": twice },
    ],
    ["nothing", '{"name":"a","description":"x","":1,"":2}', { "": twice }],
    [
      "with spaces, and a number",
      '{ "name" : "a" ,\n "name" : 9007199254740993 }',
      { name: [...twice, ...number] },
    ],
    [
      "thousands of them",
      `{${Array.from({ length: 40_000 }, (_, i) => `"n${i % 20_000}":1`).join()}}`,
      { n0: twice, n19: twice },
    ],
  ];
  for (const [name, body, answer] of cases) {
    const got = await call({ method: "POST", url: rooms, as, body });
    t.equal(got.status, 400, name);
    const { "": empty, ...rest } = answer as Record<string, unknown>;
    t.match(got.body, empty ? { non_field_errors: empty } : rest, name);
  }
  const fine = '{"name":"a","module_config":[{"type":"a"},{"type":"a","name":{"type":"type"}}]}';
  const got = await call({ method: "POST", url: rooms, as, body: fine });
  t.equal(got.status, 201, "the same name in several objects");
  const { id } = got.body as { id: string };
  const gone = await call({ method: "DELETE", url: `${rooms}${id}/`, as, body: '{"a":1,"a":2}' });
  t.equal(gone.status, 204, "what is ignored loses nothing");
});

type Change = (store: Store, room: string) => Promise<unknown>;

/** Changes that revoke a caller's access while the body is in flight. */
const changes: [name: string, change: Change, status: number][] = [
  ["the key is rotated", ({ worlds }) => worlds.update("demo", { config: { JWT_secrets: [keyOf("other")] } }), 401],
  ["the right is removed", ({ worlds }) => worlds.update("demo", { permission_config: rules({ "world.api": ["nobody"] }) }), 403],
  ["the world is deleted", ({ worlds }) => worlds.delete("demo"), 401],
]; // prettier-ignore
const roomLost: typeof changes = [
  ["the room is deleted", ({ rooms }, id) => rooms.delete("demo", id), 403],
  ["the room is hidden", ({ rooms }, id) => rooms.update("demo", id, { permission_config: { "room.view": ["crew"] } }), 403],
]; // prettier-ignore

void t.test("rights are checked again when the body is there", async (t) => {
  const { port, store } = await startServer(t, { worlds: [] });
  /** Sends a request, makes a change, and then sends the body. */
  async function send(line: string, body: string, change: Change, exp = 9e9) {
    await store.worlds.delete("demo").catch(() => {});
    await store.worlds.create(worldOf("demo"));
    const { value: room } = await store.rooms.create("demo", { name: "a" });
    const wire = dial(t, port);
    wire.send(
      rawRequest(line.replace(":room", room.id), {
        Authorization: `Bearer ${tokenOf(keyOf("demo"), { traits: ["admin", "api"], exp })}`,
        "Content-Type": "application/json",
        "Content-Length": String(body.length),
        Expect: "100-continue",
      }),
    );
    t.equal((await wire.answer()).status, 100, "it may send its body");
    await change(store, room.id);
    wire.send(body);
    const { status } = await wire.answer();
    wire.hangUp();
    return { status, room: await store.rooms.get("demo", room.id) };
  }
  for (const [line, body] of [
    [`PATCH ${world}`, '{"title":"x"}'],
    [`PATCH ${world}`, "no JSON"],
    [`POST ${rooms}`, '{"unknown":"x"}'],
    [`POST ${world}delete_user`, '{"token_id":"x"}'],
    [`PATCH ${rooms}:room/`, '{"name":"x"}'],
    [`DELETE ${rooms}:room/`, "{}"],
  ] as const) {
    const all = line.includes(":room") ? [...changes, ...roomLost] : changes;
    for (const [name, change, expected] of all) {
      const { status, room } = await send(line, body, change);
      t.equal(status, expected, `${line} ${body}: ${name}`);
      if (room) t.equal(room.value.name, "a");
    }
  }
  const exp = Math.floor(Date.now() / 1000) + 60;
  const expire = async () => void t.intercept(Date, "now", { value: () => exp * 1000 });
  const { status } = await send(`PATCH ${world}`, '{"title":"x"}', expire, exp);
  t.equal(status, 401, "the token expires");
});
