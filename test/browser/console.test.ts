import { keyOf, tokenOf } from "../helper.js";
import { say } from "./furnish.js";
import { eventually, Site, testRules, type Visitor } from "./kit.js";
import { axe } from "./axe.js";
import t from "./tap.js";

const site = await Site.open(t);

void t.test("signing in", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const token = world.token({ uid: "h", name: "H", traits: ["admin", "api"] });

  await t.test("by a link", async (t) => {
    const host = await world.during(t).host();
    t.notMatch(host.page.url(), /token|eyJ/);
    await host.page.reload();
    await host.consoleNav.waitFor();
    await host.button("Sign out").click();
    await host.field("Token").waitFor();
    await host.page.reload();
    await host.field("Token").waitFor();
  });

  await t.test("by pasting a token", async (t) => {
    const { page, ...host } = await world.during(t).visitor();
    void host;
    await page.goto(world.console);
    await page.getByRole("textbox", { name: "Token" }).fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("navigation", { name: "Console" }).waitFor();
  });

  for (const [name, wrong] of Object.entries({
    "that is no token": "abc",
    "of a foreign key": tokenOf(keyOf("elsewhere"), { uid: "x" }),
    "that has expired": world.token({ uid: "x", seconds: -60 }),
  })) {
    await t.test(`with a text ${name}`, async (t) => {
      const host = await world.during(t).visitor();
      await host.page.goto(world.console);
      await host.field("Token").fill(wrong);
      await host.button("Sign in").click();
      await host.page.getByRole("alert").first().waitFor();
      t.equal(await host.consoleNav.count(), 0);
      await host.field("Token").fill(token);
      await host.button("Sign in").click();
      await host.consoleNav.waitFor();
    });
  }

  await t.test("an attendee is offered nothing", async (t) => {
    const visitor = await world.during(t).visitor();
    const token = world.token({ uid: "a", name: "A" });
    await visitor.page.goto(`${world.console}#token=${token}`);
    await visitor.page.getByText("This token permits nothing here").waitFor();
    t.equal(await visitor.consoleNav.getByRole("link").count(), 0);
  });

  await t.test("a moderator sees what a moderator may do", async (t) => {
    const visitor = await world
      .during(t)
      .host({ uid: "m", traits: ["moderator"] });
    const links = visitor.consoleNav.getByRole("link");
    await visitor.consoleNav.getByRole("link", { name: "People" }).waitFor();
    const names = (await links.allInnerTexts()).map((name) => name.trim());
    t.notMatch(names.join(), /World|Keys|Permissions|Announcements|Links/);
  });
});

void t.test("from the console into the event", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const ada = await world.live({ uid: "ada", name: "Ada" });
  const channel = ada.state!.rooms[0]!.id;
  await ada.call("chat.join", { channel });
  await say(ada, channel, "Buy now!");
  const host = await world.host();
  const [tab] = await Promise.all([
    host.context.waitForEvent("page"),
    host.button("Open the event").click(),
  ]);
  const post = tab.getByRole("article").filter({ hasText: "Buy now!" });
  await post.hover();
  await post.getByRole("button", { name: "Message actions" }).click();
  await tab.getByRole("menuitem", { name: "Delete" }).waitFor();
  t.notMatch(tab.url(), /token|eyJ/);
});

