import { readFileSync } from "node:fs";
import type { Session, SessionDraft } from "../../client/index.js";
import { festival, ROOMS } from "../support/festival.js";
import { foyer, until } from "../support/helper.js";
import { axe } from "./axe.js";
import { allModules, Site, type Visitor, type World } from "./kit.js";
import t, { nightly, test } from "./tap.js";

// The program as attendees see it, in two time zones.

const MINUTE = 60_000;
const site = await Site.open(t);

type Timed = Session & { starts_at: string; ends_at: string };

/** Lists the sessions of a world whose sessions all have times. */
async function sessionsOf({ api }: World): Promise<Timed[]> {
  const answer = await api.request("GET", "/sessions/?page_size=500");
  return ((await answer.json()) as { results: Timed[] }).results;
}

const at = (time: number) => new Date(time).toISOString();
const minute = (time: number) => Math.floor(time / MINUTE) * MINUTE;
const clock = (time: string, zone: string, locale: string) =>
  new Intl.DateTimeFormat(locale, { timeZone: zone, hour: "numeric", minute: "2-digit" })
    .format(Date.parse(time))
    // The browser and Node.js may use different space characters in "9:00 AM".
    .replace(/\s/g, " ");

const textOf = async (visitor: Visitor, room: string) =>
  (await visitor.rooms.getByRole("link", { name: new RegExp(`^${room}`) }).innerText()).replace(
    /\s+/g,
    " ",
  );

/** The start of the festival, which lasts seven more hours. */
const begin = minute(Date.now() - 20 * MINUTE);
const dayIn = (zone: string, time: number) =>
  new Intl.DateTimeFormat("en", { timeZone: zone, dateStyle: "short" }).format(time);
/** The festival's time zone, chosen so that midnight does not split its day. */
const ZONE = ["Europe/Berlin", "Pacific/Honolulu"].find(
  (zone) => dayIn(zone, begin - 5 * MINUTE) === dayIn(zone, begin + 8 * 60 * MINUTE),
)!;

nightly("a festival in two zones", async (t) => {
  const world = await site.world(t, { config: { timezone: ZONE } });
  const { api } = world;
  const done = await foyer(
    site.server.dataDir,
    ["program", "import", world.id, "-", "--create-rooms", "--json"],
    {},
    JSON.stringify(festival({ begin, zone: ZONE })),
  );
  t.match(JSON.parse(done.stdout), { created: 120, rooms_created: 8 });
  const sessions = await sessionsOf(world);
  t.equal(sessions.length, 120);
  const rooms = new Map((await api.listRooms()).results.map(({ id, name }) => [name, id]));
  const inRoom = (room: string) => sessions.filter(({ room_id }) => room_id === rooms.get(room));

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
        await until(async () => /live/i.test(await textOf(visitor, room)));
        const text = await textOf(visitor, room);
        const end = clock(now!.ends_at, ZONE, locale);
        const own = clock(now!.ends_at, zone, locale);
        const yours = zone === ZONE ? end : `${end} (${own} your time)`;
        t.match(text, `${now!.title} · until ${yours}`);
      }
      await visitor.page.getByRole("navigation", { name: "Program" }).getByRole("link").click();
      const { page } = visitor;
      await visitor.heading("Program").waitFor();
      const [now, next] = inRoom("Main Hall");
      const card = (title: string) =>
        page
          .getByRole("main")
          .getByRole("listitem")
          .filter({ has: page.getByRole("link", { name: title, exact: true }) });
      await card(now!.title).getByText("Live").waitFor();
      t.equal(await card(next!.title).getByText("Live").count(), 0);
      const slots = page.locator(".slot");
      const head = async (index: number) =>
        (await slots.nth(index).locator(".clock").innerText()).replace(/\s+/g, " ");
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
      await until(async () => !/live/i.test(await textOf(visitor, "Main Hall")));
      t.ok(Date.now() >= ends - 1000, "not before");
      const time = clock(next!.starts_at, ZONE, locale);
      const own = clock(next!.starts_at, zone, locale);
      const both = zone === ZONE ? time : `${time} (${own} your time)`;
      t.match(await textOf(visitor, "Main Hall"), `${both} · ${next!.title}`);
    }
    await api.updateSession(next!.id, { starts_at: at(Date.now() + 2000) });
    for (const { visitor } of visitors) {
      await until(async () => /live/i.test(await textOf(visitor, "Main Hall")));
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
    await until(async () => (await listed.count()) === 1);
    t.equal(await second.button(name).getAttribute("aria-pressed"), "true");
    await first!.visitor.button(name).click();
    await second.page.getByText("No favorites yet").waitFor();
  });

  await t.test("searching and filtering", async (t) => {
    const { page } = visitors[0]!.visitor;
    const links = page.getByRole("main").getByRole("listitem");
    await page.getByRole("searchbox", { name: "Search the program" }).fill("session 77");
    await until(async () => (await links.count()) === 1);
    await page.getByRole("searchbox").fill("no such thing");
    await page.getByText("No session matches").waitFor();
    await page.getByRole("button", { name: "Show everything" }).click();
    await page.getByRole("combobox", { name: "Track" }).selectOption("Arts");
    await page.getByRole("combobox", { name: "Room" }).selectOption({ label: "Garden" });
    const arts = inRoom("Garden").slice(0, 7);
    await until(
      async () => (await links.count()) === arts.filter((_, i) => (7 + i) % 4 === 3).length,
    );
    t.pass();
  });

  await t.test("a calendar subscribes to it", async (t) => {
    const { visitor } = visitors[0]!;
    await visitor.button("Subscribe from your calendar").click();
    const field = visitor.field("Calendar address");
    await field.waitFor();
    const url = await field.inputValue();
    t.match(await (await fetch(url)).text(), /BEGIN:VCALENDAR[^]*Session 1/);
    await visitor.button("Make a new address").click();
    await until(async () => (await field.inputValue()) !== url);
    t.equal((await fetch(url)).status, 403);
  });
});

