import { rules, until } from "../support/helper.js";
import { axe } from "./axe.js";
import { silentEngine } from "./furnish.js";
import { allModules, Site, Visitor } from "./kit.js";
import t, { nightly, test } from "./tap.js";

// A stage on small screens, with an announcement: the picture and the message field must fit.

const site = await Site.open(t);
const world = await site.world(t);
await world.room("Main stage", allModules);
const host = await world.live({ uid: "host", traits: ["admin"] });
const text = "Lunch is served in the hall on the ground floor, and coffee all day. ".repeat(3);
const { announcement } = await host.call("announcement.create", { text });
await host.call("announcement.update", { id: announcement.id, state: "active" });

/** Maximum height above the picture, in CSS pixels. */
const HEAD = 60;
/** Maximum height of a one-line announcement, in CSS pixels. */
const LINE = 48;

for (const [width, height, picture] of [
  [390, 664, "upright"],
  [375, 553, "upright"],
  [360, 560, "upright"],
  // 1280 by 1024 at 400% zoom.
  [320, 256, "upright"],
  [844, 390, "sideways"],
  [640, 400, "sideways"],
] as const) {
  nightly(`${width} by ${height}, ${picture}`, async (t) => {
    const viewport = { width, height };
    const visitor = await world.during(t).guest("Tim", { viewport });
    const { page } = visitor;
    const boxOf = async (selector: string) => (await page.locator(selector).first().boundingBox())!;
    await visitor.message.waitFor();
    const stage = await boxOf(".show .stage");
    const field = await visitor.message.boundingBox();
    const news = await boxOf(".banner:last-child");
    t.ok(field!.y + field!.height <= height, "the field is in sight");
    t.ok(field!.width >= 120, `one can write in ${field!.width} pixels`);
    t.ok(news.height <= LINE, `the announcement has one line: ${news.height}`);
    t.equal(stage.x, 0, "the picture begins at the edge");
    if (picture === "upright") {
      t.equal(stage.width, width, "the picture ends at the edge");
      t.ok(stage.y <= HEAD, `one row is above the picture: ${stage.y}`);
      const ratio = stage.width / stage.height;
      t.ok(height < 400 || Math.abs(ratio - 16 / 9) < 0.01, `it has ${ratio}`);
      t.ok(stage.height >= 60, `the picture has ${stage.height} pixels`);
    } else {
      t.equal(stage.height, height, "the picture has the full height");
      t.ok(stage.width >= 0.6 * width, "it has 60 % of the width");
      const toggle = page.getByRole("button", { name: "Parts of this room" });
      await toggle.click();
      t.notOk(await visitor.message.isVisible(), "the drawer is closed");
      t.equal((await boxOf(".show .stage")).width, width, "the picture has it all");
      await toggle.click();
      t.ok(await visitor.message.isVisible(), "the drawer is open again");
    }
    await page.getByRole("button", { name: "Reactions" }).click();
    await page.getByRole("button", { name: "React with 👏" }).last().click();
    await page.getByText("Sent 👏").last().waitFor({ state: "attached" });
  });
}

nightly("before a call, its button is in sight on small screens", async (t) => {
  const calls = await Site.open(t, silentEngine, site.browser());
  const world = await calls.world(t);
  await world.room("Hallway", [{ type: "call.native", config: {} }]);
  for (const [width, height] of [
    [390, 664],
    [320, 256],
    [844, 390],
  ] as const) {
    const visitor = await world.during(t).guest("Tim", { viewport: { width, height } });
    const button = visitor.button("Join the call");
    await button.waitFor();
    const box = (await button.boundingBox())!;
    t.ok(box.y >= 0 && box.y + box.height <= height, `${width} by ${height}: ${box.y}`);
    t.ok(box.x >= 0 && box.x + box.width <= width, "and not cut off");
  }
});

test("a call room on a server without calls asks for no device", async (t) => {
  const hallway = await world.room("Hallway", [{ type: "call.native", config: {} }]);
  const visitor = await world.during(t).guest("Tim");
  const { page } = visitor;
  for (const path of [hallway, `${hallway}/setup`]) {
    await page.goto(`${world.attend}#/rooms/${path}`);
    await page.getByText("This server has no calls").waitFor();
    t.equal(await visitor.button("Join the call").count(), 0);
  }
});

for (const way of ["Play", "elsewhere"] as const) {
  nightly(`on a phone, a stream waits for a touch: ${way}`, async (t) => {
    const stream = { hls_url: "/demo/stream.m3u8" };
    const stage = await world.room(`Stage ${way}`, [
      { type: "livestream.native", config: stream },
      { type: "chat.native", config: {} },
    ]);
    const visitor = await world.during(t).visitor({ size: "phone" });
    visitor.watch.tolerate(/^404: /);
    // Playwright's actions count as user activation.
    await visitor.context.addInitScript(() => {
      const value = { hasBeenActive: false };
      Object.defineProperty(navigator, "userActivation", { value });
    });
    const { page } = visitor;
    await page.goto(world.link({ uid: "pat", name: "Pat" }, stage));
    const play = visitor.button("Play");
    await play.waitFor();
    t.equal(await page.locator("iframe").count(), 0, "nothing is loaded");
    await (way === "Play" ? play : visitor.message).tap();
    const player = page.locator("iframe");
    await player.waitFor();
    const hash = new URL((await player.getAttribute("src"))!).hash;
    const hasSound = new URLSearchParams(hash.slice(1)).has("sound");
    t.equal(hasSound, way === "Play", "sound is for people who asked");
  });
}

// Small behaviors shared by all pages.

