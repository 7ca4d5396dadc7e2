import { qrOf } from "../../web/state/qr.js";
import { until } from "../support/helper.js";
import { axe } from "./axe.js";
import { allModules, type Lifetime, Site, type Visitor } from "./kit.js";
import t, { nightly, test } from "./tap.js";

const site = await Site.open(t);

const moderator = { uid: "mona", name: "Mona", traits: ["moderator"] };

async function threeOf(t: Lifetime) {
  const world = await site.world(t);
  await world.room("Main stage", allModules);
  const [anna, ben, mona] = await Promise.all([
    world.guest("Anna"),
    world.guest("Ben"),
    world.bearer(moderator),
  ]);
  for (const visitor of [anna, ben, mona]) await visitor.enter("Main stage");
  return { world, anna, ben, mona };
}

test("a question is asked, let through, voted for and answered", async (t) => {
  const { anna, ben, mona } = await threeOf(t);
  for (const visitor of [anna, ben, mona]) {
    await visitor.tab("Questions").click();
  }
  const question = "What comes after tea?";
  await anna.field("Your question").fill(question);
  await anna.button("Ask").click();
  const of = (visitor: Visitor) => visitor.page.getByRole("article").filter({ hasText: question });
  await mona.page.getByRole("heading", { name: /^Waiting/ }).waitFor();
  await of(mona).waitFor();
  t.equal(await of(ben).count(), 0, "only moderators see what waits");

  await mona.choose(of(mona), "Question actions", "Approve");
  await of(ben).waitFor();
  const vote = (visitor: Visitor) => of(visitor).getByRole("button", { name: /^Vote/ });
  await vote(ben).click();
  await until(async () => (await vote(ben).getAttribute("aria-pressed")) === "true");
  const score = (visitor: Visitor, n: number) =>
    until(async () => new RegExp(`\\b${n}\\b`).test(await of(visitor).innerText()));
  await score(anna, 1);
  await vote(anna).click();
  await score(ben, 2);
  await vote(ben).click();
  await score(anna, 1);

  await mona.choose(of(mona), "Question actions", "Pin");
  // Layout changes close an open menu, so wait for the pin first.
  for (const visitor of [ben, mona]) {
    await of(visitor).getByText("Pinned").waitFor();
  }
  await mona.choose(of(mona), "Question actions", "Mark as answered");
  await of(ben).waitFor({ state: "detached" });
  for (const visitor of [ben, mona]) {
    await visitor.button(/^Answered/).click();
    await of(visitor).waitFor();
  }
  await of(ben).getByRole("button", { name: "Question actions" }).click();
  t.same(
    (await ben.page.getByRole("menuitem").allInnerTexts()).map((text) => text.trim()),
    ["Report"],
    "other users can only report it",
  );
  await ben.page.keyboard.press("Escape");
  await mona.choose(of(mona), "Question actions", "Delete");
  await mona.dialog().getByRole("button", { name: "Delete" }).click();
  await of(ben).waitFor({ state: "detached" });
});

/** Creates the draft of a poll named "Tea or coffee?". */
async function createPoll(visitor: Visitor, ...options: string[]) {
  await visitor.button("New poll").click();
  const dialog = visitor.dialog("New poll");
  const field = (name: string) => dialog.getByRole("textbox", { name });
  await field("Question").fill("Tea or coffee?");
  for (const [i, option] of options.entries()) {
    if (i > 1) await dialog.getByRole("button", { name: "Add option" }).click();
    await field(`Option ${i + 1}`).fill(option);
  }
  await dialog.getByRole("button", { name: "Save as draft" }).click();
}

