import t, { type Test } from "tap";
import { draftWorld, lostHostLink } from "../../../db/world-management.js";
import { freshSetupKey, type SetupKey } from "../../../plugins/setup.js";
import { admin, type Answer, worldOf } from "../../support/helper.js";
import { startServer } from "../../support/server.js";

const url = "/api/v1/worlds/demo/";
const as = admin("demo");

void t.test("a world is read and changed", async (t) => {
  const { call } = await startServer(t, { worlds: [worldOf("demo"), worldOf("other")] });
  const read = await call({ url, as });
  t.same([read.status, read.body], [200, worldOf("demo")]);
  const patch = (body: unknown) => call({ method: "PATCH", url, as, body });
  const changed = await patch({ title: "New" });
  t.same([changed.status, changed.body], [200, worldOf("demo", { title: "New" })]);
  t.same((await call({ url, as })).body, changed.body);
  t.not(changed.headers.etag, read.headers.etag);
  const fixed = { id: ["May not be changed."] };
  const all = {
    ...fixed,
    title: ["May not be empty."],
    domain: ["Must be a host name in lower case, with an optional :port."],
    extra: ["Unknown field."],
  };
  const faulty = { id: "x", title: "", domain: "No", extra: 1 };
  const taken = { domain: ["Another world already has it."] };
  const keys = { config: { JWT_secrets: [1] } };
  const cases: [name: string, body: unknown, status: number, answer: object][] = [
    ["nothing", {}, 200, { title: "New" }],
    ["its own id", { id: "demo" }, 200, { id: "demo" }],
    ["another id", { id: "x" }, 400, fixed],
    ["all faults at once", faulty, 400, all],
    ["a config of a wrong type", { config: [] }, 400, { config: [/^Must/] }],
    ["keys of a wrong type", keys, 400, { "config.JWT_secrets.0": [/^Must/] }],
    ["no domain", { domain: null }, 400, { domain: [/^Must/] }],
    ["a domain that is taken", { domain: "other.example.org" }, 400, taken],
  ];
  for (const [name, body, status, answer] of cases) {
    t.match(await patch(body), { status, body: answer }, name);
  }
});

void t.test("tokens", async (t) => {
  const { call } = await startServer(t);
  const sign = async (body: object) => {
    const got = await call({ method: "POST", url: `${url}tokens/`, as, body });
    const { token = "", url: link } = got.body as { token?: string; url?: string | null };
    const payload = Buffer.from(token.split(".")[1] ?? "", "base64url").toString();
    const claims = (token ? JSON.parse(payload) : {}) as Record<string, unknown>;
    return { ...got, link, token, claims };
  };
  const base = { traits: ["attendee"], expires_in: 60 };
  const event = await sign({ ...base, uid: "7", name: "Ada", page: "event" });
  const claims = { uid: "7", traits: ["attendee"], profile: { display_name: "Ada" } };
  t.match(event, { status: 200, claims });
  t.equal(Number(event.claims.exp) - Number(event.claims.iat), 60);
  t.ok(event.link!.endsWith(`/w/demo/#token=${event.token}`));
  const console = await sign({ ...base, page: "console", expires_in: "12h" });
  t.ok(console.link!.endsWith(`/w/demo/console#token=${console.token}`));
  t.ok(console.claims.uid, "a link is for one person");
  const bare = await sign({ ...base, page: null });
  t.strictSame([bare.link, bare.claims.uid], [null, undefined]);
  const times = [0, 1e9, "80000h", "999999h", "3000d"];
  for (const [body, field] of [
    [{ expires_in: 60 }, "traits"],
    [{ traits: ["a b"], expires_in: 60 }, "traits.0"],
    ...times.map((expires_in) => [{ ...base, expires_in }, "expires_in"] as const),
    [{ ...base, page: "x" }, "page"],
    [{ ...base, x: 1 }, "x"],
  ] as const) {
    t.match(await sign(body), { status: 400, body: { [field]: [/./] } }, JSON.stringify(body));
  }
});

