import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import type { Session } from "../../client/index.js";
import { foyer } from "../helper.js";
import { festival, ROOMS } from "../program/festival.js";
import { axe } from "./axe.js";
import {
  allModules,
  eventually,
  Site,
  type Visitor,
  type World,
} from "./kit.js";
import t from "./tap.js";

// The program as attendees see it, with the clocks of two zones.

const MINUTE = 60_000;
const dataDir = await mkdtemp(join(tmpdir(), "foyer-browser-"));
t.teardown(() => rm(dataDir, { recursive: true, force: true }));
const site = await Site.open(t, { DATA_DIR: dataDir });

type Timed = Session & { starts_at: string; ends_at: string };

/** All sessions of a world, which have times. */
async function sessionsOf({ api }: World): Promise<Timed[]> {
  const answer = await api.request("GET", "/sessions/?page_size=500");
  return ((await answer.json()) as { results: Timed[] }).results;
}

const at = (time: number) => new Date(time).toISOString();
const minute = (time: number) => Math.floor(time / MINUTE) * MINUTE;
const clock = (time: string, zone: string, locale: string) =>
  new Intl.DateTimeFormat(locale, {
    ...{ timeZone: zone, hour: "numeric", minute: "2-digit" },
  })
    .format(Date.parse(time))
    // The pages and this process may write the space of "9:00 AM" in two ways.
    .replace(/\s/g, " ");

const textOf = async (visitor: Visitor, room: string) =>
  (
    await visitor.rooms
      .getByRole("link", { name: new RegExp(`^${room}`) })
      .innerText()
  ).replace(/\s+/g, " ");

/** When the festival began. It goes on for seven hours of this day. */
const begin = minute(Date.now() - 20 * MINUTE);
const dayIn = (zone: string, time: number) =>
  new Intl.DateTimeFormat("en", { timeZone: zone, dateStyle: "short" }).format(
    time,
  );
/** The zone of the festival: one where no midnight cuts its day in two. */
const ZONE = ["Europe/Berlin", "Pacific/Honolulu"].find(
  (zone) =>
    dayIn(zone, begin - 5 * MINUTE) === dayIn(zone, begin + 8 * 60 * MINUTE),
)!;

