import t from "tap";
import {
  admin,
  bearer,
  keyOf,
  serve,
  tokenOf,
  until,
  worldOf,
  type TestServer,
} from "../helper.js";
import { fileForm, finished, follow, PDF, upload, urlOf } from "../files.js";
import { filesOf, usersOf } from "../listed.js";

const url = "/api/v1/worlds/demo/delete_user";
const demo = { host: "demo.example.org" };
const other = { host: "other.example.org" };

const user = (world: string, uid: string, claims: object = {}) =>
  `Bearer ${tokenOf(keyOf(world), { uid, ...claims })}`;

const uploadAs = async (
  server: TestServer,
  as: string,
  headers: Record<string, string> = demo,
) => {
  const answer = await upload(server, fileForm("a.pdf", PDF), { as, headers });
  return urlOf(answer);
};

void t.test("the users of a world", async (t) => {
  const server = await serve(t, [worldOf("demo"), worldOf("other")]);
  const profile = { display_name: "Ada", nested: { list: [1, null, "x"] } };
  await uploadAs(server, user("demo", "ada", { traits: ["x"], profile }));
  await uploadAs(server, user("demo", "gone"));
  await server.store.users.erase("demo", { token_id: "gone" });
  await uploadAs(server, user("other", "eve"), other);
  const before = Date.now();
  await until(() => Date.now() > before);
  await uploadAs(server, "Client guest");
  interface Listed {
    results: { id: string }[];
  }
  const { body } = await server.call({
    url: "/api/v1/worlds/demo/users/",
    as: admin("demo"),
  });
  const kept = await usersOf(server.store, "demo");
  t.strictSame(body, {
    count: 2,
    next: null,
    previous: null,
    results: [
      {
        id: kept[0]!.id,
        token_id: "ada",
        profile,
        traits: ["x"],
        last_seen: new Date(kept[0]!.last_seen).toISOString(),
      },
      {
        id: kept[1]!.id,
        token_id: null,
        profile: null,
        traits: [],
        last_seen: new Date(kept[1]!.last_seen).toISOString(),
      },
    ],
  });
  for (const [query, ids] of [
    ["token_id=ada", [0]],
    ["client_id=guest", [1]],
    ["token_id=guest", []],
    ["client_id=ada", []],
    ["client_id=gues", []],
    ["token_id=ada&client_id=guest", []],
    ["token_id=eve", []],
    ["token_id=gone", []],
    ["token_id=ada&page=2", []],
    ["client_id=guest&cursor=", [1]],
  ] as const) {
    const found = await server.call({
      url: `/api/v1/worlds/demo/users/?${query}`,
      as: admin("demo"),
    });
    t.strictSame(
      (found.body as Listed).results.map(({ id }) => id),
      ids.map((at) => kept[at]!.id),
      query,
    );
    t.notMatch(found.text, /"client_id"|"guest"/, query);
  }
  const one = await server.call({
    url: `/api/v1/worlds/demo/users/${kept[1]!.id}/`,
    as: admin("demo"),
  });
  t.strictSame(one.body, {
    ...(body as Listed).results[1],
    moderation_state: "none",
  });
});

