import { randomUUID } from "node:crypto";
import t from "tap";
import type { Test } from "tap";
import { favoritesSoon } from "../../../plugins/push/notices.js";
import { PushSender, type SenderParts } from "../../../plugins/push/sender.js";
import { freshKey } from "../../../plugins/push/web-push.js";
import { until } from "../../support/helper.js";
import {
  chatRoom,
  invalid,
  type Json,
  keys,
  limited,
  MANAGED,
  message,
  openWorld,
  say,
  text,
  USER,
} from "../../support/open-world.js";
import { browserKeys, pushService } from "../../support/receiver.js";
import { demo, startServer } from "../../support/server.js";

// Profiles, lists of users, and push notifications.

const server = await startServer(t, { config: { webhookAllow: ["127.0.0.1"] } });

void t.test("user.update", async (t) => {
  const world = await openWorld(server);
  const me = await world.guest("a");
  const profile = { b: 1, "x y": [1, { __proto__: null }] };
  t.same(await me.do("user.update", { profile, pretalx_id: "x" }), {});
  t.same(await me.do("user.update", {}), {});
  const again = await world.guest("a");
  t.match(again.hello["user.config"], { profile, pretalx_id: null });
  const refused: [field: string, ...payloads: unknown[]][] = [
    ["non_field_errors", null, [], "x", JSON.parse('{"__proto__":{}}')],
    ["profile", ...[null, [], "x"].map((it) => ({ profile: it }))],
    ["profile", { profile: { constructor: { prototype: {} } } }],
    ["profile.display_name", ...[5, null, "a\0"].map((it) => ({ profile: { display_name: it } }))],
    ["profile.fields", { profile: { fields: [] } }],
    ["profile.avatar", { profile: { avatar: "x" } }],
    ["profile.a.0", { profile: JSON.parse('{"a":[{"__proto__":1}]}') }],
    ["client_state", { client_state: [] }, { profile: {}, client_state: 1 }],
    ["client_state.a", { client_state: JSON.parse('{"a":{"__proto__":{}}}') }],
  ];
  for (const [field, ...payloads] of refused) {
    for (const payload of payloads) {
      const [, , problem] = await me.call("user.update", payload);
      const expected = { code: invalid, details: { [field]: [String] } };
      t.match(problem, expected, JSON.stringify(payload));
    }
  }
  t.match((await world.guest("a")).hello["user.config"].profile, { b: 1 });
});

void t.test("user.fetch", async (t) => {
  const world = await openWorld(server);
  const admin = await world.admin();
  const enter = (i: number) =>
    world.person({ uid: `u${i}`, profile: { display_name: `N${i}` }, pretalx_id: `P${i}` });
  const [a, b, c] = [await enter(0), await enter(1), await enter(2)];
  const fetch = (payload: unknown) => a.do("user.fetch", payload);
  const own = await fetch({ id: a.id });
  t.same(keys(own), USER);
  const state = { deleted: false, inactive: false };
  t.match(own, { id: a.id, profile: { display_name: "N0" }, pretalx_id: "P0", ...state });
  const seen = await admin.do("user.fetch", { id: a.id });
  t.same(keys(seen), MANAGED);
  t.match(seen, { moderation_state: "", token_id: "u0" });
  const ids = [a.id, null, 5, "x", {}, randomUUID(), b.id, a.id];
  t.same(keys(await fetch({ ids })), [a.id, b.id].sort());
  t.same(await fetch({ ids: [] }), {});
  t.same(await fetch({ ids: [null] }), {});
  t.same(keys((await admin.do("user.fetch", { ids: [a.id] }))[a.id]), MANAGED);
  const found = await fetch({ pretalx_ids: ["P1", "P2", "none", null, {}, "__proto__", "P1"] });
  t.same(keys(found), ["P1", "P2"]);
  t.equal(found.P1.id, b.id);
  const many = Array.from({ length: 100 }, () => randomUUID());
  t.same(await fetch({ ids: [...many, a.id] }), {}, "the first 100");
  t.same(keys(await fetch({ ids: [...many.slice(1), a.id] })), [a.id]);

  await admin.do("user.ban", { id: b.id });
  await admin.do("user.delete", { id: c.id });
  t.match(await fetch({ id: b.id }), { profile: { display_name: "N1" } });
  t.match(await fetch({ id: c.id }), { deleted: true, profile: {}, pretalx_id: null });
  t.same(keys(await fetch({ ids: [b.id, c.id] })), [b.id, c.id].sort());
  t.same(keys(await fetch({ pretalx_ids: ["P1", "P2"] })), ["P1"]);
  const wrong = [{}, null, { ids: a.id }, { ids: null }, { pretalx_ids: {} }];
  const unknown = [randomUUID(), "x", 1, null, [a.id]].map((id) => ({ id }));
  for (const payload of [...wrong, ...unknown]) {
    const code = payload && "id" in payload ? "user.not_found" : invalid;
    t.equal(await a.code("user.fetch", payload), code, JSON.stringify(payload));
  }
});

