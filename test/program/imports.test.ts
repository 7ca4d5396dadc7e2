import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import type { Json } from "../../conformance/client.js";
import {
  calendar,
  event,
  frab,
  frabXml,
  MAPS,
  pretalx,
  pretalxXml,
} from "./documents.js";
import { festival, ROOMS } from "./festival.js";
import { Site } from "./site.js";

// Whole programs over HTTP and by command: what an import changes. What each format says is in
// formats.test.ts.

const site = await Site.start(t);
const put = site.put.bind(site);

const sessions = async (): Promise<Json[]> =>
  (await site.api("sessions/?page_size=1000", { as: "editor" })).body.results;

const session = async (title: string): Promise<Json> =>
  (await sessions()).find((session) => session.title === title);

async function clear(): Promise<void> {
  for (const kind of ["sessions", "speakers"]) {
    const { body } = await site.api(`${kind}/?page_size=1000`, {
      as: "editor",
    });
    for (const { id } of body.results) {
      await site.save("DELETE", `${kind}/${id}/`);
    }
  }
}

const counts = (changes: object) => ({
  ...{ created: 0, updated: 0, unchanged: 0, deleted: 0, rooms_created: 0 },
  ...{ problems: [] },
  ...changes,
});

const hall = await site.room("MAIN hall");
const hidden = await site.room("Secret", { "room.view": ["nobody"] });

