import { randomUUID } from "node:crypto";
import { type Socket } from "node:net";
import t from "tap";
import { type Client, type Json } from "../../../conformance/client.js";
import { until } from "../../support/helper.js";
import { festival } from "../../support/festival.js";
import { startSite } from "../../support/site.js";

// Sessions and speakers over HTTP, and the dates of the event.

const site = await startSite(t);
const { api, list, save } = {
  api: site.api.bind(site),
  list: site.list.bind(site),
  save: site.save.bind(site),
};

/** Matches ids, which are random. */
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const at = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();

const T9 = "2027-03-01T09:00:00.000Z";
const T10 = "2027-03-01T10:00:00.000Z";
const T11 = "2027-03-01T11:00:00.000Z";
const RANGE = { starts_at: T9, ends_at: T10 };

const defaults = {
  subtitle: "",
  abstract: "",
  description: "",
  room_id: null,
  starts_at: null,
  ends_at: null,
  speaker_ids: [],
  track: "",
  language: "",
  kind: "",
  tags: [],
  links: [],
  stream: null,
  recording: null,
  import_id: null,
  state: "public",
};

const room = await site.room("Hall");
const crew = await site.room("Crew room", { "room.view": [["admin", "crew"]] });
const closed = await site.room("Closed", { "room.view": ["nobody"] });
await save("POST", "sessions/", { title: "T", import_id: "taken" });
await save("POST", "speakers/", { name: "T", import_id: "taken" });

void t.test("a session is made, read, changed and deleted", async (t) => {
  const made = await api("sessions/", {
    method: "POST",
    body: {
      title: "Opening",
      starts_at: "2027-03-01T10:00:00+01:00",
      ends_at: "2027-03-01T11:00:00.000+01:00",
    },
  });
  t.equal(made.status, 201);
  const { id } = made.body;
  t.match(id, UUID);
  const path = `sessions/${id}/`;
  t.match(made.headers.location, new RegExp(`^http.*/demo/${path}$`));
  const opening = { id, title: "Opening", ...defaults, ...RANGE };
  t.strictSame(made.body, opening, "in UTC, with milliseconds");
  const read = await api(path, { as: "reader" });
  t.strictSame(read.body, opening);
  const etag = read.headers.etag!;
  t.equal(made.headers.etag, etag);
  const known = { headers: { "if-none-match": etag } };
  t.equal((await api(path, known)).status, 304);
  t.equal((await api(path.slice(0, -1))).status, 200, "without the slash");

  const patch = (body: object, headers = {}) => api(path, { method: "PATCH", body, headers });
  const stale = { "if-match": '"other"' };
  t.match(await patch({}, stale), { status: 412, body: { code: "changed" } });
  const removal = { method: "DELETE", headers: stale };
  t.equal((await api(path, removal)).status, 412);
  const same = await patch(opening, { "if-match": etag });
  t.equal(same.status, 200);
  t.equal(same.headers.etag, etag, "nothing changed");
  t.equal((await patch({})).status, 200);
  const other = await patch({ title: "Other" });
  t.strictSame(other.body, { ...opening, title: "Other" }, "the rest stays");
  const back = await patch({ title: "Opening" });
  t.not(back.headers.etag, etag, "a change back is another version");
  t.match(await patch({ id: randomUUID() }), { status: 400, body: { id: [/./] } });

  t.equal((await api(path, { method: "DELETE" })).status, 204);
  t.equal((await api(path)).status, 403);
  t.equal((await api(path, { method: "DELETE" })).status, 403);
});

const url = "https://x.example/a";
const link = { title: "x", url };
const of = (length: number) => "x".repeat(length);
const many = <T>(count: number, value: T): T[] => Array<T>(count).fill(value);