void t.test("a person is banned before the first visit", async (t) => {
  const server = await serve(t);
  const users = "/api/v1/worlds/demo/users/";
  const decide = (
    token_id: string,
    moderation_state: string,
    as = admin("demo"),
  ) =>
    server.call({
      method: "PATCH",
      url: users,
      as,
      body: { token_id, moderation_state },
    });
  const banned = await decide("order-2000", "banned");
  t.equal(banned.status, 200);
  t.match(banned.body, {
    token_id: "order-2000",
    profile: null,
    traits: [],
    moderation_state: "banned",
  });
  const guest = user("demo", "order-2000", { traits: ["admin", "api"] });
  t.equal((await server.call({ url: users, as: guest })).status, 403);
  t.equal(
    (await upload(server, fileForm("a.pdf", PDF), { as: guest, headers: demo }))
      .status,
    403,
  );
  const again = await decide("order-2000", "none");
  t.strictSame(again.body, {
    ...(banned.body as object),
    moderation_state: "none",
  });
  t.equal((await server.call({ url: users, as: guest })).status, 200);
  const cases: [name: string, body: object, status: number, as?: string][] = [
    ["without a uid", { moderation_state: "banned" }, 400],
    ["an empty uid", { token_id: "", moderation_state: "banned" }, 400],
    ["another state", { token_id: "a", moderation_state: "x" }, 400],
    ["more", { token_id: "a", moderation_state: "none", x: 1 }, 400],
    ["oneself", { token_id: "me", moderation_state: "banned" }, 400, user("demo", "me", { traits: ["admin", "api"] })],
    ["without the right", { token_id: "a", moderation_state: "none" }, 403, user("demo", "b", { traits: ["api"] })],
  ]; // prettier-ignore
  for (const [name, body, status, as = admin("demo")] of cases) {
    const answer = await server.call({ method: "PATCH", url: users, as, body });
    t.equal(answer.status, status, name);
  }
  t.equal((await usersOf(server.store, "demo")).length, 1);
});

void t.test("who is out of reach", async (t) => {
  const server = await serve(t);
  await server.store.worlds.update("demo", {
    permission_config: {
      "world.api": [["api", "bot"]],
      "world.secrets": ["owner"],
      "world.update": [["owner", "admin"]],
      "user.manage": [["owner", "admin", "moderator"]],
      "user.delete": [["owner", "admin", "moderator"]],
    },
  });
  const roles = ["owner", "admin", "moderator", "guest"];
  const cases: [as: string, reached: string[]][] = [
    ["moderator", ["moderator", "guest"]],
    ["admin", ["admin", "moderator", "guest"]],
    ["owner", roles],
  ];
  for (const [role, reached] of cases) {
    const as = user("demo", `the ${role}`, { traits: [role, "api"] });
    const unknown = await server.call({
      method: "PATCH",
      url: "/api/v1/worlds/demo/users/",
      as,
      body: { token_id: `later for ${role}`, moderation_state: "banned" },
    });
    // The person may turn out to run the event.
    t.equal(unknown.status, role === "owner" ? 200 : 403, `${role}: unknown`);
    for (const subject of roles) {
      const body = { token_id: `${subject} of ${role}` };
      await uploadAs(
        server,
        user("demo", body.token_id, { traits: [subject] }),
      );
      const { id } = (await server.store.users.find("demo", {
        tokenId: body.token_id,
      }))!;
      const name = `${role} about ${subject}`;
      const is = reached.includes(subject);
      const users = "/api/v1/worlds/demo/users/";
      const moderation = { moderation_state: "silenced" };
      for (const [method, path, sent, status] of [
        ["PATCH", `${users}${id}/`, moderation, 200],
        ["PATCH", users, { ...moderation, ...body }, 200],
        ["POST", url, { user_id: id }, 204],
      ] as const) {
        const answer = await server.call({ method, url: path, as, body: sent });
        t.equal(answer.status, is ? status : 403, `${method} ${path}: ${name}`);
      }
    }
  }
});

