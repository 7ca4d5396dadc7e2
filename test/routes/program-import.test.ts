import ical from "node-ical";
import t, { type Test } from "tap";
import { fileForm, follow, urlOf } from "../files.js";
import {
  admin,
  bearer,
  keyOf,
  rules,
  serve,
  tokenOf,
  worldOf,
} from "../helper.js";
import {
  calendar,
  event,
  frab,
  MAPS,
  pretalx,
  pretalxXml,
} from "../program/documents.js";

// Whole programs over HTTP: what an import changes, and what an export says.

const PROGRAM = "/api/v1/worlds/demo/program/";

const world = worldOf("demo", {
  permission_config: rules({
    "program.update": ["editor"],
    "room.create": ["builder"],
  }),
});
world.config = { ...world.config, timezone: "Europe/Berlin" };

/** The token of a person, as uploads ask for one. */
const tokenFor = (trait: string) =>
  `Bearer ${tokenOf(keyOf("demo"), { uid: "ann", traits: [trait] })}`;

/** Has the right to change the program, and none to make rooms. */
const editor = bearer("demo", "admin", "api", "editor");

const builder = bearer("demo", "admin", "api", "editor", "builder");

type Type = "json" | "xml" | "ics" | "csv";
const types = {
  json: "application/json",
  xml: "application/xml",
  ics: "text/calendar",
  csv: "text/csv",
};