void t.test(
  "imports agree with the document, and change no more",
  async (t) => {
    const trial = await put(pretalx(), { query: "?dry_run=true" });
    t.match(trial, { status: 200 });
    t.strictSame(trial.body, counts({ created: 1 }));
    t.same(await sessions(), [], "a trial changes nothing");
    t.strictSame((await put(pretalx())).body, counts({ created: 1 }));
    const made = await session("Maps for everyone");
    t.match(made, {
      ...{ room_id: hall, import_id: MAPS, state: "public" },
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
    t.match((await put(ics, { type: "ics" })).body, {
      created: 0,
      problems: [],
    });

    await site.save("PATCH", `sessions/${made.id}/`, {
      stream: { url: "/stream.m3u8" },
      recording: { url: "https://v.example/1" },
    });
    const moved = await put(pretalx({ title: "Maps for all" }));
    t.strictSame(moved.body, counts({ updated: 1 }));
    t.match(await session("Maps for all"), {
      id: made.id,
      stream: {},
      recording: {},
    });
    await site.session("By hand");
    const other = await put(frab, { query: "?remove_missing=true" });
    t.match(other.body, { created: 1, deleted: 1, problems: [{}, {}] });
    t.match(
      JSON.stringify(other.body.problems),
      /Radio at night.*no room called “Tent”/,
    );
    t.same(
      (await sessions()).map(({ title }) => title),
      ["Radio at night", "By hand"],
    );
    const radio = await put(frabXml, { type: "xml" });
    t.match(
      radio.body,
      { created: 0, updated: 1 },
      "its XML has another title",
    );
    await clear();
  },
);

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
  const exported = async () =>
    JSON.parse((await site.command("program", "export", "demo")).stdout);
  const program = await exported();
  t.match(program, { sessions: [{ title: "A", room_id: hidden }] });
  t.strictSame(
    (await put(csv(row("A", "MAIN hall")), { type: "csv" })).body,
    counts({
      problems: [
        {
          message:
            "Sessions of the file that are in rooms that you may not see were left as they are.",
        },
      ],
    }),
  );
  t.strictSame(await exported(), program, "it is left as it is");
  const other = { type: "csv", query: "?remove_missing=true" } as const;
  const kept = await put(csv(row("B", "MAIN hall")), other);
  t.match(
    kept.body,
    counts({ created: 1, problems: [{ message: /may not see were kept/ }] }),
  );
  t.match(
    await exported(),
    { sessions: [{ title: "A" }, { title: "B" }] },
    "an importer deletes only what they see",
  );
  const query = "?create_rooms=true";
  const rows = csv(row("B", " New ") + row("C", "NEW"));
  t.equal(
    (await put(rows, { type: "csv", query })).status,
    403,
    "no room.create",
  );
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
  const twice = pretalxXml.replace(
    xml!,
    `${xml}\n${xml!.replace("Maps for everyone", "B")}`,
  );
  const rows: [type: "ics" | "json" | "xml" | "csv", document: unknown][] = [
    ["ics", calendar(`${one("A")}\n${one("B")}`)],
    ["json", pretalx({ title: "A" }, [{ guid: MAPS, title: "B", ...time }])],
    ["xml", twice],
    ["csv", "title,start,end\nB,,\nB,,\n"],
    [
      "json",
      { sessions: ["A", "B"].map((title) => ({ import_id: "1", title })) },
    ],
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
    t.match(body.problems.at(-1).message, /no sessions .* none were deleted/);
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
    return speaker_ids.map(
      (id: string) => results.find((one: Json) => one.id === id).name,
    );
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
  const csv = (rows: string) =>
    put(`title,speakers\n${rows}\n`, { type: "csv" });
  await csv("C1, dia ;ADA;New");
  t.same(await names("C1"), ["Dia", "Ada", "New"], "by name");
  t.equal(await count(), before + 1);
  await site.save("POST", "speakers/", { name: "Ada" });
  await csv("C2,Ada");
  t.equal(await count(), before + 3, "of two with one name, neither");
  t.match((await csv("C2,Ada")).body, { unchanged: 1, problems: [] });
  t.equal(await count(), before + 3);
  await clear();
});

void t.test("what is refused changes nothing", async (t) => {
  await put(pretalx());
  const before = await sessions();
  const headers = (type: string) => ({
    ...{ method: "PUT", body: "title\nA", as: "editor" as const },
    headers: { "content-type": type },
  });
  const where = "schedule.conference.days.0.rooms.Main Hall.0";
  const rows: [name: string, ask: () => Promise<unknown>, expected: object][] =
    [
      [
        "a document of which no session can be read",
        () => put(pretalx({ title: null })),
        { status: 400, body: { [`${where}.title`]: [/./] } },
      ],
      [
        "a broken calendar",
        () =>
          put(event("DTSTART:20270230T100000Z\nDURATION:PT1H"), {
            type: "ics",
          }),
        { status: 400, body: { non_field_errors: [/^Line 4: /] } },
      ],
      [
        "another type",
        () => site.api("program/", headers("text/html")),
        { status: 415 },
      ],
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
      [
        "no right to make rooms",
        () => put(frab, { query: "?create_rooms=true" }),
        { status: 403 },
      ],
      [
        "no right",
        () => put(frab, { as: "reader" }),
        { status: 403, body: { code: "forbidden" } },
      ],
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
  const sum = (name: string) =>
    answers.reduce((sum, { body }) => sum + (body[name] as number), 0);
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
  t.match(await imports(file), {
    code: 0,
    stdout: /Line 2: A: .*“Barn”[^]*Sessions: 2 created/,
  });
  t.match(await session("A"), { room_id: null, starts_at: /T09:00/ });
  t.match(await imports(file, "--create-rooms"), {
    stdout: /1 changed.* 1 room/,
  });
  t.equal(typeof (await session("A")).room_id, "string");
  writeFileSync(file, csv("B,,,\n"));
  const less = await imports(file, "--remove-missing", "--json");
  t.strictSame(
    JSON.parse(less.stdout),
    counts({ unchanged: 1, deleted: 2 }),
    "also that of the hidden room; what a calendar or a person made stays",
  );
  const one = event("DTSTART:20270301T100000Z\nDURATION:PT1H");
  t.match(await site.piped(one, "program", "import", "demo", "-"), { code: 0 });
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
    ...{ created: 120, rooms_created: ROOMS.length - 1, problems: [] },
  });
  const { sessions, speakers } = (await site.api("program/")).body;
  t.equal(speakers.length, 60);
  t.equal(
    new Set(sessions.map(({ room_id }: Json) => room_id)).size,
    ROOMS.length,
  );
  const { schedule } = (await site.api("program/?format=schedule.json")).body;
  t.match(schedule.conference.days, [
    { index: 1, date: "2027-03-27" },
    { index: 2, date: "2027-03-28" },
  ]);
  const [moved] = schedule.conference.days[1].rooms["MAIN hall"];
  t.match(moved, { date: "2027-03-28T11:00:00+02:00" });
});

void t.test(
  "killed in the middle, an import has happened or has not",
  async (t) => {
    const titles = (title: string) => ({
      sessions: Array.from({ length: 2000 }, (_, i) => ({
        ...{ import_id: `s${i}`, title, abstract: "words ".repeat(100) },
      })),
      speakers: [],
    });
    const query = "?remove_missing=true";
    t.equal((await put(titles("0"), { query })).status, 200);
    for (const wait of [200, 600]) {
      const imported = put(titles(`${wait}`), { query }).catch(() => undefined);
      await delay(wait);
      await site.kill();
      await imported;
      await site.start();
      const { body } = await site.api("program/", { as: "editor" });
      const seen = new Set(body.sessions.map(({ title }: Json) => title));
      t.equal(body.sessions.length, 2000);
      t.equal(seen.size, 1, `after ${wait} ms: ${[...seen].join()}`);
    }
  },
);