test("a poll goes from draft to closed", async (t) => {
  const { anna, ben, mona } = await threeOf(t);
  for (const visitor of [anna, ben, mona]) await visitor.tab("Polls").click();
  t.equal(await anna.button("New poll").count(), 0, "guests make no polls");

  await createPoll(mona, "Tea", "Coffee", "Water");
  const of = (visitor: Visitor) => visitor.page.getByRole("article", { name: "Tea or coffee?" });
  await of(mona).waitFor();
  t.equal(await of(anna).count(), 0, "a draft is the managers'");

  await of(mona).getByRole("button", { name: "Open", exact: true }).click();
  await of(anna).waitFor();
  const option = (visitor: Visitor, name: string) =>
    of(visitor)
      .getByRole("radio", { name: new RegExp(`^${name}`) })
      .or(of(visitor).getByRole("button", { name: new RegExp(`^${name}`) }))
      .first();
  const shows = (visitor: Visitor, pattern: RegExp) =>
    until(async () => pattern.test((await of(visitor).innerText()).replace(/\s+/g, " ")));
  await option(anna, "Tea").click();
  await shows(anna, /100\s?%/);
  t.notMatch(await of(ben).innerText(), /%/, "who has not voted sees no result");
  await option(ben, "Coffee").click();
  await shows(ben, /50\s?%/);
  await shows(anna, /50\s?%/);
  await shows(mona, /50\s?%/);

  await of(mona).getByRole("button", { name: "Close", exact: true }).click();
  await until(async () => {
    const left = of(anna).getByRole("radio").or(of(anna).getByRole("button"));
    const states = await left.evaluateAll((all) =>
      all.map((it) => it.matches(":disabled, [aria-disabled=true]")),
    );
    return states.every((isOff) => isOff);
  });
  await shows(anna, /50\s?%/);
  const close = of(mona).getByRole("button", { name: "Close", exact: true });
  await close.waitFor({ state: "detached" });
  await mona.choose(of(mona), "Poll actions", "Delete");
  await mona.dialog().getByRole("button", { name: "Delete" }).click();
  await of(anna).waitFor({ state: "detached" });
});

test("a poll and a message make themselves noticed", async (t) => {
  const { anna, ben, mona } = await threeOf(t);
  await mona.tab("Polls").click();
  await createPoll(mona, "Tea", "Coffee");
  await mona.button("Open").click();

  const card = ({ page }: Visitor) => page.getByRole("region", { name: "Tea or coffee?" });
  const counts = (visitor: Visitor, tab: string, n: string) =>
    until(async () => (await visitor.tab(tab).innerText()).endsWith(n));
  await counts(anna, "Polls", "1 waiting");
  await card(anna).getByRole("button", { name: "Tea" }).click();
  await until(async () => /100\s?%/.test(await card(anna).innerText()));
  await counts(anna, "Polls", "Polls");
  await card(ben).getByRole("button", { name: "Dismiss" }).click();
  await card(ben).waitFor({ state: "detached" });

  await ben.button("A poll was opened").click();
  await ben.page.getByRole("article", { name: "Tea or coffee?" }).waitFor();
  await anna.say("Hello, Ben!");
  await counts(ben, "Chat", "1 waiting");
  await ben.tab("Chat").click();
  await counts(ben, "Chat", "Chat");

  await ben.tab("Questions").click();
  await ben.field("Your question").fill("What comes after tea?");
  await ben.button("Ask").click();
  await counts(mona, "Questions", "1 waiting");
});

test("reactions float for all", async (t) => {
  const { anna, ben } = await threeOf(t);
  const floating = ben.page.locator(".sky").getByText("👏").first();
  // The page may show the room before the server has admitted both users, and a reaction floats
  // only for a few seconds: retry.
  await until(async () => {
    await anna.button("React with 👏").click();
    return floating.waitFor({ timeout: 5000 }).then(
      () => true,
      () => false,
    );
  });
});

test("who may sees who is here", async (t) => {
  const { anna, mona } = await threeOf(t);
  await mona.tab("People").click();
  const panel = mona.page.getByRole("tabpanel", { name: /^People/ });
  await panel.getByText("Ben").waitFor();
  await panel.getByText("Anna").waitFor();
  t.equal(await anna.tab("People").count(), 0);
});