void t.test("user.list", async (t) => {
  const world = await openWorld(server);
  const admin = await world.admin();
  const clients: Record<string, Json> = {};
  for (const name of ["b", "a", "C", "banned", "deleted"]) clients[name] = await world.person(name);
  await admin.do("user.ban", { id: clients.banned.id });
  await admin.do("user.delete", { id: clients.deleted.id });
  const names = async (payload: unknown) => {
    const { results } = await admin.do("user.list", payload);
    return results.map(({ profile }: Json) => profile.display_name ?? null);
  };
  const all = [null, "a", "b", "banned", "C"];
  const unbanned = [null, "a", "b", "C"];
  t.same(await names(null), unbanned, "banned ones only with a body");
  t.same(await names({ include_banned: true }), all);
  t.same(await names({ include_banned: false }), unbanned);
  t.same(await names({ type: "person", include_banned: true }), all);
  t.same(await names({ type: "kiosk" }), []);
  t.same(keys((await admin.do("user.list")).results[0]), MANAGED);
  for (const payload of [{ type: 5 }, []]) t.equal(await admin.code("user.list", payload), invalid);
  t.equal(await clients.a.code("user.list"), "auth.denied");
  await world.configure({ permission_config: { "user.list": ["lists"] } });
  const lister = await world.person({ uid: "l", traits: ["lists"] });
  const listed = await lister.do("user.list", { include_banned: true });
  t.equal(listed.results.length, 5, "banned ones need user.manage");
  t.same(keys(listed.results[0]), USER);
});

