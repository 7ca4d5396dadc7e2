import { randomUUID } from "node:crypto";
import type { Page } from "playwright-core";
import type { Test } from "tap";
import { freshSetupKey } from "../../plugins/setup.js";
import { keyOf, tokenOf, until } from "../support/helper.js";
import { type ReceivedMail, startMailServer } from "../support/mail-server.js";
import { NIGHT } from "../support/night.js";
import { startServer } from "../support/server.js";
import { axe } from "./axe.js";
import { say } from "./furnish.js";
import { Site, testRules, Visitor, type VisitorOptions } from "./kit.js";
import t, { test } from "./tap.js";

const site = await Site.open(t);

test("signing in", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const token = world.token({ uid: "h", name: "H", traits: ["admin", "api"] });

  await t.test("by a link", async (t) => {
    const host = await world.during(t).host();
    t.notMatch(host.page.url(), /token|eyJ/);
    await host.page.reload();
    await host.consoleNav.waitFor();
    await host.button("Sign out").click();
    // A token's owner has no other way in.
    await host.button("Sign out anyway").click();
    await host.field("Token").waitFor();
    await host.page.reload();
    await host.field("Token").waitFor();
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
    await visitor.page.getByText("Your link doesn’t let you do anything here").waitFor();
    t.equal(await visitor.consoleNav.getByRole("link").count(), 0);
  });

  await t.test("a moderator sees what a moderator may do", async (t) => {
    const visitor = await world.during(t).host({ uid: "m", traits: ["moderator"] });
    const links = visitor.consoleNav.getByRole("link");
    await visitor.consoleNav.getByRole("link", { name: "People" }).waitFor();
    const names = (await links.allInnerTexts()).map((name) => name.trim());
    t.notMatch(names.join(), /Look|Keys|Roles|Announcements|Invite/);
  });
});

test("from the console into the event", async (t) => {
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
  await tab.getByRole("menuitem", { name: "Delete", exact: true }).waitFor();
  t.notMatch(tab.url(), /token|eyJ/);
});

test("the world", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const host = await world.host();
  await host.toPage("Look");
  const title = host.field("Title");
  await until(async () => (await title.inputValue()) === "The party");
  await title.fill("The ball");
  await host.button("Save").click();
  await until(async () => (await world.api.getWorld()).title === "The ball");
  const { config } = await world.api.getWorld();
  t.same(Object.keys(config).includes("JWT_secrets"), true, "the keys stay");

  await t.test("another organizer changes it at the same time", async (t) => {
    host.watch.tolerate(/^412: /);
    await title.fill("The feast");
    await world.api.updateWorld({ title: "The picnic" });
    await host.button("Save").click();
    const alert = host.page
      .getByRole("alert")
      .filter({ hasText: "Someone changed this in the meantime." });
    await alert.waitFor();
    t.equal((await world.api.getWorld()).title, "The picnic", "nothing is lost");
    t.equal(await title.inputValue(), "The feast", "on neither side");
    await host.button("Show their version").click();
    await host.page.getByText("The picnic").first().waitFor();
    t.equal(await title.inputValue(), "The feast");
    await host.button("Load it").last().click();
    await until(async () => (await title.inputValue()) === "The picnic");
    await title.fill("The fair");
    await host.button("Save").click();
    await until(async () => (await world.api.getWorld()).title === "The fair");
  });

  await t.test("attendees see the title at once", async (t) => {
    const anna = await world.during(t).guest("Anna");
    await title.fill("The gala");
    await host.button("Save").click();
    await anna.page.getByText("The gala").first().waitFor();
  });

  await t.test("what the server refuses is said at the field", async () => {
    host.watch.tolerate(/^400: /);
    await host.page.getByText("Advanced", { exact: true }).last().click();
    await host.field("Domain").fill("not a domain!");
    await host.button("Save").click();
    await until(async () => (await host.field("Domain").getAttribute("aria-invalid")) === "true");
    await world.api.getWorld();
  });
});

