import { randomUUID } from "node:crypto";
import type { Test } from "tap";
import { Live } from "../../client/index.js";
import { freshSetupKey } from "../../plugins/setup.js";
import { startTestServer } from "../../testing.js";
import { SHORT } from "../suites.js";
import { axe } from "./axe.js";
import { openBrowser, Visitor, type VisitorOptions } from "./kit.js";
import t from "./tap.js";

// The first run: from the link in a terminal to an event, without a shell.

const browser = await openBrowser(t);

/** A server without a world, and its link. */
async function empty(t: Test) {
  const key = freshSetupKey();
  const server = await startTestServer({ setup: key });
  t.teardown(() => server.close());
  const { baseUrl } = server;
  const visit = (options?: VisitorOptions) =>
    Visitor.open(t, browser, baseUrl, options);
  return { server, baseUrl, visit, link: `${baseUrl}/setup#${key.secret}` };
}

for (const scheme of ["light", "dark"] as const) {
  for (const size of ["desktop", "phone"] as const) {
    // A landing sees each scheme and each size once.
    if (SHORT && (scheme === "dark") !== (size === "phone")) continue;
    void t.test(`an event is set up, ${scheme}, on a ${size}`, async (t) => {
      const { baseUrl, visit, link } = await empty(t);
      const visitor = await visit({ scheme, size });
      const { page } = visitor;
      for (const path of ["/", "/console"]) {
        visitor.watch.tolerate(/404/);
        await page.goto(baseUrl + path);
        await visitor.heading("Foyer is running").waitFor();
        await page.getByText("open the link in its terminal").waitFor();
        t.same(await axe(page), [], `${path} without an event`);
      }
      await page.goto(link);
      t.same(await axe(page), [], "the form");
      await visitor.button("Create the event").click();
      await page.getByText("Give your event a title.").waitFor();
      t.ok(
        await visitor.field("Title").evaluate((it) => it.matches(":focus")),
        "at the first fault",
      );
      await visitor.field("Title").fill("Maps 2027");
      await visitor.field("Your name").fill("Ada Lovelace");
      await page.getByRole("radio", { name: /^Meetup/ }).check();
      await page.getByLabel("Starts").fill("2027-01-31T09:00");
      await page.getByLabel("Ends").fill("2027-01-31T08:00");
      await visitor.button("Create the event").click();
      await page.getByText("The end must be later").waitFor();
      t.same(await axe(page), [], "a fault");
      await page.getByLabel("Ends").fill("2027-01-31T18:00");
      await visitor.button("Create the event").click();
      await visitor.consoleNav.waitFor();
      t.notMatch(page.url(), /token|eyJ|setup/, "nothing secret stays");
      // The organizer has a name already.
      await page.getByRole("heading", { level: 1 }).waitFor();
      t.notOk(await visitor.heading("What is your name?").isVisible());

      const late = await visit({ scheme, size });
      await late.page.goto(link);
      await late.heading("This event is already set up").waitFor();
      const guest = await visit({ scheme, size });
      await guest.page.goto(baseUrl);
      await guest.join("Ben");
      await guest.unfold();
      await guest.rooms.getByRole("link", { name: /^Lounge/ }).waitFor();
    });
  }
}

void t.test("a wrong link says what to do", async (t) => {
  const { baseUrl, visit } = await empty(t);
  const visitor = await visit();
  visitor.watch.tolerate(/401/);
  await visitor.page.goto(`${baseUrl}/setup#${randomUUID()}`);
  await visitor.field("Title").fill("Maps 2027");
  await visitor.field("Your name").fill("Ada");
  await visitor.button("Create the event").click();
  await visitor.heading("This link no longer works").waitFor();
});

void t.test("a link without a name asks for one", async (t) => {
  const { server, baseUrl, visit } = await empty(t);
  await server.createWorld({ id: "maps" });
  const token = await server.token("maps", { uid: "ada" });
  const visitor = await visit();
  await visitor.page.goto(`${baseUrl}/w/maps/console#token=${token}`);
  await visitor.field("Your name").fill("Ada Lovelace");
  await visitor.button("Continue").click();
  await visitor.consoleNav.getByRole("link").first().waitFor();
  await visitor.heading("What is your name?").waitFor({ state: "detached" });

  // The server uses a name only for a new user. The pages give it to one who has none.
  for (const page of ["", "console"]) {
    const uid = `came without a name ${page}`;
    const nameless = await server.token("maps", { uid });
    const live = new Live({ baseUrl, world: "maps", token: nameless });
    await live.connected();
    live.close();
    const profile = { display_name: "Ben" };
    const named = await server.token("maps", { uid, profile });
    const ben = await visit();
    await ben.page.goto(`${baseUrl}/w/maps/${page}#token=${named}`);
    await (page === "" ? ben.rooms : ben.consoleNav).first().waitFor();
    await ben.field("Your name").waitFor({ state: "detached" });
  }
});
