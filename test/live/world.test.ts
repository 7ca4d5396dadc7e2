import t from "tap";
import { demo, type Json, startLive } from "./client.js";
import { keyOf } from "../helper.js";

const keys = (value: object) => Object.keys(value).sort();
const S = [
  "available_permissions",
  "bbb_defaults",
  "conftool_password",
  "conftool_url",
  "connection_limit",
  "dateLocale",
  "iframe_blockers",
  "locale",
  "onsite_traits",
  "pretalx",
  "profile_fields",
  "roles",
  "social_logins",
  "theme",
  "timezone",
  "title",
  "track_exhibitor_views",
  "track_room_views",
  "track_world_views",
  "trait_grants",
  "videoPlayer",
];
const SENT = [
  "id",
  "iframe_blockers",
  "onsite_traits",
  "pretalx",
  "profile_fields",
  "social_logins",
  "title",
  "vapid_public_key",
];

void t.test("world.config.get", async (t) => {
  const live = await startLive(t);
  const [admin, guest] = [await live.admin(), await live.guest()];
  for (const payload of [null, {}, { x: 1 }]) {
    const settings = await admin.do("world.config.get", payload);
    t.same(keys(settings), S);
    t.match(settings, {
      title: "demo",
      theme: {},
      bbb_defaults: {},
      pretalx: {},
      dateLocale: "en-ie",
      videoPlayer: null,
      connection_limit: 0,
      profile_fields: [],
      social_logins: [],
      iframe_blockers: { default: { enabled: false, policy_url: null } },
      track_exhibitor_views: true,
      track_room_views: true,
      track_world_views: false,
      onsite_traits: [],
      trait_grants: { "world.update": ["admin"] },
    });
    t.ok(settings.available_permissions.includes("room:chat.moderate"));
    t.notOk(JSON.stringify(settings).includes(keyOf("demo").secret));
  }
  t.equal(await admin.code("world.config.get", []), "protocol.invalid_payload");
  t.equal(await guest.code("world.config.get"), "auth.denied");
  t.equal(await guest.code("world.config.patch", {}), "auth.denied");
});