// Views of a room for hosts and halls: the host view, and screens.

const hall = { viewport: { width: 1920, height: 1080 } };

/** Returns the font size of an element, in pixels. */
const typeOf = (visitor: Visitor, selector: string) =>
  visitor.page
    .locator(selector)
    .first()
    .evaluate((it) => parseFloat(getComputedStyle(it).fontSize));

test("a host runs a room, and puts things on screens", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const anna = await world.live({ uid: "anna", name: "Anna" });
  const talk = await world.live({ uid: "tom", name: "Tom" });
  for (const live of [anna, talk]) {
    await live.call("room.enter", { room: stage });
    await live.call("chat.join", { channel: stage });
  }
  const said = { type: "text", body: "Hello from the back row!" };
  await talk.call("chat.send", { channel: stage, event_type: "channel.message", content: said });
  for (const content of ["Is there coffee?", "When is lunch?"]) {
    await anna.call("question.ask", { room: stage, content });
  }

  const mona = await world.bearer(moderator);
  await mona.enter("Main stage");
  await mona.page.getByRole("main").getByRole("link", { name: "Host view" }).click();
  const asked = mona.page.getByRole("region", { name: "Questions" });
  const question = (text: string) => asked.getByRole("article").filter({ hasText: text });
  for (const text of ["coffee", "lunch"]) {
    await question(text).getByRole("button", { name: "Approve" }).click();
    await question(text).getByRole("button", { name: "On screen" }).waitFor();
  }
  const questions = await talk.call("question.list", { room: stage });
  const lunch = questions.find(({ content }) => content.includes("lunch"))!;
  await talk.call("question.vote", { room: stage, id: lunch.id, vote: true });
  const first = asked.getByRole("article").first();
  await until(async () => (await first.innerText()).includes("lunch"));
  await asked.getByLabel("Sort by").selectOption("oldest");
  await until(async () => (await first.innerText()).includes("coffee"));
  await mona.button("New poll").click();
  await mona.field("Question").last().fill("Tea or coffee?");
  await mona.field("Option 1").fill("Tea");
  await mona.field("Option 2").fill("Coffee");
  await mona.dialog().getByRole("button", { name: "Open now" }).click();
  const polls = mona.page.getByRole("region", { name: "Polls" });
  await polls.getByRole("button", { name: "Close", exact: true }).waitFor();
  t.same(await mona.faults(), [], "host");

  const screen = async (what: string) => {
    const visitor = await world.visitor(hall);
    const token = world.token({ uid: `screen-${what}`, traits: ["moderator"] });
    const query = `?screen=${what}&room=${stage}`;
    await visitor.page.goto(`${world.attend}${query}#token=${token}`);
    await visitor.page.getByRole("img", { name: "Scan to take" }).waitFor();
    t.notMatch(visitor.page.url(), /token/, "the token left the address");
    t.equal(await visitor.page.getByRole("button").count(), 0);
    return visitor;
  };
  const shown = await screen("questions");
  await shown.page.getByText("ask your question").waitFor();
  await question("lunch").getByRole("button", { name: "On screen" }).click();
  await shown.heading("When is lunch?").waitFor();
  await shown.page.getByText("1 vote").waitFor();
  t.ok((await typeOf(shown, "h1")) >= 40);
  t.same(await shown.faults(), [], "screen-questions");
  const asks = { room: stage, id: lunch.id };
  const host = await world.live({ uid: "mona2", traits: ["moderator"] });
  await host.call("question.update", { ...asks, answered: true });
  await shown.page.getByText("ask your question").waitFor();
  await host.call("question.update", { ...asks, answered: false });
  await shown.heading("When is lunch?").waitFor();
  await question("lunch").getByRole("button", { name: "On screen" }).click();
  await shown.page.getByText("ask your question").waitFor();

  const polled = await screen("poll");
  await polls.getByRole("button", { name: "On screen" }).click();
  await polled.heading("Tea or coffee?").waitFor();
  const [poll] = await talk.call("poll.list", { room: stage });
  const { id, options } = poll!;
  await talk.call("poll.vote", { room: stage, id, options: [options[0]!.id] });
  await polled.page.getByRole("cell", { name: "100%" }).waitFor();
  t.ok((await typeOf(polled, ".body li")) >= 32);
  t.same(await polled.faults(), [], "screen-poll");

  const lines = await screen("chat");
  await lines.page.getByText("Hello from the back row!").waitFor();
  t.ok((await typeOf(lines, ".lines article")) >= 20);
  t.same(await lines.faults(), [], "screen-chat");
  const welcome = await screen("welcome");
  await welcome.heading("Main stage").waitFor();
  t.ok((await typeOf(welcome, "h1")) >= 40);
  t.same(await welcome.faults(), [], "screen-welcome");
});