void t.test("the server's own API", async (t) => {
  const adminToken = "an-operator-token-of-40-characters-or-so";
  const as = `Bearer ${adminToken}`;
  const { call, store } = await startServer(t, { config: { adminToken } });
  const url = "/api/v1/worlds/";
  const create = (body: object) => call({ method: "POST", url, as, body });
  const made = await create({ id: "new", title: "New", template: "meetup" });
  const { key, links, ...world } = made.body as {
    key: { secret: string };
    links: Record<string, string>;
    id: string;
  };
  t.equal(made.status, 201);
  t.strictSame(world, { ...(await store.worlds.get("new"))!.value });
  t.match(world, { id: "new", config: { JWT_secrets: [key] } });
  t.match(links, { console: /\/w\/new\/console#token=/, event: /\/w\/new\/$/ });
  const owner = `Bearer ${links.console!.split("#token=")[1]}`;
  const inWorld = `${url}new/rooms/`;
  const rooms = await call({ url: inWorld, as: owner });
  t.match(rooms.body, { count: 2, results: [{ name: "Stage" }, {}] });
  const second = { count: 2, next: null, results: [{ id: "new", title: "New" }] };
  t.match((await call({ url: `${url}?page_size=1&page=2`, as })).body, second);
  for (const more of ["", "&cursor="]) {
    const { body } = await call({ url: `${url}?page_size=1${more}`, as });
    t.match((await call({ url: (body as { next: string }).next, as })).body, second, more);
  }
  t.match((await call({ url: `${url}?page=9`, as })).body, { count: 2, results: { length: 0 } });
  const taken = (field: string) => ({ code: "conflict", fields: { [field]: [/already/] } });
  for (const [body, status, faults] of [
    [{ title: "x" }, 400, { id: [/./] }],
    [{ id: "A", title: "x" }, 400, { id: [/./] }],
    [{ id: "x", title: "x", template: "x" }, 400, { template: [/./] }],
    [{ id: "x", title: "x", config: {} }, 400, { config: [/./] }],
    [{ id: "demo", title: "x" }, 409, taken("id")],
    [{ id: "x", title: "x", domain: "demo.localhost" }, 409, taken("domain")],
  ] as const) {
    t.match(await create(body), { status, body: faults });
  }
  // The operator's token opens nothing else, and no other caller is let in.
  t.equal((await call({ url: inWorld, as })).status, 401);
  t.equal((await call({ url: `${url}demo/`, as })).status, 401);
  t.equal((await call({ url, as: `${as}x` })).status, 401);
  t.equal((await call({ url })).headers["www-authenticate"], "Bearer");
  const remove = (id: string) => call({ method: "DELETE", url: `${url}${id}/`, as });
  t.equal((await remove("new")).status, 204);
  t.equal(await store.worlds.get("new"), undefined);
  t.equal((await remove("new")).status, 403);
  t.equal((await call({ url: inWorld, as: owner })).status, 401);

  const again = (await create({ id: "new", title: "New" })).body as { links: typeof links };
  const next = `Bearer ${again.links.console!.split("#token=")[1]}`;
  const feed = (after: number) => call({ url: `${url}new/changes/?after=${after}`, as: next });
  t.match((await feed(0)).body, { results: [] }, "no change of the old world");
  t.match(await feed(1), { status: 410, body: { code: "cursor_expired" } });

  const without = await startServer(t);
  t.equal((await without.call({ url, as })).status, 404);
  t.equal((await without.call({ method: "DELETE", url: `${url}demo/`, as })).status, 405);
});

const draft = {
  title: "Über Maps 2027!",
  name: "Ada",
  template: "meetup",
  locale: "de",
  timezone: "Europe/Berlin",
  color: "#ffcc00",
  starts_at: "2027-01-31T09:00:00.000Z",
  ends_at: "2027-01-31T18:00:00.000Z",
};

/** Starts a server without a world, with a function that calls its setup. */
async function empty(t: Test, setup?: SetupKey) {
  const server = await startServer(t, { worlds: [], ...(setup && { setup }) });
  const setUp = (secret: string | undefined, body: object = draft) =>
    server.call({
      method: "POST",
      url: "/api/v1/setup/",
      ...(secret !== undefined && { as: `Bearer ${secret}` }),
      body,
    });
  return { ...server, setUp };
}

void t.test("a link sets up an event, once", async (t) => {
  const key = freshSetupKey();
  const { setUp, store, call } = await empty(t, key);
  // Of several concurrent calls, exactly one succeeds.
  const answers = await Promise.all([1, 2, 3].map(() => setUp(key.secret)));
  t.same(answers.map(({ status }) => status).sort(), [201, 401, 401]);
  const made = answers.find(({ status }) => status === 201) as Answer;
  const { id, token, links } = made.body as {
    id: string;
    token: string;
    links: Record<string, string>;
  };
  t.equal(id, "uber-maps-2027");
  t.match(links["event"], /\/w\/uber-maps-2027\/$/);
  t.match(links["console"], `#token=${token}`);
  const { locale, timezone, color, starts_at, ends_at, title } = draft;
  const theme = { colors: { primary: color } };
  const config = { locale, timezone, theme, event: { starts_at, ends_at } };
  const { body } = await call({ url: `/api/v1/worlds/${id}/`, as: `Bearer ${token}` });
  t.match(body, { title, config });
  const rooms = await store.rooms.all(id, { page: 1, pageSize: 10 });
  const names = rooms.map(({ value }) => value.name);
  t.same(names, ["Stage", "Lounge"]);
  t.equal((await setUp(key.secret)).status, 401, "it has served");
  t.equal((await store.worlds.list({ limit: 10 })).length, 1);
});

void t.test("an event whose setup was killed has a link again", async (t) => {
  const { store, call, baseUrl } = await empty(t);
  t.equal(await lostHostLink(store, baseUrl), undefined, "without an event");
  const { config } = draftWorld({ id: "late", title: "Late", domain: "localhost" });
  const unpublished = { config: { ...config, access: { published: false } } };
  await store.worlds.create(worldOf("late", unpublished));
  const link = await lostHostLink(store, baseUrl);
  const [, token] = /console#token=(.+)$/.exec(link ?? "") ?? [];
  t.equal((await call({ url: "/api/v1/worlds/late/", as: `Bearer ${token}` })).status, 200);
  t.equal(await lostHostLink(store, baseUrl), undefined, "once");
  for (const [name, world] of [
    ["a published event", worldOf("open")],
    ["one of two", worldOf("second", unpublished)],
  ] as const) {
    const other = await empty(t);
    await other.store.worlds.create(world);
    if (name === "one of two") await other.store.worlds.create(worldOf("third"));
    t.equal(await lostHostLink(other.store, baseUrl), undefined, name);
  }
  const used = await empty(t);
  await used.store.worlds.create(worldOf("used", unpublished));
  await used.store.users.enter("used", { tokenId: "ada", traits: new Set() });
  t.equal(await lostHostLink(used.store, baseUrl), undefined, "one with people");
});

void t.test("a setup that is refused", async (t) => {
  const key = freshSetupKey();
  for (const [name, setup, secret] of [
    ["without a secret", key, undefined],
    ["with another", key, freshSetupKey().secret],
    ["with one that is over", { ...key, ends: Date.now() - 1 }, key.secret],
    ["where none is given out", undefined, key.secret],
    ["with an empty one", key, ""],
  ] as const) {
    const { setUp, store } = await empty(t, setup);
    t.match(await setUp(secret), { status: 401, body: { code: "unauthenticated" } }, name);
    t.same(await store.worlds.list({ limit: 1 }), [], name);
  }
  const { setUp } = await empty(t, key);
  const cases: [field: string, change: object][] = [
    ["title", { title: "" }],
    ["title", { title: undefined }],
    ["name", { name: "" }],
    ["template", { template: "party" }],
    ["color", { color: "red" }],
    ["locale", { locale: "not a language" }],
    ["starts_at", { starts_at: "tomorrow" }],
    ["ends_at", { ends_at: draft.starts_at }],
    ["ends_at", { ends_at: undefined }],
    ["starts_at", { starts_at: undefined }],
    ["starts_at", { starts_at: "2027-13-31T09:00:00.000Z" }],
    ["extra", { extra: 1 }],
  ];
  for (const [field, change] of cases) {
    const { status, body } = await setUp(key.secret, { ...draft, ...change });
    t.same([status, Object.keys(body as object)], [400, [field]], JSON.stringify(change));
  }
  const statuses: number[] = [];
  for (let i = 0; i < 31; i++) statuses.push((await setUp("guess")).status);
  t.same([...new Set(statuses)], [401, 429], "guessing ends");
  const plain = { title: "日本", name: "Ada", template: "webinar" };
  const made = await setUp(key.secret, plain);
  t.match([made.status, made.body], [201, { id: "event" }], "the organizer still may");
});
