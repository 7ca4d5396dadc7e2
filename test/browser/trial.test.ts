import { readFile } from "node:fs/promises";
import { freshSetupKey } from "../../plugins/setup.js";
import { startTestServer } from "../../testing.js";
import { openBrowser, Visitor, type VisitorOptions } from "./kit.js";
import t from "./tap.js";

// An event from its setup link to its results, in browsers only: what an organizer does who has
// never seen a token.

const browser = await openBrowser(t);
/** A time of today, as a field of the form has it, in UTC. */
const today = (hours: number) =>
  new Date(Date.now() + hours * 3_600_000).toISOString().slice(0, 16);

const program = () => `title,start,end,room,speakers,track
Opening,${today(-0.2)}Z,${today(0.4)}Z,Main stage,Grace Hopper,Welcome
Maps for everyone,${today(0.5)}Z,${today(1)}Z,Main stage,Ada Okafor;Ben Sørensen,Community
Printing large sheets,${today(0.5)}Z,${today(1)}Z,Print shop,Chloé Martin,Craft
`;

void t.test("an organizer runs a conference in the browser", async (t) => {
  const key = freshSetupKey();
  const server = await startTestServer({ setup: key });
  t.teardown(() => server.close());
  const { baseUrl } = server;
  const visit = (options?: VisitorOptions) =>
    Visitor.open(t, browser, baseUrl, options);

  const host = await visit();
  const { page } = host;
  await page.goto(`${baseUrl}/setup#${key.secret}`);
  await host.field("Title").fill("Open Maps 2027");
  await page.getByRole("radio", { name: /^Conference/ }).check();
  await page.getByLabel("Starts").fill(today(-1));
  await page.getByLabel("Ends").fill(today(8));
  await host.field("Your name").fill("Hanna Host");
  await host.button("Create the event").click();
  await host.consoleNav.waitFor();
  await host.heading("Overview").waitFor();
  const go = (name: string) =>
    host.consoleNav.getByRole("link", { name, exact: true }).click();

  // The program.
  await go("Program");
  await host.button("Import").first().click();
  const importing = host.dialog();
  await importing.locator("input[type=file]").setInputFiles({
    name: "program.csv",
    mimeType: "text/csv",
    buffer: Buffer.from(program()),
  });
  await importing.getByLabel(/rooms/i).check();
  await importing.getByText("New", { exact: true }).first().waitFor();
  await importing.locator("button.primary").click();
  await importing.waitFor({ state: "detached" });
  await host.field("Title: Maps for everyone").waitFor();

  // A speaker.
  await go("Invite");
  await page.getByRole("radio", { name: /^One person/ }).check();
  await host.field("Name").fill("Grace Hopper");
  await page.getByLabel("Role", { exact: true }).selectOption("Speaker");
  await host.button("Create link").click();
  const made = page.getByRole("textbox", { name: "Link", exact: true });
  await made.waitFor();
  const speaker = await visit();
  await speaker.page.goto(await made.inputValue());
  await speaker.arrived();
  await speaker.page
    .getByRole("heading", { name: "Open Maps 2027" })
    .or(speaker.page.getByRole("heading", { level: 1 }))
    .first()
    .waitFor();

  // Three phones, by the address of the event.
  await go("Overview");
  const address = await page.locator("output.address").innerText();
  const phones: Visitor[] = [];
  for (const name of ["Ada", "Ben", "Trudy"]) {
    const phone = await visit({
      size: "phone",
      viewport: { width: 390, height: 664 },
    });
    await phone.page.goto(address);
    await phone.join(name);
    await phone.page
      .getByRole("main")
      .getByRole("link", { name: /Main stage/ })
      .click();
    await phone.heading("Main stage").waitFor();
    phones.push(phone);
  }
  const [ada, ben, trudy] = phones as [Visitor, Visitor, Visitor];

  // The host view, and a hall screen.
  const [event] = await Promise.all([
    host.context.waitForEvent("page"),
    host.button("Open the event").first().click(),
  ]);
  await event.waitForLoadState();
  await event
    .getByRole("navigation", { name: "Rooms" })
    .getByRole("link", { name: /^Main stage/ })
    .click();
  await event.getByRole("link", { name: "Host view" }).click();
  await event.getByRole("button", { name: "Screens" }).click();
  const [hall] = await Promise.all([
    host.context.waitForEvent("page"),
    event.getByRole("menuitem", { name: "Poll screen" }).click(),
  ]);
  await hall.setViewportSize({ width: 1920, height: 1080 });
  await hall.getByRole("img", { name: "Scan to take" }).waitFor();
  await event.getByRole("button", { name: "New poll" }).click();
  const poll = event.getByRole("dialog");
  await poll.getByRole("textbox", { name: "Question" }).fill("Which map?");
  await poll.getByRole("textbox", { name: "Option 1" }).fill("Paper");
  await poll.getByRole("textbox", { name: "Option 2" }).fill("Screen");
  await poll.getByRole("button", { name: "Create" }).click();
  const polls = event.getByRole("region", { name: "Polls" });
  await polls.getByRole("button", { name: "Open", exact: true }).click();
  await polls.getByRole("button", { name: "On screen" }).click();
  await hall.getByRole("heading", { name: "Which map?" }).waitFor();
  for (const [phone, choice] of [
    [ada, "Paper"],
    [ben, "Paper"],
    [trudy, "Screen"],
  ] as const) {
    const button = phone.page.getByRole("button", { name: choice }).first();
    await button.waitFor();
    await button.click();
  }
  await hall.getByText("67%").waitFor();

  // A troublemaker.
  await trudy.say("Buy cheap maps at my shop!");
  const log = event.getByRole("log", { name: "Messages" });
  const spam = log.locator("article[data-event]", { hasText: "cheap maps" });
  await spam.hover();
  await spam.getByRole("button", { name: "Message actions" }).click();
  await event.getByRole("menuitem", { name: "Ban" }).click();
  await event.getByRole("dialog").getByRole("button", { name: "Ban" }).click();
  await trudy.page.getByText(/You were removed/).waitFor();

  // What is left.
  await page.bringToFront();
  await go("Results");
  await page.getByRole("figure").first().waitFor();
  for (const [what, format, mark] of [
    ["People", "CSV", /Ada/],
    ["Chat", "CSV", /display|room/],
    ["Polls", "CSV", /Which map/],
    ["Polls", "XLSX", /^PK/],
  ] as const) {
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      host.button(`${what} as ${format}`).click(),
    ]);
    t.match(String(await readFile(await file.path())), mark, what);
  }
  await go("History");
  await page.getByText("downloaded results").first().waitFor();
  await page.getByText("banned a person").waitFor();
  await page.getByText("Trudy").waitFor();
});
