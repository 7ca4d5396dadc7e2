import { axe } from "./axe.js";
import { rules } from "../helper.js";
import { eventually, Site, Visitor } from "./kit.js";
import t from "./tap.js";

// Small things that each page does.

const site = await Site.open(t);

void t.test("a dialog begins with its first field", async (t) => {
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
    await eventually(`the field of ${button} has the focus`, () =>
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

void t.test("a toast ends with the page, and after 2.5 seconds", async (t) => {
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

void t.test("more than 20 rooms have a filter", async (t) => {
  const world = await site.world(t);
  for (let n = 1; n <= 20; n++) await world.room(`Room ${n}`);
  const anna = await world.guest("Anna");
  const filter = anna.page.getByRole("searchbox", { name: "Find a room" });
  await anna.rooms.getByRole("link").nth(19).waitFor();
  t.equal(await filter.count(), 0, "20 do without");
  await world.room("قاعة المؤتمرات");
  await filter.fill("المؤتمرات");
  await eventually(
    "one room is left",
    async () => (await anna.rooms.getByRole("link").count()) === 1,
  );
  const name = anna.rooms.getByText("قاعة المؤتمرات");
  t.equal(
    await name.evaluate((it) => getComputedStyle(it).direction),
    "rtl",
    "its beginning is where its language begins",
  );
  await filter.fill("Cellar");
  await anna.page.getByText("No room with that name").waitFor();
});

void t.test("times follow the region of the browser", async (t) => {
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

void t.test("the system's colors show what is selected", async (t) => {
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

void t.test("a stream is tried beside its address", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Stage", [
    { type: "livestream.native", config: {} },
  ]);
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
  const preview = host.page.getByRole("region", {
    name: "Test access",
  });
  await preview.getByRole("listitem").first().waitFor();
  t.equal(await preview.getByText("Vote").count(), 0, "there are no polls");
  for (const colorScheme of ["light", "dark"] as const) {
    await host.page.emulateMedia({ colorScheme });
    t.same(await axe(host.page), []);
  }
});

void t.test("the list of rooms says what is on", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Stage");
  const anna = await world.guest("Anna");
  const host = await world.live({ uid: "host", traits: ["admin"] });
  const schedule = { title: "Maps for everyone" };
  await host.call("room.schedule", { room: stage, schedule_data: schedule });
  await anna.rooms.getByText("Maps for everyone").waitFor();
});

void t.test("the Join page has the links of the organizer", async (t) => {
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
  // Whatever is stored, no script becomes a link.
  const { config } = await world.api.getWorld();
  const links = config["links"] as object;
  const imprint = "javascript:alert(1)";
  await world.api.updateWorld({
    config: { ...config, links: { ...links, imprint } },
  });

  const guest = await world.visitor();
  await guest.page.goto(world.attend);
  const link = (name: string) => guest.page.getByRole("link", { name });
  t.equal(
    await link("Privacy").getAttribute("href"),
    "https://example.org/privacy",
  );
  t.equal(
    await link("Code of conduct").getAttribute("href"),
    "https://example.org/conduct",
  );
  t.equal(await link("Legal notice").count(), 0);
  for (const colorScheme of ["light", "dark"] as const) {
    await guest.page.emulateMedia({ colorScheme });
    t.same(await axe(guest.page), []);
  }
});
