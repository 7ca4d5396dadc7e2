import t from "tap";
import { keyOf, rules, serve, tokenOf, worldOf } from "../helper.js";
import { sheetOf } from "../sheet.js";

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
    const stay = { user, room: channel, session: "", from: 0, to: 61_000 };
    await store.attendance.note("demo", [
      stay,
      { ...stay, from: 30_000, to: 90_000 },
      { ...stay, user: hidden },
    ]);
    const counts = [{ room: channel, people: 7 }];
    const minute = channel === room ? 60_000 : 120_000;
    t.ok(await store.attendance.sample("demo", minute, counts));
    t.notOk(
      await store.attendance.sample("demo", minute, counts),
      "one process",
    );
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
      {
        user_id: user,
        room_id: room,
        first: new Date(0).toISOString(),
        last: new Date(90_000).toISOString(),
        seconds: 90,
      },
    ],
    numbers: [{ room_id: room, at: new Date(60_000).toISOString(), people: 7 }],
  };
  for (const [kind, records] of Object.entries(expected)) {
    const json = await get(`${kind}/`);
    t.match(json, { status: 200, body: { results: records } }, kind);
    t.equal(
      (json.body as { results: object[] }).results.length,
      1,
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
      2,
      csv.text,
    );
    t.notMatch(csv.text, /(^|[,;\n"])[=+\-@]/, "no formula");
    const xlsx = await server.app.inject({
      url: `/api/v1/worlds/demo/results/${kind}/?format=xlsx`,
      headers: {
        host: "x",
        authorization: `Bearer ${tokenOf(keyOf("demo"), { traits: ["api", "admin", "lists", "mods"] })}`,
      },
    });
    const sheet = sheetOf(xlsx.rawPayload);
    t.notMatch(sheet, /<f[ >]/, "no formula");
    t.equal(sheet.match(/<row /g)?.length, 2, `the rows of ${kind}`);
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
    [`people/?room=${room}`, 400],
  ] as const) {
    t.equal((await get(path)).status, status, path);
  }
  t.equal(
    (await get("people/", ["api", "admin"])).status,
    403,
    "without user.list",
  );
  t.equal((await get("chat/", ["admin"])).status, 403, "without world.feed");
  t.same((await get("questions/", ["api", "admin"])).body, { results: [] });

  await store.users.erase("demo", { user_id: user });
  t.same(
    (await get("attendance/")).body,
    { results: [] },
    "erased with the user",
  );
});
