import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import ical from "node-ical";
import t from "tap";
import { type Json } from "../../../conformance/client.js";
import { foyer, until } from "../../support/helper.js";
import {
  calendar,
  event,
  frab,
  frabXml,
  MAPS,
  pretalx,
  pretalxXml,
} from "../../support/program-documents.js";
import { festival, ROOMS } from "../../support/festival.js";
import { startSite, type Trait } from "../../support/site.js";

// Whole programs over HTTP and by command: exports, the calendars that programs subscribe to, and
// imports. formats.test.ts covers the individual formats.

const site = await startSite(t);
const put = site.put.bind(site);

const sessions = async (): Promise<Json[]> =>
  (await site.api("sessions/?page_size=1000", { as: "editor" })).body.results;

const session = async (title: string): Promise<Json> =>
  (await sessions()).find((session) => session.title === title);

async function clear(): Promise<void> {
  for (const kind of ["sessions", "speakers"]) {
    const { body } = await site.api(`${kind}/?page_size=1000`, { as: "editor" });
    for (const { id } of body.results) {
      await site.save("DELETE", `${kind}/${id}/`);
    }
  }
}

const counts = (changes: object) => ({
  created: 0,
  updated: 0,
  unchanged: 0,
  deleted: 0,
  rooms_created: 0,
  problems: [],
  ...changes,
});

const hall = await site.room("MAIN hall");
const hidden = await site.room("Secret", { "room.view": ["nobody"] });
const crew = await site.room("Crew", { "room.view": [["crew", "editor"]] });

const exported = (format: string, as: Trait = "editor", headers = {}) =>
  site.api(`program/?format=${format}`, { as, headers });

const night = { starts_at: "2027-03-02T01:00:00Z", ends_at: "2027-03-03T03:30:00Z" };

void t.test("what an export says", async (t) => {
  await site.put(pretalx());
  await site.session("Draft", { state: "draft", ...night });
  await site.session("For the crew", { room_id: crew, ...night });
  await site.session("Some day");
  await site.session(`Nacht; "Träume", \\ ${"lang ".repeat(40)}`, {
    ...night,
    import_id: "night",
    abstract: "One\r\ntwo",
    tags: ["a,b", "c"],
  });

  const { schedule } = (await exported("schedule.json")).body;
  t.match(schedule.conference, {
    acronym: "demo",
    time_zone_name: "Europe/Berlin",
    daysCount: 1,
    start: "2027-03-01",
    end: "2027-03-01",
    days: [
      {
        index: 1,
        date: "2027-03-01",
        rooms: {
          "MAIN hall": [
            {
              guid: MAPS,
              date: "2027-03-01T10:00:00+01:00",
              start: "10:00",
              duration: "00:40",
              room: "MAIN hall",
              persons: [{ public_name: "Ada Example" }],
            },
          ],
          "": [{ date: "2027-03-02T02:00:00+01:00", duration: "1:02:30" }],
        },
      },
    ],
  });
  const guid = schedule.conference.days[0].rooms[""][0].guid as string;
  t.match(guid, /^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab]/, "a UUID of its own");

  for (const [as, titles] of [
    ["editor", ["Maps", "Draft", "For the crew", "Nacht", "Some day"]],
    ["crew", ["Maps", "For the crew", "Nacht", "Some day"]],
    ["reader", ["Maps", "Nacht", "Some day"]],
  ] as const) {
    const { body } = await exported("json", as);
    t.same(Object.keys(body), ["sessions", "speakers"]);
    const found = body.sessions.map(({ title }: Json) => title);
    t.equal(found.length, titles.length, found.join());
    for (const title of titles) t.match(found.join("\n"), title);
    const { text } = await exported("ics", as);
    t.equal(text.includes("SUMMARY:For the crew"), as !== "reader");
    t.equal(text.includes("SUMMARY:Draft"), as === "editor");
    const other = (await exported("schedule.json", as)).text;
    t.notMatch(other, /Draft/, "schedule.json has the public ones");
    t.equal(other.includes("For the crew"), as !== "reader");
  }

  const { text, headers } = await exported("ics");
  t.equal(headers["content-type"], "text/calendar; charset=utf-8");
  t.ok(
    text.split("\r\n").every((line) => Buffer.byteLength(line) <= 75),
    "folded",
  );
  t.notMatch(text, /[^\r]\n/);
  const events = Object.values(ical.sync.parseICS(text)).filter(
    (found) => found?.type === "VEVENT",
  ) as Json[];
  t.equal(events.length, 4, "all that are scheduled");
  const named = (name: RegExp) => events.find(({ summary }) => name.test(summary));
  t.match(named(/^Maps/), {
    uid: MAPS,
    location: "MAIN hall",
    status: "CONFIRMED",
    start: new Date("2027-03-01T09:00:00Z"),
    end: new Date("2027-03-01T09:40:00Z"),
  });
  t.equal(named(/^Draft/).status, "TENTATIVE");
  t.match(named(/^Nacht; "Träume", \\ lang/), { uid: guid, description: "One\ntwo" });

  for (const format of ["json", "schedule.json", "ics"]) {
    const etag = (await exported(format)).headers.etag!;
    const known = { "if-none-match": etag };
    t.equal((await exported(format, "editor", known)).status, 304, format);
    t.equal((await exported(format, "crew", known)).status, 200, `${format} for others`);
  }
});