test("who has a host view, and on a phone", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const anna = await world.guest("Anna");
  await anna.enter("Main stage");
  const link = (visitor: Visitor) => visitor.page.getByRole("link", { name: "Host view" });
  t.equal(await link(anna).count(), 0);
  await anna.page.goto(`${world.attend}#/rooms/${stage}/host`);
  await anna.message.waitFor();
  t.equal(await anna.button("Screens").count(), 0, "it is for moderators");

  const mona = await world.bearer(moderator, { size: "phone" });
  await mona.enter("Main stage");
  await mona.page.getByRole("main").getByRole("link", { name: "Host view" }).click();
  await mona.button("Screens").waitFor();
  await mona.page.getByRole("region", { name: "Questions" }).waitFor();
  t.same(await mona.faults(), [], "host-phone");
  const width = await mona.page.evaluate(() => document.documentElement.scrollWidth);
  t.equal(width, 360, "nothing is wider than the phone");
  await mona.page.getByRole("link", { name: "Leave host view" }).click();
  await mona.message.waitFor();
});

test("a host comes by a link of the console", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const link = `${world.attend}#/rooms/${stage}/host`;
  const nobody = await world.visitor();
  await nobody.page.goto(link);
  await nobody.heading("The host view is for the team").waitFor();
  t.same(await axe(nobody.page), []);
  await nobody.button("Join as a guest").click();
  await nobody.field("Your name").waitFor();

  const host = await world.host();
  await host.page.goto(link);
  await host.button("Screens").waitFor();
  await host.page.goto(world.attend);
  await host.page.reload();
  await host.message.waitFor();
});

test("a screen that only looks", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", [
    { type: "question", config: { active: true, anonymous: true } },
  ]);
  const host = await world.live({ uid: "host", traits: ["admin"] });
  const minutes = (n: number) => new Date(Date.now() + n * 60_000).toISOString();
  const talk = (title: string, from: number, to: number) =>
    world.api.createSession({
      title,
      room_id: stage,
      starts_at: minutes(from),
      ends_at: minutes(to),
    });
  const { id } = await talk("Maps for everyone", -10, 30);
  await talk("Bread for beginners", 40, 60);
  const profile = { display_name: "Screen", room_id: stage };
  const { user } = await host.call("user.kiosk.create", { profile });
  const { token } = await host.call("user.kiosk.fetch", { id: user.id });
  const screen = await world.visitor(hall);
  const { page } = screen;
  await page.goto(`${world.attend}?screen=welcome&room=${stage}#token=${token}`);
  await page.getByText("Maps for everyone").waitFor();
  await page.getByText("Bread for beginners").waitFor();
  await page.reload();
  await page.getByText("Maps for everyone").waitFor();

  const { url } = await host.call("room.invite.anonymous.link", { room: stage });
  const code = page.getByRole("img", { name: "Scan to take" }).locator("path");
  await until(async () => [await code.getAttribute("d")].includes(qrOf(url)!.path));
  const { host: address } = new URL(world.attend);
  await page.getByText(new RegExp(`^${address}/j/[A-Z2-9]{6}$`)).waitFor();

  const { announcement } = await host.call("announcement.create", {
    text: "Lunch is served.",
    show_until: null,
    state: "active",
  });
  await page.getByText("Lunch is served.").waitFor();
  t.same(await screen.faults(), [], "screen-announcement");
  await host.call("announcement.update", { id: announcement.id, state: "archived" });
  await page.getByText("Lunch is served.").waitFor({ state: "hidden" });
  await world.api.deleteSession(id);
  await page.getByText("Maps for everyone").waitFor({ state: "hidden" });
});