/** Fields of a session other than its title, and the expected faults. */
const sessions: [name: string, body: object, faults?: object][] = [
  ["no title", { title: undefined }, { title: [/required/] }],
  ["an empty title", { title: "" }, { title: [/empty/] }],
  ["a title of 300", { title: "🎪".repeat(300) }],
  ["a title of 301", { title: of(301) }, { title: [/300/] }],
  ["a title that is none", { title: 5 }, { title: [/./] }],
  ["a title with a NUL", { title: "a\0" }, { title: [/./] }],
  ["a subtitle of 300", { subtitle: of(300) }],
  ["a subtitle of 301", { subtitle: of(301) }, { subtitle: [/300/] }],
  ["an abstract of 5,000", { abstract: of(5000) }],
  ["an abstract of 5,001", { abstract: of(5001) }, { abstract: [/5000/] }],
  ["a description of 50,000", { description: of(50_000) }],
  ["one of 50,001", { description: of(50_001) }, { description: [/50000/] }],
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
  ...[
    ["a time without an offset", "2027-03-01T09:00:00"],
    ["a day that does not exist", "2027-02-30T09:00:00Z"],
    ["an hour that does not exist", "2027-03-01T25:00:00Z"],
    ["a time that is none", "soon"],
    ["a number for a time", 5],
  ].map(([name, starts_at]): [string, object, object] => [
    name as string,
    { ...RANGE, starts_at },
    { starts_at: [/./] },
  ]),
  ["no room", { room_id: null }],
  ["a room that is none", { room_id: "x" }, { room_id: [/no such room/] }],
  ["an unknown room", { room_id: randomUUID() }, { room_id: [/no such room/] }],
  ["a room that is hidden", { room_id: closed }, { room_id: [/no such room/] }],
  ["a speaker who is none", { speaker_ids: ["x"] }, { "speaker_ids.0": [/no such/] }],
  ["51 speakers", { speaker_ids: many(51, "x") }, { speaker_ids: [/50/] }],
  ...["track", "language", "kind"].flatMap((field): [string, object, object?][] => [
    [`a ${field} of 100`, { [field]: of(100) }],
    [`a ${field} of 101`, { [field]: of(101) }, { [field]: [/100/] }],
  ]),
  ["20 tags", { tags: many(20, of(50)) }],
  ["21 tags", { tags: many(21, "x") }, { tags: [/20/] }],
  ["a tag of 51", { tags: [of(51)] }, { "tags.0": [/50/] }],
  ["20 links", { links: many(20, link) }],
  ["21 links", { links: many(21, link) }, { links: [/20/] }],
  ...[
    "javascript:alert(1)",
    "data:text/html,x",
    "ftp://x.example",
    "/a",
    "//x.example",
    "https://:x",
    "",
  ].map((url): [string, object, object] => [
    `a link to ${url}`,
    { links: [{ title: "", url }] },
    { "links.0.url": [/./] },
  ]),
  ["an address of 2,000", { recording: { url: url.padEnd(2000, "x") } }],
  ["one of 2,001", { recording: { url: url.padEnd(2001, "x") } }, { recording: [/./] }],
  ["a recording without a url", { recording: {} }, { recording: [/./] }],
  ["a stream of this server", { stream: { url: "/demo/stream.m3u8" } }],
  ["a stream elsewhere", { stream: { url } }],
  ["a stream of no scheme", { stream: { url: "//x.example" } }, { stream: [/./] }],
  ["a stream that runs", { stream: { url: "javascript:1" } }, { stream: [/./] }],
  [
    "a stream with alternatives",
    {
      stream: {
        url,
        alternatives: [
          { label: "de", url, language: "de" },
          { label: "en", url: "/en.m3u8" },
        ],
      },
    },
  ],
  [
    "an alternative without a label",
    { stream: { url, alternatives: [{ url }] } },
    { stream: [/./] },
  ],
  ["an import_id of 200", { import_id: of(200) }],
  ["an import_id of 201", { import_id: of(201) }, { import_id: [/200/] }],
  ["a draft", { state: "draft" }],
  ["another state", { state: "hidden" }, { state: [/public, draft/] }],
];

const speakers: [name: string, body: object, faults?: object][] = [
  ["no name", { name: undefined }, { name: [/required/] }],
  ["a name of 300", { name: of(300) }],
  ["a name of 301", { name: of(301) }, { name: [/300/] }],
  ["a biography of 20,000", { biography: of(20_000) }],
  ["one of 20,001", { biography: of(20_001) }, { biography: [/20000/] }],
  ["an organization of 300", { organization: of(300) }],
  ["one of 301", { organization: of(301) }, { organization: [/300/] }],
  ["21 links", { links: many(21, link) }, { links: [/20/] }],
  ["a link that runs", { links: [{ title: "", url: "javascript:1" }] }, { "links.0.url": [/./] }],
  ["an unknown user", { user_id: randomUUID() }, { user_id: [/no such user/] }],
  ["a picture elsewhere", { picture: url }, { picture: [/upload/] }],
  ["the import_id of a session", { import_id: "of a session" }],
];