nightly("the page of a session", async (t) => {
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
        await page.evaluate((id) => (location.hash = `#/program/${id}`), session.id);
        await page.getByRole("link", { name: "Slides" }).waitFor();
        t.match(await page.locator("article time").innerText(), /,/);
        await page.getByText("Maps Collective").waitFor();
        t.same(await axe(page), []);
        t.ok((await visitor.overflow()) <= 0, "nothing is wider than the page");
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
    await page.evaluate((id) => (location.hash = `#/program/${id}`), session.id);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      visitor.button("Add to calendar").click(),
    ]);
    const text = readFileSync(await file.path(), "utf8");
    const stamp = (time: number) => at(time).replace(/[-:]|\.\d{3}/g, "");
    t.match(text, `DTSTART:${stamp(start)}\r\n`);
    t.match(text, `DTEND:${stamp(start + 40 * MINUTE)}\r\n`);
    t.match(text.replaceAll("\r\n ", ""), "every* street\\; with care\\, and\\nin");
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

nightly("the stage follows the program", async (t) => {
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
  // Phones also show it on a separate line.
  const seen = main.getByText("Up next").filter({ visible: true });
  await seen.first().waitFor();
  t.equal(await main.locator("iframe").count(), 1, "speakers may run over");
  await api.updateSession(id, {
    recording: { url: "https://video.example.org/watch/1" },
  });
  await main.getByRole("link", { name: "Bread for beginners" }).first().waitFor();
  await main.getByRole("link", { name: "Watch the recording: Maps for everyone" }).waitFor();
  t.equal(await main.locator("iframe").count(), 0, "the stream has ended");
  t.same(await axe(page), []);
});

// The program in the console: the table with inline editing, the editors, and the import.

/** Returns a UTC time of day tomorrow, in epoch milliseconds. */
const tomorrow = (clock: string) => {
  const day = new Date(Date.now() + 24 * 60 * MINUTE).toISOString();
  return Date.parse(`${day.slice(0, 10)}T${clock}:00Z`);
};