void t.test("user.list.search", async (t) => {
  const config = {
    user_list: { page_size: 3, search_min_chars: 2 },
    trait_badges_map: { crew: "Crew", staff: "Crew", vip: "VIP" },
    profile_fields: [
      { id: "town", label: "Town", type: "text", searchable: true },
      { id: "secret", label: "Secret", type: "text" },
    ],
  };
  const world = await openWorld(server, { config });
  const admin = await world.admin();
  const add = (name: string, traits: string[] = [], fields = {}) =>
    world.person({ uid: name, traits, profile: { display_name: name, fields } });
  const me = await add("Müller");
  await add("anna", ["crew"], { town: "Berlin" });
  await add("Bert", ["staff"], { secret: "Berlin" });
  await add("Chris", ["vip"], { town: 5 });
  const banned = await add("Anton");
  await admin.do("user.ban", { id: banned.id });
  await world.guest();
  const search = async (query: Record<string, unknown>, as = me) => {
    const payload = { search_term: "", page: 1, ...query };
    const { results, isLastPage } = await as.do("user.list.search", payload);
    return [...results.map(({ profile }: Json) => profile.display_name), isLastPage];
  };
  const table: Record<string, string[]> = { an: ["anna"], AN: ["anna"], NN: ["anna"] };
  Object.assign(table, { mÜL: ["Müller"], berl: ["anna"], none: [], a: [], "": [], "%%": [] });
  for (const [search_term, expected] of Object.entries({ ...table, __: [] })) {
    t.same(await search({ search_term }), [...expected, true], search_term);
  }
  const queries: [query: Record<string, unknown>, ...expected: string[]][] = [
    [{ badge: "Crew" }, "anna", "Bert"],
    [{ badge: "VIP" }, "Chris"],
    [{ badge: "Crew", search_term: "be" }, "anna", "Bert"],
    [{ badge: "nothing" }],
    [{ badge: "toString" }],
    [{ badge: null, search_term: "bert" }, "Bert"],
    [{ search_term: "an", page: 0 }],
    [{ search_term: "an", page: -1 }],
    [{ search_term: "an", page: 2 }],
    [{ search_term: "an", page: 2 ** 31 - 1 }],
    [{ search_term: "an", include_banned: true }, "anna"],
  ];
  for (const [query, ...expected] of queries) {
    t.same(await search(query), [...expected, true], JSON.stringify(query));
  }
  t.same(await search({ search_term: "an" }, admin), ["anna", "Anton", true]);
  const unbanned = { search_term: "an", include_banned: false };
  t.same(await search(unbanned, admin), ["anna", true]);
  for (const [client, fields] of [
    [me, USER],
    [admin, MANAGED],
  ] as const) {
    const { results } = await client.do("user.list.search", { search_term: "an", page: 1 });
    t.same(
      keys(results[0]),
      fields.filter((key) => key !== "deleted"),
    );
  }

  await world.configure({ config: { user_list: { page_size: 3 } } });
  t.same(await search({ page: 1 }), ["anna", "Bert", "Chris", false]);
  t.same(await search({ page: 2 }), ["Müller", true]);
  t.same(await search({ page: 3 }), [true]);
  t.same(await search({ page: "2" }), ["Müller", true], "decimal text");
  const pages = ["x", 1.5, null, undefined, 1e20].map((page) => ({ search_term: "", page }));
  const terms = [5, null, undefined, "x".repeat(1001)].map((it) => ({ search_term: it, page: 1 }));
  for (const payload of [...pages, ...terms]) {
    const name = JSON.stringify(payload).slice(0, 100);
    t.equal(await me.code("user.list.search", payload), invalid, name);
  }
});

void t.test("settings of the list that make no sense", async (t) => {
  const world = await openWorld(server);
  const me = await world.person("Ann");
  const noText = { toString: 1, valueOf: 1 };
  const values = [1.5, 0, -1, "2", "x", null, {}, [], true, 1e300, noText];
  for (const user_list of [
    ...values.map((page_size) => ({ page_size })),
    ...values.map((search_min_chars) => ({ search_min_chars })),
    ...values,
  ]) {
    const profile_fields = [user_list, { id: 5, searchable: true }];
    const others = { trait_badges_map: user_list, connection_limit: user_list };
    await world.configure({ config: { user_list, profile_fields, ...others } });
    const code = await me.code("user.list.search", { search_term: "Ann", page: 1, badge: null });
    t.equal(code, "ok", JSON.stringify(user_list));
  }
});

void t.test("users that commands do not find", async (t) => {
  const world = await openWorld(server);
  const [admin, gone] = [await world.admin(), await world.guest()];
  await admin.do("user.delete", { id: gone.id });
  for (const word of ["ban", "silence", "reactivate", "delete", "block", "unblock"]) {
    const action = `user.${word}`;
    const code = (id: unknown) => admin.code(action, { id });
    t.equal(await code(admin.id), `user.${word}.self`, action);
    for (const id of [randomUUID(), "x", "", 5, null, {}, [gone.id], gone.id]) {
      t.equal(await code(id), "user.not_found", `${action} ${JSON.stringify(id)}`);
    }
    for (const payload of [{}, null, [], "x", 5]) {
      t.equal(await admin.code(action, payload), invalid, action);
    }
  }
});