void t.test("world.config.patch takes", async (t) => {
  const live = await startLive(t, {}, [
    demo({ config: { unknown: { a: 1 }, theme: { old: true } } }),
  ]);
  const admin = await live.admin();
  const { config: before } = (await live.rest("GET", "demo/")).body;
  let expected = await admin.do("world.config.get");
  const roles = expected.roles;
  const grants = { ...expected.trait_grants, "chat.send": ["attendee"] };
  const field = { id: "f", label: "F", type: "text", searchable: true };
  const blockers = { "x.test": { enabled: true, policy_url: "" } };
  const table: [patch: Json, changed: Json][] = [
    [{}, {}],
    [{ title: "New" }, { title: "New" }],
    [{ theme: { logo: { url: "x" } } }, { theme: { logo: { url: "x" } } }],
    [
      { locale: "de", dateLocale: "de-at" },
      { locale: "de", dateLocale: "de-at" },
    ],
    [{ timezone: "Europe/Vienna" }, { timezone: "Europe/Vienna" }],
    [{ connection_limit: "3" }, { connection_limit: 3 }],
    [{ connection_limit: 0 }, { connection_limit: 0 }],
    [{ connection_limit: 7 }, { connection_limit: 7 }],
    [{ connection_limit: null }, { connection_limit: 0 }],
    [{ videoPlayer: { a: 1 } }, { videoPlayer: { a: 1 } }],
    [{ videoPlayer: null }, { videoPlayer: null }],
    [{ bbb_defaults: { a: 1 } }, { bbb_defaults: { a: 1 } }],
    [{ profile_fields: [field] }, { profile_fields: [field] }],
    [
      { social_logins: ["gravatar", "twitter", "linkedin"] },
      { social_logins: ["gravatar", "twitter", "linkedin"] },
    ],
    [
      { iframe_blockers: blockers },
      {
        iframe_blockers: {
          default: { enabled: false, policy_url: null },
          "x.test": { enabled: true, policy_url: null },
        },
      },
    ],
    [{ track_world_views: true }, { track_world_views: true }],
    [{ track_room_views: false }, { track_room_views: false }],
    [{ onsite_traits: ["onsite"] }, { onsite_traits: ["onsite"] }],
    [
      { onsite_traits: [["onsite"], ["press", "staff"]] },
      { onsite_traits: [["onsite"], ["press", "staff"]] },
    ],
    [
      { conftool_url: "x", conftool_password: "y" },
      {
        conftool_url: "x",
        conftool_password: "y",
      },
    ],
    [
      { roles, trait_grants: grants, onsite_traits: [] },
      { trait_grants: grants, onsite_traits: [] },
    ],
    [
      { pretalx: { domain: "https://p.test", event: "e", connected: true } },
      { pretalx: { domain: "https://p.test", event: "e", connected: false } },
    ],
    [
      { pretalx: { domain: "https://p.test", event: "e", connected: true } },
      { pretalx: { domain: "https://p.test", event: "e", connected: true } },
    ],
    [
      { pretalx: { url: "https://p.test", connected: true } },
      { pretalx: { url: "https://p.test", connected: false } },
    ],
    [{ JWT_secrets: [], available_permissions: [], nothing: 1, id: "x" }, {}],
  ];
  for (const [patch, changed] of table) {
    expected = { ...expected, ...changed };
    const name = JSON.stringify(patch).slice(0, 100);
    t.same(await admin.do("world.config.patch", patch), expected, name);
    t.same(await admin.do("world.config.get"), expected, name);
  }
  const { config } = (await live.rest("GET", "demo/")).body;
  t.same(config.JWT_secrets, before.JWT_secrets);
  t.same(config.unknown, { a: 1 });
  t.equal(config.connection_limit, 0);
  t.notOk("nothing" in config);
  t.notOk("available_permissions" in config);
});

void t.test("world.config.patch refuses", async (t) => {
  const live = await startLive(t);
  const [admin, guest] = [await live.admin(), await live.guest()];
  const before = await admin.do("world.config.get");
  const { roles } = before;
  const table: [patch: Json, field: string][] = [
    [{ title: "" }, "title"],
    [{ title: null }, "title"],
    [{ title: "x".repeat(301) }, "title"],
    [{ theme: null }, "theme"],
    [{ theme: [] }, "theme"],
    [{ theme: { a: "b\0" } }, "theme.a"],
    [{ pretalx: "x" }, "pretalx"],
    [{ timezone: "Mars/Olympus" }, "timezone"],
    [{ timezone: "" }, "timezone"],
    [{ timezone: 5 }, "timezone"],
    [{ connection_limit: "x" }, "connection_limit"],
    [{ connection_limit: -1 }, "connection_limit"],
    [{ connection_limit: "-1" }, "connection_limit"],
    [{ connection_limit: 1.5 }, "connection_limit"],
    [{ connection_limit: "99999999999" }, "connection_limit"],
    [{ videoPlayer: "x" }, "videoPlayer"],
    [{ profile_fields: {} }, "profile_fields"],
    [{ profile_fields: [5] }, "profile_fields.0"],
    [{ iframe_blockers: [] }, "iframe_blockers"],
    [{ iframe_blockers: { default: null } }, "iframe_blockers.default"],
    [{ iframe_blockers: { x: { enabled: 1 } } }, "iframe_blockers.x"],
    [{ iframe_blockers: { x: { policy_url: 5 } } }, "iframe_blockers.x"],
    [{ track_room_views: "yes" }, "track_room_views"],
    [{ onsite_traits: [5] }, "onsite_traits.0"],
    [{ onsite_traits: ["a", ["b", 5]] }, "onsite_traits.1"],
    [{ onsite_traits: "onsite" }, "onsite_traits"],
    [{ conftool_url: null }, "conftool_url"],
    [{ trait_grants: { "world.view": "x" } }, "trait_grants.world.view"],
    [{ trait_grants: null }, "trait_grants"],
    [{ roles: {} }, "roles"],
    [{ roles: { ...roles, "chat.send": ["room:chat.moderate"] } }, "roles"],
    [{ roles: { ...roles, extra: ["room:chat.moderate"] } }, "roles"],
    [{ roles: { ...roles, __proto__: { a: 1 }, "chat.send": [] } }, "roles"],
  ];
  for (const [patch, field] of table) {
    const payload = { ...patch, locale: "xx" };
    const [kind, , problem] = await admin.call("world.config.patch", payload);
    const name = JSON.stringify(patch).slice(0, 100);
    t.equal(kind, "error", name);
    t.equal((problem as Json).code, "config.invalid", name);
    t.same(keys((problem as Json).details), [field], name);
  }
  const [, , problem] = await admin.call("world.config.patch", {
    social_logins: ["gravatar", "facebook"],
  });
  t.same((problem as Json).details, {
    social_logins: ["Invalid value for social_logins"],
  });
  for (const payload of [null, [], "x", 5]) {
    const code = await admin.code("world.config.patch", payload);
    t.equal(code, "protocol.invalid_payload", JSON.stringify(payload));
  }
  t.same(await admin.do("world.config.get"), before, "nothing is stored");
  t.same(await guest.all(), [], "and there is no push");
});

