import t from "tap";
import { keyOf, rules, serve, tokenOf, worldOf } from "../helper.js";
import { sheetOf } from "../sheet.js";

const NINE = "2027-03-01T09:00:00.000Z";
const nine = Date.parse(NINE);

// What is left of an event, as JSON, CSV and XLSX.

void t.test("results", async (t) => {
  const server = await serve(t, [
    worldOf("demo", {
      permission_config: rules({
        "world.feed": ["api"],
        "user.list": ["lists"],
        "question.moderate": ["mods"],
      }),
    }),
  ]);
  const { store } = server;
  await store.worlds.configure("demo", { config: { attendance: "people" } });
  const modules = ["chat.native", "question", "poll"].map((type) => ({ type }));
  const make = async (name: string, permission_config = {}) =>
    (
      await store.rooms.create("demo", {
        ...{ name, permission_config },
        module_config: modules,
      })
    ).value.id;
  const room = await make("=Stage");
  const hidden = await make("Hidden", { "room.view": ["crew"] });
  const profile = { display_name: "=1+1" };
  const visitor = { tokenId: "ada", traits: new Set(["attendee"]), profile };
  const { id: user } = await store.users.enter("demo", visitor);
  for (const channel of [room, hidden]) {
    await store.attendance.sample("demo", nine, [{ room: channel, people: 4 }]);
    await store.attendance.note("demo", [
      { user, room: channel, from: nine, to: nine + 60_000 },
    ]);
    const content = { type: "text", body: '@x\n"quoted"; =cmd' };
    await store.chat.send("demo", channel, {
      ...{ sender: user, content },
      volatile: true,
    });
    const draft = { sender: user, content: "-1?", state: "mod_queue" } as const;
    await store.questions.create("demo", channel, draft);
    await store.polls.create("demo", channel, {
      content: "+",
      options: [{ content: "@A" }],
      state: "open",
    });
  }
  const get = (path: string, traits = ["api", "admin", "lists", "mods"]) =>
    server.call({
      url: `/api/v1/worlds/demo/results/${path}`,
      as: `Bearer ${tokenOf(keyOf("demo"), { traits, uid: "host" })}`,
    });

  const expected: Record<string, object[]> = {
    people: [
      {
        id: user,
        token_id: "ada",
        display_name: "=1+1",
        traits: ["attendee"],
        moderation_state: "none",
      },
    ],
    chat: [{ room: "=Stage", sender: user, text: '@x\n"quoted"; =cmd' }],
    questions: [{ room: "=Stage", content: "-1?", score: 0 }],
    polls: [{ content: "+", options: [{ content: "@A", votes: 0 }] }],
    attendance: [
      { user_id: user, display_name: "=1+1", room: "=Stage", seconds: 60 },
    ],
    activity: [
      { room_id: room, room: "=Stage", people: 0, messages: 1 },
      { room_id: room, room: "=Stage", at: NINE, people: 4, messages: 0 },
    ],
  };
  for (const [kind, records] of Object.entries(expected)) {
    const json = await get(`${kind}/`);
    t.match(json, { status: 200, body: { results: records } }, kind);
    t.equal(
      (json.body as { results: object[] }).results.length,
      records.length,
      "without hidden rooms",
    );
    const csv = await get(`${kind}/?format=csv`);
    t.match(csv.headers, {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": `attachment; filename="demo-${kind}.csv"`,
    });
    t.equal(
      csv.text
        .replaceAll(/"[^"]*"/g, "")
        .trim()
        .split("\r\n").length,
      1 + records.length,
      csv.text,
    );
    t.notMatch(csv.text, /(^|[,;\n"])\s*[=+\-@]/, "no formula");
    const xlsx = await server.app.inject({
      url: `/api/v1/worlds/demo/results/${kind}/?format=xlsx`,
      headers: {
        host: "x",
        authorization: `Bearer ${tokenOf(keyOf("demo"), { traits: ["api", "admin", "lists", "mods"] })}`,
      },
    });
    const sheet = sheetOf(xlsx.rawPayload);
    t.notMatch(sheet, /<f[ >]/, "no formula");
    t.equal(
      sheet.match(/<row /g)?.length,
      1 + records.length,
      `the rows of ${kind}`,
    );
  }
  const only = await get(`chat/?room=${room}`);
  t.match(only.body, { results: [{ channel: room }] });
  const crew = ["api", "admin", "lists", "crew"];
  t.equal(
    ((await get("chat/", crew)).body as { results: object[] }).results.length,
    2,
  );
  for (const [path, status] of [
    [`chat/?room=${hidden}`, 403],
    ["chat/?room=x", 403],
    ["other/", 403],
    ["chat/?format=pdf", 400],
    ["chat/?every=5", 400],
    ["activity/?every=0", 400],
    ["activity/?after=monday", 400],
    [`people/?room=${room}`, 400],
  ] as const) {
    t.equal((await get(path)).status, status, path);
  }
  const after = await get("activity/?after=2027-03-01T09:01:00Z&every=5");
  t.same(after.body, { results: [] });
  await store.rooms.update("demo", room, {
    permission_config: { "chat.read": ["nobody"] },
  });
  t.match(
    (await get(`activity/?room=${room}`)).body,
    { results: [{ at: NINE, people: 4, messages: null }] },
    "messages are not counted without chat.read",
  );
  await store.rooms.update("demo", room, { permission_config: {} });
  for (const [mode, counts] of [
    ["numbers", [{ people: 0 }, { people: 4 }]],
    ["off", [{ people: null, messages: 1 }]],
  ] as const) {
    await store.worlds.configure("demo", { config: { attendance: mode } });
    t.same((await get("attendance/")).body, { results: [] }, mode);
    const { body } = await get("activity/");
    t.match(body, { results: counts });
    t.match(body, { results: { length: counts.length } });
  }
  t.equal((await get("attendance/", ["api", "admin"])).status, 403);
  t.equal(
    (await get("people/", ["api", "admin"])).status,
    403,
    "without user.list",
  );
  t.equal((await get("chat/", ["admin"])).status, 403, "without world.feed");
  t.same((await get("questions/", ["api", "admin"])).body, { results: [] });
});
