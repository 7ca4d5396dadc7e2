import { allModules, Site } from "./kit.js";
import t from "./tap.js";

// A stage on small screens, with an announcement: the picture, and the field for a message.

const site = await Site.open(t);
const world = await site.world(t);
await world.room("Main stage", allModules);
const host = await world.live({ uid: "host", traits: ["admin"] });
const text =
  "Lunch is served in the hall on the ground floor, and coffee all day. ".repeat(
    3,
  );
const { announcement } = await host.call("announcement.create", { text });
await host.call("announcement.update", {
  id: announcement.id,
  state: "active",
});

/** The most that may be above the picture, in CSS pixels. */
const HEAD = 60;
/** The most for an announcement of one line. */
const LINE = 48;

for (const [width, height, picture] of [
  [390, 664, "upright"],
  [375, 553, "upright"],
  [360, 560, "upright"],
  // 1280 by 1024 at 400 %
  [320, 256, "upright"],
  [844, 390, "sideways"],
  [640, 400, "sideways"],
] as const) {
  void t.test(`${width} by ${height}, ${picture}`, async (t) => {
    const viewport = { width, height };
    const visitor = await world.during(t).guest("Tim", { viewport });
    const { page } = visitor;
    const boxOf = async (selector: string) =>
      (await page.locator(selector).first().boundingBox())!;
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
      t.equal(
        (await boxOf(".show .stage")).width,
        width,
        "the picture has it all",
      );
      await toggle.click();
      t.ok(await visitor.message.isVisible(), "the drawer is open again");
    }
    await page.getByRole("button", { name: "Reactions" }).click();
    await page.getByRole("button", { name: "React with 👏" }).last().click();
    await page.getByText("Sent 👏").last().waitFor({ state: "attached" });
  });
}

for (const way of ["Play", "elsewhere"] as const) {
  void t.test(`on a phone, a stream waits for a touch: ${way}`, async (t) => {
    const stream = { hls_url: "/demo/stream.m3u8" };
    const stage = await world.room(`Stage ${way}`, [
      { type: "livestream.native", config: stream },
      { type: "chat.native", config: {} },
    ]);
    const visitor = await world.during(t).visitor({ size: "phone" });
    visitor.watch.tolerate(/^404: /);
    // What drives the browser counts as a touch.
    await visitor.context.addInitScript(() => {
      const value = { hasBeenActive: false };
      Object.defineProperty(navigator, "userActivation", { value });
    });
    const token = world.token({ uid: "pat", name: "Pat" });
    const { page } = visitor;
    await page.goto(`${world.attend}#token=${token}&room=${stage}`);
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