void t.test("a patch says which settings it expects", async (t) => {
  const live = await startLive(t);
  const admin = await live.admin();
  const { title, trait_grants } = await admin.do("world.config.get");
  const patch = (expected: Json) =>
    admin.code("world.config.patch", { title: "Mine", expected });
  const before = await admin.do("world.config.get");
  const changed = "config.changed";
  t.equal(await patch({ title: "Theirs" }), changed);
  t.equal(await patch({ title, trait_grants: {} }), changed);
  t.equal(await patch({ nothing: null }), changed, "there is no such setting");
  t.equal(await patch([]), "config.invalid");
  t.same(await admin.do("world.config.get"), before, "nothing is stored");
  t.equal(await patch({ title, trait_grants }), "ok");
  t.equal((await admin.do("world.config.get")).title, "Mine");
});

void t.test("world.updated is coalesced", async (t) => {
  const live = await startLive(t);
  const [admin, guest] = [await live.admin(), await live.guest()];
  const started = Date.now();
  for (let i = 0; i < 30; i++) {
    await admin.do("world.config.patch", { title: `T${i}` });
  }
  await guest.next("world.updated", ({ world }) => world.title === "T29");
  const others = await guest.names();
  const took = Date.now() - started;
  const most = Math.ceil(took / 250) + 1;
  t.ok(others.length < most, `${others.length} in ${took} ms`);
});

void t.test("settings that make no sense do no harm", async (t) => {
  const live = await startLive(t);
  const admin = await live.admin();
  const names = [...S, "user_list", "trait_badges_map"].filter(
    (name) => name !== "title",
  );
  const values = [null, 5, "x", [], {}, [5], [null], { default: null }, true];
  for (const value of values) {
    const config = Object.fromEntries(names.map((name) => [name, value]));
    await live.app.store.worlds.configure("demo", { config });
    const name = JSON.stringify(value);
    t.equal(await admin.code("world.config.get"), "ok", name);
    const guest = await live.guest();
    t.same(keys(guest.hello["world.config"].world), SENT, name);
    const { default: blocker } =
      guest.hello["world.config"].world.iframe_blockers;
    t.type(blocker, Object, name);
    t.equal(await guest.code("user.fetch", { id: guest.id }), "ok", name);
  }
});