test("keys are rotated, and all users stay signed in", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const attendee = { uid: "anna", name: "Anna" };
  const old = world.token(attendee);
  const anna = await world.bearer(attendee);
  anna.watch.tolerate(/WebSocket/);
  const host = await world.host();
  host.watch.tolerate(/^40[13]: /);
  await host.toPage("Keys");
  const before = (await world.api.getWorld()).config.JWT_secrets;
  t.equal(before.length, 1);

  await rotate(host);
  // The test knows only the old key, so it polls until the server rejects it.
  await until(async () => {
    const answer = await fetch(`${site.baseUrl}/api/v1/worlds/${world.id}/rooms/`, {
      headers: { authorization: `Bearer ${old}` },
    });
    return answer.status === 401;
  });
  await anna.rooms.waitFor({ state: "detached" });
  await host.page.reload();
  await host.consoleNav.waitFor();
  await host.consoleNav.getByRole("link", { name: "Rooms" }).click();
  await host.page.getByText("Hallway").first().waitFor();
});

/** Completes the guided key rotation. */
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
  await sure.getByText("These tokens stop working immediately").waitFor();
  await sure.getByRole("button", { name: "Remove the key" }).click();
  await sure.waitFor({ state: "detached" });
}

test("roles", async (t) => {
  const world = await site.world(t);
  const rules = { "chat.send": [["attendee", "their-own"]], "a.b": ["x", "y"] };
  await world.api.updateWorld({ permission_config: { ...testRules, ...rules } });
  const backstage = await world.room("Backstage", undefined, {
    permission_config: { "room.view": [["speaker", "admin"]] },
  });
  const host = await world.host();
  const { page } = host;
  await host.toPage("Roles");
  const tick = (role: string, right: string) =>
    page.getByRole("checkbox", { name: `${role}: ${right}`, exact: true });
  const WRITE = "Write in the chat";
  await tick("Attendee", WRITE).waitFor();
  t.ok(await tick("Attendee", WRITE).isChecked());
  t.notOk(await tick("Speaker", WRITE).isChecked());
  t.ok(await tick("Guest", "Read the chat").isChecked(), "by default");
  const asItIs = page.getByRole("row").filter({ hasText: '["admin","api"]' });
  await asItIs.filter({ hasText: "world.secrets" }).waitFor();
  t.equal(await asItIs.getByRole("checkbox").count(), 0);
  await page.getByText("also “their-own”").waitFor();

  await t.test("say who would be let in", async () => {
    const preview = page.getByRole("region", { name: "Test access" });
    await preview.getByText("They can’t see any rooms.").waitFor();
    await preview.getByRole("button", { name: "Speaker" }).click();
    await preview.getByText("They see 1 room.").waitFor();
    await preview.getByRole("link", { name: "Backstage" }).waitFor();
  });

  await t.test("change by a tick, and nothing else does", async (t) => {
    await tick("Speaker", WRITE).check();
    await tick("Guest", "Vote in polls").uncheck();
    await host.button("Save").click();
    await page.getByText("Saved.").first().waitFor();
    t.same((await world.api.getWorld()).permission_config, {
      ...testRules,
      ...rules,
      "chat.send": [["attendee", "their-own", "speaker"]],
      "poll.vote": [["attendee", "speaker", "moderator", "admin"]],
    });
  });

  await t.test("edit a rule as JSON", async () => {
    await host.button("Edit as JSON: Make announcements").click();
    const dialog = host.dialog("Make announcements");
    await dialog.getByLabel("Rule as JSON").fill("[1]");
    await dialog.getByRole("button", { name: "Apply" }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("Rule as JSON").fill('[["admin"], "crew"]');
    await dialog.getByRole("button", { name: "Apply" }).click();
    await host.button("Save").click();
    await page.getByText('[["admin"],"crew"]').waitFor();
    await until(async () => {
      const { permission_config } = await world.api.getWorld();
      return permission_config["world.announce"]?.length === 2;
    });
  });

  await t.test("have names of the organizer's own", async (t) => {
    await page.getByText("Names of the roles").click();
    await host.button("New role").click();
    await host.field("Name").fill("Press & Media");
    await host.button("Add role").click();
    await host.button("Save").click();
    await page.getByRole("columnheader", { name: "Press & Media" }).waitFor();
    await until(async () => {
      const { roles } = (await world.api.getWorld()).config as {
        roles?: { trait: string | null; title: string }[];
      };
      const last = roles?.at(-1);
      return last?.trait === "press-media" && last.title === "Press & Media";
    });
    t.match((await world.api.getWorld()).config.JWT_secrets, [{}]);
  });

  await t.test("open a room to some of them", async (t) => {
    await page.goto(`${world.console}#/rooms/${backstage}`);
    const open = page.getByRole("group", { name: "Open to" });
    t.ok(await open.getByRole("radio", { name: "These roles" }).isChecked());
    t.ok(await open.getByRole("checkbox", { name: "Speaker" }).isChecked());
    await open.getByRole("checkbox", { name: "Press & Media" }).check();
    // The "Saved." note of an earlier save may still be visible.
    const saved = page.waitForResponse((response) => response.request().method() === "PATCH");
    await host.button("Save").click();
    await saved;
    t.same((await world.api.getRoom(backstage)).permission_config, {
      "room.view": [["speaker", "admin", "press-media"]],
    });
  });
});

test("closing the event says who is here, and opening lets them in", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const anna = await world.guest("Anna");
  const host = await world.host();
  await host.toPage("Roles");
  const enter = host.page.getByRole("checkbox", { name: "Guest: Enter the event", exact: true });
  const close = async (answer: string) => {
    await host.button("Save").click();
    const dialog = host.dialog("Close the event?");
    await dialog.getByText("1 person who is here").waitFor();
    await dialog.getByRole("button", { name: answer }).click();
  };
  await enter.uncheck();
  await close("Cancel");
  await anna.say("I am still here.");
  await close("Save and remove them");
  await anna.page.getByText("This event needs a personal link.").waitFor();
  await host.page.getByText("Saved.").first().waitFor();
  await enter.check();
  await host.button("Save").click();
  // Anna's page reconnects without any input.
  await anna.post("I am still here.").waitFor();
});