async function program(t: Test) {
  const server = await serve(t, [world]);
  const { store } = server;
  const put = (
    body: unknown,
    {
      type = "json",
      query = "",
      as = editor,
      headers = {},
    }: { type?: Type; query?: string; as?: string; headers?: object } = {},
  ) =>
    server.call({
      method: "PUT",
      url: `${PROGRAM}${query}`,
      as,
      headers: { "content-type": types[type], ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });
  const get = (format = "json", as = editor, headers = {}) =>
    server.call({ url: `${PROGRAM}?format=${format}`, as, headers });
  const room = async (name: string, permission_config = {}) =>
    (await store.rooms.create("demo", { name, permission_config })).value.id;
  const sessions = async () =>
    (await store.program.get("demo")).sessions.map(({ value }) => value);
  return { ...server, put, get, room, sessions };
}

const counts = (changes: object) => ({
  ...{ created: 0, updated: 0, unchanged: 0, deleted: 0, rooms_created: 0 },
  ...{ problems: [] },
  ...changes,
});

void t.test(
  "imports agree with the document, and change no more",
  async (t) => {
    const { put, get, room, sessions } = await program(t);
    const hall = await room("MAIN hall");
    const first = await put(pretalx(), { query: "?dry_run=true" });
    t.match(first, { status: 200, body: counts({ created: 1 }) });
    t.same(await sessions(), [], "a dry run changes nothing");

    const made = await put(pretalx());
    t.match(made, { status: 200, body: counts({ created: 1 }) });
    const [session] = await sessions();
    t.match(session, {
      room_id: hall,
      import_id: MAPS,
      starts_at: "2027-03-01T09:00:00.000Z",
      ends_at: "2027-03-01T09:40:00.000Z",
      state: "public",
    });
    t.equal(session!.speaker_ids.length, 1);

    const unchanged = counts({ unchanged: 1 });
    t.match((await put(pretalx())).body, unchanged, "again");
    const xml = await put(pretalxXml, { type: "xml" });
    t.match(xml.body, unchanged, "the same as XML");
    for (const format of ["json", "schedule.json"]) {
      const exported = await get(format);
      const { body } = await put(exported.body);
      t.match(body, unchanged, `its export as ${format}`);
    }
    const { text } = await get("ics");
    const again = await put(text, { type: "ics" });
    t.match(again.body, { created: 0, problems: [] }, "its export as ics");

    const moved = await put(pretalx({ title: "Maps for all" }));
    t.match(moved.body, counts({ updated: 1 }));
    const other = await put(frab, { query: "?remove_missing=true" });
    t.match(other.body, { created: 1, deleted: 1 });
    t.match(other.body, {
      problems: [
        { session: "Radio at night", message: /link/ },
        { session: "Radio at night", message: /no room called “Tent”/ },
      ],
    });
  },
);

void t.test("rooms are found by name, or made", async (t) => {
  const { put, room, sessions, store } = await program(t);
  const hidden = await room("Secret", { "room.view": ["crew"] });
  const row = (title: string, name: string) => `${title},${name}\n`;
  const csv = (rows: string) => `title,room\n${rows}`;
  const found = await put(csv(row("A", "secret")), { type: "csv" });
  t.same(found.body, counts({ created: 1 }), "a hidden room is named nowhere");
  t.match(await sessions(), [{ room_id: hidden }]);

  const made = await put(csv(row("B", " New ") + row("C", "NEW")), {
    type: "csv",
    query: "?create_rooms=true",
    as: builder,
  });
  t.match(made.body, counts({ created: 2, rooms_created: 1 }));
  const rooms = await store.rooms.all("demo", { page: 1, pageSize: 10 });
  t.same(rooms.map(({ value }) => value.name).sort(), ["New", "Secret"]);

  const twins = [await room("Twin"), await room("twin")].sort();
  const twin = await put(csv(row("D", "TWIN")), { type: "csv" });
  t.match(twin.body, {
    created: 1,
    problems: [{ line: 2, session: "D", message: /More than one room/ }],
  });
  t.ok(
    twins.includes(
      (await sessions()).find(({ title }) => title === "D")!.room_id!,
    ),
  );
  const unknown = await put(csv(row("A", "Nowhere")), { type: "csv" });
  t.match(unknown.body, { unchanged: 1, problems: [{ line: 2 }] });
  t.match(
    (await sessions()).find(({ title }) => title === "A"),
    { room_id: hidden },
    "a session stays in its room if the document's is unknown",
  );
});

void t.test("the first of two with one id wins", async (t) => {
  const { put, sessions } = await program(t);
  const one = (summary: string) =>
    `BEGIN:VEVENT\nUID:1\nSUMMARY:${summary}\nDTSTART:20270301T100000Z\nDURATION:PT1H\nEND:VEVENT`;
  const got = await put(calendar(`${one("A")}\n${one("B")}`), { type: "ics" });
  t.match(got.body, {
    created: 1,
    problems: [{ line: 10, session: "B", message: /same id/ }],
  });
  t.match(await sessions(), [{ title: "A" }]);
});

void t.test("what is refused changes nothing", async (t) => {
  const { put, get, sessions } = await program(t);
  await put(pretalx());
  const before = await sessions();
  const rows: [
    name: string,
    put: Promise<{ status: number; body: unknown }>,
    expected: object,
  ][] = [
    [
      "a session without a title, after one that is new",
      put(
        pretalx({}, [
          { guid: "x", date: "2027-03-01T10:00:00Z", duration: "00:10" },
        ]),
      ),
      {
        status: 400,
        body: { "schedule.conference.days.0.rooms.Main Hall.1.title": [/./] },
      },
    ],
    [
      "a broken calendar",
      put(event("DTSTART:20270230T100000Z\nDURATION:PT1H"), { type: "ics" }),
      { status: 400, body: { non_field_errors: [/^Line 4: /] } },
    ],
    [
      "another type",
      put("<p>", { headers: { "content-type": "text/html" } }),
      { status: 415 },
    ],
    [
      "another charset",
      put("title\nA", {
        headers: { "content-type": "text/csv; charset=latin1" },
      }),
      { status: 415 },
    ],
    ["too many bytes", put(" ".repeat(10 * 2 ** 20 + 1)), { status: 413 }],
    [
      "a parameter that is none",
      put(frab, { query: "?dry_run=1" }),
      { status: 400, body: { dry_run: [/true, false/] } },
    ],
    [
      "no right to make rooms",
      put(frab, { query: "?create_rooms=true" }),
      { status: 403 },
    ],
    ["no right", put(frab, { as: admin("demo") }), { status: 403 }],
  ];
  for (const [name, got, expected] of rows) {
    t.match(await got, expected, name);
  }
  t.same(await sessions(), before);
  t.match(await get("xml"), { status: 400, body: { format: [/./] } });
});

void t.test("what an export says", async (t) => {
  const { put, get, room, store } = await program(t);
  await room("Main Hall");
  await put(pretalx());
  const draft = { title: "Draft", state: "draft" as const };
  const times = {
    starts_at: "2027-03-02T01:00:00Z",
    ends_at: "2027-03-03T03:30:00Z",
  };
  await store.program.createSession("demo", { ...draft, ...times });
  await store.program.createSession("demo", {
    ...{ ...times, title: `Nacht; "Träume", \\ ${"lang ".repeat(40)}` },
    ...{ import_id: "night", abstract: "One\r\ntwo\u0007", tags: ["a,b", "c"] },
  });

  const { body } = await get("schedule.json");
  const { schedule } = body as { schedule: { conference: never } };
  t.match(schedule.conference, {
    ...{ acronym: "demo", time_zone_name: "Europe/Berlin", daysCount: 1 },
    ...{ start: "2027-03-01", end: "2027-03-01" },
    days: [
      {
        ...{ index: 1, date: "2027-03-01" },
        ...{ day_start: "2027-03-01T04:00:00+01:00" },
        rooms: {
          "Main Hall": [
            {
              ...{ guid: MAPS, date: "2027-03-01T10:00:00+01:00" },
              ...{ start: "10:00", duration: "00:40", room: "Main Hall" },
              persons: [{ public_name: "Ada Example" }],
            },
          ],
          "": [{ date: "2027-03-02T02:00:00+01:00", duration: "1:02:30" }],
        },
      },
    ],
  });
  t.notMatch(JSON.stringify(body), /Draft/);

  const { text, headers } = await get("ics");
  t.equal(headers["content-type"], "text/calendar; charset=utf-8");
  t.ok(
    text.split("\r\n").every((line) => Buffer.byteLength(line) <= 75),
    "lines are folded",
  );
  t.notMatch(text, /[^\r]\n/);
  t.notOk(text.includes("\u0007"));
  const events = Object.values(ical.sync.parseICS(text)).filter(
    (found) => found.type === "VEVENT",
  );
  t.match(
    events.map(({ summary }) => summary),
    ["Maps for everyone", "Draft", /^Nacht; "Träume", \\ lang/],
  );
  t.match(events[0], {
    ...{ uid: MAPS, location: "Main Hall" },
    ...{ start: new Date("2027-03-01T09:00:00Z") },
    ...{ end: new Date("2027-03-01T09:40:00Z") },
    ...{ description: /every/, dtstamp: Date, status: "CONFIRMED" },
  });
  t.equal(events[1]!.status, "TENTATIVE");
  t.match(events[2], { description: "One\ntwo" });
  t.match(events[2]!.uid, /^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab]/);

  for (const format of ["json", "schedule.json", "ics"]) {
    const { etag } = (await get(format)).headers;
    const headers = { "if-none-match": etag! };
    t.equal((await get(format, editor, headers)).status, 304, format);
    const other = await get(format, admin("demo"), headers);
    t.equal(other.status, 200, `${format} for others`);
  }
});

