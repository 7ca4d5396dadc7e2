import { randomUUID } from "node:crypto";
import t from "tap";
import { demo, type Json, startLive } from "./client.js";

const keys = (value: object) => Object.keys(value).sort();
const PUBLIC = ["badges", "deleted", "id", "inactive", "pretalx_id", "profile"];
const ADMIN = [...PUBLIC, "moderation_state", "token_id"].sort();
const invalid = "protocol.invalid_payload";

void t.test("user.update", async (t) => {
  const live = await startLive(t);
  const me = await live.guest("a");
  const profile = { b: 1, "x y": [1, { __proto__: null }] };
  t.same(await me.do("user.update", { profile, pretalx_id: "x" }), {});
  t.same(await me.do("user.update", {}), {});
  const again = await live.guest("a");
  t.match(again.hello["user.config"], { profile, pretalx_id: null });
  const refused: [payload: unknown, field: string][] = [
    [null, "non_field_errors"],
    [[], "non_field_errors"],
    ["x", "non_field_errors"],
    [{ profile: null }, "profile"],
    [{ profile: [] }, "profile"],
    [{ profile: "x" }, "profile"],
    [{ profile: { display_name: 5 } }, "profile.display_name"],
    [{ profile: { display_name: null } }, "profile.display_name"],
    [{ profile: { display_name: "a\0" } }, "profile.display_name"],
    [{ profile: { fields: [] } }, "profile.fields"],
    [{ profile: { avatar: "x" } }, "profile.avatar"],
    [{ client_state: [] }, "client_state"],
    [{ profile: {}, client_state: 1 }, "client_state"],
    [JSON.parse('{"__proto__":{}}'), "non_field_errors"],
    [{ profile: JSON.parse('{"a":[{"__proto__":1}]}') }, "profile.a.0"],
    [{ profile: { constructor: { prototype: {} } } }, "profile"],
    [{ client_state: JSON.parse('{"a":{"__proto__":{}}}') }, "client_state.a"],
  ];
  for (const [payload, field] of refused) {
    const [, , problem] = await me.call("user.update", payload);
    const name = JSON.stringify(payload);
    t.match(problem, { code: invalid, details: { [field]: [String] } }, name);
  }
  t.match((await live.guest("a")).hello["user.config"].profile, { b: 1 });
});

void t.test("user.fetch", async (t) => {
  const live = await startLive(t);
  const admin = await live.admin();
  const people = [];
  for (let i = 0; i < 3; i++) {
    people.push(
      await live.person({
        uid: `u${i}`,
        profile: { display_name: `N${i}` },
        pretalx_id: `P${i}`,
      }),
    );
  }
  const [a, b, c] = people as [Json, Json, Json];
  const fetch = (payload: unknown) => a.do("user.fetch", payload);
  const own = await fetch({ id: a.id });
  t.same(keys(own), PUBLIC);
  t.match(own, {
    id: a.id,
    profile: { display_name: "N0" },
    pretalx_id: "P0",
    deleted: false,
    inactive: false,
  });
  const seen = await admin.do("user.fetch", { id: a.id });
  t.same(keys(seen), ADMIN);
  t.match(seen, { moderation_state: "", token_id: "u0" });
  const ids = [a.id, null, 5, "x", {}, randomUUID(), b.id, a.id];
  t.same(keys(await fetch({ ids })), [a.id, b.id].sort());
  t.same(await fetch({ ids: [] }), {});
  t.same(await fetch({ ids: [null] }), {});
  t.same(keys((await admin.do("user.fetch", { ids: [a.id] }))[a.id]), ADMIN);
  const pretalx = ["P1", "P2", "none", null, {}, "__proto__", "P1"];
  const found = await fetch({ pretalx_ids: pretalx });
  t.same(keys(found), ["P1", "P2"]);
  t.equal(found.P1.id, b.id);
  const many = Array.from({ length: 100 }, () => randomUUID());
  t.same(await fetch({ ids: [...many, a.id] }), {}, "the first 100");
  t.same(keys(await fetch({ ids: [...many.slice(1), a.id] })), [a.id]);

  await admin.do("user.ban", { id: b.id });
  await admin.do("user.delete", { id: c.id });
  t.match(await fetch({ id: b.id }), { profile: { display_name: "N1" } });
  t.match(await fetch({ id: c.id }), {
    deleted: true,
    profile: {},
    pretalx_id: null,
  });
  t.same(keys(await fetch({ ids: [b.id, c.id] })), [b.id, c.id].sort());
  t.same(keys(await fetch({ pretalx_ids: ["P1", "P2"] })), ["P1"]);
  const table: [payload: unknown, code: string][] = [
    [{}, invalid],
    [null, invalid],
    [{ id: randomUUID() }, "user.not_found"],
    [{ id: "x" }, "user.not_found"],
    [{ id: 1 }, "user.not_found"],
    [{ id: null }, "user.not_found"],
    [{ id: [a.id] }, "user.not_found"],
    [{ ids: a.id }, invalid],
    [{ ids: null }, invalid],
    [{ pretalx_ids: {} }, invalid],
  ];
  for (const [payload, code] of table) {
    t.equal(await a.code("user.fetch", payload), code, JSON.stringify(payload));
  }
});