void t.test("moderators get what waits for them, if they ask for it", async (t) => {
  const world = await openWorld(server);
  const [service, phone] = [await pushService(t), browserKeys()];
  const module = { type: "chat.native", config: { hold: true } };
  const room = await world.room({ name: "Hall", module_config: [module] });
  const mod = await world.person("mod", "admin");
  const [ann, bob] = [await world.person("Ann"), await world.person("Bob")];
  for (const client of [mod, ann, bob]) await client.do("chat.join", { channel: room });
  const subscribe = (client: typeof mod, name: string, more: object) =>
    client.do("user.web_push.subscribe", {
      subscription: { endpoint: `${service.base}/${name}`, keys: phone.keys },
      ...more,
    });
  await subscribe(mod, "phone", { moderation: true });
  await subscribe(mod, "laptop", {});
  await subscribe(bob, "bob", { moderation: true });
  t.equal(
    await mod.code("user.web_push.subscribe", {
      subscription: { endpoint: `${service.base}/x`, keys: phone.keys },
      moderation: "yes",
    }),
    invalid,
  );
  const got = () => service.got.map(({ path, body }) => [path, phone.read(body)] as const);
  const next = async (count: number) => {
    await until(() => service.got.length >= count);
    return got()[count - 1]!;
  };

  const { held } = await ann.do("chat.send", message(room, text("May I?")));
  t.match(await next(1), [
    "/phone",
    { title: "⏳ Hall", body: "May I?", url: `/w/${world.id}/#/rooms/${room}/host` },
  ]);
  await ann.do("chat.send", message(room, text("Please?")));
  const { id: event } = await mod.do("chat.approve", { channel: room, event: held.id });
  await bob.do("chat.report", { channel: room, event, reason: "spam" });
  t.match(await next(2), [
    "/phone",
    { title: "🚩 Hall", body: "May I?", url: `/w/${world.id}/console#/reports` },
  ]);
  // A second report of the same thing, and a thing that the moderator wrote.
  const carl = await world.person("Carl");
  await carl.do("chat.report", { channel: room, event, reason: "other" });
  const own = await say(mod, room, "Be kind");
  await bob.do("chat.report", { channel: room, event: own.event_id, reason: "other" });
  await bob.do("user.report", { user: ann.id, reason: "privacy" });
  t.match(await next(3), ["/phone", { title: /^🚩/, body: "Ann" }], "nothing in between");

  // The right counts, and not the wish.
  await world.configure({ permission_config: { "chat.moderate": ["nobody"] } });
  await carl.do("user.report", { user: bob.id, reason: "privacy" });
  await world.configure({ permission_config: { "chat.moderate": ["admin"] } });
  await carl.do("user.report", { user: ann.id, reason: "spam" });
  const dan = await world.person("Dan");
  await carl.do("user.report", { user: dan.id, reason: "spam" });
  t.match(await next(4), ["/phone", { body: "Dan" }]);
});