void t.test("calendars subscribe", async (t) => {
  const feed = (query = "", headers = {}) =>
    site.call({ url: `/w/demo/program.ics${query}`, headers });
  const queryOf = (url: string) => new URL(url).search;
  const linkOf = async (
    client: { do(name: string, payload: object): Promise<Json> },
    renew?: boolean,
  ) => {
    const { url } = await client.do("program.link", renew ? { renew } : {});
    t.match(url, /^http:\/\/.*\/w\/demo\/program\.ics\?token=[\w-]{20,}$/);
    return queryOf(url as string);
  };
  const titles = async (query = "") =>
    Array.from(
      (await feed(query)).text.matchAll(/^SUMMARY:(\S+).*\r$/gm),
      ([, title]) => title,
    ).sort();
  const becomes = (query: string, status: number) =>
    until(async () => (await feed(query)).status === status);

  const open = await feed();
  t.equal(open.status, 200);
  t.equal(open.headers["cache-control"], "max-age=300");
  t.match(open.headers["content-type"], /^text\/calendar/);
  const etag = open.headers.etag!;
  t.equal((await feed("", { "if-none-match": etag })).status, 304);
  t.same(await titles(), ["Maps", "Nacht\\;"]);
  t.equal((await site.call({ url: "/w/missing/program.ics" })).status, 403);

  const ann = await site.person("ann", "crew");
  const token = await linkOf(ann);
  t.equal(await linkOf(ann), token, "one for each user");
  const bob = await site.person("bob", "x");
  t.not(await linkOf(bob), token);
  const own = await feed(token);
  t.match(own.headers["cache-control"], /^private, max-age=300$/);
  t.ok((await titles(token)).includes("For"), "as the user sees it");
  t.notOk((await titles(token)).includes("Draft"));
  const known = { "if-none-match": own.headers.etag! };
  t.equal((await feed(token, known)).status, 304);
  const bearer = token.slice("?token=".length);
  for (const authorization of [`Bearer ${bearer}`, `Client ${bearer}`]) {
    const rights = await site.call({ url: "/api/v1/worlds/demo/program/", as: authorization });
    t.equal(rights.status, 401, "its only right is to read the calendar");
  }
  t.not((await ann.login({ token: bearer }))[0], "authenticated");

  const again = await site.person("ann", "crew");
  const { permission_config: rules } = (await site.api("")).body;
  const setRules = (more: object) =>
    site.save("PATCH", "", { permission_config: { ...rules, ...more } });
  await setRules({ "program.read": ["crew"] });
  await becomes("", 403);
  t.equal((await feed(token)).status, 200);
  await becomes(await linkOf(await site.person("carl", "crew")), 200);
  await setRules({ "world.view": [["crew", "admin", "editor"]] });
  await becomes("", 403);
  t.equal((await feed(token)).status, 200);
  await setRules({});
  await becomes("", 200);

  const renewed = await linkOf(again, true);
  t.not(renewed, token);
  await becomes(token, 403);
  t.equal((await feed(renewed)).status, 200);
  for (const query of ["?token=", "?token=x", `${renewed}&token=x`, "?token[]=x"]) {
    t.equal((await feed(query)).status, query === "?token[]=x" ? 200 : 403, query);
  }
  // The user has the rights of the latest login.
  await site.person("ann", "y");
  await until(async () => !(await titles(renewed)).includes("For"));
  const admin = await site.person("admin", "admin", "editor");
  await admin.do("user.ban", { id: again.id });
  await becomes(renewed, 403);
  await admin.do("user.reactivate", { id: again.id });
  await becomes(renewed, 200);
  await site.save("POST", "delete_user", { user_id: again.id });
  await becomes(renewed, 403);
});