void t.test("what sessions and speakers may have", async (t) => {
  for (const [path, rows, name] of [
    ["sessions/", sessions, { title: "T" }],
    ["speakers/", speakers, { name: "N" }],
  ] as const) {
    for (const [what, body, faults] of rows) {
      const answer = await api(path, { method: "POST", body: { ...name, ...body } });
      t.equal(answer.status, faults ? 400 : 201, `${path} ${what}: ${answer.text}`);
      if (faults) t.match(answer.body, faults, what);
    }
  }
  const { body } = await api("speakers/", { method: "POST", body: { name: "N" } });
  const { id, ...rest } = body;
  t.match(id, UUID);
  t.strictSame(rest, {
    name: "N",
    biography: "",
    organization: "",
    links: [],
    picture: null,
    user_id: null,
    import_id: null,
  });
});

void t.test("who may read and write", async (t) => {
  const id = await site.session("Mine");
  const path = `sessions/${id}/`;
  const statuses = async (as: "reader" | "editor") => [
    (await api(path, { as })).status,
    (await api("sessions/", { as })).status,
    (await api("sessions/", { as, method: "POST", body: { title: "x" } })).status,
    (await api(path, { as, method: "PATCH", body: { title: "Mine" } })).status,
    (await api("speakers/", { as, method: "POST", body: "[" })).status,
  ];
  t.same(await statuses("reader"), [200, 200, 403, 403, 403]);
  t.same(await statuses("editor"), [200, 200, 201, 200, 400]);
  const world = (await api("")).body;
  const { "program.update": _, ...rules } = world.permission_config;
  await save("PATCH", "", { permission_config: { ...rules, "room.update": ["reader"] } });
  t.same((await statuses("reader")).slice(2, 4), [201, 200], "as room.update");
  t.same((await statuses("editor")).slice(2, 4), [403, 403]);
  await save("PATCH", "", {
    permission_config: { ...world.permission_config, "program.read": ["crew"] },
  });
  t.equal((await api("sessions/", { as: "reader" })).status, 403);
  t.equal((await api("speakers/", { as: "reader" })).status, 403);
  t.equal((await api("program/", { as: "reader" })).status, 403);
  await save("PATCH", "", { permission_config: world.permission_config });
  const anonymous = await site.call({ url: "/api/v1/worlds/demo/sessions/" });
  t.equal(anonymous.status, 401);
});

