import t from "tap";
import { named, openWorld } from "../../support/open-world.js";
import { NO_SERVERS } from "../../support/shared.js";
import { startServer } from "../../support/server.js";
import { until } from "../../support/helper.js";

// Captions: who may send and read them, live and afterward.

const server = await startServer(t);
const line = { lang: "en", text: "Good morning.", final: true };
const denied = "protocol.denied";

void t.test("captions reach those who asked for their language", async (t) => {
  const world = await openWorld(server);
  const hall = await world.room();
  const hidden = await world.room({ permission_config: { "room.view": ["crew"] } });
  const admin = await world.admin();
  const ann = await world.person("ann");
  const bob = await world.person("bob");
  const send = (text: string, final = true, lang = "en") =>
    admin.do("room.captions.send", { room: hall, lang, text, final });
  const heard = async (person: typeof ann) => {
    await world.settled(hall);
    const all = named(await person.all(), "room.caption");
    return all.map(({ lang, text, final }) => `${lang} ${text}${final ? "" : "…"}`);
  };
  await ann.do("room.captions", { room: hall, lang: "EN" });
  await bob.do("room.enter", { room: hall });
  await send("Good", false);
  await send("Guten Morgen.", true, "de");
  await send("Good morning.");
  t.same(await heard(ann), ["en Good…", "en Good morning."], "without entering the room");
  t.same(await heard(bob), [], "nobody else");
  await send("Tod", false);
  await bob.do("room.captions", { room: hall, lang: "en" });
  t.same(await heard(bob), ["en Good morning.", "en Tod…"], "what is said at present");
  await send("Heute", false, "de");
  await bob.do("room.captions", { room: hall, lang: "de" });
  t.same(await heard(bob), ["de Guten Morgen.", "de Heute…"], "instead of the language before");
  await send("Today we begin.");
  await send("Heute beginnen wir.", true, "de");
  t.same(await heard(bob), ["de Heute beginnen wir."]);
  await bob.do("room.captions", { room: hall, lang: null });
  await send("Zuerst.", true, "de");
  t.same(await heard(bob), []);

  t.equal(await bob.code("room.captions.send", { room: hall, ...line }), denied);
  for (const command of ["room.captions", "room.captions.list", "room.captions.send"]) {
    const payload = command === "room.captions" ? { lang: "en" } : {};
    t.equal(await ann.code(command, { room: hidden, ...payload }), denied, command);
    t.equal(await ann.code(command, { room: "none", ...payload }), "room.unknown", command);
  }
  await world.alter(hall, { permission_config: { "room.view": ["crew"] } });
  await world.settled(hall);
  await ann.all();
  const said = { ...line, at: Date.now() };
  await world.store.captions.add(world.id, hall, [said], null, Date.now());
  t.same(await heard(ann), [], "whoever no longer sees the room hears nothing of it");
  t.equal(await ann.code("room.captions.list", { room: hall }), denied);
});

void t.test("everyone in a room knows the languages", async (t) => {
  const world = await openWorld(server);
  const hall = await world.room();
  const admin = await world.admin();
  const ann = await world.person("ann");
  const bob = await world.person("bob");
  const cy = await world.person("cy");
  for (const person of [admin, ann]) await person.do("room.enter", { room: hall });
  const captions = [line, { ...line, lang: "de" }, { ...line, lang: "de" }];
  await admin.do("room.captions.send", { room: hall, captions });
  t.same(await ann.next("room.caption_languages"), { room: hall, languages: ["de", "en"] });
  await bob.do("room.enter", { room: hall });
  t.same(await bob.next("room.caption_languages"), { room: hall, languages: ["de", "en"] });
  await world.settled(hall);
  t.same(named(await cy.all(), "room.caption_languages"), [], "nobody elsewhere");
});