void t.test("an export imports as unchanged", async (t) => {
  const hour = { starts_at: "2027-03-04T09:00:10Z", ends_at: "2027-03-04T09:30:20Z" };
  const long = `https://example.org/${"x".repeat(300)}`;
  const made: Record<string, object> = {
    "Two links": {
      links: [
        { title: "", url: "https://a.example/" },
        { title: 'Slides; "2", \\\n3', url: "https://b.example/" },
      ],
    },
    "A link with a title": {
      links: [{ title: "Slides", url: "https://a.example/" }],
    },
    "A link without a title": { links: [{ title: "", url: long }] },
    "A link with its address as title": {
      links: [{ title: "https://a.example/", url: "https://a.example/" }],
    },
    "A description only": { description: "Long,\nbut not an abstract" },
    "Both texts": { abstract: "Short", description: "Long" },
    "Blanks and ends of lines": {
      abstract: "  One\r\ntwo\u0007 ",
      subtitle: " a ",
      tags: [" a", "a"],
    },
    "Ten seconds": { ends_at: "2027-03-04T09:00:20Z" },
    "Parts of seconds": { starts_at: "2027-03-04T09:00:10.123Z" },
    "A name that is cut at a blank, as it is far longer than sixty characters": {},
  };
  for (const [title, fields] of Object.entries(made)) {
    const import_id = `same ${title}`;
    await site.session(title, { ...hour, import_id, ...fields });
  }
  const listed = async () =>
    (await site.api("sessions/?page_size=1000", { as: "editor" })).body.results;
  const before: Json[] = await listed();
  const titles = Object.keys(made);
  for (const format of ["json", "schedule.json", "ics"]) {
    const { text } = await exported(format);
    const type = format === "ics" ? "ics" : "json";
    const { body } = await site.put(text, { type });
    t.match(body, { created: 0, updated: 0, problems: [] }, format);
    t.strictSame(await listed(), before, format);

    for (const { id } of before) await site.save("DELETE", `sessions/${id}/`);
    const again = await site.put(text, { type });
    t.match(again.body, { updated: 0, unchanged: 0, problems: [] }, format);
    const now: Json[] = await listed();
    const named = (list: Json[], name: string) => list.find(({ title }) => title === name);
    for (const title of titles.slice(0, 7)) {
      const { links, description, ends_at } = named(before, title);
      const isWhole = format !== "ics" || title !== "Both texts";
      const kept = { ends_at, ...(isWhole && { description }) };
      t.match(named(now, title), kept, `${title} in ${format}`);
      if (/address as/.test(title) && format !== "json") continue;
      t.strictSame(named(now, title).links, links, `${title} in ${format}`);
    }
    for (const { id } of now) await site.save("DELETE", `sessions/${id}/`);
    await site.put({ sessions: before.map(({ id: _, ...rest }) => rest) });
    before.splice(0, before.length, ...(await listed()));
  }
  const { schedule } = (await exported("schedule.json")).body;
  for (const { rooms } of schedule.conference.days) {
    for (const event of Object.values<Json[]>(rooms).flat()) {
      t.match(event.slug, /^[a-z0-9_-]+[a-z0-9]$/);
      t.match(event.duration, /^(\d+:)?\d\d:\d\d$/);
      t.not(event.duration, "00:00");
    }
  }
});

void t.test("an event of a calendar counts its changes", async (t) => {
  const id = await site.session("Counted", night);
  const sequence = async () => {
    const { text } = await exported("ics");
    const event = text.split("BEGIN:VEVENT").find((part) => part.includes(id))!;
    return Number(/^SEQUENCE:(\d+)\r$/m.exec(event)?.[1]);
  };
  t.equal(await sequence(), 0);
  const ends_at = "2027-03-03T04:30:00Z";
  await site.save("PATCH", `sessions/${id}/`, { ends_at });
  t.equal(await sequence(), 1);
  await site.save("PATCH", `sessions/${id}/`, { ends_at });
  t.equal(await sequence(), 1, "the same again is no change");
});