void t.test("a message reaches a browser whose page is closed", async (t) => {
  const world = await openWorld(server);
  const [service, phone] = [await pushService(t), browserKeys()];
  const [ada, eve] = [await world.person("Ada"), await world.person("Eve")];
  const { store } = world;
  const { push } = store;
  const key: string = ada.hello["world.config"].world.vapid_public_key;
  t.equal(Buffer.from(key, "base64url").length, 65);
  const subscribe = (endpoint: string, keys: object = phone.keys, as = ada) =>
    as.code("user.web_push.subscribe", { subscription: { endpoint, expirationTime: null, keys } });
  const private_ = ["https://10.0.0.1/", "https://169.254.169.254/", "file:///etc/passwd"];
  for (const wrong of ["http://example.org/x", "x", ...private_]) {
    t.equal(await subscribe(wrong), invalid, wrong);
  }
  const noPoint = { ...phone.keys, p256dh: Buffer.alloc(65, 4).toString("base64url") };
  for (const wrong of [{ p256dh: "x", auth: "y" }, noPoint]) {
    t.equal(await subscribe(`${service.base}/a`, wrong), invalid, "no point of the curve");
  }
  for (let i = 0; i < 22; i++) t.equal(await subscribe(`${service.base}/${i}`), "ok");
  t.equal((await push.of(world.id, [ada.id])).length, 20, "at most 20, the newest");
  service.statuses.set("/21", 410).set("/20", 404);
  /** Returns the messages that the push service received, as the browser decrypts them. */
  const got = (): Json[] => service.got.map(({ body }) => phone.read(body));
  const next = async (count = 18) => {
    await until(() => service.got.length === count);
    return got();
  };

  const { id: channel } = await eve.do("chat.direct.create", { users: [ada.id] });
  await say(eve, channel, "Hello");
  const [first] = await next(20);
  const signatures = new Set(service.got.map((one) => one.authorization));
  t.equal(signatures.size, 1, "signed once for a push service");
  t.match(service.got[0]!.authorization, new RegExp(`^vapid t=[^,]+, k=${key}$`));
  t.notOk(service.got[0]!.body.includes("Hello"), "it is encrypted");
  const url = `/w/${world.id}/#/messages/${channel}`;
  t.match(first, { title: "Eve", body: "Hello", url });
  await until(async () => (await push.of(world.id, [ada.id])).length === 18);

  service.got.length = 0;
  const room = await chatRoom(world);
  const [bob, carl] = [await world.person("Bob"), await world.person("Carl")];
  for (const client of [ada, eve, bob, carl]) await client.do("chat.join", { channel: room });
  await say(eve, room, "To no subscriber");
  await say(eve, room, `Hi @${ada.id}`);
  for (const one of await next()) {
    t.match(one, { body: "Hi @Ada", url: `/w/${world.id}/#/rooms/${room}` });
  }

  /** Runs an action while a message's notifications are waiting for the push service. */
  const overtaken = async (said: Promise<Json>, act: (event: Json) => Promise<unknown>) => {
    service.got.length = 0;
    service.hold(true);
    const event = await said;
    await until(() => service.got.length > 0);
    await act(event);
    service.hold(false);
  };
  // A message deleted while its notifications wait for the push service is not sent.
  await overtaken(say(eve, channel, "Regretted"), ({ event_id: replaces }) =>
    eve.do("chat.send", {
      channel,
      event_type: "channel.message",
      replaces,
      content: { type: "deleted" },
    }),
  );
  await say(eve, channel, "Kept");
  await until(() => got().filter(({ body }) => body === "Kept").length === 18);
  t.ok(got().length < 2 * 18, `${got().length} messages`);

  // Messages from a user whom the reader has blocked never appear on the reader's phone.
  service.got.length = 0;
  await ada.do("user.block", { id: eve.id });
  await say(eve, room, `Look @${ada.id}`);
  await say(bob, room, `Hi @${ada.id}`);
  for (const one of await next()) t.match(one, { title: "Bob" });

  // Nor do messages from a user who was banned while they waited for the push service.
  const admin = await world.person("admin", "admin");
  await overtaken(say(bob, room, `Before the ban @${ada.id}`), () =>
    admin.do("user.ban", { id: bob.id }),
  );
  await say(carl, room, `After it @${ada.id}`);
  await until(() => got().filter(({ title }) => title === "Carl").length === 18);
  t.ok(got().length < 2 * 18, `${got().length} messages`);

  // A favorite session that starts soon is due for each user who may see it.
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const times = { starts_at: at(60_000), ends_at: at(3_600_000) };
  const draft = { title: "Maps", state: "public" as const, ...times };
  const made = await store.program.createSession(world.id, draft);
  if ("faults" in made) throw new Error("The session was refused.");
  const session = made.session.value.id;
  await ada.do("program.favorite", { session, on: true });
  const due = (ms: number) => push.due(Date.now(), Date.now() + ms);
  t.match(await due(300_000), [{ session, title: "Maps", user: ada.id, room: null }]);
  t.same(await due(30_000), []);
  const unread = { value: () => Promise.reject(new Error("A read failed.")) };
  const users = { value: Object.create(store.users, { getMany: unread }) };
  const failing = Object.create(store, { users }) as typeof store;
  await t.rejects(favoritesSoon(failing, Date.now()).next());
  const soon = await favoritesSoon(store, Date.now()).next();
  const notice = { done: false, value: [{ user: ada.id, place: "program" }] };
  t.match(soon, notice, "what could not be read is sent by a later look");
  t.match(await soon.value![0]!.read(), { title: "Maps" });
  await admin.do("user.ban", { id: ada.id });
  t.equal(await soon.value![0]!.read(), undefined, "a banned user gets none");
  t.match(await favoritesSoon(store, Date.now()).next(), { done: true });
  t.same(await due(300_000), [], "and only once");
  t.ok(await push.claim(world.id, "x", Date.now()), "one process sends");
  t.notOk(await push.claim(world.id, "x", Date.now()), "and no other one");
  await world.rest("POST", "delete_user", { user_id: ada.id });
  t.same(await push.of(world.id, [ada.id]), [], "they are erased with the user");

  // Rate limited, because each subscription looks up a name and may erase an older subscription.
  const codes = new Set<string>();
  for (let i = 0; i < 40; i++) codes.add(await subscribe(`${service.base}/${i}`, phone.keys, carl));
  t.ok(codes.has(limited), "not as often as a user likes");
});

