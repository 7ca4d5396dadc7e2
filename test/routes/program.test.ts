import t from "tap";
import { admin, bearer, rules, serve, worldOf } from "../helper.js";

const as = admin("demo");
const reader = bearer("demo", "reader");
const root = "/api/v1/worlds/demo/";
const sessions = `${root}sessions/`;
const speakers = `${root}speakers/`;
const T9 = "2027-03-01T09:00:00.000Z";
const T10 = "2027-03-01T10:00:00.000Z";
const T11 = "2027-03-01T11:00:00.000Z";

/** Readers may call the API; drafts and rooms of the crew are not for them. */
const world = () =>
  worldOf("demo", {
    permission_config: rules({ "world.api": [["admin", "reader"]] }),
  });

const defaults = {
  ...{ subtitle: "", abstract: "", description: "", room_id: null },
  ...{ starts_at: null, ends_at: null, speaker_ids: [], track: "" },
  ...{ language: "", kind: "", tags: [], links: [], stream: null },
  ...{ recording: null, import_id: null, state: "public" },
};

void t.test("a session is made, read, changed and deleted", async (t) => {
  const { call } = await serve(t, [world()]);
  const made = await call({
    ...{ method: "POST", url: sessions, as },
    body: {
      title: "Opening",
      starts_at: "2027-03-01T10:00:00+01:00",
      ends_at: "2027-03-01T11:00:00+01:00",
    },
  });
  t.equal(made.status, 201);
  const { id } = made.body as { id: string };
  const opening = { id, title: "Opening", ...defaults };
  const scheduled = { ...opening, starts_at: T9, ends_at: T10 };
  t.strictSame(made.body, scheduled);
  const url = `${sessions}${id}/`;
  t.equal(made.headers.location, `http://localhost:8375${url}`);
  const read = await call({ url, as: reader });
  t.strictSame(read.body, scheduled);
  t.equal(read.headers.etag, made.headers.etag);
  const unmet = { "if-match": '"other"' };
  const late = { method: "PATCH", url, as, headers: unmet, body: {} };
  t.equal((await call(late)).status, 412);
  const same = await call({ method: "PATCH", url, as, body: scheduled });
  t.equal(same.headers.etag, made.headers.etag, "nothing changed");
  const draft = { state: "draft" };
  const hidden = await call({ method: "PATCH", url, as, body: draft });
  t.strictSame(hidden.body, { ...scheduled, ...draft });
  t.equal((await call({ url, as: reader })).status, 403);
  t.match((await call({ url: sessions, as: reader })).body, { count: 0 });
  t.match((await call({ url: sessions, as })).body, { count: 1 });
  t.equal((await call({ method: "DELETE", url, as })).status, 204);
  t.equal((await call({ url, as })).status, 403);
});

const link = { title: "x", url: "https://x.example" };
const RANGE = { starts_at: T9, ends_at: T10 };

/** Bodies of a session, and the faults in them. */
const bodies: [name: string, body: object, faults?: object][] = [
  ["no title", {}, { title: [/required/] }],
  ["an empty title", { title: "" }, { title: [/empty/] }],
  ["a title of 300", { title: "🎪".repeat(300) }],
  ["a title of 301", { title: "x".repeat(301) }, { title: [/300/] }],
  [
    "an abstract of 5,001",
    { abstract: "x".repeat(5001) },
    { abstract: [/5000/] },
  ],
  ["an unknown field", { extra: 1 }, { extra: [/Unknown/] }],
  ["only a start", { starts_at: T9 }, { ends_at: [/starts_at/] }],
  ["only an end", { ends_at: T9 }, { starts_at: [/ends_at/] }],
  ["no time", { starts_at: T9, ends_at: T9 }, { ends_at: [/later/] }],
  ["31 days", { starts_at: T9, ends_at: "2027-04-01T09:00:00Z" }],
  [
    "more than 31 days",
    { starts_at: T9, ends_at: "2027-04-01T09:00:00.001Z" },
    { ends_at: [/31 days/] },
  ],
  [
    "a time without an offset",
    { ...RANGE, starts_at: "2027-03-01T09:00:00" },
    { starts_at: [/offset/] },
  ],
  [
    "a day that does not exist",
    { ...RANGE, starts_at: "2027-02-30T09:00:00Z" },
    { starts_at: [/exists/] },
  ],
  ["a room that is none", { room_id: "x" }, { room_id: [/no such room/] }],
  [
    "a speaker who is none",
    { speaker_ids: ["x"] },
    { "speaker_ids.0": [/no such speaker/] },
  ],
  ["20 links", { links: Array(20).fill(link) }],
  ["21 links", { links: Array(21).fill(link) }, { links: [/20/] }],
  [
    "a link that runs",
    { links: [{ title: "", url: "javascript:alert(1)" }] },
    { "links.0.url": [/http/] },
  ],
  [
    "a link that leads nowhere",
    { links: [{ title: "", url: "https://:x" }] },
    { "links.0.url": [/followed/] },
  ],
  ["21 tags", { tags: Array(21).fill("x") }, { tags: [/20/] }],
  ["a tag of 51", { tags: ["x".repeat(51)] }, { "tags.0": [/50/] }],
  ["a stream of this server", { stream: { url: "/demo/stream.m3u8" } }],
  [
    "a stream of another",
    { stream: { url: "//evil.example" } },
    { stream: [/./] },
  ],
  [
    "a stream with alternatives",
    {
      stream: { url: link.url, alternatives: [{ label: "de", url: link.url }] },
    },
  ],
  ["a recording without a url", { recording: {} }, { recording: [/./] }],
  ["another state", { state: "hidden" }, { state: [/public, draft/] }],
  [
    "an import_id of 201",
    { import_id: "x".repeat(201) },
    { import_id: [/200/] },
  ],
  [
    "the import_id of another",
    { import_id: "taken" },
    { import_id: [/already/] },
  ],
];