void t.test("imports agree with the document, and change no more", async (t) => {
  await clear();
  const trial = await put(pretalx(), { query: "?dry_run=true" });
  t.match(trial, { status: 200 });
  t.strictSame(trial.body, counts({ created: 1 }));
  t.same(await sessions(), [], "a trial changes nothing");
  t.strictSame((await put(pretalx())).body, counts({ created: 1 }));
  const made = await session("Maps for everyone");
  t.match(made, {
    room_id: hall,
    import_id: MAPS,
    state: "public",
    starts_at: "2027-03-01T09:00:00.000Z",
    ends_at: "2027-03-01T09:40:00.000Z",
  });
  t.equal(made.speaker_ids.length, 1);
  const unchanged = counts({ unchanged: 1 });
  t.strictSame((await put(pretalx())).body, unchanged, "again");
  const xml = await put(pretalxXml, { type: "xml" });
  t.strictSame(xml.body, unchanged, "the same as XML");
  for (const format of ["json", "schedule.json"]) {
    const exported = await site.api(`program/?format=${format}`);
    t.strictSame((await put(exported.body)).body, unchanged, format);
  }
  const whole = (await site.api("program/")).body;
  const byId = whole.sessions.map(({ import_id: _, ...rest }: Json) => rest);
  const again = await put({ ...whole, sessions: byId });
  t.match(again.body, { created: 0 }, "Foyer's own JSON also matches by id");
  await put(pretalx());
  const ics = (await site.api("program/?format=ics")).text;
  t.match((await put(ics, { type: "ics" })).body, { created: 0, problems: [] });

  await site.save("PATCH", `sessions/${made.id}/`, {
    stream: { url: "/stream.m3u8" },
    recording: { url: "https://v.example/1" },
  });
  const moved = await put(pretalx({ title: "Maps for all" }));
  t.strictSame(moved.body, counts({ updated: 1 }));
  t.match(await session("Maps for all"), { id: made.id, stream: {}, recording: {} });
  await site.session("By hand");
  const other = await put(frab, { query: "?remove_missing=true" });
  t.match(other.body, { created: 1, deleted: 1, problems: [{}, {}] });
  t.match(JSON.stringify(other.body.problems), /Radio at night.*no room called “Tent”/);
  t.same(
    (await sessions()).map(({ title }) => title),
    ["Radio at night", "By hand"],
  );
  const radio = await put(frabXml, { type: "xml" });
  t.match(radio.body, { created: 0, updated: 1 }, "its XML has another title");
  await clear();
});

void t.test("rooms are found by name, or made", async (t) => {
  const row = (title: string, name: string) => `${title},${name}\n`;
  const csv = (rows: string) => `title,room\n${rows}`;
  const noRoom = (name: string) => [
    { line: 2, session: "A", message: `There is no room called “${name}”.` },
  ];
  for (const name of ["secret", "nowhere"]) {
    const query = "?dry_run=true";
    const found = await put(csv(row("A", name)), { type: "csv", query });
    t.strictSame(
      found.body,
      counts({ created: 1, problems: noRoom(name) }),
      "a hidden room is as one that does not exist",
    );
  }
  const file = join(mkdtempSync(join(site.dataDir, "hidden-")), "a.csv");
  writeFileSync(file, csv(row("A", "secret")));
  await site.command("program", "import", "demo", file);
  const exported = async () => JSON.parse((await site.command("program", "export", "demo")).stdout);
  const program = await exported();
  t.match(program, { sessions: [{ title: "A", room_id: hidden }] });
  t.strictSame(
    (await put(csv(row("A", "MAIN hall")), { type: "csv" })).body,
    counts({
      problems: [
        {
          message: "The file has sessions in rooms that you may not see. They were left unchanged.",
        },
      ],
    }),
  );
  t.strictSame(await exported(), program, "it is left as it is");
  const other = { type: "csv", query: "?remove_missing=true" } as const;
  const kept = await put(csv(row("B", "MAIN hall")), other);
  t.match(kept.body, counts({ created: 1, problems: [{ message: /may not see were kept/ }] }));
  t.match(
    await exported(),
    { sessions: [{ title: "A" }, { title: "B" }] },
    "an importer deletes only what they see",
  );
  const query = "?create_rooms=true";
  const rows = csv(row("B", " New ") + row("C", "NEW"));
  t.equal((await put(rows, { type: "csv", query })).status, 403, "no room.create");
  const made = await put(rows, { type: "csv", query, as: "admin" });
  t.strictSame(made.body, counts({ created: 1, updated: 1, rooms_created: 1 }));
  t.same(await site.list("rooms/?search=new"), ["New"]);
  const twins = [await site.room("Twin"), await site.room("twin")];
  const twin = await put(csv(row("D", "TWIN")), { type: "csv" });
  t.match(twin.body, {
    created: 1,
    problems: [{ line: 2, session: "D", message: /More than one room/ }],
  });
  t.ok(twins.includes((await session("D")).room_id));
  const unknown = await put(csv(row("D", "Nowhere")), { type: "csv" });
  t.match(unknown.body, { unchanged: 1, problems: [{ line: 2 }] });
  t.ok(twins.includes((await session("D")).room_id), "it stays where it is");
  await clear();
});

