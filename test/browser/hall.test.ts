import { qrOf } from "../../web/state/qr.js";
import { axe } from "./axe.js";
import { allModules, eventually, Site, type Visitor } from "./kit.js";
import t from "./tap.js";

// What a host and a hall see of a room: the view of the host, and screens.

const site = await Site.open(t);
const moderator = { uid: "mona", name: "Mona", traits: ["moderator"] };
const hall = { viewport: { width: 1920, height: 1080 } };

async function check(visitor: Visitor, name: string) {
  for (const colorScheme of ["light", "dark"] as const) {
    await visitor.page.emulateMedia({ colorScheme });
    t.same(await axe(visitor.page), [], `axe, ${name}, ${colorScheme}`);
  }
}

/** The size of the type of something, in pixels. */
const typeOf = (visitor: Visitor, selector: string) =>
  visitor.page
    .locator(selector)
    .first()
    .evaluate((it) => parseFloat(getComputedStyle(it).fontSize));

void t.test("a host runs a room, and puts things on screens", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const anna = await world.live({ uid: "anna", name: "Anna" });
  const talk = await world.live({ uid: "tom", name: "Tom" });
  for (const live of [anna, talk]) {
    await live.call("room.enter", { room: stage });
    await live.call("chat.join", { channel: stage });
  }
  const said = { type: "text", body: "Hello from the back row!" };
  await talk.call("chat.send", {
    channel: stage,
    event_type: "channel.message",
    content: said,
  });
  for (const content of ["Is there coffee?", "When is lunch?"]) {
    await anna.call("question.ask", { room: stage, content });
  }

  const mona = await world.bearer(moderator);
  await mona.enter("Main stage");
  await mona.page.getByRole("link", { name: "Host view" }).click();
  const asked = mona.page.getByRole("region", { name: "Questions" });
  const question = (text: string) =>
    asked.getByRole("article").filter({ hasText: text });
  for (const text of ["coffee", "lunch"]) {
    await question(text).getByRole("button", { name: "Approve" }).click();
    await question(text).getByRole("button", { name: "On screen" }).waitFor();
  }
  const questions = await talk.call("question.list", { room: stage });
  const lunch = questions.find(({ content }) => content.includes("lunch"))!;
  await talk.call("question.vote", { room: stage, id: lunch.id, vote: true });
  const first = asked.getByRole("article").first();
  await eventually("the most wanted comes first", async () =>
    (await first.innerText()).includes("lunch"),
  );
  await asked.getByLabel("Sort by").selectOption("oldest");
  await eventually("the oldest comes first", async () =>
    (await first.innerText()).includes("coffee"),
  );
  await mona.button("New poll").click();
  await mona.field("Question").last().fill("Tea or coffee?");
  await mona.field("Option 1").fill("Tea");
  await mona.field("Option 2").fill("Coffee");
  await mona.dialog().getByRole("button", { name: "Create" }).click();
  const polls = mona.page.getByRole("region", { name: "Polls" });
  await polls.getByRole("button", { name: "Open", exact: true }).click();
  await polls.getByRole("button", { name: "Close", exact: true }).waitFor();
  await check(mona, "host");

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
  await check(shown, "screen-questions");
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
  await talk.call("poll.vote", {
    room: stage,
    id,
    options: [options[0]!.id],
  });
  await polled.page.getByText("100%").waitFor();
  t.ok((await typeOf(polled, ".choices li")) >= 32);
  await check(polled, "screen-poll");

  const lines = await screen("chat");
  await lines.page.getByText("Hello from the back row!").waitFor();
  t.ok((await typeOf(lines, ".lines article")) >= 20);
  await check(lines, "screen-chat");
  const welcome = await screen("welcome");
  await welcome.heading("Main stage").waitFor();
  t.ok((await typeOf(welcome, "h1")) >= 40);
  await check(welcome, "screen-welcome");
});

void t.test("who has a host view, and on a phone", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const anna = await world.guest("Anna");
  await anna.enter("Main stage");
  const link = (visitor: Visitor) =>
    visitor.page.getByRole("link", { name: "Host view" });
  t.equal(await link(anna).count(), 0);
  await anna.page.goto(`${world.attend}#/rooms/${stage}/host`);
  await anna.message.waitFor();
  t.equal(await anna.button("Screens").count(), 0, "it is for moderators");

  const mona = await world.bearer(moderator, { size: "phone" });
  await mona.enter("Main stage");
  await link(mona).click();
  await mona.button("Screens").waitFor();
  await mona.page.getByRole("region", { name: "Questions" }).waitFor();
  await check(mona, "host-phone");
  const width = await mona.page.evaluate(
    () => document.documentElement.scrollWidth,
  );
  t.equal(width, 360, "nothing is wider than the phone");
  await mona.page.getByRole("link", { name: "Leave host view" }).click();
  await mona.message.waitFor();
});

void t.test("a host comes by a link of the console", async (t) => {
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

void t.test("a screen that only looks", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", [
    { type: "question", config: { active: true, anonymous: true } },
  ]);
  const host = await world.live({ uid: "host", traits: ["admin"] });
  const minutes = (n: number) =>
    new Date(Date.now() + n * 60_000).toISOString();
  const talk = (title: string, from: number, to: number) =>
    world.api.createSession({
      ...{ title, room_id: stage },
      ...{ starts_at: minutes(from), ends_at: minutes(to) },
    });
  const { id } = await talk("Maps for everyone", -10, 30);
  await talk("Bread for beginners", 40, 60);
  const profile = { display_name: "Screen", room_id: stage };
  const { user } = await host.call("user.kiosk.create", { profile });
  const { token } = await host.call("user.kiosk.fetch", { id: user.id });
  const screen = await world.visitor(hall);
  const { page } = screen;
  await page.goto(
    `${world.attend}?screen=welcome&room=${stage}#token=${token}`,
  );
  await page.getByText("Maps for everyone").waitFor();
  await page.getByText("Bread for beginners").waitFor();
  await page.reload();
  await page.getByText("Maps for everyone").waitFor();

  const { url } = await host.call("room.invite.anonymous.link", {
    room: stage,
  });
  const code = page.getByRole("img", { name: "Scan to take" }).locator("path");
  await eventually("the code is the anonymous link", async () =>
    [await code.getAttribute("d")].includes(qrOf(url)!.path),
  );
  const { host: address, pathname } = new URL(world.attend);
  await page.getByText(`${address}${pathname}`.replace(/\/$/, "")).waitFor();

  const { announcement } = await host.call("announcement.create", {
    ...{ text: "Lunch is served.", show_until: null, state: "active" },
  });
  await page.getByText("Lunch is served.").waitFor();
  await check(screen, "screen-announcement");
  await host.call("announcement.update", {
    id: announcement.id,
    state: "archived",
  });
  await page.getByText("Lunch is served.").waitFor({ state: "hidden" });
  await world.api.deleteSession(id);
  await page.getByText("Maps for everyone").waitFor({ state: "hidden" });
});

void t.test("a screen without a link", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const nobody = await world.visitor(hall);
  await nobody.page.goto(`${world.attend}?screen=poll&room=${stage}`);
  await nobody.heading("You have no access").waitFor();
  t.equal(
    await nobody.button("Join").count(),
    0,
    "there is no field for a name",
  );
});