/** Creates a sender to a push service whose answers the test defines, and notices for many users. */
function crowd(t: Test, answer: () => Promise<unknown>) {
  const { keys } = browserKeys();
  const endpoint = (user: string) => `https://push.example.org/${user}`;
  const reached = new Set<string>();
  const warnings: unknown[] = [];
  const of = async (_world: string, [user]: string[]) => [
    { user, endpoint: endpoint(user!), ...keys },
  ];
  const send = async ({ url }: { url: string }) => {
    await answer();
    reached.add(url);
    return { status: 201 };
  };
  const log = { warn: (entry: unknown) => warnings.push(entry) };
  const parts = { store: { push: { of } }, outbound: { send }, log };
  const sender = new PushSender({
    ...(parts as unknown as SenderParts),
    key: freshKey(),
    publicUrl: undefined,
  });
  // The sender's timers do not keep the process running.
  const running = setInterval(() => {}, 1000);
  t.teardown(() => {
    clearInterval(running);
    return sender.close();
  });
  const notices = (count: number, name: string) =>
    Array.from({ length: count }, (_, i) => `${name}${i}`).map((user) => ({
      world: demo() as never,
      user,
      endpoints: [endpoint(user)],
      name: "session",
      place: "program",
      read: async () => ({ title: "Maps", body: "Event" }),
    }));
  return { sender, notices, reached, warnings };
}

void t.test("a favorite of many people reaches all of them", async (t) => {
  const { sender, notices, reached, warnings } = crowd(t, async () => {});
  await sender.sendToMany(notices(1500, "u"));
  await until(() => reached.size >= 1500);
  t.equal(reached.size, 1500);
  await sender.close();
  t.same(warnings, []);
});

void t.test("a crowd leaves room, and what finds none is logged", async (t) => {
  const { sender, notices, warnings } = crowd(t, async () => {});
  void sender.sendToMany(notices(1500, "crowd"));
  // A bulk send may use half of the slots for one push service.
  sender.send(notices(1000, "message"));
  await sender.close();
  t.same(warnings, [{ dropped: 500 }]);
});