void t.test("the first of two with one id wins", async (t) => {
  const one = (summary: string) =>
    `BEGIN:VEVENT\nUID:1\nSUMMARY:${summary}\nDTSTART:20270301T100000Z\nDURATION:PT1H\nEND:VEVENT`;
  const time = { date: "2027-03-02T10:00:00+01:00", duration: "00:40" };
  const [, xml] = /(<event [^]*<\/event>)/.exec(pretalxXml)!;
  const twice = pretalxXml.replace(xml!, `${xml}\n${xml!.replace("Maps for everyone", "B")}`);
  const rows: [type: "ics" | "json" | "xml" | "csv", document: unknown][] = [
    ["ics", calendar(`${one("A")}\n${one("B")}`)],
    ["json", pretalx({ title: "A" }, [{ guid: MAPS, title: "B", ...time }])],
    ["xml", twice],
    ["csv", "title,start,end\nB,,\nB,,\n"],
    ["json", { sessions: ["A", "B"].map((title) => ({ import_id: "1", title })) }],
  ];
  for (const [type, document] of rows) {
    const { body } = await put(document, { type });
    t.match(body, { created: 1, problems: [{ session: "B" }] }, type);
    t.match(body.problems[0].message, /same id/);
    t.equal((await sessions()).length, 1);
    if (type !== "csv") t.equal(await session("B"), undefined, "the first");
    if (type === "ics") t.equal(body.problems[0].line, 10);
    await clear();
  }
});

void t.test("what cannot be read is never missing", async (t) => {
  await put(pretalx());
  const query = "?remove_missing=true";
  for (const [type, document] of [
    ["xml", "<schedule><talk><title>X</title></talk></schedule>"],
    ["json", { schedule: { conference: { days: [] } } }],
    ["json", { sessions: [] }],
    ["csv", "title,start\n"],
    ["ics", calendar("")],
  ] as const) {
    const { body } = await put(document, { type, query });
    t.match(body, { created: 0, deleted: 0 }, type);
    t.match(body.problems.at(-1).message, /No session .* none were deleted/);
  }
  const bad = { type: "csv", query } as const;
  t.equal((await put("title,start,end\nA,x,y\n", bad)).status, 400);
  t.equal((await sessions()).length, 1);
  const partly = await put("title,start,end\nA,x,y\nB,,\n", bad);
  t.match(partly.body, { created: 1, deleted: 1, problems: [{ line: 2 }] });
  await clear();
});

void t.test("who speaks, by id and by name", async (t) => {
  const schedule = (guid: string, ...people: object[]) =>
    put(pretalx({ guid, title: guid, persons: people }));
  const names = async (title: string): Promise<string[]> => {
    const { results } = (await site.api("speakers/?page_size=1000")).body;
    const { speaker_ids } = await session(title);
    return speaker_ids.map((id: string) => results.find((one: Json) => one.id === id).name);
  };
  const count = async () => (await site.api("speakers/")).body.count;
  const ada = { id: 1, public_name: "Ada" };
  const bob = { id: 1, public_name: "Bob" };
  await schedule("T1", ada, bob);
  t.same(await names("T1"), ["Ada", "Bob"]);
  await schedule("T2", bob, ada);
  t.same(await names("T2"), ["Bob", "Ada"]);
  t.equal(await count(), 2, "they are found again in another order");
  await schedule("T3", { id: 1, public_name: "Cy" });
  t.same(await names("T1"), ["Ada", "Bob"], "of another system");
  t.same(await names("T3"), ["Cy"]);
  await schedule("T4", { guid: "g1", public_name: "Di" });
  await schedule("T4", { guid: "g1", public_name: "Dia" });
  t.same(await names("T4"), ["Dia"], "a new name of the same person");
  const before = await count();
  const csv = (rows: string) => put(`title,speakers\n${rows}\n`, { type: "csv" });
  await csv("C1, dia ;ADA;New");
  t.same(await names("C1"), ["Dia", "Ada", "New"], "by name");
  t.equal(await count(), before + 1);
  await site.save("POST", "speakers/", { name: "Ada" });
  const twins = { problems: [{ message: /^2 speakers are called “Ada”\. The one with the most/ }] };
  t.match((await csv("C2,Ada")).body, twins);
  t.equal(await count(), before + 2, "of two with one name, the one with the most sessions");
  t.match((await csv("C2,Ada")).body, { unchanged: 1, ...twins });
  t.equal(await count(), before + 2);
  await clear();
});