void t.test("user.list", async (t) => {
  const live = await startLive(t);
  const admin = await live.admin();
  const clients: Record<string, Json> = {};
  for (const name of ["b", "a", "C", "banned", "deleted"]) {
    clients[name] = await live.person({
      uid: name,
      profile: { display_name: name },
    });
  }
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
  const { results } = await admin.do("user.list");
  t.same(keys(results[0]), ADMIN);
  t.equal(await admin.code("user.list", { type: 5 }), invalid);
  t.equal(await admin.code("user.list", []), invalid);
  t.equal(await clients.a.code("user.list"), "auth.denied");
  const rules = { "user.list": ["lists"] };
  await live.app.store.worlds.configure("demo", { permission_config: rules });
  const lister = await live.person({ uid: "l", traits: ["lists"] });
  const listed = await lister.do("user.list", { include_banned: true });
  t.equal(listed.results.length, 5, "banned ones need user.manage");
  t.same(keys(listed.results[0]), PUBLIC);
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
  const live = await startLive(t, {}, [demo({ config })]);
  const admin = await live.admin();
  const add = (name: string, traits: string[] = [], fields = {}) =>
    live.person({ uid: name, traits, profile: { display_name: name, fields } });
  const me = await add("Müller");
  await add("anna", ["crew"], { town: "Berlin" });
  await add("Bert", ["staff"], { secret: "Berlin" });
  await add("Chris", ["vip"], { town: 5 });
  const banned = await add("Anton");
  await admin.do("user.ban", { id: banned.id });
  await live.guest();
  type Query = Record<string, unknown>;
  const search = async (query: Query, as = me) => {
    const payload = { search_term: "", page: 1, ...query };
    const { results, isLastPage } = await as.do("user.list.search", payload);
    return [
      ...results.map(({ profile }: Json) => profile.display_name),
      isLastPage,
    ];
  };
  const table: [query: Query, expected: unknown[]][] = [
    [{ search_term: "an" }, ["anna", true]],
    [{ search_term: "AN" }, ["anna", true]],
    [{ search_term: "NN" }, ["anna", true]],
    [{ search_term: "mÜL" }, ["Müller", true]],
    [{ search_term: "berl" }, ["anna", true]],
    [{ search_term: "none" }, [true]],
    [{ search_term: "a" }, [true]],
    [{ search_term: "" }, [true]],
    [{ search_term: "%%" }, [true]],
    [{ search_term: "__" }, [true]],
    [{ badge: "Crew" }, ["anna", "Bert", true]],
    [{ badge: "VIP" }, ["Chris", true]],
    [{ badge: "Crew", search_term: "be" }, ["anna", "Bert", true]],
    [{ badge: "nothing" }, [true]],
    [{ badge: "toString" }, [true]],
    [{ badge: null, search_term: "bert" }, ["Bert", true]],
    [{ search_term: "an", page: 0 }, [true]],
    [{ search_term: "an", page: -1 }, [true]],
    [{ search_term: "an", page: 2 }, [true]],
    [{ search_term: "an", page: 2 ** 31 - 1 }, [true]],
    [{ search_term: "an", include_banned: true }, ["anna", true]],
  ];
  for (const [query, expected] of table) {
    t.same(await search(query), expected, JSON.stringify(query));
  }
  t.same(await search({ search_term: "an" }, admin), ["anna", "Anton", true]);
  const unbanned = { search_term: "an", include_banned: false };
  t.same(await search(unbanned, admin), ["anna", true]);
  const payload = { search_term: "an", page: 1 };
  const { results } = await me.do("user.list.search", payload);
  const listed = PUBLIC.filter((key) => key !== "deleted");
  t.same(keys(results[0]), listed);
  const seen = await admin.do("user.list.search", payload);
  t.same(
    keys(seen.results[0]),
    ADMIN.filter((key) => key !== "deleted"),
  );

  await live.app.store.worlds.configure("demo", {
    config: { user_list: { page_size: 3 } },
  });
  t.same(await search({ page: 1 }), ["anna", "Bert", "Chris", false]);
  t.same(await search({ page: 2 }), ["Müller", true]);
  t.same(await search({ page: 3 }), [true]);
  t.same(await search({ page: "2" }), ["Müller", true], "decimal text");
  for (const page of ["x", 1.5, null, undefined, 1e20]) {
    const payload = { search_term: "", page };
    const name = JSON.stringify(page) ?? "no page";
    t.equal(await me.code("user.list.search", payload), invalid, name);
  }
  for (const search_term of [5, null, undefined, "x".repeat(1001)]) {
    const payload = { search_term, page: 1 };
    t.equal(await me.code("user.list.search", payload), invalid);
  }
});

