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