void t.test("what delete_user answers", async (t) => {
  const server = await serve(t, [worldOf("demo"), worldOf("other")]);
  const links = [
    await uploadAs(server, user("demo", "ada")),
    await uploadAs(server, user("demo", "bob")),
    await uploadAs(server, "Client guest"),
    await uploadAs(server, user("other", "eve"), other),
  ];
  const users = await usersOf(server.store, "demo");
  const idOf = (name: string) =>
    users.find(({ token_id, client_id }) => (token_id ?? client_id) === name)!
      .id;
  const [eve] = await usersOf(server.store, "other");
  const form = { as: admin("demo") };
  const forbidden = {
    detail: "You do not have permission to perform this action.",
    code: "forbidden",
  };
  const missing = { detail: "There is no such user.", code: "missing" };
  const one = { non_field_errors: [/user_id.*token_id/] };

  const cases: [name: string, body: unknown, status: number, answer?: object, as?: string][] = [
    ["the user itself", { token_id: "ada" }, 403, forbidden, user("demo", "ada")],
    ["nobody, with nonsense", "{", 401, { detail: /./ }, ""],
    ["a user without the right, with nonsense", "{", 403, forbidden, bearer("demo")],
    ["nothing", undefined, 400],
    ["no JSON", "{", 400, { detail: /not valid JSON/ }],
    ["a list", [], 400, { non_field_errors: [/./] }],
    ["neither", {}, 400, one],
    ["both", { user_id: idOf("ada"), token_id: "ada" }, 400, one],
    ["both, of two users", { user_id: idOf("ada"), token_id: "bob" }, 400, one],
    ["a number", { token_id: 7 }, 400, { token_id: [/./] }],
    ["one too many", { token_id: "ada", x: 1 }, 400, { x: ["Unknown field."] }],
    ["a stranger", { token_id: "zoe" }, 403, missing],
    ["an unknown id", { user_id: "00000000-0000-4000-8000-000000000000" }, 403, missing],
    ["an id that is none", { user_id: "' OR 1=1 --" }, 403, missing],
    ["an empty name", { token_id: "" }, 403, missing],
    ["the token_id of a client", { token_id: "guest" }, 403, missing],
    ["an id as a token_id", { token_id: idOf("ada") }, 403, missing],
    ["a token_id as an id", { user_id: "ada" }, 403, missing],
    ["a user of another world", { token_id: "eve" }, 403, missing],
    ["one by its id", { user_id: eve!.id }, 403, missing],
    ["a user", { token_id: "ada" }, 204],
    ["the same again", { token_id: "ada" }, 403, missing],
    ["another by its id", { user_id: idOf("bob") }, 204],
    ["a client", { user_id: idOf("guest") }, 204],
  ]; // prettier-ignore
  for (const [name, body, status, answer, as = form.as] of cases) {
    const got = await server.call({
      method: "POST",
      url,
      as: as || undefined,
      body,
    });
    t.equal(got.status, status, name);
    if (answer) t.match(got.body, answer, name);
    if (status === 204) t.equal(got.text, "", name);
  }
  t.strictSame(await usersOf(server.store, "demo"), []);
  t.equal((await usersOf(server.store, "other")).length, 1);
  for (const link of links) {
    t.equal((await follow(server, link)).status, 200, "files stay");
  }
  t.equal((await finished(server.dataDir)).length, 4);
  t.equal((await filesOf(server.store, "demo")).length, 3);

  for (const path of [url, `${url}/`]) {
    const got = await server.call({ url: path, as: admin("demo") });
    t.equal(got.status, 405, path);
    t.equal(got.headers.allow, "POST", path);
  }
});

void t.test("the websocket has the same rights on users", async (t) => {
  const server = await serve(t);
  const { store, call } = server;
  const users = "/api/v1/worlds/demo/users/";
  const rules = {
    "world.api": ["api"],
    "world.update": ["updater"],
    "user.list": ["lister"],
    "user.delete": ["eraser"],
  };
  const statuses = async (trait: string) => {
    const as = user("demo", "caller", { traits: ["api", trait] });
    const body = { token_id: "subject" };
    await uploadAs(server, user("demo", "subject"));
    const list = await call({ url: users, as });
    return [
      list.status,
      (await call({ method: "POST", url, as, body })).status,
    ];
  };
  const { "user.list": _, "user.delete": __, ...fewer } = rules;
  for (const [permission_config, trait, expected] of [
    [rules, "lister", [200, 403]],
    [rules, "eraser", [403, 204]],
    [rules, "updater", [403, 403]],
    [fewer, "lister", [403, 403]],
    [fewer, "updater", [200, 204]],
  ] as const) {
    await store.worlds.update("demo", { permission_config });
    t.strictSame(await statuses(trait), expected, trait);
  }
});