nightly("a table to edit in place", async (t) => {
  const world = await site.world(t, { config: { timezone: "UTC" } });
  const hall = await world.room("Hall");
  const garden = await world.room("Garden");
  const { api } = world;
  const add = (title: string, clock: string, more: Partial<SessionDraft> = {}) =>
    api.createSession({
      title,
      room_id: hall,
      starts_at: at(tomorrow(clock)),
      ends_at: at(tomorrow(clock) + 40 * MINUTE),
      ...more,
    });
  const maps = await add("Maps", "09:00");
  const bread = await add("Bread", "10:00");
  const host = await world.host();
  host.watch.tolerate(/^4(00|12): /);
  const { page } = host;
  await host.consoleNav.getByRole("link", { name: "Program" }).click();
  const title = host.field("Title: Maps");
  const saved = (id: string, isRight: (session: Session) => boolean) =>
    until(async () => isRight(await api.getSession(id)));

  await title.fill("Maps for everyone");
  await title.press("Enter");
  await saved(maps.id, (it) => it.title === "Maps for everyone");

  await page.getByLabel("Start: Bread").fill("09:20");
  await page.getByLabel("Start: Bread").press("Enter");
  await saved(
    bread.id,
    (it) => it.starts_at === at(tomorrow("09:20")) && it.ends_at === at(tomorrow("10:00")),
  );
  await page.getByText("Overlaps “Maps for everyone”").waitFor();
  await page.getByText("Overlaps “Bread”").waitFor();
  await page.getByLabel("End: Bread").fill("10:30");
  await page.getByLabel("End: Bread").press("Enter");
  await saved(bread.id, (it) => it.ends_at === at(tomorrow("10:30")));
  await page.getByLabel("Room: Bread").selectOption({ label: "Garden" });
  await saved(bread.id, (it) => it.room_id === garden);
  await page
    .getByText(/^Overlaps/)
    .first()
    .waitFor({ state: "detached" });
  await page.getByLabel("Visible: Bread").selectOption("draft");
  await saved(bread.id, (it) => it.state === "draft");

  await page
    .getByRole("row")
    .filter({ has: page.getByLabel("Room: Bread") })
    .getByRole("button", { name: /^Speakers/ })
    .click();
  const find = host.dialog("Speakers").getByRole("searchbox");
  await find.fill("Ada Okafor");
  await host.button("Add Ada Okafor").click();
  await host.dialog().getByLabel("Ada Okafor").waitFor();
  await host.dialog().getByRole("button", { name: "Save" }).click();
  await saved(bread.id, (it) => it.speaker_ids.length === 1);

  await t.test("never over the change of another person", async (t) => {
    const field = host.field("Title: Bread");
    await field.focus();
    await field.fill("Bread for beginners");
    await api.updateSession(bread.id, { title: "Cake" });
    // The focused field keeps the user's text.
    const typed = page.locator(`[data-session="${bread.id}"] .title`);
    await typed.press("Enter");
    await page.getByText("Someone changed this to “Cake”").waitFor();
    t.equal((await api.getSession(bread.id)).title, "Cake");
    t.same(await axe(page), []);
    await host.button("Keep “Bread for beginners”").click();
    await saved(bread.id, (it) => it.title === "Bread for beginners");
  });

  await t.test("adding and deleting", async (t) => {
    await host.button("Add a session").click();
    const field = host.field("Title: New session");
    await field.fill("Closing");
    await field.press("Enter");
    await host.field("Title: Closing").waitFor();
    await host.button("Delete: Closing").click();
    await host.dialog().getByRole("button", { name: "Delete" }).click();
    await host.field("Title: Closing").waitFor({ state: "detached" });
    t.pass();
  });

  await t.test("all fields of a session", async (t) => {
    await page.getByRole("link", { name: "All fields: Maps for everyone" }).click();
    await host.heading("Maps for everyone").waitFor();
    await host.field("Track").fill("Community");
    await host.field("Links").fill("Slides https://slides.example.org/\nno address");
    await host.field("Stream").fill("/demo/stream.m3u8");
    await host.button("Save").click();
    await host.page.getByRole("alert").first().waitFor();
    await host.field("Links").fill("Slides https://slides.example.org/");
    await host.button("Save").click();
    await saved(maps.id, (it) => it.track === "Community");
    t.match(await api.getSession(maps.id), {
      links: [{ title: "Slides", url: "https://slides.example.org/" }],
      stream: { url: "/demo/stream.m3u8" },
    });
    await host.field("Track").fill("Software");
    await api.updateSession(maps.id, { track: "Arts" });
    await host.button("Save").click();
    await page.getByText("Someone changed this in the meantime.").waitFor();
    t.equal((await api.getSession(maps.id)).track, "Arts");
    t.same(await axe(page), []);
    await host.button("Load it").click();
  });

  await t.test("a speaker", async (t) => {
    await page.evaluate(() => (location.hash = "#/program/speakers"));
    await page.getByRole("link", { name: /Ada Okafor/ }).click();
    await host.field("Organization").fill("Maps Collective");
    const pixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    await host.attach("Choose a picture", {
      name: "ada.png",
      mimeType: "image/png",
      buffer: Buffer.from(pixel, "base64"),
    });
    await host.button("Remove picture").waitFor();
    await host.button("Save").click();
    const [id] = (await api.getSession(bread.id)).speaker_ids;
    await until(async () => {
      const { organization, picture } = await api.getSpeaker(id!);
      return organization === "Maps Collective" && picture !== null;
    });
    t.same(await axe(page), []);
  });
});