test("invitations", async (t) => {
  const ends_at = new Date(Date.now() + 7200_000).toISOString();
  const world = await site.world(t, { config: { event: { ends_at } } });
  await world.room("Hallway");
  const host = await world.host();
  const { page } = host;
  await host.toPage("Invite");
  await page.getByRole("img", { name: /QR/ }).waitFor();
  await page.getByText(world.attend, { exact: true }).waitFor();
  const way = (name: RegExp) => page.getByRole("radio", { name }).check();
  const choose = (label: string, option: string) =>
    page.getByLabel(label, { exact: true }).selectOption({ label: option });
  const claimsOf = (link: string) => {
    const [, payload = ""] = link.split("#token=")[1]!.split(".");
    const claims = Buffer.from(payload, "base64url").toString();
    return JSON.parse(claims) as object;
  };

  await t.test("for one person, until 30 days after the event", async (t) => {
    await way(/^One person/);
    await host.field("Name").fill("Greta Guest");
    await choose("Role", "Moderator");
    await host.button("Create link").click();
    const link = await host.field("Link").inputValue();
    await page.getByRole("img", { name: /QR/ }).waitFor();
    t.match(claimsOf(link), { jti: /\.l1$/, traits: ["moderator"] });
    await host.button("Copy").first().click();
    await until(async () => (await page.evaluate(() => navigator.clipboard.readText())) === link);
    const greta = await world.during(t).visitor();
    await greta.page.goto(link);
    await greta.rooms.waitFor();
    await greta.enter("Hallway");
    await greta.say("Hello from the link.");
    await greta.log.getByRole("article", { name: /Greta Guest/ }).waitFor();
    const audit = await world.api.request("GET", "/audit/?type=invitation.created");
    t.match(await audit.json(), { count: 1 });
  });

  await t.test("for a host, who may use the whole console", async (t) => {
    await way(/^One person/);
    await host.field("Name").fill("Hedy");
    await choose("Role", "Host");
    await choose("Valid", "1 day");
    await host.button("Create link").click();
    await host.heading("Hedy").waitFor();
    const other = await world.during(t).visitor();
    await other.page.goto(await host.field("Link").inputValue());
    await other.consoleNav.getByRole("link", { name: "Keys" }).waitFor();
  });

  await t.test("for a list, out of a file and into one", async (t) => {
    await way(/^A list/);
    await page.setInputFiles("input[type=file]", {
      name: "people.csv",
      mimeType: "text/csv",
      buffer: Buffer.from('Name,Email,Role\n"=cmd()",c@x.org,\n"Noether, Emmy",e@x.org,Prof\n'),
    });
    await choose("Role of people without one on the list", "Speaker");
    await host.button("Create links").click();
    await page.getByText("Choose a role for “Prof”.").waitFor();
    await choose("What is “Prof” on the list?", "Host");
    await host.button("Create links").click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      host.button("Save as CSV").click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) {
      chunks.push(chunk as Buffer);
    }
    const lines = Buffer.concat(chunks).toString().trim().split("\r\n");
    t.equal(lines.length, 3);
    t.match(lines[1], /^'=cmd\(\),c@x\.org,speaker,http.*#token=/);
    t.match(lines[2], /^"Noether, Emmy",e@x\.org,admin,http/);

    await host.field("People").fill("x\n".repeat(1001));
    await host.button("Create links").click();
    await page.getByText("The maximum is 1000").waitFor();
  });
});