void t.test("a festival in two zones", async (t) => {
  const world = await site.world(t, { config: { timezone: ZONE } });
  const { api } = world;
  const done = await foyer(
    dataDir,
    ["program", "import", world.id, "-", "--create-rooms", "--json"],
    {},
    JSON.stringify(festival({ begin, zone: ZONE })),
  );
  t.match(JSON.parse(done.stdout), { created: 120, rooms_created: 8 });
  const sessions = await sessionsOf(world);
  t.equal(sessions.length, 120);
  const rooms = new Map(
    (await api.listRooms()).results.map(({ id, name }) => [name, id]),
  );
  const inRoom = (room: string) =>
    sessions.filter(({ room_id }) => room_id === rooms.get(room));

  const visitors = await Promise.all(
    (
      [
        [ZONE, "en-GB"],
        ["America/New_York", "en-US"],
      ] as const
    ).map(async ([zone, locale]) => ({
      zone,
      locale,
      visitor: await world.bearer({ uid: zone }, { zone, locale }),
    })),
  );

  for (const { visitor, zone, locale } of visitors) {
    await t.test(`now and next in ${zone}`, async (t) => {
      for (const room of ROOMS) {
        const [now] = inRoom(room);
        await eventually(`${room} is live`, async () =>
          /live/i.test(await textOf(visitor, room)),
        );
        const text = await textOf(visitor, room);
        const until = clock(now!.ends_at, ZONE, locale);
        const own = clock(now!.ends_at, zone, locale);
        const yours = zone === ZONE ? until : `${until} (${own} your time)`;
        t.match(text, `${now!.title} · until ${yours}`);
      }
      await visitor.page
        .getByRole("navigation", { name: "Program" })
        .getByRole("link")
        .click();
      const { page } = visitor;
      await visitor.heading("Program").waitFor();
      const [now, next] = inRoom("Main Hall");
      const card = (title: string) =>
        page
          .getByRole("main")
          .getByRole("listitem")
          .filter({
            has: page.getByRole("link", { name: title, exact: true }),
          });
      await card(now!.title).getByText("Live").waitFor();
      t.equal(await card(next!.title).getByText("Live").count(), 0);
      const slots = page.locator(".slot");
      const head = async (index: number) =>
        (await slots.nth(index).locator(".clock").innerText()).replace(
          /\s+/g,
          " ",
        );
      for (const [index, session] of [now!, next!].entries()) {
        const there = clock(session.starts_at, ZONE, locale);
        const here = clock(session.starts_at, zone, locale);
        const text = await head(index);
        t.match(text, there);
        if (zone === ZONE) t.notMatch(text, /your time/);
        else t.match(text, `${here} your time`);
      }
      t.equal(await page.getByRole("group", { name: "Days" }).count(), 1);
    });
  }

  await t.test("it changes by itself when a session ends", async (t) => {
    const [now, next] = inRoom("Main Hall");
    const ends = Date.now() + 4000;
    await api.updateSession(now!.id, { ends_at: at(ends) });
    for (const { visitor, zone, locale } of visitors) {
      await eventually(
        "it is over",
        async () => !/live/i.test(await textOf(visitor, "Main Hall")),
      );
      t.ok(Date.now() >= ends - 1000, "not before");
      const time = clock(next!.starts_at, ZONE, locale);
      const own = clock(next!.starts_at, zone, locale);
      const both = zone === ZONE ? time : `${time} (${own} your time)`;
      t.match(await textOf(visitor, "Main Hall"), `${both} · ${next!.title}`);
    }
    await api.updateSession(next!.id, { starts_at: at(Date.now() + 2000) });
    for (const { visitor } of visitors) {
      await eventually("the next one is live", async () =>
        /live/i.test(await textOf(visitor, "Main Hall")),
      );
    }
  });

  await t.test("favorites are the same in all windows", async (t) => {
    const [first] = visitors;
    const second = await world.bearer({ uid: first!.zone });
    const { title } = inRoom("Garden")[0]!;
    const name = `Add to favorites: ${title}`;
    await first!.visitor.button(name).click();
    await second.page.evaluate(() => (location.hash = "#/program"));
    await second.button("Favorites").click();
    const listed = second.page.getByRole("main").getByRole("listitem");
    await eventually("it is there", async () => (await listed.count()) === 1);
    t.equal(await second.button(name).getAttribute("aria-pressed"), "true");
    await first!.visitor.button(name).click();
    await second.page.getByText("No favorites yet").waitFor();
  });

  await t.test("searching and filtering", async (t) => {
    const { page } = visitors[0]!.visitor;
    const links = page.getByRole("main").getByRole("listitem");
    await page
      .getByRole("searchbox", { name: "Search the program" })
      .fill("session 77");
    await eventually("one is found", async () => (await links.count()) === 1);
    await page.getByRole("searchbox").fill("no such thing");
    await page.getByText("No session matches").waitFor();
    await page.getByRole("button", { name: "Show everything" }).click();
    await page.getByRole("combobox", { name: "Track" }).selectOption("Arts");
    await page.getByRole("combobox", { name: "Room" }).selectOption({
      label: "Garden",
    });
    const arts = inRoom("Garden").slice(0, 7);
    await eventually(
      "the sessions of the track",
      async () =>
        (await links.count()) ===
        arts.filter((_, i) => (7 + i) % 4 === 3).length,
    );
    t.pass();
  });

  await t.test("a calendar subscribes to it", async (t) => {
    const { visitor } = visitors[0]!;
    await visitor.button("Subscribe in your calendar").click();
    const field = visitor.field("Address of the calendar");
    await field.waitFor();
    const url = await field.inputValue();
    t.match(await (await fetch(url)).text(), /BEGIN:VCALENDAR[^]*Session 1/);
    await visitor.button("Make a new address").click();
    await eventually(
      "there is another",
      async () => (await field.inputValue()) !== url,
    );
    t.equal((await fetch(url)).status, 403);
  });
});