nightly("importing after a look, and exporting", async (t) => {
  const world = await site.world(t, { config: { timezone: "UTC" } });
  await world.room("Main Hall");
  const host = await world.host({}, { scheme: "dark", size: "phone" });
  host.watch.tolerate(/^400: /);
  const { page } = host;
  await page.evaluate(() => (location.hash = "#/program"));
  await page.getByText("No sessions yet").waitFor();
  t.same(await axe(page), []);
  await host.button("Import").click();
  const dialog = host.dialog("Import");
  const figure = (label: string) =>
    dialog.locator("dl > div").filter({ hasText: label }).locator("dd").first();
  const choose = (name: string, text: string) =>
    dialog
      .getByLabel("File", { exact: true })
      .setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });
  await choose("broken.json", "{");
  await dialog.getByText(/^This file can’t be imported/).waitFor();
  const schedule = JSON.stringify(festival({ begin: tomorrow("09:00") }));
  await choose("schedule.json", schedule);
  await until(async () => (await figure("New").innerText()) === "120");
  await dialog.getByText(/things to check/).waitFor();
  t.ok(await host.button("Import now").isDisabled(), "each new room needs an answer");
  t.equal((await world.api.listRooms()).count, 1, "nothing was written");
  t.same(await axe(page), []);
  const answers = dialog
    .getByRole("group", { name: "7 rooms are not in your event" })
    .getByRole("combobox");
  t.equal(await answers.count(), 7);
  for (const answer of await answers.all()) await answer.selectOption("new stage");
  await until(async () => (await figure("New rooms").innerText()) === "7");
  await host.button("Import now").click();
  await host.field("Title: Session 1").waitFor();
  t.equal((await world.api.listRooms()).count, 8);
  t.same(await axe(page), []);
  t.ok((await host.overflow()) <= 0, "nothing is wider than the page");

  await host.button("Export").click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Calendar (.ics)" }).click(),
  ]);
  t.match(file.suggestedFilename(), /\.ics$/);
});

nightly("when and where the event is", async (t) => {
  const world = await site.world(t, { config: { timezone: "Asia/Tokyo" } });
  await world.room("Hall");
  const host = await world.host();
  const { page } = host;
  await page.evaluate(() => (location.hash = "#/program"));
  await page.getByText("Dates, place and cover of the event").click();
  await page.getByLabel("Start").fill("2027-03-01T09:00");
  await page.getByLabel("End").fill("2027-03-02T18:00");
  await host.field("Place").fill("Tokyo");
  await host.button("Save").click();
  await until(async () => {
    const { config } = await world.api.getWorld();
    return JSON.stringify(config["event"]) !== undefined;
  });
  t.match((await world.api.getWorld()).config, {
    event: {
      starts_at: /^2027-03-01T00:00:00/,
      ends_at: /^2027-03-02T09:00:00/,
      location: "Tokyo",
    },
  });
  // A change counts as unsaved until its response arrives.
  await host.button("Save").waitFor({ state: "hidden" });
  await page.evaluate(() => (location.hash = "#/overview"));
  await page.getByRole("link", { name: "Publish the program" }).waitFor();
  await page.getByRole("link", { name: "Go live: guests can enter" }).waitFor();
});

