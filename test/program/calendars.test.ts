import ical from "node-ical";
import t from "tap";
import type { Json } from "../../conformance/client.js";
import { until } from "../helper.js";
import { MAPS, pretalx } from "./documents.js";
import { Site, type Trait } from "./site.js";

// What exports say, and the calendars that programs subscribe to.

const site = await Site.start(t);
await site.room("Main Hall");
const crew = await site.room("Crew", { "room.view": [["crew", "editor"]] });

const exported = (format: string, as: Trait = "editor", headers = {}) =>
  site.api(`program/?format=${format}`, { as, headers });

const night = {
  starts_at: "2027-03-02T01:00:00Z",
  ends_at: "2027-03-03T03:30:00Z",
};

void t.test("what an export says", async (t) => {
  await site.put(pretalx());
  await site.session("Draft", { state: "draft", ...night });
  await site.session("For the crew", { room_id: crew, ...night });
  await site.session("Some day");
  await site.session(`Nacht; "Träume", \\ ${"lang ".repeat(40)}`, {
    ...{
      ...night,
      import_id: "night",
      abstract: "One\r\ntwo",
      tags: ["a,b", "c"],
    },
  });

  const { schedule } = (await exported("schedule.json")).body;
  t.match(schedule.conference, {
    ...{ acronym: "demo", time_zone_name: "Europe/Berlin", daysCount: 1 },
    ...{ start: "2027-03-01", end: "2027-03-01" },
    days: [
      {
        ...{ index: 1, date: "2027-03-01" },
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
  const guid = schedule.conference.days[0].rooms[""][0].guid as string;
  t.match(
    guid,
    /^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab]/,
    "a UUID of its own",
  );

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
  t.equal(headers.get("content-type"), "text/calendar; charset=utf-8");
  t.ok(
    text.split("\r\n").every((line) => Buffer.byteLength(line) <= 75),
    "folded",
  );
  t.notMatch(text, /[^\r]\n/);
  const events = Object.values(ical.sync.parseICS(text)).filter(
    (found) => found?.type === "VEVENT",
  ) as Json[];
  t.equal(events.length, 4, "all that are scheduled");
  const named = (name: RegExp) =>
    events.find(({ summary }) => name.test(summary));
  t.match(named(/^Maps/), {
    ...{ uid: MAPS, location: "Main Hall", status: "CONFIRMED" },
    ...{ start: new Date("2027-03-01T09:00:00Z") },
    ...{ end: new Date("2027-03-01T09:40:00Z") },
  });
  t.equal(named(/^Draft/).status, "TENTATIVE");
  t.match(named(/^Nacht; "Träume", \\ lang/), {
    uid: guid,
    description: "One\ntwo",
  });

  for (const format of ["json", "schedule.json", "ics"]) {
    const etag = (await exported(format)).headers.get("etag")!;
    const known = { "if-none-match": etag };
    t.equal((await exported(format, "editor", known)).status, 304, format);
    t.equal(
      (await exported(format, "crew", known)).status,
      200,
      `${format} for others`,
    );
  }
});

void t.test("calendars subscribe", async (t) => {
  const feed = (query = "", headers = {}) =>
    site.fetch(`/w/demo/program.ics${query}`, { headers });
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
  t.equal(open.headers.get("cache-control"), "max-age=300");
  t.match(open.headers.get("content-type"), /^text\/calendar/);
  const etag = open.headers.get("etag")!;
  t.equal((await feed("", { "if-none-match": etag })).status, 304);
  t.same(await titles(), ["Maps", "Nacht\\;"]);
  t.equal((await site.fetch("/w/missing/program.ics")).status, 403);

  const ann = await site.user("ann", "crew");
  const token = await linkOf(ann);
  t.equal(await linkOf(ann), token, "one for each user");
  const bob = await site.user("bob", "x");
  t.not(await linkOf(bob), token);
  const own = await feed(token);
  t.match(own.headers.get("cache-control"), /^private, max-age=300$/);
  t.ok((await titles(token)).includes("For"), "as the user sees it");
  t.notOk((await titles(token)).includes("Draft"));
  const known = { "if-none-match": own.headers.get("etag")! };
  t.equal((await feed(token, known)).status, 304);
  const bearer = token.slice("?token=".length);
  for (const authorization of [`Bearer ${bearer}`, `Client ${bearer}`]) {
    const rights = await site.fetch("/api/v1/worlds/demo/program/", {
      headers: { authorization },
    });
    t.equal(rights.status, 401, "its only right is to read the calendar");
  }
  t.not((await ann.login({ token: bearer }))[0], "authenticated");

  const again = await site.user("ann", "crew");
  const { permission_config: rules } = (await site.api("")).body;
  const setRules = (more: object) =>
    site.save("PATCH", "", { permission_config: { ...rules, ...more } });
  await setRules({ "program.read": ["crew"] });
  await becomes("", 403);
  t.equal((await feed(token)).status, 200);
  await becomes(await linkOf(await site.user("carl", "crew")), 200);
  await setRules({ "world.view": [["crew", "admin", "editor"]] });
  await becomes("", 403);
  t.equal((await feed(token)).status, 200);
  await setRules({});
  await becomes("", 200);

  const renewed = await linkOf(again, true);
  t.not(renewed, token);
  await becomes(token, 403);
  t.equal((await feed(renewed)).status, 200);
  for (const query of [
    "?token=",
    "?token=x",
    `${renewed}&token=x`,
    "?token[]=x",
  ]) {
    t.equal(
      (await feed(query)).status,
      query === "?token[]=x" ? 200 : 403,
      query,
    );
  }
  // The user has the rights of the last login.
  await site.user("ann", "y");
  await until(async () => !(await titles(renewed)).includes("For"));
  const admin = await site.user("admin", "admin", "editor");
  await admin.do("user.ban", { id: again.id });
  await becomes(renewed, 403);
  await admin.do("user.reactivate", { id: again.id });
  await becomes(renewed, 200);
  await site.save("POST", "delete_user", { user_id: again.id });
  await becomes(renewed, 403);
});

void t.test("an export imports as unchanged", async (t) => {
  const hour = {
    starts_at: "2027-03-04T09:00:10Z",
    ends_at: "2027-03-04T09:30:20Z",
  };
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
    "A name that is cut at a blank, as it is far longer than sixty characters":
      {},
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

    // To a world that has none of them.
    for (const { id } of before) await site.save("DELETE", `sessions/${id}/`);
    const again = await site.put(text, { type });
    t.match(again.body, { updated: 0, unchanged: 0, problems: [] }, format);
    const now: Json[] = await listed();
    const named = (list: Json[], name: string) =>
      list.find(({ title }) => title === name);
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