void t.test("lists, overlaps and what readers see", async (t) => {
  const before = (await api("sessions/?page_size=1000")).body.results;
  for (const { id } of before) await save("DELETE", `sessions/${id}/`);
  const speaker = async (name: string) => (await save("POST", "speakers/", { name })).id;
  const [ada, bob] = [await speaker("Ada"), await speaker("Bob")];
  const cleo = await speaker("Cleo");
  const post = (title: string, more: object) => save("POST", "sessions/", { title, ...more });
  const named = { speaker_ids: [bob, ada, bob] };
  const twice = await api("sessions/", { method: "POST", body: { title: "x", ...named } });
  t.match(twice, { status: 400, body: { "speaker_ids.2": [/./] } });
  const one = await post("One", {
    room_id: room,
    ...RANGE,
    track: "Maps",
    speaker_ids: [bob, ada],
  });
  t.notOk("warnings" in one);
  t.same(one.speaker_ids, [bob, ada], "in order");
  const two = await post("Two", { room_id: room, ...RANGE });
  t.strictSame(two.warnings, [
    { field: "starts_at", message: "Overlaps “One”.", session_id: one.id },
  ]);
  const later = { starts_at: T10, ends_at: T11 };
  const three = await post("Three", { room_id: room, ...later });
  t.notOk("warnings" in three, "one begins when the other ends");
  const moved = await save("PATCH", `sessions/${three.id}/`, RANGE);
  t.same(
    moved.warnings.map(({ session_id }: { session_id: string }) => session_id),
    [one.id, two.id],
  );
  await save("PATCH", `sessions/${three.id}/`, later);
  const four = await post("Four", { room_id: crew, ...later, speaker_ids: [cleo] });
  await post("Five", { tags: ["Straße"] });
  await post("Draft", { state: "draft", ...later, speaker_ids: [cleo] });

  t.same(
    await list("sessions/"),
    ["One", "Two", "Draft", "Four", "Three", "Five"],
    "by start, title, id",
  );
  t.same(await list("sessions/", "reader"), ["One", "Two", "Three", "Five"]);
  t.same(await list("sessions/", "crew"), ["One", "Two", "Four", "Three", "Five"]);
  t.same(await list("speakers/", "reader"), ["Ada", "Bob"]);
  t.same(await list("speakers/", "crew"), ["Ada", "Bob", "Cleo"]);
  for (const path of [`sessions/${four.id}/`, `speakers/${cleo}/`]) {
    const hidden = await api(path, { as: "reader" });
    const missing = await api(path.replace(/[\da-f-]{36}/, randomUUID()), { as: "reader" });
    t.equal(hidden.status, 403);
    t.equal(hidden.text, missing.text, "as what does not exist");
  }
  const filters: [query: string, titles: string][] = [
    [`room=${room}`, "One Two Three"],
    [`room=${crew}`, "Four"],
    [`speaker=${ada}`, "One"],
    ["track=Maps", "One"],
    [`from=${T10}`, "Draft Four Three"],
    [`to=${T10}`, "One Two"],
    [`from=2027-03-01T09:30:00Z&to=2027-03-01T09:31:00Z`, "One Two"],
    [`from=2027-03-01T10:30:00%2B01:00`, "One Two Draft Four Three"],
    ["search=strasse", "Five"],
    ["search=aDA", "One"],
    [`search=o&room=${room}`, "One Two"],
    ["page_size=2&page=2", "Draft Four"],
    ["page=9", ""],
  ];
  for (const [query, titles] of filters) {
    t.equal((await list(`sessions/?${query}`)).join(" "), titles, query);
  }
  const page = (await api("sessions/?page_size=2&search=e")).body;
  t.match(page, { count: 5, previous: null, next: /search=e.*page=2|page=2.*search=e/ });
  for (const query of ["from=yesterday", "page=0", "page_size=1001", `from=2027-03-01T09:00:00`]) {
    t.equal((await api(`sessions/?${query}`)).status, 400, query);
  }
  const draft = await post("Hidden", { state: "draft", room_id: room, ...RANGE });
  t.equal(draft.warnings.length, 2);

  await save("DELETE", `speakers/${bob}/`);
  const left = await api(`sessions/${one.id}/`);
  t.same(left.body.speaker_ids, [ada], "a deleted speaker leaves");
  await save("DELETE", `rooms/${room}/`);
  const kept = await api(`sessions/${one.id}/`, { as: "reader" });
  t.match(kept.body, { title: "One", room_id: null });
  await save("DELETE", `sessions/${one.id}/`);
  t.same(await list("speakers/", "reader"), [], "whom no session names");
  t.ok((await list("speakers/")).includes("Ada"));
});

void t.test("speakers and the event refer to users and uploads", async (t) => {
  const user = await site.person("ann", "x");
  const [portrait, cover] = [await site.upload(), await site.upload()];
  const elsewhere = portrait.replace("/demo/", "/other/");
  const post = (body: object) =>
    api("speakers/", { method: "POST", body: { name: "Ada", ...body } });
  const ada = await post({ user_id: user.id, picture: portrait });
  t.equal(ada.status, 201, ada.text);
  for (const picture of [
    elsewhere,
    portrait.replace(/^http:\/\/[^/]*/, "https://evil.example"),
    portrait.replace("/media/", "/media/x/../"),
    `${portrait}?x`,
    portrait.replace(/\.png$/, ".gif"),
  ]) {
    t.match(await post({ picture }), { status: 400, body: { picture: [/upload/] } }, picture);
  }
  const { config } = (await api("")).body;
  const events: [event: object | null, faults?: object][] = [
    [null, { "config.event": [/object/] }],
    [{}],
    [{ starts_at: T9, ends_at: T10, tagline: "Maps", location: "Here", cover: null }],
    [{ starts_at: T9 }, { "config.event.ends_at": [/./] }],
    [{ ends_at: T9 }, { "config.event.starts_at": [/./] }],
    [{ starts_at: T10, ends_at: T9 }, { "config.event.ends_at": [/later/] }],
    [{ starts_at: T9, ends_at: T9 }, { "config.event.ends_at": [/later/] }],
    [{ starts_at: "soon", ends_at: T9 }, { "config.event.starts_at": [/./] }],
    [{ date: 1 }, { "config.event.date": [/Unknown/] }],
    [{ cover: { url } }, { "config.event.cover.url": [/./] }],
    [{ cover: { url: elsewhere } }, { "config.event.cover.url": [/./] }],
    [{ starts_at: T9, ends_at: T10, cover: { url: cover } }],
  ];
  for (const [event, faults] of events) {
    const body = { config: { ...config, event } };
    const answer = await api("", { method: "PATCH", body });
    t.equal(answer.status, faults ? 400 : 200, JSON.stringify([event, answer.text]));
    if (faults) t.match(answer.body, faults);
  }
  const program = (await user.do("program.get", {})).version as string;
  const files = (await api("files/")).body.results as {
    id: string;
    url: string;
  }[];
  for (const { id } of files) await save("DELETE", `files/${id}/`);
  const speaker = `speakers/${ada.body.id}/`;
  t.match((await api(speaker)).body, { picture: null, user_id: user.id });
  t.match((await api("")).body.config.event, { cover: null, starts_at: T9 });
  t.not((await user.do("program.get", {})).version, program);
  await save("POST", "delete_user", { user_id: user.id });
  t.match((await api(speaker)).body, { name: "Ada", user_id: null });
});