void t.test("what is refused changes nothing", async (t) => {
  await put(pretalx());
  const before = await sessions();
  const headers = (type: string) => ({
    method: "PUT",
    body: "title\nA",
    as: "editor" as const,
    headers: { "content-type": type },
  });
  const where = "schedule.conference.days.0.rooms.Main Hall.0";
  const rows: [name: string, ask: () => Promise<unknown>, expected: object][] = [
    [
      "a document of which no session can be read",
      () => put(pretalx({ title: null })),
      { status: 400, body: { [`${where}.title`]: [/./] } },
    ],
    [
      "a broken calendar",
      () => put(event("DTSTART:20270230T100000Z\nDURATION:PT1H"), { type: "ics" }),
      { status: 400, body: { non_field_errors: [/^Line 4: /] } },
    ],
    ["another type", () => site.api("program/", headers("text/html")), { status: 415 }],
    [
      "another charset",
      () => site.api("program/", headers("text/csv; charset=latin1")),
      { status: 415 },
    ],
    [
      "a parameter that is none",
      () => put(frab, { query: "?dry_run=1" }),
      { status: 400, body: { dry_run: [/./] } },
    ],
    ["no right to make rooms", () => put(frab, { query: "?create_rooms=true" }), { status: 403 }],
    ["no right", () => put(frab, { as: "reader" }), { status: 403, body: { code: "forbidden" } }],
    [
      "another format",
      () => site.api("program/?format=xml"),
      { status: 400, body: { format: [/./] } },
    ],
  ];
  for (const [name, ask, expected] of rows) {
    t.match(await ask(), expected, name);
  }
  t.strictSame(await sessions(), before);
  await clear();
});

void t.test("imports at the same time", async (t) => {
  const table = (track: string) => {
    const row = (_: unknown, i: number) => `S${i},Race ${i % 5},${track}\n`;
    return `title,room,track\n${Array.from({ length: 200 }, row).join("")}`;
  };
  const query = "?create_rooms=true&remove_missing=true";
  let busy = 0;
  const sent = async (name: string, server: number) => {
    const how = { type: "csv", query, as: "admin", server } as const;
    for (;;) {
      const answer = await put(table(name), how);
      if (answer.status !== 503) return answer;
      t.match(answer.body, {
        detail: "The server is busy with imports of programs. Try again soon.",
      });
      busy++;
    }
  };
  const names = ["a", "b", "a", "b", "a", "b", "a", "b"];
  const answers = await Promise.all(names.map(sent));
  t.ok(busy > 0, "one document waits, and another one is refused");
  const sum = (name: string) => answers.reduce((sum, { body }) => sum + (body[name] as number), 0);
  for (const { status, text } of answers) t.equal(status, 200, text);
  t.equal(sum("created"), 200, "the first one makes them");
  t.equal(sum("deleted"), 0, "not that of the hidden room");
  t.equal(sum("rooms_created"), 5);
  t.equal((await site.list("rooms/?search=race")).length, 5);
  const left = await sessions();
  t.equal(left.length, 200);
  t.equal(new Set(left.map(({ track }) => track)).size, 1, "one is the last");
  await clear();
});

