import type { Session, SessionDraft } from "../../client/index.js";
import { festival } from "../program/festival.js";
import { axe } from "./axe.js";
import { eventually, Site } from "./kit.js";
import t from "./tap.js";

// The program in the console: a table to edit in place, editors, and the import.

const site = await Site.open(t);
const MINUTE = 60_000;

/** Tomorrow at a clock of UTC, in milliseconds. */
const tomorrow = (clock: string) => {
  const day = new Date(Date.now() + 24 * 60 * MINUTE).toISOString();
  return Date.parse(`${day.slice(0, 10)}T${clock}:00Z`);
};
const at = (time: number) => new Date(time).toISOString();

void t.test("a table to edit in place", async (t) => {
  const world = await site.world(t, { config: { timezone: "UTC" } });
  const hall = await world.room("Hall");
  const garden = await world.room("Garden");
  const { api } = world;
  const add = (
    title: string,
    clock: string,
    more: Partial<SessionDraft> = {},
  ) =>
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
  const saved = (
    what: string,
    id: string,
    isRight: (session: Session) => boolean,
  ) => eventually(what, async () => isRight(await api.getSession(id)));

  await title.fill("Maps for everyone");
  await title.press("Enter");
  await saved("the title", maps.id, (it) => it.title === "Maps for everyone");

  await page.getByLabel("Start: Bread").fill("09:20");
  await page.getByLabel("Start: Bread").press("Enter");
  await saved(
    "the start, with the end",
    bread.id,
    (it) =>
      it.starts_at === at(tomorrow("09:20")) &&
      it.ends_at === at(tomorrow("10:00")),
  );
  await page.getByText("Overlaps “Maps for everyone”").waitFor();
  await page.getByText("Overlaps “Bread”").waitFor();
  await page.getByLabel("End: Bread").fill("10:30");
  await page.getByLabel("End: Bread").press("Enter");
  await saved(
    "the end",
    bread.id,
    (it) => it.ends_at === at(tomorrow("10:30")),
  );
  await page.getByLabel("Room: Bread").selectOption({ label: "Garden" });
  await saved("the room", bread.id, (it) => it.room_id === garden);
  await page
    .getByText(/^Overlaps/)
    .first()
    .waitFor({ state: "detached" });
  await page.getByLabel("Visible: Bread").selectOption("draft");
  await saved("the state", bread.id, (it) => it.state === "draft");

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
  await saved("the speaker", bread.id, (it) => it.speaker_ids.length === 1);

  await t.test("never over the change of another person", async (t) => {
    const field = host.field("Title: Bread");
    await field.focus();
    await field.fill("Bread for beginners");
    await api.updateSession(bread.id, { title: "Cake" });
    // The field that is being typed in keeps what was typed.
    const typed = page.locator(`[data-session="${bread.id}"] .title`);
    await typed.press("Enter");
    await page.getByText("Someone changed this to “Cake”").waitFor();
    t.equal((await api.getSession(bread.id)).title, "Cake");
    t.same(await axe(page), []);
    await host.button("Keep “Bread for beginners”").click();
    await saved("mine", bread.id, (it) => it.title === "Bread for beginners");
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
    await page
      .getByRole("link", { name: "All fields: Maps for everyone" })
      .click();
    await host.heading("Maps for everyone").waitFor();
    await host.field("Track").fill("Community");
    await host
      .field("Links")
      .fill("Slides https://slides.example.org/\nno address");
    await host.field("Stream").fill("/demo/stream.m3u8");
    await host.button("Save").click();
    await host.page.getByRole("alert").first().waitFor();
    await host.field("Links").fill("Slides https://slides.example.org/");
    await host.button("Save").click();
    await saved("all", maps.id, (it) => it.track === "Community");
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
    const chooser = await host.chooses("Choose a picture");
    const pixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    await chooser.setFiles({
      name: "ada.png",
      mimeType: "image/png",
      buffer: Buffer.from(pixel, "base64"),
    });
    await host.button("Remove picture").waitFor();
    await host.button("Save").click();
    const [id] = (await api.getSession(bread.id)).speaker_ids;
    await eventually("it is saved", async () => {
      const { organization, picture } = await api.getSpeaker(id!);
      return organization === "Maps Collective" && picture !== null;
    });
    t.same(await axe(page), []);
  });
});

void t.test("importing after a look, and exporting", async (t) => {
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
    dialog.getByLabel("File", { exact: true }).setInputFiles({
      ...{ name, mimeType: "application/json" },
      buffer: Buffer.from(text),
    });
  await choose("broken.json", "{");
  await dialog.getByText(/^This file can’t be imported/).waitFor();
  const schedule = JSON.stringify(festival({ begin: tomorrow("09:00") }));
  await choose("schedule.json", schedule);
  await eventually(
    "it says what would happen",
    async () => (await figure("New").innerText()) === "120",
  );
  t.equal(await figure("New rooms").innerText(), "7");
  await dialog.getByLabel("Create rooms that are missing").uncheck();
  await dialog.getByText(/things to check/).waitFor();
  t.equal((await world.api.listRooms()).count, 1, "nothing was written");
  t.same(await axe(page), []);
  await dialog.getByLabel("Create rooms that are missing").check();
  await eventually(
    "again",
    async () => (await figure("New rooms").innerText()) === "7",
  );
  await host.button("Import now").click();
  await host.field("Title: Session 1").waitFor();
  t.equal((await world.api.listRooms()).count, 8);
  t.same(await axe(page), []);
  const width = await page.evaluate(
    () => document.documentElement.scrollWidth - innerWidth,
  );
  t.ok(width <= 0, "nothing is wider than the page");

  await host.button("Export").click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Calendar (.ics)" }).click(),
  ]);
  t.match(file.suggestedFilename(), /\.ics$/);
});

void t.test("when and where the event is", async (t) => {
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
  await eventually("it is saved", async () => {
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
  // An answer that is under way still counts as a change that is not saved.
  await host.button("Save").waitFor({ state: "hidden" });
  await page.evaluate(() => (location.hash = "#/overview"));
  await page.getByRole("link", { name: "Publish the program" }).waitFor();
  await page.getByRole("link", { name: "Go live: guests can enter" }).waitFor();
});