void t.test("a silenced editor sees no drafts", async (t) => {
  const draft = await save("POST", "sessions/", { title: "D", state: "draft" });
  const path = `sessions/${draft.id}/`;
  const editor = await site.person("editor", "editor");
  const { id } = editor;
  const { url } = (await editor.do("program.link", {})) as { url: string };
  const seen = async () => [
    (await (await fetch(url)).text()).includes("SUMMARY:D"),
    (await list("sessions/", "editor")).includes("D"),
    (await api("program/", { as: "editor" })).text.includes(draft.id),
    (await api(path, { as: "editor" })).status,
  ];
  const moderate = (moderation_state: string) =>
    save("PATCH", `users/${id}/`, { moderation_state });
  t.strictSame(await seen(), [true, true, true, 200]);
  await moderate("silenced");
  t.strictSame(await seen(), [false, false, false, 403], "silenced");
  await moderate("none");
  t.strictSame(await seen(), [true, true, true, 200], "and no longer");
});

// The program over WebSockets. Users are connected to every process.

/** Returns the program pushes that a client has received. */
async function programPushes(client: Client): Promise<unknown[]> {
  const frames = await client.all();
  return frames.filter(([name]) => name.startsWith("program."));
}

const get = (client: Client): Promise<Json> => client.do("program.get", {});
const versionOf = async (client: Client): Promise<string> => (await get(client)).version;

/** Waits until the version pushed to a client is the one that it reads. */
async function follows(client: Client): Promise<string> {
  let version = "";
  await until(async () => {
    ({ version } = await client.next("program.updated"));
    return version === (await versionOf(client));
  });
  return version;
}