void t.test("settings of the list that make no sense", async (t) => {
  const live = await startLive(t);
  const me = await live.person({ uid: "a", profile: { display_name: "Ann" } });
  const noText = { toString: 1, valueOf: 1 };
  const values = [1.5, 0, -1, "2", "x", null, {}, [], true, 1e300, noText];
  const lists = [
    ...values.map((page_size) => ({ page_size })),
    ...values.map((search_min_chars) => ({ search_min_chars })),
    ...values,
  ];
  for (const user_list of lists) {
    await live.app.store.worlds.configure("demo", {
      config: {
        user_list,
        trait_badges_map: user_list,
        profile_fields: [user_list, { id: 5, searchable: true }],
        connection_limit: user_list,
      },
    });
    const payload = { search_term: "Ann", page: 1, badge: null };
    const code = await me.code("user.list.search", payload);
    t.equal(code, "ok", JSON.stringify(user_list));
  }
});

void t.test("users that commands do not find", async (t) => {
  const live = await startLive(t);
  const [admin, gone] = [await live.admin(), await live.guest()];
  await admin.do("user.delete", { id: gone.id });
  const words = ["ban", "silence", "reactivate", "delete", "block", "unblock"];
  for (const word of words) {
    const action = `user.${word}`;
    const code = (id: unknown) => admin.code(action, { id });
    t.equal(await code(admin.id), `user.${word}.self`, action);
    const unknown = [randomUUID(), "x", "", 5, null, {}, [gone.id], gone.id];
    for (const id of unknown) {
      t.equal(
        await code(id),
        "user.not_found",
        `${action} ${JSON.stringify(id)}`,
      );
    }
    for (const payload of [{}, null, [], "x", 5]) {
      t.equal(await admin.code(action, payload), invalid, action);
    }
  }
});