void t.test("a form imports and stores a document", async (t) => {
  const { call, sessions, store, ...server } = await program(t);
  const send = (
    name: string,
    body: string | Uint8Array,
    as = tokenFor("editor"),
  ) => {
    const form = fileForm(name, body);
    return call({
      ...{ method: "POST", url: "/storage/schedule_import/", as },
      ...{ headers: form.headers, body: form.body },
    });
  };
  const files = async () =>
    (await store.files.list("demo", { page: 1, pageSize: 9 })).count;
  const json = JSON.stringify(pretalx());
  const stored = {
    "program.json": [json, "application/json"],
    "p.XML": [pretalxXml, "application/xml"],
    "p.ics": [
      event("DTSTART:20270301T090000Z\nDTEND:20270301T100000Z"),
      "text/calendar; charset=utf-8",
    ],
    "p.csv": ["title\nWalk\n", "text/csv; charset=utf-8"],
  } as const;
  for (const [name, [body, type]] of Object.entries(stored)) {
    const made = await send(name, body);
    t.equal(made.status, 201, name);
    const served = await follow(server, urlOf(made));
    t.equal(served.status, 200);
    t.equal(served.headers["content-type"], type);
    t.match(served.headers["content-security-policy"], /sandbox/);
    t.equal(served.bytes.toString(), body);
  }
  const before = await sessions();
  t.equal(before.length, 3, "two documents have the same session");
  const refused: [string, string | Uint8Array, number, object][] = [
    ["p.pdf", "x", 400, { error: "file.type" }],
    ["p.json", "", 400, { error: "file.size" }],
    ["p.json", new Uint8Array(10 * 2 ** 20 + 1), 400, { error: "file.size" }],
    ["p.json", "{", 400, { non_field_errors: [/^Line 1/] }],
    ["p.ics", "BEGIN:VCALENDAR\nx", 400, { non_field_errors: [/^Line \d/] }],
    ["p.csv", "start\n1\n", 400, {}],
  ];
  for (const [name, body, status, problem] of refused) {
    t.match(await send(name, body), { status, body: problem }, name);
  }
  t.equal((await send("p.json", json, tokenFor("x"))).status, 403);
  t.equal((await send("p.json", json, "Client guest")).status, 403);
  t.strictSame(await sessions(), before, "what is refused changes nothing");
  t.equal(await files(), Object.keys(stored).length);
});

