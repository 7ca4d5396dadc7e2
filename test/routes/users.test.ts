import { embedded } from "../shared.js";
import { openStoreIn } from "../stack.js";
import t from "tap";
import {
  admin,
  bearer,
  keyOf,
  serve,
  startFoyer,
  tokenOf,
  until,
  worldOf,
  type TestServer,
} from "../helper.js";
import {
  fileForm,
  finished,
  follow,
  PDF,
  textsBelow,
  upload,
  urlOf,
} from "../files.js";
import { filesOf, usersOf } from "../listed.js";
import { testdir } from "../testdir.js";

const url = "/api/v1/worlds/demo/delete_user";
const demo = { host: "demo.example.org" };
const other = { host: "other.example.org" };

/** The token of an attendee. */
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

const erase = ({ call }: TestServer, body: unknown) =>
  call({ method: "POST", url, as: admin("demo"), body });

void t.test(
  "a user comes with the first upload, and later ones refresh it",
  async (t) => {
    const server = await serve(t);
    const users = () => usersOf(server.store, "demo");
    const before = Date.now();
    const profile = { display_name: "Ada" };
    await uploadAs(
      server,
      user("demo", "ada", { traits: ["x", "y"], profile }),
    );
    const [ada, ...rest] = await users();
    t.strictSame(rest, []);
    t.match(ada, {
      token_id: "ada",
      client_id: null,
      traits: ["x", "y"],
      profile,
    });
    t.match(ada!.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.ok(ada!.last_seen >= before && ada!.last_seen <= Date.now());

    await uploadAs(
      server,
      user("demo", "ada", { traits: ["z"], profile: { display_name: "B" } }),
    );
    await uploadAs(server, "Client ada");
    const [guest, again, ...none] = await users();
    t.strictSame(none, []);
    t.match(guest, {
      token_id: null,
      client_id: "ada",
      traits: [],
      profile: null,
    });
    t.match(again, { id: ada!.id, token_id: "ada", traits: ["z"], profile });
    t.ok(again!.last_seen >= ada!.last_seen);

    await server.call({ url: "/api/v1/worlds/demo/", as: admin("demo") });
    t.equal((await users()).length, 2, "the API makes no users");
  },
);

void t.test("the users of a world, the last seen first", async (t) => {
  const server = await serve(t, [worldOf("demo"), worldOf("other")]);
  const profile = { display_name: "Ada", nested: { list: [1, null, "x"] } };
  await uploadAs(server, user("demo", "ada", { traits: ["x"], profile }));
  await uploadAs(server, user("demo", "gone"));
  await server.store.users.erase("demo", { token_id: "gone" });
  await uploadAs(server, user("other", "eve"), other);
  const before = Date.now();
  await until(() => Date.now() > before);
  await uploadAs(server, "Client guest");
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
        token_id: null,
        client_id: "guest",
        profile: null,
        traits: [],
        last_seen: new Date(kept[0]!.last_seen).toISOString(),
      },
      {
        id: kept[1]!.id,
        token_id: "ada",
        client_id: null,
        profile,
        traits: ["x"],
        last_seen: new Date(kept[1]!.last_seen).toISOString(),
      },
    ],
  });

  for (let i = 0; i < 5; i++) {
    const { store } = server;
    const file = { key: `pub/demo/${i}.s.pdf`, size: 1, sha256: "00" };
    const large = { text: "x".repeat(1024 * 1024) };
    const uploader = { tokenId: `l${i}`, traits: new Set<string>() };
    await store.files.add("demo", { ...uploader, profile: large }, file, 1e9);
  }
  const tooLarge = await server.call({
    url: "/api/v1/worlds/demo/users/?page_size=5",
    as: admin("demo"),
  });
  t.equal(tooLarge.status, 400);
  t.strictSame(tooLarge.body, {
    page_size: ["The page would be too large. Ask for fewer."],
  });
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
  const one = { non_field_errors: [/user_id.*token_id/] };

  const cases: [name: string, body: unknown, status: number, answer?: object, as?: string][] = [
    ["nobody", { token_id: "ada" }, 401, { detail: /./ }, ""],
    ["a bad token", { token_id: "ada" }, 401, { detail: /./ }, "Bearer x"],
    ["a client ID", { token_id: "ada" }, 401, { detail: /./ }, "Client ada"],
    ["the user itself", { token_id: "ada" }, 403, forbidden, user("demo", "ada")],
    ["an admin without api", { token_id: "ada" }, 403, forbidden, bearer("demo", "admin")],
    ["an admin of another world", { token_id: "ada" }, 403, forbidden, admin("other")],
    ["nobody, with nonsense", "{", 401, { detail: /./ }, ""],
    ["a user without the right, with nonsense", "{", 403, forbidden, bearer("demo")],
    ["nothing", undefined, 400],
    ["no JSON", "{", 400, { detail: /not valid JSON/ }],
    ["a list", [], 400, { non_field_errors: [/./] }],
    ["neither", {}, 400, one],
    ["both", { user_id: idOf("ada"), token_id: "ada" }, 400, one],
    ["both, of two users", { user_id: idOf("ada"), token_id: "bob" }, 400, one],
    ["a number", { token_id: 7 }, 400, { token_id: [/./] }],
    ["null", { user_id: null }, 400, { user_id: [/./] }],
    ["another field", { client_id: "guest" }, 400, { client_id: ["Unknown field."] }],
    ["one too many", { token_id: "ada", x: 1 }, 400, { x: ["Unknown field."] }],
    ["a stranger", { token_id: "zoe" }, 403, forbidden],
    ["an unknown id", { user_id: "00000000-0000-4000-8000-000000000000" }, 403, forbidden],
    ["an id that is none", { user_id: "' OR 1=1 --" }, 403, forbidden],
    ["an empty name", { token_id: "" }, 403, forbidden],
    ["the token_id of a client", { token_id: "guest" }, 403, forbidden],
    ["an id as a token_id", { token_id: idOf("ada") }, 403, forbidden],
    ["a token_id as an id", { user_id: "ada" }, 403, forbidden],
    ["a user of another world", { token_id: "eve" }, 403, forbidden],
    ["one by its id", { user_id: eve!.id }, 403, forbidden],
    ["a user", { token_id: "ada" }, 204],
    ["the same again", { token_id: "ada" }, 403, forbidden],
    ["the same by its id", { user_id: idOf("ada") }, 403, forbidden],
    ["another by its id", { user_id: idOf("bob") }, 204],
    ["the same again", { user_id: idOf("bob") }, 403, forbidden],
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

void t.test("an erased user may come again, as a new user", async (t) => {
  const server = await serve(t);
  const as = user("demo", "ada", { traits: ["x"] });
  await uploadAs(server, as);
  const [first] = await usersOf(server.store, "demo");
  t.equal((await erase(server, { token_id: "ada" })).status, 204);
  await uploadAs(server, as);
  const [second, ...rest] = await usersOf(server.store, "demo");
  t.strictSame(rest, []);
  t.not(second!.id, first!.id);
  t.equal((await erase(server, { user_id: first!.id })).status, 403);
  t.equal((await erase(server, { token_id: "ada" })).status, 204);
});

void t.test(
  "an erased name is in no byte of the data",
  embedded("reads the files of SQLite"),
  async (t) => {
    // In a process of its own, as all its files are read.
    const dataDir = testdir(t);
    const { address, token } = await startFoyer(t, dataDir, ["--demo"], {
      UPLOADS_PER_MINUTE: "100000",
    });
    const names = Array.from(
      { length: 20 },
      (_, i) =>
        `client-${i}-${"abcdefgh"[i % 8]!.repeat(20 + ((i * 37) % 90))}-end`,
    );
    const send = async (name: string) => {
      const form = new FormData();
      form.append("file", new Blob([PDF]), "a.pdf");
      const answer = await fetch(`${address}/storage/upload/`, {
        method: "POST",
        headers: { authorization: `Client ${name}` },
        body: form,
      });
      t.equal(answer.status, 201);
    };
    for (let round = 0; round < 2; round++) await Promise.all(names.map(send));
    t.strictSame(await textsBelow(dataDir, names), names, "they are all there");

    const store = await openStoreIn(t, dataDir);
    const all = await usersOf(store, "sample");
    await store.close();
    // Users of the demo have tokens.
    const users = all.filter(({ client_id }) => client_id !== null);
    t.equal(users.length, names.length);
    const doomed = users.filter((_, i) => i % 2 === 0);
    for (const { id } of doomed) {
      const answer = await fetch(
        `${address}/api/v1/worlds/sample/delete_user`,
        {
          method: "POST",
          headers: {
            authorization: `Bearer ${token}`,
            "content-type": "application/json",
          },
          body: JSON.stringify({ user_id: id }),
        },
      );
      t.equal(answer.status, 204);
    }
    const gone = doomed.map(({ client_id }) => client_id!);
    t.strictSame(await textsBelow(dataDir, gone), []);
    const left = names.filter((name) => !gone.includes(name));
    t.strictSame(await textsBelow(dataDir, left), left, "the others stay");
  },
);

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

void t.test("a ban ends the calls of the user's tokens", async (t) => {
  const server = await serve(t);
  const { store, call } = server;
  const as = user("demo", "boss", { traits: ["admin", "api"] });
  const other = user("demo", "other", { traits: ["admin", "api"] });
  await uploadAs(server, as);
  const { id } = (await usersOf(store, "demo"))[0]!;
  const rooms = "/api/v1/worlds/demo/rooms/";
  const body = { name: "made" };
  const statuses = async () => {
    const calls = [
      { url: "/api/v1/worlds/demo/", as },
      { url: "/api/v1/worlds/demo/users/", as },
      { method: "POST" as const, url: rooms, as, body },
      { url: rooms, as: other },
      { url: rooms, as: admin("demo") },
    ];
    const answers = await Promise.all(calls.map((one) => call(one)));
    return answers.map(({ status }) => status).join(" ");
  };
  t.equal(await statuses(), "200 200 201 200 200");
  await store.users.moderate("demo", id, "banned");
  t.equal(await statuses(), "403 403 403 200 200");
  await store.users.moderate("demo", id, "");
  t.equal(await statuses(), "200 200 201 200 200");
});