void t.test("what a session may have", async (t) => {
  const { call } = await serve(t, [world()]);
  const post = (body: object) =>
    call({ method: "POST", url: sessions, as, body });
  const taken = await post({ title: "T", import_id: "taken" });
  t.equal(taken.status, 201);
  for (const [name, body, faults] of bodies) {
    const whole = { ...(name !== "no title" && { title: "T" }), ...body };
    const { status, body: answer } = await post(whole);
    t.equal(status, faults ? 400 : 201, `${name}: ${JSON.stringify(answer)}`);
    if (faults) t.match(answer, faults, name);
  }
  const { id } = taken.body as { id: string };
  const url = `${sessions}${id}/`;
  const other = await call({ method: "PATCH", url, as, body: { id: "x" } });
  t.match(other.body, { id: ["May not be changed."] });
});

void t.test("rooms, overlaps and filters", async (t) => {
  const { call } = await serve(t, [world()]);
  const post = async (url: string, body: object) =>
    (await call({ method: "POST", url, as, body })).body as Record<
      "id",
      string
    > & { warnings?: object };
  const room = await post(`${root}rooms/`, { name: "A" });
  const crew = await post(`${root}rooms/`, {
    name: "B",
    permission_config: { "room.view": ["admin"] },
  });
  const closed = await post(`${root}rooms/`, {
    name: "C",
    permission_config: { "room.view": ["crew"] },
  });
  const hidden = await call({
    ...{ method: "POST", url: sessions, as },
    body: { title: "X", room_id: closed.id },
  });
  t.strictSame(hidden.body, { room_id: ["The world has no such room."] });
  const ada = await post(speakers, { name: "Ada" });
  const bob = await post(speakers, { name: "Bob" });
  const one = await post(sessions, {
    ...{ title: "One", room_id: room.id, ...RANGE, track: "Maps" },
    speaker_ids: [bob.id, ada.id],
  });
  t.equal(one.warnings, undefined);
  const two = await post(sessions, {
    title: "Two",
    room_id: room.id,
    ...RANGE,
  });
  t.strictSame(two.warnings, [
    { field: "starts_at", message: "Overlaps “One”.", session_id: one.id },
  ]);
  const next = { starts_at: T10, ends_at: T11 };
  const three = await post(sessions, {
    title: "Three",
    room_id: room.id,
    ...next,
  });
  t.equal(three.warnings, undefined, "one begins when the other ends");
  const four = await post(sessions, {
    title: "Four",
    room_id: crew.id,
    ...next,
  });
  const five = await post(sessions, { title: "Five", tags: ["Straße"] });
  const list = async (query: string, who = as) => {
    const { status, body } = await call({
      url: `${sessions}${query}`,
      as: who,
    });
    t.equal(status, 200, query);
    const { results } = body as { results: { title: string }[] };
    return results.map(({ title }) => title).join(" ");
  };
  t.equal(await list(""), "One Two Four Three Five", "by start, title, id");
  t.equal(await list("", reader), "One Two Three Five", "rooms that they see");
  t.equal(await list(`?room=${room.id}`), "One Two Three");
  t.equal(await list(`?speaker=${ada.id}`), "One");
  t.equal(await list("?track=Maps"), "One");
  t.equal(await list(`?from=${T10}`), "Four Three");
  t.equal(await list(`?to=${T10}`), "One Two");
  t.equal(await list("?search=strasse"), "Five");
  t.equal(await list("?search=aDA"), "One", "by a speaker");
  t.equal(await list("?page_size=2&page=2"), "Four Three");
  const bad = await call({ url: `${sessions}?from=yesterday`, as });
  t.match(bad.body, { from: [/offset/] });
  const seen = (await call({ url: speakers, as: reader })).body;
  t.match(seen, { results: [{ name: "Ada" }, { name: "Bob" }] });
  const alone = await call({ url: `${sessions}${four.id}/`, as: reader });
  t.equal(alone.status, 403);

  const etag = async () =>
    (await call({ url: `${sessions}${one.id}/`, as })).headers.etag;
  const before = await etag();
  await call({ method: "DELETE", url: `${speakers}${bob.id}/`, as });
  const left = (await call({ url: `${sessions}${one.id}/`, as })).body;
  t.match(left, { speaker_ids: [ada.id] }, "without the deleted speaker");
  t.not(await etag(), before);
  await call({ method: "DELETE", url: `${root}rooms/${room.id}/`, as });
  const kept = (await call({ url: `${sessions}${one.id}/`, as })).body;
  t.match(kept, { title: "One", room_id: null });
  await call({ method: "DELETE", url: `${sessions}${one.id}/`, as });
  t.match((await call({ url: speakers, as: reader })).body, { count: 0 });
  t.match((await call({ url: speakers, as })).body, { count: 1 });
  t.ok(five.id);
});