void t.test("the world", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const host = await world.host();
  await host.consoleNav.getByRole("link", { name: "World" }).click();
  await host.page.getByRole("heading", { name: "World", level: 1 }).waitFor();
  const title = host.field("Title");
  await eventually(
    "the title is there",
    async () => (await title.inputValue()) === "The party",
  );
  await title.fill("The ball");
  await host.button("Save").click();
  await eventually(
    "it is saved",
    async () => (await world.api.getWorld()).title === "The ball",
  );
  const { config } = await world.api.getWorld();
  t.same(Object.keys(config).includes("JWT_secrets"), true, "the keys stay");

  await t.test("another organizer changes it at the same time", async (t) => {
    host.watch.tolerate(/^412: /);
    await title.fill("The feast");
    await world.api.updateWorld({ title: "The picnic" });
    await host.button("Save").click();
    const alert = host.page
      .getByRole("alert")
      .filter({ hasText: "Somebody changed this in the meantime." });
    await alert.waitFor();
    t.equal(
      (await world.api.getWorld()).title,
      "The picnic",
      "nothing is lost",
    );
    t.equal(await title.inputValue(), "The feast", "on neither side");
    await host.button("Show their version").click();
    await host.page.getByText("The picnic").first().waitFor();
    t.equal(await title.inputValue(), "The feast");
    await host.button("Load it").last().click();
    await eventually(
      "theirs is loaded",
      async () => (await title.inputValue()) === "The picnic",
    );
    await title.fill("The fair");
    await host.button("Save").click();
    await eventually(
      "it can be saved again",
      async () => (await world.api.getWorld()).title === "The fair",
    );
  });

  await t.test("attendees see the title at once", async (t) => {
    const anna = await world.during(t).guest("Anna");
    await title.fill("The gala");
    await host.button("Save").click();
    await anna.page.getByText("The gala").first().waitFor();
  });

  await t.test("what the server refuses is said at the field", async () => {
    host.watch.tolerate(/^400: /);
    await host.field("Domain").fill("not a domain!");
    await host.button("Save").click();
    await eventually(
      "the field is marked",
      async () =>
        (await host.field("Domain").getAttribute("aria-invalid")) === "true",
    );
    await world.api.getWorld();
  });
});

void t.test("keys are rotated, and all users stay signed in", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const attendee = { uid: "anna", name: "Anna" };
  const old = world.token(attendee);
  const anna = await world.bearer(attendee);
  anna.watch.tolerate(/WebSocket/);
  const host = await world.host();
  host.watch.tolerate(/^40[13]: /);
  await host.consoleNav.getByRole("link", { name: "Keys" }).click();
  await host.page.getByRole("heading", { name: "Keys", level: 1 }).waitFor();
  const before = (await world.api.getWorld()).config.JWT_secrets;
  t.equal(before.length, 1);

  await rotate(host);
  // The test holds only the old key: what the server does with it says what is so.
  await eventually("the old token stops working", async () => {
    const answer = await fetch(
      `${site.baseUrl}/api/v1/worlds/${world.id}/rooms/`,
      { headers: { authorization: `Bearer ${old}` } },
    );
    return answer.status === 401;
  });
  await anna.rooms.waitFor({ state: "detached" });
  await host.page.reload();
  await host.consoleNav.waitFor();
  await host.consoleNav.getByRole("link", { name: "Rooms" }).click();
  await host.page.getByText("Hallway").first().waitFor();
});

/** Walks through the guided rotation to its end. */
async function rotate(host: Visitor): Promise<void> {
  await host.button("Add a new key").click();
  const dialog = host.dialog("Add a new key");
  await dialog.getByRole("button", { name: "Add in front" }).click();
  await dialog.waitFor({ state: "detached" });
  await host.page.getByText(/^The key ending in/).waitFor();
  await host
    .button(/^Remove the key ending in/)
    .last()
    .click();
  const sure = host.dialog(/^Remove the key ending in/);
  await sure.getByText("These tokens stop working at once").waitFor();
  await sure.getByRole("button", { name: "Remove the key" }).click();
  await sure.waitFor({ state: "detached" });
}

