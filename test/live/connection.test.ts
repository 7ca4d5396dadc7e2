import t from "tap";
import { type Json, soon, startLive } from "./client.js";

// Framing, ids and order: live.md has them as a contract with existing clients.

void t.test("addresses", async (t) => {
  const live = await startLive(t);
  const table = [
    "/ws/world/demo",
    "/ws/world/demo/",
    "/ws/world/demo?x=1",
    "/ws/world/demo/?x=1",
    "/ws/world/d%65mo/",
  ];
  for (const path of table) {
    const client = await live.connect(path, {
      origin: "https://anywhere.test",
    });
    client.send('["ping",1]');
    t.equal(await client.text(), '["pong",1]', path);
    client.close();
    await soon(client.closed);
  }
});

void t.test("unknown worlds", async (t) => {
  const live = await startLive(t);
  for (const path of ["none", "DEMO", "%00", "demo%2f", "..%2fdemo"]) {
    const client = await live.connect(path);
    t.same(await client.frame(), ["error", { code: "world.unknown_world" }]);
    t.equal((await soon(client.closed)).code, 1000, path);
  }
});

void t.test("before login", async (t) => {
  const live = await startLive(t);
  const client = await live.connect();
  const invalid = '["error",{"code":"protocol.invalid_message"}]';
  const unauthenticated = '{"code":"protocol.unauthenticated"}';
  const table: [sent: string | Buffer, answer: string][] = [
    ['["ping",1]', '["pong",1]'],
    ['["ping",{"a":[null]}]', '["pong",{"a":[null]}]'],
    ['["ping"]', '["pong",null]'],
    [' [ "ping" , "x" ] ', '["pong","x"]'],
    ["", invalid],
    ["nothing", invalid],
    ["{}", invalid],
    ["null", invalid],
    ['"ping"', invalid],
    ["[]", invalid],
    ['["ping",1]]', invalid],
    ["\ufeff[]", invalid],
    [Buffer.from('["ping",1]'), invalid],
    [Buffer.alloc(0), invalid],
    ['["user.fetch",1,{}]', `["error",1,${unauthenticated}]`],
    ['["user.fetch",{"a":1},{}]', `["error",{"a":1},${unauthenticated}]`],
    ['["user.fetch",{}]', `["error",${unauthenticated}]`],
    ['["nothing",7,{}]', `["error",7,${unauthenticated}]`],
    ["[1,7,{}]", `["error",7,${unauthenticated}]`],
    ['["room.enter"]', `["error",${unauthenticated}]`],
    ['["room.enter",1,2,3]', `["error",${unauthenticated}]`],
    ['["authenticate",{}]', '["error",{"code":"auth.missing_id_or_token"}]'],
    [
      '["authenticate",5,{}]',
      '["error",5,{"code":"auth.missing_id_or_token"}]',
    ],
  ];
  for (const [sent, answer] of table) {
    client.send(sent);
    t.equal(await client.text(), answer, String(sent));
  }
  client.send(Buffer.from([0x5b, 0xff, 0x5d]));
  t.equal(await client.text(), invalid, "bytes that are no UTF-8");
});

void t.test("after login", async (t) => {
  const live = await startLive(t);
  const client = await live.guest();
  const table: [sent: string, answer: string][] = [
    ...[
      "1",
      "0",
      "-1.5",
      "null",
      "true",
      '"x"',
      '"\\ud800"',
      "[]",
      '{"a":{"b":[1]}}',
      '"é"',
    ].map((id): [string, string] => [
      `["user.list.blocked",${id},null]`,
      `["success",${id},{"users":[]}]`,
    ]),
    [
      '["authenticate",1,{"client_id":"x"}]',
      '["error",1,{"code":"protocol.unknown_command"}]',
    ],
    ['["nothing",2,{}]', '["error",2,{"code":"protocol.unknown_command"}]'],
    ['["no.thing",2,{}]', '["error",2,{"code":"protocol.unknown_command"}]'],
    ['["",2,{}]', '["error",2,{"code":"protocol.unknown_command"}]'],
    ['[".",2,{}]', '["error",2,{"code":"protocol.unknown_command"}]'],
    ["[null,2,{}]", '["error",2,{"code":"protocol.unknown_command"}]'],
    [
      '[["user.fetch"],2,{}]',
      '["error",2,{"code":"protocol.unknown_command"}]',
    ],
    ['["constructor",2,{}]', '["error",2,{"code":"protocol.unknown_command"}]'],
    ['["__proto__",2,{}]', '["error",2,{"code":"protocol.unknown_command"}]'],
    [
      '[{"toString":1,"valueOf":1},2,{}]',
      '["error",2,{"code":"protocol.unknown_command"}]',
    ],
    [
      `[${"[".repeat(30000)}${"]".repeat(30000)},2,{}]`,
      '["error",2,{"code":"protocol.unknown_command"}]',
    ],
    ...[
      "user",
      "chat",
      "room",
      "world",
      "question",
      "poll",
      "announcement",
    ].map((module): [string, string] => [
      `["${module}.nothing",3,{}]`,
      `["error",3,{"code":"${module}.unsupported_command"}]`,
    ]),
    ['["user",3,{}]', '["error",3,{"code":"user.unsupported_command"}]'],
    [
      '["user.toString",3,{}]',
      '["error",3,{"code":"user.unsupported_command"}]',
    ],
    ['["nothing",{}]', '["error",{"code":"protocol.unknown_command"}]'],
    ['["nothing"]', '["error",{"code":"protocol.unknown_command"}]'],
    ["[1,2,3,4]", '["error",{"code":"protocol.invalid_message"}]'],
    ["{", '["error",{"code":"protocol.invalid_message"}]'],
    ['["ping",2]', '["pong",2]'],
  ];
  for (const [sent, answer] of table) {
    client.send(sent);
    t.equal(await client.text(), answer, sent.slice(0, 60));
  }
});