void t.test("the page of a session", async (t) => {
  const world = await site.world(t, { config: { timezone: "Europe/Berlin" } });
  const { api } = world;
  const room = await world.room("Garden", allModules);
  const ada = await world.live({ uid: "ada", name: "Ada Okafor" });
  const speaker = await api.createSpeaker({
    name: "Ada Okafor",
    organization: "Maps Collective",
    biography: "Draws **maps**.",
    user_id: ada.state!.user.id,
  });
  const start = minute(Date.now()) + 26 * 60 * MINUTE;
  const session = await api.createSession({
    title: `خرائط للجميع ${"a very long title ".repeat(12)}`,
    abstract: "How to map *every* street; with care, and\nin two lines.",
    links: [{ title: "Slides", url: "https://slides.example.org/" }],
    room_id: room,
    speaker_ids: [speaker.id],
    starts_at: at(start),
    ends_at: at(start + 40 * MINUTE),
  });
  for (const scheme of ["light", "dark"] as const) {
    for (const size of ["desktop", "phone"] as const) {
      await t.test(`${scheme}, on a ${size}`, async (t) => {
        const its = world.during(t);
        const visitor = await its.bearer({ uid: "me" }, { scheme, size });
        const { page } = visitor;
        await page.evaluate(
          (id) => (location.hash = `#/program/${id}`),
          session.id,
        );
        await page.getByRole("link", { name: "Slides" }).waitFor();
        t.match(await page.locator("article time").innerText(), /,/);
        await page.getByText("Maps Collective").waitFor();
        t.same(await axe(page), []);
        const width = await page.evaluate(
          () => document.documentElement.scrollWidth - innerWidth,
        );
        t.ok(width <= 0, "nothing is wider than the page");
        await page.evaluate(() => (location.hash = "#/program"));
        await visitor.heading("Program").waitFor();
        await page.getByRole("main").getByRole("listitem").first().waitFor();
        t.same(await axe(page), []);
      });
    }
  }

  await t.test("calendar, profile and room", async (t) => {
    const visitor = await world.during(t).bearer({ uid: "me" });
    const { page } = visitor;
    await page.evaluate(
      (id) => (location.hash = `#/program/${id}`),
      session.id,
    );
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      visitor.button("Add to calendar").click(),
    ]);
    const text = readFileSync(await file.path(), "utf8");
    const stamp = (time: number) => at(time).replace(/[-:]|\.\d{3}/g, "");
    t.match(text, `DTSTART:${stamp(start)}\r\n`);
    t.match(text, `DTEND:${stamp(start + 40 * MINUTE)}\r\n`);
    t.match(
      text.replaceAll("\r\n ", ""),
      "every* street\\; with care\\, and\\nin",
    );
    t.ok(text.split("\r\n").every((line) => Buffer.byteLength(line) <= 75));
    await visitor.button("Ada Okafor").click();
    await visitor.dialog("Ada Okafor").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Go to Garden" }).click();
    await visitor.heading("Garden").waitFor();
  });

  await t.test("one that is gone", async (t) => {
    const visitor = await world.during(t).bearer({ uid: "me" });
    await visitor.page.evaluate(() => (location.hash = "#/program/none"));
    await visitor.heading("This session is not in the program").waitFor();
    t.same(await axe(visitor.page), []);
  });
});

void t.test("the stage follows the program", async (t) => {
  const world = await site.world(t);
  const { api } = world;
  const room = await world.room("Stage", allModules);
  const visitor = await world.bearer({ uid: "me" });
  const { page } = visitor;
  visitor.watch.tolerate(/404: .*\/(module|own|other|talk)\.m3u8/);
  const start = Date.now() + 12 * 60 * MINUTE;
  const { id } = await api.createSession({
    title: "Maps for everyone",
    room_id: room,
    starts_at: at(start),
    ends_at: at(start + 40 * MINUTE),
    stream: { url: "/demo/own.m3u8" },
  });
  const main = page.getByRole("main");
  const countdown = main.getByRole("timer", { name: "Begins in" });
  await countdown.getByText(/^1[12]:\d\d:\d\d$/).waitFor();
  t.equal(await main.locator("iframe").count(), 0, "no stream yet");
  t.same(await axe(page), []);

  await api.updateSession(id, { starts_at: at(Date.now() + 3000) });
  await countdown.getByText(/^0:0\d$/).waitFor();
  await main.locator("iframe").waitFor();
  t.match(await main.locator("iframe").getAttribute("src"), /own\.m3u8/);

  await api.createSession({
    title: "Bread for beginners",
    room_id: room,
    starts_at: at(Date.now() + 50 * MINUTE),
    ends_at: at(Date.now() + 90 * MINUTE),
  });
  await api.updateSession(id, {
    starts_at: at(Date.now() - 40 * MINUTE),
    ends_at: at(Date.now() + 3000),
  });
  // Phones show it in a line of its own, too.
  const seen = main.getByText("Up next").filter({ visible: true });
  await seen.first().waitFor();
  t.equal(await main.locator("iframe").count(), 1, "speakers may run over");
  await api.updateSession(id, {
    recording: { url: "https://video.example.org/watch/1" },
  });
  await main
    .getByRole("link", { name: "Bread for beginners" })
    .first()
    .waitFor();
  await main
    .getByRole("link", { name: "Watch the recording: Maps for everyone" })
    .waitFor();
  t.equal(await main.locator("iframe").count(), 0, "the stream has ended");
  t.same(await axe(page), []);
});