void t.test("what may be sent", async (t) => {
  const world = await openWorld(server);
  const hall = await world.room();
  const attic = await world.room();
  const path = `rooms/${hall}/captions/`;
  const admin = await world.admin();
  const hour = (offset: number) => new Date(Date.now() + offset * 3_600_000).toISOString();
  const sessionIn = async (room_id: string) =>
    (
      await world.rest("POST", "sessions/", {
        title: "Talk",
        room_id,
        starts_at: hour(-1),
        ends_at: hour(1),
      })
    ).body.id as string;
  const [session_id, elsewhere] = [await sessionIn(hall), await sessionIn(attic)];
  const rows: [name: string, change: object, field?: string][] = [
    ["a line", {}],
    ["an early one", { at: hour(-5) }],
    ["with a session", { session_id }],
    ["a long one", { text: "ä".repeat(500) }],
    ["a language with a region", { lang: "zh-hant-tw" }],
    ["too long", { text: "x".repeat(501) }, "text"],
    ["empty", { text: "" }, "text"],
    ["nothing to see", { text: " \u200b" }, "text"],
    ["no text", { text: undefined }, "text"],
    ["no language", { lang: undefined }, "lang"],
    ["an impossible language", { lang: "e" }, "lang"],
    ["a doubled variant", { lang: "de-1996-1996" }, "lang"],
    ["markup as a language", { lang: "<b>" }, "lang"],
    ["whether it is final", { final: "yes" }, "final"],
    ["no day", { at: "2027-02-30T00:00:00Z" }, "at"],
    ["in the future", { at: hour(1) }, "at"],
    ["before there were computers", { at: "1969-12-31T23:59:59Z" }, "at"],
    ["a session of another room", { session_id: elsewhere }, "session_id"],
    ["no session", { session_id: "none" }, "session_id"],
    ["something else", { speaker: "Ada" }, "speaker"],
  ];
  for (const [name, change, field] of rows) {
    const sent = JSON.parse(JSON.stringify({ ...line, ...change }));
    const { status, body } = await world.rest("POST", path, sent);
    t.equal(status, field === undefined ? 204 : 400, name);
    if (field !== undefined) t.same(Object.keys(body as object), [field], name);
    const list = await world.rest("POST", path, [line, sent]);
    t.equal(list.status, status, `${name}, in a list`);
    const isNamed = field === undefined || Object.keys(list.body as object)[0]!.endsWith(field);
    t.ok(isNamed, `${name}, in a list: ${JSON.stringify(list.body)}`);
    if (field === "speaker") continue;
    const code = await admin.code("room.captions.send", { room: hall, ...sent });
    t.equal(code, field === undefined ? "ok" : "protocol.invalid_payload", name);
  }
  const count = (await world.rest("GET", path)).body.count as number;
  t.equal(count, 4 * 5, "a list is taken as a whole, or not at all");
  for (const body of [[], Array.from({ length: 51 }, () => line), null, "x"]) {
    t.equal((await world.rest("POST", path, body)).status, 400);
  }
  for (const payload of [{}, { captions: [] }, { ...line, captions: [line] }]) {
    const code = await admin.code("room.captions.send", { room: hall, ...payload });
    t.equal(code, "protocol.invalid_payload");
  }
  t.equal((await world.rest("GET", path)).body.count, count);
  for (const query of ["lang=e", "after=now", "format=srt", "format=vtt&page=1", "page_size=0"]) {
    t.equal((await world.rest("GET", `${path}?${query}`)).status, 400, query);
  }
  t.equal((await world.rest("GET", `${path}?session_id=${elsewhere}`)).status, 400);
});

void t.test("how often a sender may send to a room", async (t) => {
  const world = await openWorld(server);
  const [hall, attic] = [await world.room(), await world.room()];
  const admin = await world.admin();
  const interim = { ...line, final: false };
  const send = (client: typeof admin, room = hall) =>
    client.code("room.captions.send", { room, ...interim });
  const others = await Promise.all([1, 2].map(() => world.admin()));
  let now = performance.now();
  t.intercept(performance, "now", { value: () => now });
  const codes = async (count: number, client = admin, room = hall) => {
    const all: Record<string, number> = {};
    for (let i = 0; i < count; i++) {
      const code = await send(client, room);
      all[code] = (all[code] ?? 0) + 1;
    }
    return all;
  };
  t.same(await codes(61), { ok: 60, "protocol.rate_limited": 1 });
  t.same(await codes(1, others[0]), { "protocol.rate_limited": 1 }, "with all connections");
  t.same(await codes(1, admin, attic), { ok: 1 }, "each room has its own");
  now += 1000;
  t.same(await codes(11, others[1]), { ok: 10, "protocol.rate_limited": 1 }, "10 a second");
  const statuses: number[] = [];
  for (let i = 0; i < 61; i++) {
    const as = `Bearer ${world.tokenOf({ uid: "captioner", traits: ["admin", "api"], seconds: 60 + i })}`;
    const url = `/api/v1/worlds/${world.id}/rooms/${hall}/captions/`;
    const { status } = await server.call({ method: "POST", url, as, body: interim });
    statuses.push(status);
  }
  t.same([...new Set(statuses)], [204, 429], "so has each sender, with all its tokens");
  t.equal(statuses.indexOf(429), 60);
});