test("rooms beside each other, tracks, languages and speakers", async (t) => {
  const world = await site.world(t, { config: { locale: "en", timezone: "UTC" } });
  const { api } = world;
  const post = async (path: string, draft: object) =>
    ((await (await api.request("POST", path, draft)).json()) as { id: string }).id;
  const [hall, attic] = [await world.room("Hall"), await world.room("Attic")];
  const ada = await post("/speakers/", { name: "Ada", organization: "Analytical Engines" });
  const bea = await post("/speakers/", { name: "Bea" });
  const plan = (title: string, room_id: string, from: string, to: string, more: object) =>
    post("/sessions/", {
      title,
      room_id,
      starts_at: `2099-03-01T${from}:00Z`,
      ends_at: `2099-03-01T${to}:00Z`,
      state: "public",
      ...more,
    });
  await plan("Opening", hall, "09:00", "11:00", {
    track: "People",
    language: "en",
    speaker_ids: [ada, bea],
  });
  await plan("Maps", attic, "09:00", "10:00", { track: "Maps", language: "en" });
  await plan("Karten", attic, "10:00", "11:00", {
    track: "Maps",
    language: "de",
    speaker_ids: [bea],
  });

  const visitor = await world.bearer({ uid: "ann" });
  const { page } = visitor;
  await page.goto(`${world.attend}#/program`);
  const main = page.getByRole("main");
  await main.getByRole("link", { name: "Karten" }).waitFor();
  t.notOk(await main.getByText("English").count(), "what goes without saying");
  t.equal(await main.getByText("German").count(), 1);
  t.equal(await main.getByRole("table").count(), 0, "a list at first");
  const colors = await main
    .getByRole("listitem")
    .filter({ has: page.getByRole("link", { name: /Opening|Maps|Karten/ }) })
    .evaluateAll((all) =>
      all.map(
        (it) =>
          (it as HTMLElement).ownerDocument.defaultView!.getComputedStyle(it, "::before")
            .backgroundColor,
      ),
    );
  t.equal(new Set(colors).size, 2, colors.join());

  await main.getByRole("button", { name: "Grid" }).click();
  const table = main.getByRole("table", { name: /March 1/ });
  await table.waitFor();
  t.same(await table.getByRole("columnheader").allInnerTexts(), ["Time", "Attic", "Hall"]);
  t.same(await table.getByRole("rowheader").allInnerTexts(), ["9:00 AM", "10:00 AM"]);
  t.equal(await table.getByRole("cell", { name: /Opening/ }).getAttribute("rowspan"), "2");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    t.same(await axe(page), [], colorScheme);
  }
  await page.reload();
  await table.waitFor();
  await page.setViewportSize({ width: 400, height: 800 });
  // A phone has the list.
  await table.waitFor({ state: "detached" });
  await main.getByRole("heading", { name: /March 1/ }).waitFor();
  t.equal(await main.getByRole("button", { name: "Grid" }).count(), 0);
  await page.setViewportSize({ width: 1280, height: 800 });

  await main.getByRole("link", { name: "Speakers" }).click();
  await main.getByRole("heading", { name: "Bea" }).waitFor();
  t.same(await main.getByRole("heading", { level: 2 }).allInnerTexts(), ["Ada", "Bea"]);
  t.same(await axe(page), []);
  await main.getByRole("searchbox").fill("engines");
  await main.getByRole("heading", { name: "Bea" }).waitFor({ state: "detached" });
  await main.getByRole("link", { name: "Opening" }).click();
  await main.getByRole("heading", { name: "Opening" }).waitFor();
});