void t.test("calendars subscribe", async (t) => {
  const { call, store, room } = await program(t);
  const hidden = await room("Crew", { "room.view": ["crew"] });
  const times = {
    starts_at: "2027-03-02T01:00:00Z",
    ends_at: "2027-03-02T02:00:00Z",
  };
  const session = (title: string, more = {}) =>
    store.program.createSession("demo", { title, ...times, ...more });
  await session("Open");
  await session("For the crew", { room_id: hidden });
  await session("Draft", { state: "draft" });
  const ann = await store.users.enter("demo", {
    ...{ tokenId: "ann", clientId: undefined, profile: null },
    traits: new Set(["crew"]),
  } as never);
  const feed = (query = "", headers = {}) =>
    call({ url: `/w/demo/program.ics${query}`, headers });
  const titles = async (query = "") =>
    Array.from(
      (await feed(query)).text.matchAll(/^SUMMARY:(.*)\r$/gm),
      ([, title]) => title,
    ).sort();

  const { headers, status } = await feed();
  t.match(
    { status, cache: headers["cache-control"] },
    { status: 200, cache: "max-age=300" },
  );
  const again = await feed("", { "if-none-match": headers.etag });
  t.equal(again.status, 304);
  t.same(await titles(), ["Open"]);

  const token = await store.programLinks.link("demo", ann.id, false);
  t.equal(await store.programLinks.link("demo", ann.id, false), token);
  const own = await feed(`?token=${token}`);
  t.equal(own.headers["cache-control"], "private, max-age=300");
  t.same(await titles(`?token=${token}`), ["For the crew", "Open"]);

  const status_ = async (query = "") => (await feed(query)).status;
  await store.worlds.update("demo", {
    permission_config: { ...world.permission_config, "program.read": ["crew"] },
  });
  t.equal(await status_(), 403, "where reading asks for a trait");
  t.equal(await status_(`?token=${token}`), 200);
  const renewed = await store.programLinks.link("demo", ann.id, true);
  t.equal(await status_(`?token=${token}`), 403, "the former token");
  t.equal(await status_(`?token=${renewed}`), 200);
  t.equal(await status_(`?token=${renewed}&token=${renewed}`), 403);
  await store.users.moderate("demo", ann.id, "banned");
  t.equal(await status_(`?token=${renewed}`), 403, "of a banned user");
  await store.users.moderate("demo", ann.id, "");
  await store.users.erase("demo", { user_id: ann.id });
  t.equal(await status_(`?token=${renewed}`), 403, "of an erased user");
  t.equal((await call({ url: "/w/missing/program.ics" })).status, 403);
});