void t.test("captions are read later, in three formats", async (t) => {
  const world = await openWorld(server);
  const hall = await world.room();
  const path = `rooms/${hall}/captions/`;
  const start = Date.parse("2027-03-01T09:00:00Z") - 366 * 86_400_000;
  const at = (seconds: number) => new Date(start + seconds * 1000).toISOString();
  const { id: session } = (
    await world.rest("POST", "sessions/", {
      title: "Talk",
      room_id: hall,
      starts_at: at(0),
      ends_at: at(3600),
    })
  ).body as { id: string };
  const lines = [
    { ...line, at: at(-20), text: "Before it." },
    { ...line, at: at(2.5), text: "<b>One</b> & two\n\n00:01 --> 00:02" },
    { ...line, at: at(5), text: "Three" },
    { ...line, at: at(3599), text: "Last" },
    { ...line, at: at(3), text: "Eins", lang: "de" },
    { ...line, at: at(6), text: "Not kept", final: false },
  ];
  t.equal((await world.rest("POST", path, lines)).status, 204);
  const get = async (query: string) => (await world.rest("GET", `${path}?${query}`)).body;
  const texts = ({ results }: { results: { text: string }[] }) => results.map(({ text }) => text);
  const all = await get("lang=en");
  t.match(all, {
    count: 4,
    next: null,
    previous: null,
    results: [
      { lang: "en", text: "Before it.", at: at(-20), session_id: null },
      { text: lines[1]!.text, session_id: session },
      { text: "Three" },
      { text: "Last" },
    ],
  });
  t.same(texts(await get(`session_id=${session}`)), [lines[1]!.text, "Eins", "Three", "Last"]);
  t.same(texts(await get(`after=${at(3)}`)), ["Three", "Last"]);
  const pages: string[] = [];
  for (let query: string | null = "page_size=2&cursor="; query;) {
    const page = (await get(query)) as { results: { text: string }[]; next: string | null };
    pages.push(...texts(page));
    query = page.next && new URL(page.next).search.slice(1);
  }
  t.same(pages, ["Before it.", lines[1]!.text, "Eins", "Three", "Last"]);
  const text = async (query: string) => {
    const answer = await world.server.call({
      method: "GET",
      url: `/api/v1/worlds/${world.id}/${path}?${query}`,
      as: `Bearer ${world.tokenOf({ uid: "api", traits: ["admin", "api"] })}`,
    });
    return answer.text;
  };
  t.equal(
    await text(`format=vtt&lang=en&session_id=${session}`),
    `WEBVTT

00:00:02.500 --> 00:00:05.000
&lt;b&gt;One&lt;/b&gt; &amp; two 00:01 --&gt; 00:02

00:00:05.000 --> 00:00:12.000
Three

00:59:59.000 --> 01:00:06.000
Last
`,
  );
  t.match(
    await text(`format=vtt&session_id=${session}`),
    /02\.500 --> 00:00:05\.000\n.*One.*\n\n00:00:03\.000 --> 00:00:10\.000\nEins\n\n00:00:05\.000 /,
    "another language ends no cue",
  );
  t.match(await text("format=vtt&lang=en"), /^WEBVTT\n\n00:00:00\.000 --> 00:00:07\.000\nBefore/);
  t.equal(await text("format=vtt&lang=fr"), "WEBVTT\n");
  t.equal(await text("format=txt&lang=de"), "Eins\n");

  const ann = await world.person("ann");
  const list = await ann.do("room.captions.list", { room: hall, session_id: session, lang: "de" });
  t.same(list, {
    captions: [{ lang: "de", text: "Eins", at: at(3) }],
    next: null,
    languages: ["de", "en"],
  });
  const more = Array.from({ length: 50 }, (_, i) => ({ ...line, lang: "fr", text: `${i}` }));
  for (let i = 0; i < 11; i++) await world.rest("POST", path, more);
  const first = await ann.do("room.captions.list", { room: hall, lang: "fr" });
  const { next } = first as { next: string };
  const second = await ann.do("room.captions.list", { room: hall, lang: "fr", after: next });
  t.match(
    [first, second],
    [{ captions: { length: 500 } }, { captions: { length: 50 }, next: null }],
  );
  t.equal(
    await ann.code("room.captions.list", { room: hall, after: "1" }),
    "protocol.invalid_payload",
  );
});

void t.test("captions of one node reach the people of another", { skip: NO_SERVERS }, async (t) => {
  const nodes = await startServer(t, { engine: "shared", processes: 2 });
  const { rest } = nodes;
  const room = (await rest("POST", "demo/rooms/", { name: "Hall" })).body.id as string;
  const people = await Promise.all(Array.from({ length: 6 }, (_, i) => nodes.guest(`g${i}`)));
  for (const person of people) {
    await person.do("room.enter", { room });
    await person.do("room.captions", { room, lang: "en" });
  }
  for (let i = 0; i < 10; i++) {
    const { status } = await rest("POST", `demo/rooms/${room}/captions/`, [
      { ...line, text: `Line ${i}` },
      { ...line, text: "And", final: false },
    ]);
    t.equal(status, 204);
  }
  for (const person of people) {
    const got: string[] = [];
    await until(async () => {
      const all = named(await person.all(), "room.caption");
      got.push(...all.flatMap(({ final, text }) => (final ? (text as string) : [])));
      return got.length >= 10;
    });
    t.same(
      got,
      Array.from({ length: 10 }, (_, i) => `Line ${i}`),
      "each once, in order",
    );
  }
});