nightly("a dialog begins with its first field", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway", [{ type: "poll", config: { active: true } }]);
  const host = await world.host();
  const cases = [
    ["rooms", "New room", "INPUT"],
    ["announcements", "New announcement", "TEXTAREA"],
  ] as const;
  for (const [page, button, tag] of cases) {
    await host.page.goto(`${world.console}#/${page}`);
    await host.button(button).first().click();
    await host.dialog().waitFor();
    await until(() =>
      host.page.evaluate(
        (tag) =>
          document.activeElement?.tagName === tag &&
          document.activeElement.closest("dialog") !== null,
        tag,
      ),
    );
    await host.page.keyboard.press("Escape");
  }
});

nightly("a toast ends with the page, and after 2.5 seconds", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const host = await world.host();
  await host.page.goto(`${world.console}#/world`);
  const saved = host.page.getByText("Saved.", { exact: true });
  for (const title of ["The feast", "The ball"]) {
    await host.field("Title").fill(title);
    await host.button("Save").click();
    await saved.waitFor();
    if (title === "The feast") await saved.waitFor({ state: "detached" });
  }
  await host.page.evaluate(() => (location.hash = "#/rooms"));
  await host.heading("Rooms").waitFor();
  t.equal(await saved.count(), 0);
});

nightly("more than 20 rooms have a filter", async (t) => {
  const world = await site.world(t);
  for (let n = 1; n <= 20; n++) await world.room(`Room ${n}`);
  const anna = await world.guest("Anna");
  const filter = anna.page.getByRole("searchbox", { name: "Find a room" });
  await anna.rooms.getByRole("link").nth(19).waitFor();
  t.equal(await filter.count(), 0, "20 do without");
  await world.room("قاعة المؤتمرات");
  await filter.fill("المؤتمرات");
  await until(async () => (await anna.rooms.getByRole("link").count()) === 1);
  const name = anna.rooms.getByText("قاعة المؤتمرات");
  t.equal(
    await name.evaluate((it) => getComputedStyle(it).direction),
    "rtl",
    "its beginning is where its language begins",
  );
  await filter.fill("Cellar");
  await anna.page.getByText("No room with that name").waitFor();
});

nightly("times follow the region of the browser", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const say = async (locale: string) => {
    const visitor = await world.guest(`Of ${locale}`, { locale });
    await visitor.message.fill("Hi.");
    await visitor.button("Send").click();
    const post = visitor.post("Hi.").last();
    return post.locator("header time").innerText();
  };
  t.match(await say("en-US"), /[AP]M$/);
  t.notMatch(await say("en-GB"), /M$/i);
});

nightly("the system's colors show what is selected", async (t) => {
  const world = await site.world(t, { permission_config: rules({}) });
  await world.room("Hallway", [
    { type: "chat.native", config: {} },
    { type: "question", config: { active: true } },
  ]);
  const anna: Visitor = await world.guest("Anna");
  await anna.page.emulateMedia({ forcedColors: "active" });
  const colorOf = (name: string) =>
    anna.tab(name).evaluate((it) => getComputedStyle(it).backgroundColor);
  await anna.tab("Questions").waitFor();
  t.not(await colorOf("Chat"), await colorOf("Questions"));
});

nightly("a stream is tried beside its address", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Stage", [{ type: "livestream.native", config: {} }]);
  const host = await world.host();
  await host.page.goto(`${world.console}#/rooms/${stage}`);
  const address = host.field("Address of the stream");
  const verdict = (text: string | RegExp) =>
    host.page.getByRole("status").filter({ hasText: text });
  await address.fill("/demo/stream.m3u8");
  await verdict("It plays.").waitFor();
  host.watch.tolerate(/404/);
  await address.fill("/nothing.m3u8");
  await verdict("It doesn’t play right now.").waitFor();
  await address.fill("https://www.youtube.com/watch?v=dQw4w9WgXcQ");
  await verdict("This is a YouTube video.").waitFor();
  await host.button("Use the YouTube player").click();
  await host.heading("YouTube video").waitFor();
  const preview = host.page.getByRole("region", { name: "Test access" });
  await preview.getByRole("listitem").first().waitFor();
  t.equal(await preview.getByText("Vote").count(), 0, "there are no polls");
  t.same(await host.faults(), []);
});

nightly("the Join page has the links of the organizer", async (t) => {
  const world = await site.world(t);
  const host = await world.host();
  await host.page.goto(`${world.console}#/world`);
  await host.field("Privacy policy").fill("http//nowhere");
  await host.button("Save").click();
  await host.page.getByText("Enter addresses that begin with").waitFor();
  await host.field("Privacy policy").fill("https://example.org/privacy");
  await host.button("Add a link").click();
  await host.field("Text of link 1").fill("Code of conduct");
  await host.field("Address of link 1").fill("https://example.org/conduct");
  await host.button("Save").click();
  await host.page.getByText("Saved.", { exact: true }).waitFor();
  t.same(await axe(host.page), []);
  // A stored javascript: URL never becomes a link.
  const { config } = await world.api.getWorld();
  const links = config["links"] as object;
  const imprint = "javascript:alert(1)";
  await world.api.updateWorld({ config: { ...config, links: { ...links, imprint } } });

  const guest = await world.visitor();
  await guest.page.goto(world.attend);
  const link = (name: string) => guest.page.getByRole("link", { name });
  t.equal(await link("Privacy").getAttribute("href"), "https://example.org/privacy");
  t.equal(await link("Code of conduct").getAttribute("href"), "https://example.org/conduct");
  t.equal(await link("Legal notice").count(), 0);
  t.same(await guest.faults(), []);
});