void t.test("a command of two elements", async (t) => {
  const live = await startLive(t);
  const admin = await live.admin();
  admin.sendFrame("room.create", { name: "A", description: "", modules: [] });
  const answer = await admin.frame();
  t.match(answer, ["success", { room: String, channel: null }]);
  t.equal(answer.length, 2);
  const [push] = await admin.frame();
  t.equal(push, "room.create");
  admin.sendFrame("room.create", { name: "a", description: "", modules: [] });
  t.match(await admin.frame(), ["error", { code: "room.invalid.name_taken" }]);
});

void t.test("commands run in order, one at a time", async (t) => {
  const live = await startLive(t);
  const client = await live.guest();
  const ids = Array.from({ length: 290 }, (_, i) => i);
  const profile = (i: number) => ({ profile: { display_name: `N${i}` } });
  for (const i of ids) {
    if (i % 3 === 0) client.sendFrame("user.update", i, profile(i));
    else if (i % 3 === 1) client.sendFrame("user.fetch", i, { id: client.id });
    else client.sendFrame("ping", i);
  }
  const seen: [unknown, unknown][] = [];
  for (const _ of ids) {
    const [, id, result] = await client.frame();
    const { profile } = (result ?? {}) as Json;
    seen.push([id, profile?.display_name]);
  }
  t.same(
    seen,
    ids.map((i) => [i, i % 3 === 1 ? `N${i - 1}` : undefined]),
  );
});

void t.test("connections do not wait for each other", async (t) => {
  const live = await startLive(t, { commandsPerSecond: 1000 });
  const [busy, other] = [await live.guest(), await live.guest()];
  for (let i = 0; i < 300; i++) {
    busy.sendFrame("user.update", i, { profile: { display_name: `N${i}` } });
  }
  await busy.frame();
  await other.do("user.list.blocked");
  const { profile } = (await live.app.store.users.get("demo", busy.id))!;
  t.not(profile?.display_name, "N299", "the other one was still busy");
});

void t.test("a graceful stop closes with 1012", async (t) => {
  const live = await startLive(t);
  const clients = [await live.guest(), await live.connect()];
  await live.app.drain(1000);
  for (const { closed } of clients) t.equal((await soon(closed)).code, 1012);
  await t.rejects(live.connect(), /503/);
});

void t.test("what parsing would lose", async (t) => {
  const live = await startLive(t);
  const guest = await live.guest();
  const table: [sent: string, answer: string][] = [
    ...[
      "9007199254740993",
      "0.1000000000000000055",
      "1.0000000000000000001",
      "1e-400",
      "[9007199254740993]",
      '{"a":1,"a":",]}"}',
    ].flatMap((value): [string, string][] => [
      [`["ping",${value}]`, `["pong",${value}]`],
      [`[ "ping" , ${value} , 1 ]`, `["pong",${value}]`],
      [
        `["user.list.blocked", ${value} ,null]`,
        `["success",${value},{"users":[]}]`,
      ],
      [
        `["a,]\\"b",${value},null]`,
        `["error",${value},{"code":"protocol.unknown_command"}]`,
      ],
    ]),
    [
      '["user.update",1,{"profile":{"n":[1,9007199254740993]}}]',
      '["error",1,{"code":"protocol.invalid_payload","message":"Invalid data.","details":{"profile.n.1":["Must be a number that fits in 64 bits as it is written."]}}]',
    ],
    [
      '["user.update",{"profile":{"n":1,"n":2}}]',
      '["error",{"code":"protocol.invalid_payload","message":"Invalid data.","details":{"profile.n":["This name may occur only once."]}}]',
    ],
    [
      '["user.update",9007199254740993,9007199254740993]',
      '["error",9007199254740993,{"code":"protocol.invalid_payload","message":"Invalid data.","details":{"non_field_errors":["Must be a number that fits in 64 bits as it is written."]}}]',
    ],
    ['["user.update",1,{"profile":{"n":1.50}}]', '["success",1,{}]'],
  ];
  for (const [sent, answer] of table) {
    guest.send(sent);
    t.equal(await guest.text(), answer, sent);
  }
  const stranger = await live.connect();
  stranger.send('["authenticate",{"client_id":"a","client_id":"b"}]');
  t.match(await stranger.frame(), [
    "error",
    { code: "protocol.invalid_payload" },
  ]);
});