test("a screen without a link", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const nobody = await world.visitor(hall);
  await nobody.page.goto(`${world.attend}?screen=poll&room=${stage}`);
  await nobody.heading("You have no access").waitFor();
  t.equal(await nobody.button("Join").count(), 0, "there is no field for a name");
});

// Room links: attendees in the hall without a name, and screens.

const host = { uid: "olga", name: "Olga", traits: ["admin", "api"] };

nightly("people in the hall take part without a name", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  await world.room("Other room", allModules);
  const olga = await world.host();
  await olga.page.goto(`${world.console}#/rooms/${stage}`);
  const anonymous = olga.button("Anonymous link");
  await anonymous.waitFor();
  t.ok(await anonymous.isDisabled(), "off until the organizer allows it");
  const boxes = olga.page.getByLabel("People in the hall");
  for (const nth of [0, 1]) await boxes.nth(nth).check();
  await olga.button("Save").click();
  await until(() => anonymous.isEnabled());
  await anonymous.click();
  const link = olga.page.getByRole("textbox", { name: "Anonymous link" });
  const url = await link.inputValue();
  t.match(url, /\/#invite=./);
  await olga.page.getByRole("img", { name: "QR" }).waitFor();
  t.same(await axe(olga.page), []);

  const visitor = await world.visitor({ size: "phone" });
  await visitor.page.goto(url);
  await visitor.heading("Main stage").waitFor();
  t.notMatch(visitor.page.url(), /invite/, "the token left the address");
  t.same(await axe(visitor.page), []);
  for (const name of ["Profile", "Chat", "Other room", "Menu"]) {
    t.equal(await visitor.page.getByText(name, { exact: true }).count(), 0);
  }
  await visitor.field("Your question").fill("Is there coffee?");
  await visitor.button("Ask").click();
  const ask = async () => {
    const live = await world.live(host);
    return live.call("question.list", { room: stage });
  };
  await until(async () => (await ask()).length === 1);
  const live = await world.live(host);
  await live.call("poll.create", {
    room: stage,
    content: "Tea?",
    state: "open",
    poll_type: "choice",
    options: ["Yes", "No"].map((content, order) => ({ content, order })),
  });
  await visitor.tab("Polls").click();
  await visitor.page.getByText("Yes", { exact: true }).first().click();
  await visitor.page.getByText("100%").first().waitFor();
  await visitor.page.reload();
  await visitor.heading("Main stage").waitFor();

  await olga.button("End this link").click();
  await visitor.page.getByText("link").first().waitFor();
  t.equal(await visitor.heading("Main stage").count(), 0, "it has ended");

  await olga.page.getByLabel("What the screen shows").selectOption("poll");
  await olga.button("Screen link").click();
  const field = olga.page.getByRole("textbox", { name: "Screen link" });
  const address = await field.inputValue();
  const screen = await world.visitor();
  await screen.page.goto(address);
  await screen.page.getByRole("img", { name: "Scan to take" }).waitFor();
  t.notMatch(screen.page.url(), /token/);
  await olga.button("End").click();
  await until(async () => {
    const { results } = await live.call("user.list", { type: "kiosk" });
    return results.length === 0;
  });
});
