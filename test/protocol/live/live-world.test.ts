import { randomUUID } from "node:crypto";
import t from "tap";
import { keyOf } from "../../support/helper.js";
import { chatRoom, invalid, type Json, keys, openWorld } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// The settings of a world, its announcements, and its records.

const server = await startServer(t);

/** The settings that `world.config.get` returns. */
const SETTINGS = [
  "available_permissions",
  "bbb_defaults",
  "blocked_words",
  "call_engines",
  "conftool_password",
  "conftool_url",
].concat(
  ["connection_limit", "dateLocale", "iframe_blockers", "locale", "onsite_traits", "pretalx"],
  [
    "profile_fields",
    "roles",
    "social_logins",
    "theme",
    "timezone",
    "title",
    "track_exhibitor_views",
  ],
  ["track_room_views", "track_world_views", "trait_grants", "videoPlayer"],
);
/** The settings that everyone receives. */
const SENT = ["id", "iframe_blockers", "onsite_traits", "pretalx", "profile_fields"].concat([
  "social_logins",
  "title",
  "vapid_public_key",
]);

void t.test("world.config.get", async (t) => {
  const world = await openWorld(server);
  const [admin, guest] = [await world.admin(), await world.guest()];
  for (const payload of [null, {}, { x: 1 }]) {
    const settings = await admin.do("world.config.get", payload);
    t.same(keys(settings), SETTINGS);
    t.match(settings, {
      title: world.id,
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
    t.notOk(JSON.stringify(settings).includes(keyOf(world.id).secret));
  }
  t.equal(await admin.code("world.config.get", []), invalid);
  t.equal(await guest.code("world.config.get"), "auth.denied");
  t.equal(await guest.code("world.config.patch", {}), "auth.denied");
});

void t.test("world.config.patch takes", async (t) => {
  const config = { unknown: { a: 1 }, theme: { old: true } };
  const world = await openWorld(server, { config });
  const admin = await world.admin();
  const { config: before } = (await world.rest("GET")).body;
  let expected = await admin.do("world.config.get");
  const { roles } = expected;
  const trait_grants = { ...expected.trait_grants, "chat.send": ["attendee"] };
  const plain = { enabled: false, policy_url: null };
  const pretalx = { domain: "https://p.test", event: "e", connected: true };
  const url = { url: "https://p.test", connected: true };
  /** Patches, and the resulting changes if they differ. */
  const table: [patch: Json, changed?: Json][] = [
    [{}],
    [{ title: "New" }],
    [{ theme: { logo: { url: "x" } } }],
    [{ locale: "de", dateLocale: "de-at" }],
    [{ timezone: "Europe/Vienna" }],
    [{ connection_limit: "3" }, { connection_limit: 3 }],
    [{ connection_limit: 0 }],
    [{ connection_limit: 7 }],
    [{ connection_limit: null }, { connection_limit: 0 }],
    [{ videoPlayer: { a: 1 } }],
    [{ videoPlayer: null }],
    [{ bbb_defaults: { a: 1 } }],
    [{ profile_fields: [{ id: "f", label: "F", type: "text", searchable: true }] }],
    [{ social_logins: ["gravatar", "twitter", "linkedin"] }],
    [
      { iframe_blockers: { "x.test": { enabled: true, policy_url: "" } } },
      { iframe_blockers: { default: plain, "x.test": { enabled: true, policy_url: null } } },
    ],
    [{ track_world_views: true }],
    [{ track_room_views: false }],
    [{ onsite_traits: ["onsite"] }],
    [{ onsite_traits: [["onsite"], ["press", "staff"]] }],
    [{ conftool_url: "x", conftool_password: "y" }],
    [
      { roles, trait_grants, onsite_traits: [] },
      { trait_grants, onsite_traits: [] },
    ],
    [{ pretalx }, { pretalx: { ...pretalx, connected: false } }],
    [{ pretalx }],
    [{ pretalx: url }, { pretalx: { ...url, connected: false } }],
    [{ JWT_secrets: [], available_permissions: [], nothing: 1, id: "x" }, {}],
  ];
  for (const [patch, changed = patch] of table) {
    expected = { ...expected, ...changed };
    const name = JSON.stringify(patch).slice(0, 100);
    t.same(await admin.do("world.config.patch", patch), expected, name);
    t.same(await admin.do("world.config.get"), expected, name);
  }
  const { config: after } = (await world.rest("GET")).body;
  t.same(after.JWT_secrets, before.JWT_secrets);
  t.match(after, { unknown: { a: 1 }, connection_limit: 0 });
  for (const field of ["nothing", "available_permissions"]) t.notOk(field in after);
});

void t.test("world.config.patch refuses", async (t) => {
  const world = await openWorld(server);
  const [admin, guest] = [await world.admin(), await world.guest()];
  const before = await admin.do("world.config.get");
  const { roles } = before;
  const moderate = ["room:chat.moderate"];
  /** Invalid values for each setting, with the field that the error names. */
  const table: Record<string, [field: string, ...values: unknown[]][]> = {
    title: [["title", "", null, "x".repeat(301)]],
    theme: [
      ["theme", null, []],
      ["theme.a", { a: "b\0" }],
    ],
    pretalx: [["pretalx", "x"]],
    timezone: [["timezone", "Mars/Olympus", "", 5]],
    connection_limit: [["connection_limit", "x", -1, "-1", 1.5, "99999999999"]],
    videoPlayer: [["videoPlayer", "x"]],
    profile_fields: [
      ["profile_fields", {}],
      ["profile_fields.0", [5]],
    ],
    iframe_blockers: [
      ["iframe_blockers", []],
      ["iframe_blockers.default", { default: null }],
      ["iframe_blockers.x", { x: { enabled: 1 } }, { x: { policy_url: 5 } }],
    ],
    track_room_views: [["track_room_views", "yes"]],
    onsite_traits: [
      ["onsite_traits", "onsite"],
      ["onsite_traits.0", [5]],
      ["onsite_traits.1", ["a", ["b", 5]]],
    ],
    conftool_url: [["conftool_url", null]],
    trait_grants: [
      ["trait_grants.world.view", { "world.view": "x" }],
      ["trait_grants", null],
    ],
    roles: [
      ["roles", {}, { ...roles, "chat.send": moderate }, { ...roles, extra: moderate }],
      ["roles", { ...roles, __proto__: { a: 1 }, "chat.send": [] }],
    ],
  };
  for (const [setting, rows] of Object.entries(table)) {
    for (const [field, value] of rows.flatMap(([it, ...all]) =>
      all.map((one) => [it, one] as const),
    )) {
      const payload = { [setting]: value, locale: "xx" };
      const [, , problem] = await admin.call("world.config.patch", payload);
      const name = JSON.stringify(payload).slice(0, 100);
      t.equal((problem as Json).code, "config.invalid", name);
      t.same(keys((problem as Json).details ?? {}), [field], name);
    }
  }
  const social_logins = ["gravatar", "facebook"];
  const [, , problem] = await admin.call("world.config.patch", { social_logins });
  t.same((problem as Json).details, { social_logins: ["Invalid value for social_logins"] });
  for (const payload of [null, [], "x", 5]) {
    t.equal(await admin.code("world.config.patch", payload), invalid, JSON.stringify(payload));
  }
  t.same(await admin.do("world.config.get"), before, "nothing is stored");
  t.same(await guest.all(), [], "and there is no push");
});

void t.test("a patch says which settings it expects", async (t) => {
  const world = await openWorld(server);
  const admin = await world.admin();
  const { title, trait_grants } = await admin.do("world.config.get");
  const patch = (expected: Json) => admin.code("world.config.patch", { title: "Mine", expected });
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

void t.test("settings that make no sense do no harm", async (t) => {
  const world = await openWorld(server);
  const admin = await world.admin();
  const names = [...SETTINGS, "user_list", "trait_badges_map"].filter((name) => name !== "title");
  for (const value of [null, 5, "x", [], {}, [5], [null], { default: null }, true]) {
    await world.configure({ config: Object.fromEntries(names.map((name) => [name, value])) });
    const name = JSON.stringify(value);
    t.equal(await admin.code("world.config.get"), "ok", name);
    const guest = await world.guest();
    const { world: sent } = guest.hello["world.config"];
    t.same(keys(sent), SENT, name);
    t.type(sent.iframe_blockers.default, Object, name);
    t.equal(await guest.code("user.fetch", { id: guest.id }), "ok", name);
  }
});

void t.test("who may change the rules for keys", async (t) => {
  const loose = {
    "world.update": [["admin", "editor"]],
    "world.secrets": [["owner", "crew"]],
    "world.api": ["api"],
  };
  const tight = { ...loose, "world.secrets": ["owner"] };
  const world = await openWorld(server, { permission_config: loose });
  const { worlds } = world.store;
  const change = (permission_config: Json) => worlds.update(world.id, { permission_config });
  const rules = async () => (await worlds.get(world.id))!.value.permission_config;
  const [editor, owner] = [
    await world.person("ed", "editor"),
    await world.person("o", "owner", "admin"),
  ];
  const table: [name: string, trait_grants: Json, code: string][] = [
    ["the same rules", loose, "ok"],
    ["another rule", { ...loose, "room.view": ["crew"] }, "ok"],
    ["for secrets", { ...loose, "world.secrets": [] }, "config.invalid"],
    ["for the API", { ...loose, "world.api": [] }, "config.invalid"],
    ["for the feed", { ...loose, "world.feed": ["editor"] }, "config.invalid"],
    ["without any", { "world.update": ["editor"] }, "config.invalid"],
  ];
  for (const [name, trait_grants, code] of table) {
    t.equal(await editor.code("world.config.patch", { trait_grants }), code, name);
  }
  t.equal(await owner.code("world.config.patch", { trait_grants: tight }), "ok", "an owner may");
  t.strictSame(await rules(), tight);

  // Another organizer tightens the rule while the editor saves a version read earlier.
  for (let i = 0; i < 20; i++) {
    await change(loose);
    const saved = { trait_grants: loose };
    await Promise.all([change(tight), editor.code("world.config.patch", saved)]);
    t.strictSame((await rules())["world.secrets"], ["owner"], `round ${i}`);
  }
});

void t.test("on-site traits are a rule, by REST too", async (t) => {
  const world = await openWorld(server);
  const expected = ["staff", ["press", "speaker"]];
  const patch = (onsite_traits: unknown) => world.rest("PATCH", "", { config: { onsite_traits } });
  t.equal((await patch(expected)).status, 200);
  const admin = await world.admin();
  const shown = async () => [
    admin.hello["world.config"].world.onsite_traits,
    (await admin.do("world.config.get")).onsite_traits,
    (await world.rest("GET")).body.config.onsite_traits,
  ];
  t.same(await shown(), [expected, expected, expected]);
  for (const traits of ["staff", [5], [["a b"]], [[["staff"]]], null]) {
    const { status, body } = await patch(traits);
    t.equal(status, 400, JSON.stringify(traits));
    t.match(keys(body)[0], /^config\.onsite_traits/);
  }
  t.same(await shown(), [expected, expected, expected]);
});

void t.test("the plugin of pretalx says that a schedule changed", async (t) => {
  const pretalx = { domain: "https://p.example.org/", event: "demo" };
  const world = await openWorld(server, { config: { pretalx } });
  const guest = await world.guest();
  const missing = "Missing fields in request.";
  const wrong = "Incorrect domain or event data";
  const cases: [domain: string | undefined, event: string | undefined, answer?: string][] = [
    [undefined, undefined, missing],
    ["https://p.example.org", undefined, missing],
    ["p.example.org", "demo", missing],
    ["https://q.example.org", "demo", wrong],
    ["https://p.example.org", "other", wrong],
    ["https://p.example.org", "demo"],
    ["https://P.example.org:8443/x", "demo"],
  ];
  for (const [domain, event, answer] of cases) {
    const got = await world.rest("POST", "schedule_update", { domain, event });
    t.same([got.status, got.body ?? undefined], [answer ? 401 : 200, answer], `${domain} ${event}`);
    if (answer) continue;
    const pushed = { ...pretalx, connected: true, pushed: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ };
    t.match(await guest.next("world.schedule.updated"), pushed);
  }
  const { body } = await world.rest("GET");
  t.match(body.config.pretalx, { ...pretalx, connected: true });
});

void t.test("what announcements refuse", async (t) => {
  const world = await openWorld(server);
  const [admin, guest] = [await world.admin(), await world.guest()];
  const text = "x";
  const { id } = (await admin.do("announcement.create", { text })).announcement;
  const times = ["2027-01-31T09:30:00Z", "2027-01-31T09:30:00.123456+02:00", null];
  const wrongTimes = ["tomorrow", "2027-13-01T00:00:00Z", "2027-02-30T00:00:00Z", 5, ""].concat([
    "9999-12-31T23:59:59-23:59",
    "0000-01-01T00:00:00+10:00",
  ]);
  const table: [action: string, code: string, payloads: unknown[]][] = [
    ["create", "ok", [{ text, is_active: true }]],
    ["create", "ok", times.map((show_until) => ({ text, show_until }))],
    ["create", invalid, [{}, { text: "" }, { text: 5 }, { text: "a\0" }, null, []]],
    ["create", invalid, ["visible", null].map((state) => ({ text, state }))],
    ["create", invalid, wrongTimes.map((show_until) => ({ text, show_until }))],
    ["update", "ok", [{ id }, { id, is_visible: true, id_: 1 }]],
    ["update", "announcement.unknown", [{ id: randomUUID() }, { id: "x" }]],
    ["update", "announcement.unknown", [5, null].map((id) => ({ id, text }))],
    ["update", invalid, [{ text }, { id, text: "" }, { id, text: null }, null]],
    [
      "update",
      invalid,
      [
        { id, state: 5 },
        { id, show_until: "x" },
      ],
    ],
  ];
  for (const [action, code, payloads] of table) {
    for (const payload of payloads) {
      const got = await admin.code(`announcement.${action}`, payload);
      t.equal(got, code, `${action} ${JSON.stringify(payload)}`);
    }
  }
  for (const word of ["create", "update", "list"]) {
    const [, , problem] = await guest.call(`announcement.${word}`, { id, text });
    t.same(problem, { code: "auth.denied", message: "Permission denied." });
  }
});

void t.test("world.tokens.generate", async (t) => {
  const world = await openWorld(server);
  const admin = await world.admin();
  const traits = ["attendee"];
  const ask = async (payload: object): Promise<string[]> =>
    (await admin.do("world.tokens.generate", { traits, ...payload })).results;
  const links = await ask({ number: "2", days: 1 });
  t.equal(links.length, 2);
  for (const url of links) t.ok(url.startsWith(`${server.baseUrl}/w/${world.id}/#token=`), url);
  const tokens = await ask({ number: 1000, days: 3660, long: true });
  t.equal(new Set(tokens).size, 1000);
  const users = new Set<string>();
  for (const token of tokens.slice(0, 2)) {
    const client = await world.connect();
    await client.login({ token });
    users.add(client.id);
  }
  t.equal(users.size, 2, "each is for a person of its own");
  // Without a limit on numbers in texts, the last value would make the server generate tokens until
  // it crashes.
  for (const wrong of [0, 3661, "x", 1.5, null, "-1", "0", "999999999999"]) {
    for (const field of ["number", "days"]) {
      const payload = { number: 1, traits, days: 1, [field]: wrong };
      t.equal(await admin.code("world.tokens.generate", payload), invalid);
    }
  }
  const { results: audit } = await admin.do("world.auditlog.list", null);
  const made = audit.filter(({ type }: Json) => type === "token.created");
  t.equal(made.length, 2, "one entry for each call");
  t.match(made[0].data.changes, [{ field: "traits" }, { field: "number", after: 1000 }]);
  t.notOk(JSON.stringify(audit).includes(tokens[0]!.split(".")[1]!));
});

void t.test("world.auditlog.list", async (t) => {
  const world = await openWorld(server);
  const profile = { display_name: "Ada", secret: "kept" };
  const admin = await world.person({ uid: "ada", traits: ["admin", "api"], profile });
  await admin.do("world.config.patch", { title: "Summit" });
  await world.rest("PATCH", "", { title: "Summit 2" });
  const { results } = await admin.do("world.auditlog.list", {});
  const [last, first] = results;
  t.same(keys(last), ["data", "id", "timestamp", "type", "user"]);
  t.ok(last.id > first.id, "the newest first");
  t.match([last.type, last.user], ["world.updated", null]);
  t.same(first.user.profile, { display_name: "Ada" });
  t.match(first.data.changes, [{ field: "title", after: "Summit" }]);
});

void t.test("reports", async (t) => {
  const rules = ["world.feed", "chat.moderate", "world.update", "world.secrets", "world.api"];
  const permission_config = Object.fromEntries(rules.map((key) => [key, [["admin", "api"]]]));
  const world = await openWorld(server, { permission_config });
  const channel = await chatRoom(world);
  const [admin, guest] = [await world.person("Ada", "admin"), await world.person("Eve")];
  await guest.do("chat.join", { channel });
  const content = { type: "text", body: "=1+1" };
  await guest.do("chat.send", { channel, event_type: "channel.message", content });
  const addressOf = async (name: string, payload: object | null = null) => {
    const { resultid } = await admin.do(`world.report.generate.${name}`, payload);
    const { ready, result } = await admin.do("world.report.status", { resultid });
    t.equal(ready, true);
    return result as string;
  };
  const chat = await addressOf("chat_history", { channel });
  const answer = await fetch(chat);
  const { headers } = answer;
  t.match(
    [answer.status, headers.get("content-type"), headers.get("cache-control")],
    [200, /^text\/csv/, "no-store"],
  );
  t.match(await answer.text(), /'=1\+1/, "a cell is no formula");
  const people = await fetch(await addressOf("attendee_list", { format: "xlsx" }));
  t.match(people.headers.get("content-type"), /spreadsheetml/);
  t.equal(Buffer.from(await people.arrayBuffer()).toString("latin1", 0, 2), "PK");

  const generate = "world.report.generate";
  t.equal(await admin.code(`${generate}.summary`, {}), "world.unsupported_command");
  t.equal(await admin.code(`${generate}.chat_history`, { room: "x" }), "room.unknown");
  const status = (resultid: unknown, as = admin) => as.code("world.report.status", { resultid });
  for (const id of [
    "x",
    "people:csv",
    "chat_history:json",
    `chat_history:csv:${channel}:1`,
    null,
    1,
  ]) {
    t.equal(await status(id), invalid);
  }
  t.equal(await status("poll_history:csv", guest), "auth.denied");
  for (const wrong of [
    chat.replace(`/${world.id}/`, "/other/"),
    // Changes the first character, because some bits of the last one are ignored.
    chat.replace(/reports\/./, (it) => `reports/${it.endsWith("A") ? "B" : "A"}`),
    chat.replace(/reports\/.*/, "reports/x/"),
  ]) {
    t.equal((await fetch(wrong)).status, 403, "a changed address");
  }
  const moderate = (moderation_state: string) =>
    world.rest("PATCH", `users/${admin.id}/`, { moderation_state });
  await moderate("silenced");
  t.equal((await fetch(chat)).status, 403, "a silenced person");
  await moderate("none");
  t.equal((await fetch(chat)).status, 200);
  await world.rest("POST", "delete_user", { user_id: admin.id });
  t.equal((await fetch(chat)).status, 403, "an erased person");
});