void t.test("who may change the rules for keys", async (t) => {
  const live = await startLive(t);
  const loose = {
    "world.update": [["admin", "editor"]],
    "world.secrets": [["owner", "crew"]],
    "world.api": ["api"],
  };
  const tight = { ...loose, "world.secrets": ["owner"] };
  const { worlds } = live.app.store;
  const rules = async () => (await worlds.get("demo"))!.value.permission_config;
  await worlds.update("demo", { permission_config: loose });
  const editor = await live.person({ uid: "ed", traits: ["editor"] });
  const owner = await live.person({ uid: "o", traits: ["owner", "admin"] });

  const table: [name: string, trait_grants: Json, code: string][] = [
    ["the same rules", loose, "ok"],
    ["another rule", { ...loose, "room.view": ["crew"] }, "ok"],
    ["for secrets", { ...loose, "world.secrets": [] }, "config.invalid"],
    ["for the API", { ...loose, "world.api": [] }, "config.invalid"],
    ["for the feed", { ...loose, "world.feed": ["editor"] }, "config.invalid"],
    ["without any", { "world.update": ["editor"] }, "config.invalid"],
  ];
  for (const [name, trait_grants, code] of table) {
    const patch = { trait_grants };
    t.equal(await editor.code("world.config.patch", patch), code, name);
  }
  const patch = { trait_grants: tight };
  t.equal(await owner.code("world.config.patch", patch), "ok", "an owner may");
  t.strictSame(await rules(), tight);

  // Another organizer tightens the rule while the editor saves what they read before.
  for (let i = 0; i < 20; i++) {
    await worlds.update("demo", { permission_config: loose });
    const tightened = worlds.update("demo", { permission_config: tight });
    const saved = editor.code("world.config.patch", { trait_grants: loose });
    await Promise.all([tightened, saved]);
    t.strictSame((await rules())["world.secrets"], ["owner"], `round ${i}`);
  }
});

void t.test("on-site traits are a rule, by REST too", async (t) => {
  const live = await startLive(t);
  const onsite_traits = ["staff", ["press", "speaker"]];
  const patch = (traits: unknown) =>
    live.rest("PATCH", "demo/", { config: { onsite_traits: traits } });
  t.equal((await patch(onsite_traits)).status, 200);
  const admin = await live.admin();
  const shown = async () => [
    admin.hello["world.config"].world.onsite_traits,
    (await admin.do("world.config.get")).onsite_traits,
    (await live.rest("GET", "demo/")).body.config.onsite_traits,
  ];
  t.same(await shown(), [onsite_traits, onsite_traits, onsite_traits]);
  for (const traits of ["staff", [5], [["a b"]], [[["staff"]]], null]) {
    const { status, body } = await patch(traits);
    t.equal(status, 400, JSON.stringify(traits));
    t.match(Object.keys(body)[0], /^config\.onsite_traits/);
  }
  t.same(await shown(), [onsite_traits, onsite_traits, onsite_traits]);
});

void t.test("the plugin of pretalx says that a schedule changed", async (t) => {
  const pretalx = { domain: "https://p.example.org/", event: "demo" };
  const live = await startLive(t, {}, [demo({ config: { pretalx } })]);
  const guest = await live.guest();
  const path = "demo/schedule_update";
  const missing = "Missing fields in request.";
  const wrong = "Incorrect domain or event data";
  const cases: [body: object, status: number, answer: unknown][] = [
    [{}, 401, missing],
    [{ domain: "https://p.example.org" }, 401, missing],
    [{ domain: "p.example.org", event: "demo" }, 401, missing],
    [{ domain: "https://q.example.org", event: "demo" }, 401, wrong],
    [{ domain: "https://p.example.org", event: "other" }, 401, wrong],
    [{ domain: "https://p.example.org", event: "demo" }, 200, undefined],
    [{ domain: "https://P.example.org:8443/x", event: "demo" }, 200, undefined],
  ];
  for (const [body, status, answer] of cases) {
    const got = await live.rest("POST", path, body);
    t.equal(got.status, status, JSON.stringify(body));
    t.equal(got.body ?? undefined, answer, JSON.stringify(body));
    if (status !== 200) continue;
    t.match(await guest.next("world.schedule.updated"), {
      ...pretalx,
      ...{ connected: true, pushed: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ },
    });
  }
  const { body: world } = await live.rest("GET", "demo/");
  t.match(world.config.pretalx, { ...pretalx, connected: true });
});