test("a list is invited by e-mail", async (t) => {
  const mail = await startMailServer(t);
  const PUBLIC_URL = "https://rooms.example.org";
  const env = { PUBLIC_URL, SMTP_URL: mail.url, MAIL_FROM: "events@example.org" };
  const host = await (await (await Site.open(t, env)).world(t)).host();
  await host.consoleNav.getByRole("link", { name: "Invite" }).click();
  await host.page.getByRole("radio", { name: /^A list/ }).check();
  await host.field("People").fill("Ada; ada@example.org; Host\nWithout an address");
  await host.page.getByLabel("Send the links by e-mail now").check();
  await host.button("Create links").click();
  await host.heading("2 links").waitFor();
  await until(() => mail.mails.length === 1);
  const [{ to, text }] = mail.mails as [ReceivedMail];
  t.equal(to, "ada@example.org");
  t.match(text, `${PUBLIC_URL}/w/`);
});

test("the event as others see it", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  await world.room("Backstage", undefined, {
    permission_config: { "room.view": [["speaker", "admin"]] },
  });
  const host = await world.host();
  const see = async (role: string) => {
    await host.button("View as").click();
    const [tab] = await Promise.all([
      host.context.waitForEvent("page"),
      host.page.getByRole("menuitem", { name: role, exact: true }).click(),
    ]);
    await tab.getByRole("complementary", { name: "Preview" }).waitFor();
    await tab.getByText(`You see the event as: ${role}.`).waitFor();
    await tab.getByText("The preview ends in 15 minutes.").waitFor();
    t.notMatch(tab.url(), /eyJ/);
    return tab;
  };
  const backstage = (page: Page) =>
    page.getByRole("navigation", { name: "Rooms" }).getByRole("link", { name: /^Backstage/ });
  const speaker = await see("Speaker");
  await backstage(speaker).waitFor();
  t.same(await axe(speaker), []);
  const guest = await see("Guest");
  await guest
    .getByRole("link", { name: /^Hallway/ })
    .first()
    .waitFor();
  t.equal(await backstage(guest).count(), 0);
  await speaker.reload();
  await backstage(speaker).waitFor();

  const own = await host.context.newPage();
  await own.goto(world.attend);
  await own.getByRole("textbox", { name: "Your name" }).waitFor();
  // The click closes the page, perhaps before it is reported as done.
  await guest
    .getByRole("button", { name: "End preview" })
    .click()
    .catch((error: unknown) => {
      if (!guest.isClosed()) throw error;
    });
  await until(() => guest.isClosed() || !guest.url().includes("preview"));
});