void t.test("permissions say who would be let in", async (t) => {
  const world = await site.world(t);
  await world.room("Backstage", undefined, {
    permission_config: { "room.view": [["speaker", "admin"]] },
  });
  const host = await world.host();
  await host.consoleNav.getByRole("link", { name: "Permissions" }).click();
  await host.page
    .getByRole("heading", { name: "Permissions", level: 1 })
    .waitFor();
  const main = host.page.getByRole("main");
  const key = main.getByRole("listitem").filter({ hasText: "chat.moderate" });
  await key.first().getByText("No", { exact: true }).waitFor();
  await host.button("Add moderator").click();
  await key.first().getByText("Yes", { exact: true }).waitFor();
  await host.button("1 room has a rule of its own").click();
  await main.locator("li li").filter({ hasText: "Backstage" }).waitFor();
  t.match(await main.innerText(), /speaker/);
  t.same((await world.api.getWorld()).permission_config, testRules);
});

void t.test("links open the event for others", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const host = await world.host();
  await host.consoleNav.getByRole("link", { name: "Links" }).click();
  await host.page.getByRole("heading", { name: "Links", level: 1 }).waitFor();
  await host.field("Name").fill("Greta Guest");
  await host.field("Traits").fill("moderator");
  await host.button("Create link").click();
  const text = /https?:\/\/\S+#token=[\w.-]+/;
  const main = host.page.getByRole("main");
  await eventually("the link is there", async () => {
    const values = await main
      .locator("input, textarea, output, code, a")
      .evaluateAll((all) =>
        all.map((it) => (it as HTMLInputElement).value ?? it.textContent),
      );
    return values.some((value) => text.test(value));
  });
  await main.getByRole("img", { name: /QR/ }).waitFor();
  await host.button("Copy").first().click();
  let copied = "";
  await eventually("the link is copied", async () => {
    copied = await host.page.evaluate(() => navigator.clipboard.readText());
    return text.test(copied);
  });

  const greta = await world.visitor();
  await greta.page.goto(copied);
  await greta.rooms.waitFor();
  await greta.enter("Hallway");
  await greta.say("Hello from the link.");
  await greta.log.getByRole("article", { name: /Greta Guest/ }).waitFor();
});

for (const size of ["desktop", "phone"] as const) {
  void t.test(`the overview of an event, on a ${size}`, async (t) => {
    const world = await site.world(t);
    const hallway = await world.room("Hallway");
    const at = (minutes: number) =>
      new Date(Date.now() + minutes * 60_000).toISOString();
    for (const [title, start, end] of [
      ["Maps", -10, 30],
      ["Routes", 30, 60],
    ] as const) {
      await site.server.app.store.program.createSession(world.id, {
        ...{ title, room_id: hallway },
        ...{ starts_at: at(start), ends_at: at(end) },
      });
    }
    const host = await world.host({}, { size, scheme: "dark" });
    const { page } = host;
    await host.heading("Overview").waitFor();
    await page.getByText(world.attend, { exact: true }).waitFor();
    const item = (name: string) =>
      page.getByRole("listitem").filter({ hasText: name });
    await item("Set up the rooms").getByText("Done").waitFor();
    await item("Look at the event page").getByText("Still to do").waitFor();
    await item("Hallway").getByText("Maps", { exact: true }).waitFor();
    await item("Hallway").getByText("Routes", { exact: true }).waitFor();
    await host.button("QR code").click();
    await page.locator("figure svg").waitFor();
    t.same(await axe(page), []);
    const [tab] = await Promise.all([
      host.context.waitForEvent("page"),
      host.button("Open the event page").click(),
    ]);
    await tab.getByRole("textbox", { name: "Your name" }).waitFor();
    await item("Look at the event page").getByText("Done").waitFor();
    const groups = host.consoleNav.getByRole("list");
    t.same(
      await groups.evaluateAll((lists) =>
        lists.map((it) => it.getAttribute("aria-labelledby")),
      ),
      ["Event", "People", "Afterwards", "Advanced"].map((it) => `group-${it}`),
    );
    const wide = await page.evaluate(
      () => document.documentElement.scrollWidth - innerWidth,
    );
    t.ok(wide <= 0, "nothing is wider than the window");
  });
}