void t.test("commands import and export", async (t) => {
  const csv = (rows: string) => `title,start,end,room\n${rows}`;
  const file = join(mkdtempSync(join(site.dataDir, "import-")), "a.CSV");
  const imports = async (name: string, ...args: string[]) =>
    site.command("program", "import", "demo", name, ...args);
  writeFileSync(file, csv("A,2027-03-01 10:00,2027-03-01 11:00,Barn\nB,,,\n"));
  const trial = await imports(file, "--dry-run", "--create-rooms");
  t.match(trial, { code: 0, stdout: /It would be: 2 created.* 1 room/ });
  t.match(await imports(file), { code: 0, stdout: /Line 2: A: .*“Barn”[^]*Sessions: 2 created/ });
  t.match(await session("A"), { room_id: null, starts_at: /T09:00/ });
  t.match(await imports(file, "--create-rooms"), { stdout: /1 changed.* 1 room/ });
  t.equal(typeof (await session("A")).room_id, "string");
  writeFileSync(file, csv("B,,,\n"));
  const less = await imports(file, "--remove-missing", "--json");
  t.strictSame(
    JSON.parse(less.stdout),
    counts({ unchanged: 1, deleted: 2 }),
    "also that of the hidden room; what a calendar or a person made stays",
  );
  const one = event("DTSTART:20270301T100000Z\nDURATION:PT1H");
  t.match(await foyer(site.dataDir, ["program", "import", "demo", "-"], {}, one), { code: 0 });
  const exports = async (...args: string[]) =>
    (await site.command("program", "export", "demo", ...args)).stdout;
  const own = (await site.api("program/")).body;
  t.same(JSON.parse(await exports()), own);
  t.equal(own.sessions.length, 2);
  const schedule = JSON.parse(await exports("--format", "schedule.json"));
  t.match(schedule, { schedule: { conference: { time_zone_name: /Berlin/ } } });
  const calendar = await exports("--format", "ics");
  t.match(calendar, /^BEGIN:VCALENDAR\r\n[^]*SUMMARY:Walk/);
  t.match(JSON.parse(await exports("--format", "ics", "--json")), /^BEGIN/);
  for (const args of [
    ["import", "demo", "-", "--what"],
    ["export", "demo", "--format", "xml"],
    ["import", "demo"],
  ]) {
    t.match(await site.command("program", ...args), { code: 2 }, args.join());
  }
  t.match(await site.command("program", "export", "none"), { code: 1 });
  const missing = await imports("/missing.json");
  t.match(missing, { code: 1, stderr: /cannot be read/ });
  const bad = join(mkdtempSync(join(site.dataDir, "import-")), "bad.json");
  writeFileSync(bad, '{"sessions":[\n{"title":""}]}');
  t.match(await imports(bad), { code: 1, stderr: /sessions\.0\.title/ });
  await clear();
});

void t.test("a festival over the change to summer time", async (t) => {
  const document = festival({ begin: Date.parse("2027-03-27T09:00:00Z") });
  const query = "?create_rooms=true";
  t.match((await put(document, { query, as: "admin" })).body, {
    created: 120,
    rooms_created: ROOMS.length - 1,
    problems: [],
  });
  const { sessions, speakers } = (await site.api("program/")).body;
  t.equal(speakers.length, 60);
  t.equal(new Set(sessions.map(({ room_id }: Json) => room_id)).size, ROOMS.length);
  const { schedule } = (await site.api("program/?format=schedule.json")).body;
  t.match(schedule.conference.days, [
    { index: 1, date: "2027-03-27" },
    { index: 2, date: "2027-03-28" },
  ]);
  const [moved] = schedule.conference.days[1].rooms["MAIN hall"];
  t.match(moved, { date: "2027-03-28T11:00:00+02:00" });
});

void t.test("killed in the middle, an import has happened or has not", async (t) => {
  const titles = (title: string) => ({
    sessions: Array.from({ length: 2000 }, (_, i) => ({
      import_id: `s${i}`,
      title,
      abstract: "words ".repeat(100),
    })),
    speakers: [],
  });
  const query = "?remove_missing=true";
  t.equal((await put(titles("0"), { query })).status, 200);
  for (const wait of [200, 600]) {
    const imported = put(titles(`${wait}`), { query }).catch(() => undefined);
    await delay(wait);
    await site.restart("SIGKILL");
    await imported;
    const { body } = await site.api("program/", { as: "editor" });
    const seen = new Set(body.sessions.map(({ title }: Json) => title));
    t.equal(body.sessions.length, 2000);
    t.equal(seen.size, 1, `after ${wait} ms: ${[...seen].join()}`);
  }
});
