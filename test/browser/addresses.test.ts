import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import { eventually, Site, type Visitor } from "./kit.js";
import t from "./tap.js";

const site = await Site.open(t);

void t.test("a link with a token", async (t) => {
  const world = await site.world(t);
  const hallway = await world.room("Hallway");
  await world.room("Garden", undefined, { sorting_priority: -1 });
  const visitor = await world.visitor();
  const token = world.token({ uid: "anna", name: "Anna" });
  await visitor.page.goto(`${world.attend}#token=${token}&room=${hallway}`);
  await visitor.heading("Hallway").waitFor();
  t.notMatch(visitor.page.url(), /token|eyJ/, "it leaves the address bar");
  const entries = await visitor.page.evaluate(() => history.length);
  await visitor.say("Here by link.");
  await visitor.log.getByRole("article", { name: /Anna/ }).waitFor();
  await visitor.page.goBack().catch(() => null);
  t.notMatch(visitor.page.url(), /token/, "nor is it in the history");
  t.ok(entries <= 2);

  await visitor.page.goto(world.attend);
  await visitor.rooms.waitFor();
  t.equal(await visitor.button("Join").count(), 0, "it is kept");
  await visitor.page.getByRole("link", { name: /^Profile/ }).click();
  await visitor.button("Sign out").click();
  await visitor.button("Join").waitFor();
});

void t.test("a token that is worth nothing", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  for (const [name, token] of Object.entries({
    expired: world.token({ uid: "anna", seconds: -60 }),
    garbled: "a.b.c",
  })) {
    const visitor = await world.visitor();
    await visitor.page.goto(`${world.attend}#token=${token}`);
    const said = visitor.page
      .getByRole("alert")
      .or(visitor.page.getByRole("heading"))
      .filter({ hasText: /link|token|sign|expired|invalid/i });
    await said.first().waitFor();
    t.notMatch(visitor.page.url(), /token/, name);
  }
});

void t.test("a world that guests may not see", async (t) => {
  const world = await site.world(t, {
    permission_config: { "world.view": ["attendee"] },
    title: "A secret title",
  });
  const visitor = await world.visitor();
  await visitor.page.goto(world.attend);
  await visitor.heading("You have no access").waitFor();
  t.equal(await visitor.button("Join").count(), 0, "no guest can join by name");
  t.notMatch(await visitor.page.content(), /A secret title/);
});

void t.test("addresses that lead nowhere", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const anna = await world.guest("Anna");
  for (const [route, heading] of [
    ["rooms/nowhere", "This room is not open"],
    ["messages/nobody", "This conversation isn’t here"],
    ["what/is/this", "Hallway"],
  ] as const) {
    await anna.page.goto(`${world.attend}#/${route}`);
    await anna.page.getByRole("heading", { name: heading, level: 1 }).waitFor();
  }
  const stranger = await world.visitor();
  stranger.watch.tolerate(/^404: GET /);
  const answer = await stranger.page.goto(`${site.baseUrl}/w/none/`);
  await stranger.heading("There is no event here").waitFor();
  t.equal(answer!.status(), 404);
});

/** Waits until the browser shows an error in place of a frame. */
const isBlocked = ({ page }: Visitor): Promise<void> =>
  eventually("the frame is blocked", () =>
    page.frames().some((frame) => frame.url().startsWith("chrome-error:")),
  );

/** Another site, whose page frames an address. */
async function framing(t: Test) {
  const site = { origin: "", target: "" };
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      `<!doctype html><html lang=en><title>Elsewhere</title><iframe title=framed width=400 height=600 src="${site.target}"></iframe>`,
    );
  });
  t.teardown(() => server.close());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  site.origin = `http://127.0.0.1:${port}`;
  return site;
}

void t.test("in a frame of another site", async (t) => {
  // The site of the frame has to be known before the server starts.
  const elsewhere = await framing(t);
  const { origin } = elsewhere;
  const open = await Site.open(t, { EMBED_ORIGINS: origin });
  const world = await open.world(t);
  const room = await world.room("Hallway");

  await t.test("that EMBED_ORIGINS names", async (t) => {
    elsewhere.target = `${world.attend}?embed=1&room=${room}`;
    const visitor = await world.during(t).visitor();
    visitor.watch.tolerate(/^request: /);
    await visitor.page.goto(origin);
    const frame = visitor.page.frameLocator("iframe");
    await frame.getByRole("textbox", { name: "Your name" }).fill("Fay");
    await frame.getByRole("button", { name: "Join" }).click();
    await frame.getByRole("heading", { name: "Hallway", level: 1 }).waitFor();
    t.equal(
      await frame.getByRole("navigation", { name: "Rooms" }).count(),
      0,
      "there is nothing around the room",
    );
  });

  await t.test("the console is never framed", async (t) => {
    elsewhere.target = world.console;
    const visitor = await world.during(t).visitor();
    visitor.watch.tolerate(
      /^request: /,
      /frame-ancestors|ERR_BLOCKED|chrome-error/,
    );
    await visitor.page.goto(origin);
    await isBlocked(visitor);
    const frame = visitor.page.frameLocator("iframe");
    t.equal(await frame.getByRole("textbox", { name: "Token" }).count(), 0);
  });

  await t.test("an unknown address", async (t) => {
    const world = await site.world(t);
    const room = await world.room("Hallway");
    elsewhere.target = `${world.attend}?embed=1&room=${room}`;
    const visitor = await world.visitor();
    visitor.watch.tolerate(
      /^request: /,
      /frame-ancestors|ERR_BLOCKED|chrome-error/,
    );
    await visitor.page.goto(origin);
    await isBlocked(visitor);
    const frame = visitor.page.frameLocator("iframe");
    t.equal(await frame.getByRole("textbox", { name: "Your name" }).count(), 0);
  });
});

void t.test("in German", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const visitor = await world.visitor({ locale: "de-AT" });
  const { page } = visitor;
  await page.goto(world.attend);
  await page
    .getByRole("textbox", { name: "Dein Name" })
    .or(page.getByRole("textbox", { name: "Ihr Name" }))
    .fill("Jürgen");
  await page.getByRole("main").getByRole("button").first().click();
  await page.getByRole("link", { name: /^Hallway/ }).click();
  await page.getByRole("heading", { name: "Hallway" }).waitFor();
  t.equal(await page.locator("html").getAttribute("lang"), "de");
  const words = await page.locator("body").innerText();
  t.notMatch(
    words,
    /\b(Send|Messages|Profile|Join|Loading)\b/,
    "nothing is left in English",
  );
  await page.getByRole("link", { name: /^Profil/ }).click();
  const select = page.getByRole("combobox", { name: "Sprache" });
  await select.selectOption({ label: "English" });
  await page.getByRole("heading", { name: "Profile" }).waitFor();
  t.equal(await page.locator("html").getAttribute("lang"), "en");
  await page.reload();
  await page.getByRole("heading", { name: "Profile" }).waitFor();
});