void t.test("a speaker refers to users and uploads of the world", async (t) => {
  const { app, call } = await serve(t, [world(), worldOf("other")]);
  const enter = (id: string) =>
    app.store.users.enter(id, { tokenId: "u", traits: new Set<string>() });
  const { id } = await enter("demo");
  const stranger = await enter("other");
  const key = (id: string) =>
    `pub/${id}/0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.png`;
  const digest = { size: 1, sha256: "0".repeat(64) };
  for (const world of ["demo", "other"]) {
    const visitor = { tokenId: "u", traits: new Set<string>() };
    const file = { key: key(world), ...digest };
    await app.store.files.add(world, visitor, file, 1e6);
  }
  const post = (body: object) =>
    call({ method: "POST", url: speakers, as, body: { name: "Ada", ...body } });
  const media = "http://localhost:8375/media/";
  const cases: [body: object, faults?: object][] = [
    [{ user_id: id }],
    [{ user_id: stranger.id }, { user_id: [/no such user/] }],
    [{ picture: media + key("demo") }],
    [{ picture: `https://demo.example.org/media/${key("demo")}` }],
    [{ picture: media + key("other") }, { picture: [/upload/] }],
    [
      { picture: `https://evil.example/media/${key("demo")}` },
      { picture: [/./] },
    ],
    [{ picture: `${media}x/../${key("demo")}` }, { picture: [/./] }],
    [{ biography: "x".repeat(20_001) }, { biography: [/20000/] }],
  ];
  for (const [body, faults] of cases) {
    const { status, body: answer } = await post(body);
    t.equal(status, faults ? 400 : 201, JSON.stringify([body, answer]));
    if (faults) t.match(answer, faults);
  }
  await app.store.users.erase("demo", { user_id: id });
  const { body } = await call({ url: speakers, as });
  const { results } = body as { results: { user_id: string | null }[] };
  t.same(new Set(results.map(({ user_id }) => user_id)), new Set([null]));

  const { body: present } = await call({ url: root, as });
  const { config } = present as { config: object };
  const events: [event: object, faults?: object][] = [
    [{ starts_at: T9, ends_at: T10, tagline: "Maps", location: "Here" }],
    [{ cover: { url: media + key("demo") } }],
    [
      { cover: { url: "https://x.example/a.png" } },
      { "config.event.cover.url": [/./] },
    ],
    [{ starts_at: T9 }, { "config.event.ends_at": [/./] }],
    [{ starts_at: T10, ends_at: T9 }, { "config.event.ends_at": [/later/] }],
    [{ starts_at: "soon", ends_at: T9 }, { "config.event.starts_at": [/./] }],
    [{ date: 1 }, { "config.event.date": [/Unknown/] }],
  ];
  for (const [event, faults] of events) {
    const answer = await call({
      ...{ method: "PATCH", url: root, as },
      body: { config: { ...config, event } },
    });
    t.equal(answer.status, faults ? 400 : 200, JSON.stringify(event));
    if (faults) t.match(answer.body, faults);
  }
});
