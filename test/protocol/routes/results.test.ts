import { connect } from "node:net";
import { inflateRawSync } from "node:zlib";
import t, { type Test } from "tap";
import { Foyer } from "../../../client/index.js";
import type { Store } from "../../../db/contract/store.js";
import { sealReport } from "../../../plugins/auth/sealed.js";
import { fileForm, follow, urlOf } from "../../support/files.js";
import {
  admin,
  bearer,
  connectionsOf,
  dial,
  rawRequest,
  rules,
  until,
  worldOf,
} from "../../support/helper.js";
import { message, text } from "../../support/open-world.js";
import { event, pretalx, pretalxXml } from "../../support/program-documents.js";
import { demo, startServer } from "../../support/server.js";

const NINE = "2027-03-01T09:00:00.000Z";
const nine = Date.parse(NINE);

// The results of an event, as JSON, CSV and XLSX.

void t.test("results", async (t) => {
  const own = { "world.feed": ["api"], "user.list": ["lists"], "question.moderate": ["mods"] };
  const server = await startServer(t, { worlds: [demo({ permission_config: rules(own) })] });
  const { store, tokenOf } = server;
  await store.worlds.configure("demo", { config: { attendance: "people" } });
  const module_config = ["chat.native", "question", "poll"].map((type) => ({ type }));
  const make = async (name: string, permission_config = {}) =>
    (await store.rooms.create("demo", { name, permission_config, module_config })).value.id;
  const room = await make("=Stage");
  const hidden = await make("Hidden", { "room.view": ["crew"] });
  const profile = { display_name: "=1+1" };
  const visitor = { tokenId: "ada", traits: new Set(["attendee"]), profile };
  const { id: user } = await store.users.enter("demo", visitor);
  for (const channel of [room, hidden]) {
    await store.attendance.sample("demo", nine, [{ room: channel, people: 4 }]);
    await store.attendance.note("demo", [{ user, room: channel, from: nine, to: nine + 60_000 }]);
    const device = { identity: channel, user, hidden: false, access: { traits: [] }, ends: nine };
    await store.calls.issued("demo", channel, device, { now: nine });
    const visit = { identity: channel, session: "s" };
    await store.calls.joined("demo", channel, visit, { at: nine, now: nine });
    await store.calls.left("demo", channel, visit, { at: nine, now: nine + 60_000 });
    const content = { type: "text", body: '@x\n"quoted"; =cmd' };
    await store.chat.send("demo", channel, { sender: user, content, volatile: true });
    const draft = { sender: user, content: "-1?", state: "mod_queue" } as const;
    await store.questions.create("demo", channel, draft);
    const poll = { content: "+", options: [{ content: "@A" }], state: "open" } as const;
    await store.polls.create("demo", channel, poll);
  }
  const bearerOf = (traits = ["api", "admin", "lists", "mods"]) =>
    `Bearer ${tokenOf({ traits, uid: "host" })}`;
  const base = "/api/v1/worlds/demo/results/";
  const get = (path: string, traits?: string[]) =>
    server.call({ url: base + path, as: bearerOf(traits) });
  const lengthOf = ({ body }: { body: unknown }) => (body as { results: object[] }).results.length;

  const expected: Record<string, object[]> = {
    people: [
      { id: user, token_id: "ada", ...profile, traits: ["attendee"], moderation_state: "none" },
    ],
    chat: [{ room: "=Stage", sender: user, text: '@x\n"quoted"; =cmd' }],
    questions: [{ room: "=Stage", content: "-1?", score: 0 }],
    polls: [{ content: "+", options: [{ content: "@A", votes: 0 }] }],
    attendance: [{ user_id: user, display_name: "=1+1", room: "=Stage", seconds: 60 }],
    activity: [
      { room_id: room, room: "=Stage", people: 0, messages: 1 },
      { room_id: room, room: "=Stage", at: NINE, people: 4, messages: 0 },
    ],
    calls: [
      {
        room_id: room,
        room: "=Stage",
        started: NINE,
        ended: "2027-03-01T09:01:00.000Z",
        most_people: 1,
        person_minutes: 1,
      },
    ],
  };
  for (const [kind, records] of Object.entries(expected)) {
    const json = await get(`${kind}/`);
    t.match(json, { status: 200, body: { results: records } }, kind);
    t.equal(lengthOf(json), records.length, "without hidden rooms");
    const { headers, text } = await get(`${kind}/?format=csv`);
    const disposition = `attachment; filename="demo-${kind}.csv"`;
    const type = "text/csv; charset=utf-8";
    t.match(headers, { "content-type": type, "content-disposition": disposition });
    const lines = text
      .replaceAll(/"[^"]*"/g, "")
      .trim()
      .split("\r\n");
    t.equal(lines.length, 1 + records.length, text);
    t.notMatch(text, /(^|[,;\n"])\s*[=+\-@]/, "no formula");
    const url = `${base}${kind}/?format=xlsx`;
    const xlsx = await server.app.inject({
      url,
      headers: { host: "x", authorization: bearerOf() },
    });
    const sheet = sheetOf(xlsx.rawPayload);
    t.notMatch(sheet, /<f[ >]/, "no formula");
    t.equal(sheet.match(/<row /g)?.length, 1 + records.length, `the rows of ${kind}`);
  }
  t.match((await get(`chat/?room=${room}`)).body, { results: [{ channel: room }] });
  t.equal(lengthOf(await get("chat/", ["api", "admin", "lists", "crew"])), 2);
  for (const [path, status] of [
    [`chat/?room=${hidden}`, 403],
    ["chat/?room=x", 403],
    ["other/", 403],
    ["chat/?format=pdf", 400],
    ["chat/?every=5", 400],
    ["activity/?every=0", 400],
    ["activity/?after=monday", 400],
    [`people/?room=${room}`, 400],
  ] as const) {
    t.equal((await get(path)).status, status, path);
  }
  const after = await get("activity/?after=2027-03-01T09:01:00Z&every=5");
  t.same(after.body, { results: [] });
  await store.rooms.update("demo", room, { permission_config: { "chat.read": ["nobody"] } });
  t.match(
    (await get(`activity/?room=${room}`)).body,
    { results: [{ at: NINE, people: 4, messages: null }] },
    "messages are not counted without chat.read",
  );
  await store.rooms.update("demo", room, { permission_config: {} });
  for (const [mode, counts] of [
    ["numbers", [{ people: 0 }, { people: 4 }]],
    ["off", [{ people: null, messages: 1 }]],
  ] as const) {
    await store.worlds.configure("demo", { config: { attendance: mode } });
    t.same((await get("attendance/")).body, { results: [] }, mode);
    t.equal(lengthOf(await get("calls/")), mode === "off" ? 0 : 1, mode);
    const { body } = await get("activity/");
    t.match(body, { results: counts });
    t.match(body, { results: { length: counts.length } });
  }
  t.equal((await get("attendance/", ["api", "admin"])).status, 403);
  t.equal((await get("people/", ["api", "admin"])).status, 403, "without user.list");
  t.equal((await get("chat/", ["admin"])).status, 403, "without world.feed");
  t.same((await get("questions/", ["api", "admin"])).body, { results: [] });
});

void t.test("a form imports and stores a document", async (t) => {
  const permission_config = rules({ "program.update": ["editor"] });
  const server = await startServer(t, { worlds: [worldOf("demo", { permission_config })] });
  const { call, store } = server;
  const tokenFor = (trait: string) => `Bearer ${server.tokenOf({ uid: "ann", traits: [trait] })}`;
  const sessions = async () => (await store.program.get("demo")).sessions.map(({ value }) => value);
  const send = (name: string, body: string | Uint8Array, as = tokenFor("editor")) =>
    call({ method: "POST", url: "/storage/schedule_import/", as, ...fileForm(name, body) });
  const json = JSON.stringify(pretalx());
  const ics = event("DTSTART:20270301T090000Z\nDTEND:20270301T100000Z");
  const stored = {
    "program.json": [json, "application/json"],
    "p.XML": [pretalxXml, "application/xml"],
    "p.ics": [ics, "text/calendar; charset=utf-8"],
    "p.csv": ["title\nWalk\n", "text/csv; charset=utf-8"],
  } as const;
  for (const [name, [body, type]] of Object.entries(stored)) {
    const made = await send(name, body);
    t.equal(made.status, 201, name);
    const { status, headers, bytes } = await follow(server, urlOf(made));
    t.strictSame([status, headers["content-type"], bytes.toString()], [200, type, body]);
    t.match(headers["content-security-policy"], /sandbox/);
  }
  const large = " ".repeat(10 * 2 ** 20 + 1);
  const url = "/api/v1/worlds/demo/program/";
  const as = bearer("demo", "admin", "api", "editor");
  t.equal((await call({ method: "PUT", url, as, body: large })).status, 413, "a body");
  const before = await sessions();
  t.equal(before.length, 3, "two documents have the same session");
  const refused: [string, string, object][] = [
    ["p.pdf", "x", { error: "file.type" }],
    ["p.json", "", { error: "file.size" }],
    ["p.json", large, { error: "file.size" }],
    ["p.json", "{", { non_field_errors: [/^Line 1/] }],
    ["p.ics", "BEGIN:VCALENDAR\nx", { non_field_errors: [/^Line \d/] }],
    ["p.csv", "start\n1\n", {}],
  ];
  for (const [name, body, problem] of refused) {
    t.match(await send(name, body), { status: 400, body: problem }, name);
  }
  for (const as of [tokenFor("x"), "Client guest"]) {
    t.equal((await send("p.json", json, as)).status, 403);
  }
  t.strictSame(await sessions(), before, "what is refused changes nothing");
  const { count } = await store.files.list("demo", { page: 1, pageSize: 9 });
  t.equal(count, Object.keys(stored).length);
});

// Concurrent exports of results.

const permission_config = rules({ "world.feed": ["api"], "user.list": ["api"] });

const people = (world: string, format: string) =>
  `/api/v1/worlds/${world}/results/people/?format=${format}`;

/** Starts a server whose exports block until the test releases them. */
async function startGated(t: Test) {
  let begun = 0;
  const held: (() => void)[] = [];
  const wrap = (store: Store): Store => ({
    ...store,
    audit: {
      ...store.audit,
      async record(...args) {
        begun++;
        await new Promise<void>((resolve) => held.push(resolve));
        return store.audit.record(...args);
      },
    },
  });
  const worlds = ["a", "b"].map((id) => worldOf(id, { permission_config }));
  const server = await startServer(t, { worlds, faults: { wrap } });
  const { port } = server;
  return {
    store: server.store,
    begun: () => begun,
    /** Lets all blocked exports continue. */
    release: () => held.splice(0).forEach((go) => go()),
    /** Sends a request on its own connection. */
    ask: (url: string, world?: string) => {
      const wire = dial(t, port);
      wire.send(
        rawRequest(`GET ${url}`, { ...(world !== undefined && { authorization: admin(world) }) }),
      );
      return wire;
    },
  };
}

void t.test("spreadsheets", async (t) => {
  const server = await startGated(t);
  const { ask, begun, release, store } = server;
  const visitor = { tokenId: "ada", traits: new Set(["admin", "api"]) };
  const { id: user } = await store.users.enter("a", visitor);
  const world = (await store.worlds.get("a"))!.value;
  const report = sealReport(world, {
    name: "attendee_list",
    format: "xlsx",
    user,
    traits: ["admin", "api"],
    ends: Date.now() + 3_600_000,
  });
  const link = `/api/v1/worlds/a/reports/${report}/`;

  const first = ask(people("a", "xlsx"), "a");
  await until(() => begun() === 1);
  const second = ask(link);
  await until(() => begun() === 2);
  // One slot is left in the queue; whichever request arrives first gets it.
  const both = [ask(people("a", "xlsx"), "a"), ask(link)];
  const [waiting, refused] = await Promise.race(
    both.map(async (wire, i) => [both[1 - i]!, await wire.answer()] as const),
  );
  t.equal(refused.status, 503);
  t.match(JSON.parse(refused.text), {
    detail: "The server is busy with spreadsheets. Try again soon.",
    code: "unavailable",
  });
  t.match(refused.headers, { "retry-after": /\d/ });
  const other = ask(people("b", "xlsx"), "b");
  t.equal((await ask("/api/v1/worlds/b/", "b").answer()).status, 200, "all else is answered");
  t.equal(begun(), 2, "two at a time on the server");

  waiting.hangUp();
  const next = ask(people("a", "xlsx"), "a");
  first.hangUp();
  release();
  t.equal((await second.answer()).status, 200, "a link gets its file");
  await until(() => begun() === 4);
  release();
  t.equal((await other.answer()).status, 200, "another world had its turn");
  t.equal((await next.answer()).status, 200, "the place was free again");
  t.equal(begun(), 4, "nothing is made for clients that left");
});

void t.test("a client that takes nothing of its answer", async (t) => {
  let pages = 0;
  const server = await startServer(t, {
    worlds: [worldOf("a", { permission_config })],
    faults: {
      wrap: (store) => ({
        ...store,
        users: {
          ...store.users,
          // An endless list.
          async list(world) {
            pages++;
            const { users } = await store.users.list(world, { page: 1, pageSize: 1 });
            const user = { ...users[0]!, token_id: "x".repeat(10_000) };
            const ids = Array.from({ length: 100 }, (_, i) => `${pages} ${i}`);
            return { count: 1e9, users: ids.map((id) => ({ ...user, id })) };
          },
        },
      }),
    },
  });
  await server.store.users.enter("a", { tokenId: "ada", traits: new Set<string>() });
  const { port } = server;
  const request = rawRequest(`GET ${people("a", "json")}`, { authorization: admin("a") });
  const slow = dial(t, port, { paused: true });
  slow.send(request);
  const quick = connect(port, "127.0.0.1").resume();
  t.teardown(() => quick.destroy());
  quick.write(request);
  // The slow client's socket buffers are full, while the quick client keeps reading.
  await until(() => pages > 200);
  const look = () => server.app.stalls.look();
  await until(async () => {
    look();
    return (await connectionsOf(server.app)) === 1;
  });
  const before = pages;
  await until(() => {
    look();
    return pages > before + 100;
  });
  t.equal(await connectionsOf(server.app), 1, "one that reads goes on");
});

void t.test("tables that are sent as they are read", async (t) => {
  const { ask, begun, release } = await startGated(t);
  const wires = Array.from({ length: 16 }, () => ask(people("a", "csv"), "a"));
  await until(() => begun() === 16);
  const refused = await ask(people("a", "json"), "a").answer();
  t.match(refused, { status: 503, text: /exports of this event/ });
  const other = ask(people("b", "json"), "b");
  await until(() => begun() === 17);
  release();
  for (const wire of [...wires, other]) t.equal((await wire.answer()).status, 200);
});

void t.test("exports of programs", async (t) => {
  const { app, call, store } = await startServer(t);
  const { programs } = app;
  const { formats } = programs;
  const ends: AbortSignal[] = [];
  let go = () => {};
  t.intercept(formats, "write", {
    value: async (...[, , , gone]: Parameters<typeof formats.write>) => {
      ends.push(gone!);
      await new Promise<void>((resolve) => (go = resolve));
      gone!.throwIfAborted();
      return "BEGIN:VCALENDAR";
    },
  });
  const world = (await store.worlds.get("demo"))!.value;
  const everything = { edits: true, sees: () => true };
  const exported = () => programs.export(world, everything, "ics", "");
  const api = "/api/v1/worlds/demo/program/?format=ics";
  for (const url of ["/w/demo/program.ics", api]) {
    const headers = { "if-none-match": "*" };
    const { status } = await call({ url, headers, as: admin("demo") });
    t.equal(status, 304);
  }
  t.equal(ends.length, 0, "nothing is written for a client that has it");

  const leaving = [new AbortController(), new AbortController()];
  const waiting = leaving.map(async ({ signal }) => (await exported()).bytes(signal));
  await until(() => ends.length === 1);
  const refused = Promise.all(waiting.map((bytes) => t.rejects(bytes, /client disconnected/)));
  leaving[0]!.abort();
  t.notOk(ends[0]!.aborted, "somebody still waits");
  leaving[1]!.abort();
  t.ok(ends[0]!.aborted, "nobody does");
  go();
  await refused;

  const bytes = [exported(), exported()].map(async (found) => (await found).bytes());
  await until(() => ends.length === 2);
  go();
  const [first, second] = await Promise.all(bytes);
  t.equal(first, second, "readers share the bytes");
  t.equal(await (await exported()).bytes(), first, "later ones, too");
  t.equal(ends.length, 2);
});

void t.test("imports that meet other writes", async (t) => {
  /** The number of imports that a competing write still precedes. */
  let changes = 0;
  let made = 0;
  let writes = 0;
  const { call } = await startServer(t, {
    faults: {
      wrap: (store) => ({
        ...store,
        program: {
          ...store.program,
          async import(world, ...args) {
            writes++;
            if (changes-- > 0) {
              const title = "By hand";
              const import_id = `s${++made}`;
              await store.program.createSession(world, { title, import_id });
            }
            return store.program.import(world, ...args);
          },
        },
      }),
    },
  });
  const send = (table: string, query = "", headers = {}) =>
    call({
      method: "PUT",
      url: `/api/v1/worlds/demo/program/${query}`,
      as: admin("demo"),
      headers: { "content-type": "text/csv", ...headers },
      body: table,
    });
  changes = 2;
  // Rows without an id are matched by title, so `s2` updates the second session made by hand.
  const answer = await send("title\nA\ns2\n");
  t.match(answer, { status: 200, body: { created: 1, updated: 1 } });
  t.equal(writes, 3, "it is planned again from what is there");
  writes = 0;
  changes = 100;
  const busy = await send("title\nB\n");
  t.match(busy, { status: 503, headers: { "retry-after": /\d/ } });
  t.match(busy.body, { detail: /keeps changing/ });
  t.equal(writes, 5, "a bounded number of times");
  changes = 1;
  const { headers } = await call({ url: "/api/v1/worlds/demo/program/", as: admin("demo") });
  const expecting = { "if-match": headers["etag"] };
  t.equal((await send("title\nC\n", "", expecting)).status, 412);
});

void t.test("the activity of a world", async (t) => {
  const started = Date.now();
  const server = await startServer(t, { limits: { maxUnsent: 1024 * 1024 } });
  const { store, baseUrl, tokenOf } = server;
  const chat = { module_config: [{ type: "chat.native", config: {} }] };
  const room = async (draft: object) =>
    (await store.rooms.create("demo", { name: "Hall", ...draft })).value.id;
  const [big, small, hidden] = [
    await room(chat),
    await room({}),
    await room({ permission_config: { "room.view": ["crew"] } }),
  ];
  const activityFor = (...traits: string[]) =>
    new Foyer({ baseUrl, world: "demo", token: tokenOf({ traits }) }).getActivity();
  const get = () => activityFor("admin", "api");
  const quiet = await get();
  t.match(quiet, { connections: 0, users: 0, messages: 0, slow_readers: 0 });
  t.same(quiet.rooms, []);
  const since = Date.parse(quiet.since);
  t.ok(since >= started && since <= Date.now(), quiet.since);

  const [ann, again] = [await server.person("ann", "crew"), await server.person("ann", "crew")];
  const bob = await server.guest();
  // A connection that never logs in is not counted.
  await server.connect();
  for (const client of [ann, again, bob]) await client.do("room.enter", { room: big });
  for (const room of [small, hidden]) await ann.do("room.enter", { room });
  await ann.do("chat.join", { channel: big });
  const say = (body: string, more: object = {}) =>
    ann.do("chat.send", message(big, text(body), more));
  const { event } = (await say("Hello")) as { event: { event_id: number } };
  await say("Hi");
  await say("Hi!", { replaces: event.event_id });
  const rooms = [
    { id: big, viewers: 2 },
    { id: small, viewers: 1 },
  ];
  const busy = { connections: 3, users: 2, messages: 2, slow_readers: 0 };
  t.strictSame(await get(), { ...busy, rooms, since: quiet.since });
  const crew = await activityFor("admin", "api", "crew");
  t.equal(crew.rooms.length, 3, "rooms that the caller may see");
  ann.ws.terminate();
  const last = { connections: 2, users: 2, rooms: [{ id: big, viewers: 2 }], messages: 2 };
  await until(async () => (await get()).connections === 2);
  t.match(await get(), last);
  for (const traits of [["api"], ["admin"], []]) {
    await t.rejects(activityFor(...traits), { message: /^403/ }, traits.join());
  }

  // A dropped reader is counted as slow. The sender is not, even if several events arrive at the
  // same time.
  const mod = await server.person("mod");
  await mod.do("chat.join", { channel: big });
  await bob.do("chat.subscribe", { channel: big });
  (bob.ws as unknown as { _socket: { pause(): void } })._socket.pause();
  const { hub, rates } = server.app.live;
  const content = { ...text("x"), client: "x".repeat(60_000) };
  const { restore } = t.intercept(rates, "mayMessage", { value: () => true });
  for (let i = 0; i < 2000 && hub.of("demo", bob.id).size > 0; i++) {
    await mod.do("chat.send", message(big, content));
  }
  restore();
  t.match(await get(), { slow_readers: 1 });
});

void t.test("the activity names an erasure that is overdue", async (t) => {
  const { store, baseUrl, tokenOf } = await startServer(t);
  const counts = await store.counts();
  const age = 25 * 3600;
  t.intercept(store, "counts", { value: async () => ({ ...counts, erasureAge: age }) });
  const token = tokenOf({ traits: ["admin", "api"] });
  const { overdue_erasure } = await new Foyer({ baseUrl, world: "demo", token }).getActivity();
  const at = Date.now() - Date.parse(overdue_erasure!);
  t.ok(at >= age * 1000 && at < age * 1000 + 60_000, overdue_erasure!);
});

/** Extracts the XML of the first sheet from an XLSX file. */
function sheetOf(file: Buffer): string {
  // The central directory lists each member with its size and offset (APPNOTE, 4.3.12).
  for (let at = file.indexOf("PK\x01\x02"); at >= 0; at = file.indexOf("PK\x01\x02", at + 4)) {
    const size = file.readUInt32LE(at + 20);
    const nameSize = file.readUInt16LE(at + 28);
    const name = file.toString("utf8", at + 46, at + 46 + nameSize);
    if (!name.endsWith("worksheets/sheet1.xml")) continue;
    const local = file.readUInt32LE(at + 42);
    const start = local + 30 + file.readUInt16LE(local + 26) + file.readUInt16LE(local + 28);
    const bytes = file.subarray(start, start + size);
    return (file.readUInt16LE(at + 10) === 0 ? bytes : inflateRawSync(bytes)).toString();
  }
  throw new Error("There is no sheet.");
}