for (const size of ["desktop", "phone"] as const) {
  test(`the overview of an event, on a ${size}`, async (t) => {
    const world = await site.world(t);
    const hallway = await world.room("Hallway");
    const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
    for (const [title, start, end] of [
      ["Maps", -10, 30],
      ["Routes", 30, 60],
    ] as const) {
      await site.server.app.store.program.createSession(world.id, {
        title,
        room_id: hallway,
        starts_at: at(start),
        ends_at: at(end),
      });
    }
    const host = await world.host({}, { size, scheme: "dark" });
    const { page } = host;
    await host.heading("Overview").waitFor();
    await page.getByText(world.attend, { exact: true }).waitFor();
    const item = (name: string) => page.getByRole("listitem").filter({ hasText: name });
    await item("Set up the rooms").getByText("Done").waitFor();
    await item("Test it as a guest").getByText("Still to do").waitFor();
    await item("Hallway").getByText("Maps", { exact: true }).waitFor();
    await item("Hallway").getByText("Routes", { exact: true }).waitFor();
    await host.button("QR code").click();
    await page.locator("figure svg").waitFor();
    t.same(await axe(page), []);
    const [tab] = await Promise.all([
      host.context.waitForEvent("page"),
      host.button("Open as guest").click(),
    ]);
    await tab.getByRole("textbox", { name: "Your name" }).waitFor();
    // A trial guest's data is kept in the session storage, and so ends with the tab.
    await tab.getByRole("textbox", { name: "Your name" }).fill("Trial");
    await tab.getByRole("button", { name: "Join" }).click();
    await tab.getByRole("textbox", { name: "Message", exact: true }).fill("A test");
    const kept = (where: "localStorage" | "sessionStorage") =>
      tab.evaluate((where) => JSON.stringify(window[where]), where);
    await until(async () => /A test/.test(await kept("sessionStorage")));
    // Every organizer's list has it done.
    await page.reload();
    await item("Test it as a guest").getByText("Done").waitFor();
    t.notMatch(await kept("localStorage"), /A test/);
    const groups = host.consoleNav.getByRole("list");
    t.same(
      await groups.evaluateAll((lists) => lists.map((it) => it.getAttribute("aria-labelledby"))),
      ["Event", "People", "Afterwards", "Advanced"].map((it) => `group-${it}`),
    );
    t.ok((await host.overflow()) <= 0, "nothing is wider than the window");
  });
}

// The first run: from the setup link in a terminal to an event, without a shell.

/** Starts a server without worlds, and returns its setup link. */
async function empty(t: Test) {
  const key = freshSetupKey();
  const server = await startServer(t, { worlds: [], setup: key });
  const { baseUrl } = server;
  const visit = async (options?: VisitorOptions) =>
    Visitor.open(t, await site.browser(), baseUrl, options);
  return { server, baseUrl, visit, link: `${baseUrl}/setup#${key.secret}` };
}

for (const scheme of ["light", "dark"] as const) {
  for (const size of ["desktop", "phone"] as const) {
    // A pre-merge run covers each scheme and each size once.
    if (!NIGHT && (scheme === "dark") !== (size === "phone")) continue;
    test(`an event is set up, ${scheme}, on a ${size}`, async (t) => {
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
      // The organizer already has a name.
      await page.getByRole("heading", { level: 1 }).waitFor();
      t.notOk(await visitor.heading("What is your name?").isVisible());

      const late = await visit({ scheme, size });
      await late.page.goto(link);
      await late.heading("This event is already set up").waitFor();
      const guest = await visit({ scheme, size });
      await guest.page.goto(baseUrl);
      await guest.heading("This event is being prepared").waitFor();
      t.same(await axe(guest.page), [], "not published");
      await visitor.toPage("Overview");
      await visitor.button("Publish").click();
      await guest.join("Ben");
      await guest.unfold();
      await guest.rooms.getByRole("link", { name: /^Lounge/ }).waitFor();
    });
  }
}

test("a wrong link says what to do", async (t) => {
  const { baseUrl, visit } = await empty(t);
  const visitor = await visit();
  visitor.watch.tolerate(/401/);
  await visitor.page.goto(`${baseUrl}/setup#${randomUUID()}`);
  await visitor.field("Title").fill("Maps 2027");
  await visitor.field("Your name").fill("Ada");
  await visitor.button("Create the event").click();
  await visitor.heading("This link no longer works").waitFor();
});

test("a link without a name asks for one", async (t) => {
  const world = await site.world(t);
  const traits = ["admin", "api"];
  const visitor = await world.visitor();
  await visitor.page.goto(`${world.console}#token=${world.token({ uid: "ada", traits })}`);
  await visitor.field("Your name").fill("Ada Lovelace");
  await visitor.button("Continue").click();
  await visitor.consoleNav.getByRole("link").first().waitFor();
  await visitor.heading("What is your name?").waitFor({ state: "detached" });

  // The server applies a token's name only to new users. The pages set it for existing users
  // without a name.
  for (const page of ["", "console"]) {
    const uid = `came without a name ${page}`;
    (await world.live({ uid, traits })).close();
    const ben = await world.visitor();
    const token = world.token({ uid, name: "Ben", traits });
    await ben.page.goto(`${world.attend}${page}#token=${token}`);
    await (page === "" ? ben.rooms : ben.consoleNav).first().waitFor();
    await ben.field("Your name").waitFor({ state: "detached" });
  }
});