void t.test("who sees what, in which version", async (t) => {
  const site = await startSite(t);
  const { session, save } = { session: site.session.bind(site), save: site.save.bind(site) };
  const open = await site.room("Open");
  const crew = await site.room("Crew", { "room.view": ["admin"] });
  const people = {
    guest: await site.guest("guest"),
    phone: await site.guest("guest"),
    admin: await site.person("admin", "admin", "editor"),
  };
  type Name = keyof typeof people;
  const names = Object.keys(people) as Name[];
  const chat = (
    await save("POST", "rooms/", {
      name: "Chat",
      module_config: [{ type: "chat.native" }],
      permission_config: { "room.view": [] },
    })
  ).id;
  for (const name of names) {
    await people[name].do("chat.subscribe", { channel: chat });
  }
  await people.admin.do("chat.join", { channel: chat });
  let acts = 0;
  /** Waits until the processes of all users have received every change so far. */
  const reached = async () => {
    const body = `${++acts}`;
    await people.admin.do("chat.send", {
      channel: chat,
      event_type: "channel.message",
      content: { type: "text", body },
    });
    for (const name of names) {
      await people[name].next("chat.event", ({ content }) => content.body === body);
    }
  };
  const seen = new Set<string>();
  /** Runs an action, and checks that it changes the version for exactly these users. */
  const affects = async (what: string, act: () => unknown, ...who: Name[]) => {
    const before = new Map<Name, string>();
    for (const name of names) {
      before.set(name, await versionOf(people[name]));
    }
    await act();
    for (const name of who) {
      const { version } = await people[name].next("program.updated");
      t.notOk(seen.has(version), `${what}: a new version for ${name}`);
      t.equal(version, await versionOf(people[name]), `${what}: it is pushed`);
    }
    for (const name of who) seen.add(await versionOf(people[name]));
    await reached();
    for (const name of names) {
      const isSame = (await versionOf(people[name])) === before.get(name);
      t.equal(isSame, !who.includes(name), `${what}: the version of ${name}`);
    }
  };
  const all = names;
  const editors = ["admin"] as const;

  const empty = await get(people.guest);
  t.same(Object.keys(empty).sort(), [
    "event",
    "favorites",
    "now",
    "sessions",
    "speakers",
    // The event's time zone, in which pages show times.
    "timezone",
    "version",
  ]);
  t.match(empty, { event: null, sessions: [], speakers: [], favorites: [] });
  t.equal(empty.timezone, "Europe/Berlin");
  t.ok(Math.abs(Date.parse(empty.now) - Date.now()) < 30_000);
  t.match(empty.now, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  seen.add(empty.version);

  const { permission_config: rules, config } = (await site.api("")).body;
  const setRules = (more: object) =>
    save("PATCH", "", { permission_config: { ...rules, ...more } });
  const setRoom = (id: string, permission_config: object) =>
    save("PATCH", `rooms/${id}/`, { permission_config });
  await affects("a rule, while there is no program", () =>
    setRules({ "room.view": [["reader", "admin"]] }),
  );
  await affects("and back", () => setRules({}));

  const ids: Record<string, string> = {};
  const make = (title: string, more: object) => async () => {
    ids[title] = await session(title, more);
  };
  const change = (title: string, body: object) => () =>
    save("PATCH", `sessions/${ids[title]}/`, body);
  await affects(
    "a speaker without sessions",
    async () => (ids.ada = (await save("POST", "speakers/", { name: "Ada" })).id),
    ...editors,
  );
  await affects(
    "a first draft in a room",
    make("D", { room_id: open, state: "draft" }),
    ...editors,
  );
  await affects("a session", make("One", { room_id: open, speaker_ids: [ids.ada] }), ...all);
  await affects("a change of a draft", change("D", { title: "E" }), ...editors);
  await affects("no change", change("One", { title: "One" }));
  await affects("a session in a hidden room", make("C", { room_id: crew }), ...editors);
  const shown = await get(people.guest);
  t.match(shown.sessions, [{ id: ids.One, state: "public" }]);
  t.match(shown.speakers, [{ id: ids.ada, name: "Ada" }]);
  t.equal((await get(people.admin)).sessions.length, 3);
  const known = await people.guest.do("program.get", { version: shown.version });
  t.same(Object.keys(known).sort(), ["favorites", "now", "version"]);
  t.equal(known.version, shown.version);
  const old = await people.guest.do("program.get", { version: empty.version });
  t.same(old.sessions, shown.sessions, "an old version is answered in full");
  for (const version of [5, null, {}, "x".repeat(10_000)]) {
    const answer = await people.guest.call("program.get", { version });
    t.match(JSON.stringify(answer), /sessions|protocol\.payload|invalid/);
  }

  await affects(
    "a speaker of a session",
    () => save("PATCH", `speakers/${ids.ada}/`, { name: "B" }),
    ...all,
  );
  await affects("a title", change("One", { title: "Two" }), ...all);
  await affects("and back", change("One", { title: "One" }), ...all);
  await affects("a draft is published", change("D", { state: "public" }), ...all);
  await affects("and hidden again", change("D", { state: "draft" }), ...all);
  await affects("a session moves out of sight", change("One", { room_id: crew }), ...all);
  await affects("and back", change("One", { room_id: open }), ...all);
  await affects("the hidden room opens", () => setRoom(crew, {}), ...all);
  t.equal((await get(people.guest)).sessions.length, 2);
  await affects("and closes", () => setRoom(crew, { "room.view": ["admin"] }), ...all);
  await affects("other rules of rooms", async () => {
    await setRoom(open, { "chat.send": ["x"], "question.ask": ["x"] });
    await setRoom(crew, { "room.view": ["admin"], "chat.send": ["x"] });
  });
  await affects("other rules of the world", () =>
    setRules({ "chat.moderate": ["x"], "world.announce": ["x"] }),
  );
  await affects("who may read", () => setRules({ "program.read": [] }));
  await affects("who may edit", () => setRules({ "program.update": [] }), ...all);
  t.equal((await get(people.guest)).sessions.length, 2, "with the draft");
  await affects("and who may not", () => setRules({}), ...all);
  const event = { starts_at: at(0), ends_at: at(9), tagline: "", cover: null, location: "" };
  const configured = (more: object) => () => save("PATCH", "", { config: { ...config, ...more } });
  await affects("dates of the event", configured({ event }), ...all);
  t.same((await get(people.guest)).event, event);
  await affects("none", configured({}), ...all);
  await affects("the zone", configured({ timezone: "Asia/Tokyo" }), ...all);
  await affects("other settings", configured({ timezone: "Asia/Tokyo", theme: { colors: {} } }));
  await affects("a title of the world", () => save("PATCH", "", { title: "W" }));
  await affects("a zone that does not exist", configured({ timezone: "Mars/Olympus" }), ...all);
  t.equal((await get(people.guest)).timezone, "UTC", "pages can use it");
  const document = festival({ begin: Date.now() });
  const imports =
    (query = "") =>
    async () => {
      const answer = await site.put(document, { query });
      t.equal(answer.status, 200, answer.text);
    };
  await affects("an import on trial", imports("?dry_run=true"));
  await affects("an import", imports(), ...all);
  await affects("the same import", imports("?remove_missing=true"));
  await affects("a deleted session", () => save("DELETE", `sessions/${ids.C}/`), ...editors);
  const attic = await site.room("Attic");
  await affects("a draft", make("F", { room_id: attic, state: "draft" }), ...editors);
  await affects("its deleted room", () => save("DELETE", `rooms/${attic}/`), ...editors);
  // Last, because any push sent by mistake would arrive before this one.
  await affects("a deleted room", () => save("DELETE", `rooms/${open}/`), ...all);
  const kept = (await get(people.guest)).sessions as Json[];
  t.match(
    kept.find(({ id }) => id === ids.One),
    { room_id: null },
  );
  for (const name of names) {
    t.same(await programPushes(people[name]), [], `${name} got one push for each act`);
  }

  const versions = [await versionOf(people.guest), await versionOf(people.admin)];
  await site.restart();
  t.same(
    [
      await versionOf(await site.guest("guest")),
      await versionOf(await site.person("admin", "admin", "editor")),
    ],
    versions,
    "the same after a restart",
  );
  const guest = await site.guest("guest");
  await setRules({ "program.read": ["crew"] });
  await until(async () => (await guest.code("program.get", {})) !== "ok");
  for (const [command, payload] of [
    ["program.get", {}],
    ["program.favorite", { session: ids.One, on: true }],
    ["program.link", {}],
  ] as const) {
    t.equal(await guest.code(command, payload), "auth.denied", command);
  }
  t.equal(await (await site.person("c", "crew")).code("program.get", {}), "ok");
});

void t.test("favorites", async (t) => {
  const site = await startSite(t);
  const crew = await site.room("Crew", { "room.view": ["admin"] });
  const [one, two] = [await site.session("One"), await site.session("Two")];
  const draft = await site.session("D", { state: "draft" });
  const hidden = await site.session("H", { room_id: crew });
  const [guest, phone] = [await site.guest("g"), await site.guest("g")];
  const tablet = await site.guest("g");
  const other = await site.guest("other");
  // Each of the two servers receives session changes independently, so versions may arrive late.
  const heard = async (client: Client) =>
    (await client.all()).filter(([name]) => name === "program.favorites");
  const favor = (session: unknown, on: unknown = true) =>
    guest.call("program.favorite", { session, on });
  const both = async (favorites: string[], what: string) => {
    for (const client of [phone, tablet]) {
      t.same(await client.next("program.favorites"), { favorites }, what);
    }
  };
  t.same((await favor(two))[2], {});
  await both([two], "one");
  await favor(one);
  await both([two, one], "two");
  await favor(two, false);
  await both([one], "one again");
  await favor(one);
  await favor(two, false);
  t.same((await get(phone)).favorites, [one]);
  const answers = new Set<string>();
  for (const session of [randomUUID(), "x", 5, null, "", {}, draft, hidden]) {
    for (const on of [true, false]) {
      answers.add(JSON.stringify((await favor(session, on))[2]));
    }
  }
  t.same([...answers], ['{"code":"program.unknown","message":"Unknown session ID"}']);
  t.not(await guest.code("program.favorite", { session: one, on: 5 }), "ok");

  const change = (body: object) => site.save("PATCH", `sessions/${one}/`, body);
  const all = [guest, phone, tablet, other];
  for (const client of all) {
    await get(client);
    t.same(await heard(client), []);
  }
  await change({ title: "Won" });
  for (const client of all) {
    // Program changes are batched for longer than favorites.
    await client.next("program.updated");
    t.same(await heard(client), [], "nothing changed, and the author knows");
  }
  for (const [hide, show] of [
    [{ state: "draft" }, { state: "public" }],
    [{ room_id: crew }, { room_id: null }],
  ]) {
    await change(hide!);
    await follows(guest);
    t.same((await get(guest)).favorites, [], "none that is hidden");
    await change(show!);
    await follows(guest);
    t.same((await get(guest)).favorites, [one]);
  }
  await site.save("DELETE", `sessions/${one}/`);
  await follows(guest);
  t.same((await get(guest)).favorites, []);

  const sessions = Array.from({ length: 1001 }, (_, i) => ({ title: `S${i}` }));
  t.match((await site.put({ sessions, speakers: [] })).body, { created: 1001 });
  await follows(guest);
  const ids = ((await get(guest)).sessions as Json[])
    .filter(({ title }) => /^S\d/.test(title))
    .map(({ id }) => id as string);
  const last = ids.pop()!;
  for (const session of ids) {
    await guest.do("program.favorite", { session, on: true });
  }
  t.match((await favor(last))[2], { code: "program.too_many" });
  t.same((await favor(ids[0], false))[2], {});
  t.same((await favor(last))[2], {}, "one less, one more");
  t.same((await get(phone)).favorites, [...ids.slice(1), last]);
});

void t.test("rooms show the session that is on", async (t) => {
  const site = await startSite(t);
  const [open, bare] = [await site.room("Open"), await site.room("Bare")];
  const admin = await site.person("admin", "admin", "editor");
  const own = { title: "Own" };
  for (const room of [open, bare]) {
    await admin.do("room.schedule", { room, schedule_data: own });
  }
  const [guest, phone] = [await site.guest("a"), await site.guest("b")];
  for (const client of [guest, phone]) {
    await client.do("room.enter", { room: open });
  }
  const shows = async (room: string) => {
    const { hello } = await site.guest("c");
    const { rooms } = hello["world.config"] as { rooms: Json[] };
    return rooms.find(({ id }) => id === room).schedule_data;
  };
  const isPushed = async (data: unknown, what: string) => {
    for (const client of [guest, phone]) {
      const push = await client.next("room.schedule", ({ room }) => room === open);
      t.same(push.schedule_data, data, what);
    }
  };
  t.same(await shows(open), own, "its own, without sessions");
  const id = await site.session("Talk", { room_id: open, starts_at: at(4), ends_at: at(6) });
  await isPushed(null, "it has sessions now");
  await isPushed({ session: id }, "it begins");
  t.same(await shows(open), { session: id });
  await isPushed(null, "it ends");
  t.same(await shows(open), null);
  const patch = (body: object) => site.save("PATCH", `sessions/${id}/`, body);
  await patch({ starts_at: at(-5), ends_at: at(100) });
  await isPushed({ session: id }, "it is moved to now");
  await patch({ state: "draft" });
  await isPushed(own, "a draft is no session");
  t.same(await shows(open), own);
  t.same(await shows(bare), own);
});

void t.test("a large program comes whole to slow readers", async (t) => {
  const site = await startSite(t, { LIVE_MAX_UNSENT: "65536" });
  const chat = (
    await site.save("POST", "rooms/", { name: "Chat", module_config: [{ type: "chat.native" }] })
  ).id;
  const sessions = Array.from({ length: 2000 }, (_, i) => ({
    title: `Session ${i}`,
    abstract: `${i} `.padEnd(900, "words "),
  }));
  t.match((await site.put({ sessions, speakers: [] })).body, { created: 2000 });
  const guest = await site.guest("slow");
  const talker = await site.person("talker");
  await guest.do("chat.subscribe", { channel: chat });
  await talker.do("chat.join", { channel: chat });
  const socket = (guest.ws as unknown as { _socket: Socket })._socket;
  socket.pause();
  const answer = guest.call("program.get", {});
  for (let i = 0; i < 20; i++) {
    await talker.do("chat.send", {
      channel: chat,
      event_type: "channel.message",
      content: { type: "text", body: `${i} `.padEnd(1000, "x") },
    });
  }
  await talker.next("chat.event", ({ content }) => content.body?.startsWith("19 "));
  socket.resume();
  const [, , whole] = (await answer) as [string, number, Json];
  t.equal(whole.sessions.length, 2000);
  t.ok(JSON.stringify(whole).length > 2 ** 21);
  t.ok(guest.isOpen);
  const short = await guest.call("program.get", { version: whole.version });
  t.ok(JSON.stringify(short).length < 300, "it is answered without it");
});
