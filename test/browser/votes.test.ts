import {
  allModules,
  eventually,
  type Lifetime,
  Site,
  type Visitor,
} from "./kit.js";
import t from "./tap.js";

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

void t.test(
  "a question is asked, let through, voted for and answered",
  async (t) => {
    const { anna, ben, mona } = await threeOf(t);
    for (const visitor of [anna, ben, mona]) {
      await visitor.tab("Questions").click();
    }
    const question = "What comes after tea?";
    await anna.field("Your question").fill(question);
    await anna.button("Ask").click();
    const of = (visitor: Visitor) =>
      visitor.page.getByRole("article").filter({ hasText: question });
    await mona.page.getByRole("heading", { name: /^Waiting/ }).waitFor();
    await of(mona).waitFor();
    t.equal(await of(ben).count(), 0, "only moderators see what waits");

    await mona.choose(of(mona), "Question actions", "Approve");
    await of(ben).waitFor();
    const vote = (visitor: Visitor) =>
      of(visitor).getByRole("button", { name: /^Vote/ });
    await vote(ben).click();
    await eventually(
      "Ben's vote is pressed",
      async () => (await vote(ben).getAttribute("aria-pressed")) === "true",
    );
    const score = (visitor: Visitor, n: number) =>
      eventually(`the score is ${n}`, async () =>
        new RegExp(`\\b${n}\\b`).test(await of(visitor).innerText()),
      );
    await score(anna, 1);
    await vote(anna).click();
    await score(ben, 2);
    await vote(ben).click();
    await score(anna, 1);

    await mona.choose(of(mona), "Question actions", "Pin");
    // What moves in the page closes a menu.
    for (const visitor of [ben, mona]) {
      await of(visitor).getByText("Pinned").waitFor();
    }
    await mona.choose(of(mona), "Question actions", "Mark as answered");
    await of(ben).waitFor({ state: "detached" });
    for (const visitor of [ben, mona]) {
      await visitor.button(/^Answered/).click();
      await of(visitor).waitFor();
    }
    t.equal(
      await of(ben).getByRole("button", { name: "Question actions" }).count(),
      0,
      "other users have no such button",
    );
    await mona.choose(of(mona), "Question actions", "Delete");
    await mona.dialog().getByRole("button", { name: "Delete" }).click();
    await of(ben).waitFor({ state: "detached" });
  },
);

/** Makes the draft of a poll called "Tea or coffee?". */
async function createPoll(visitor: Visitor, ...options: string[]) {
  await visitor.button("New poll").click();
  const dialog = visitor.dialog("New poll");
  const field = (name: string) => dialog.getByRole("textbox", { name });
  await field("Question").fill("Tea or coffee?");
  for (const [i, option] of options.entries()) {
    if (i > 1) await dialog.getByRole("button", { name: "Add option" }).click();
    await field(`Option ${i + 1}`).fill(option);
  }
  await dialog.getByRole("button", { name: "Create" }).click();
}

void t.test("a poll goes from draft to closed", async (t) => {
  const { anna, ben, mona } = await threeOf(t);
  for (const visitor of [anna, ben, mona]) await visitor.tab("Polls").click();
  t.equal(await anna.button("New poll").count(), 0, "guests make no polls");

  await createPoll(mona, "Tea", "Coffee", "Water");
  const of = (visitor: Visitor) =>
    visitor.page.getByRole("article", { name: "Tea or coffee?" });
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
    eventually(`${pattern} is shown`, async () =>
      pattern.test((await of(visitor).innerText()).replace(/\s+/g, " ")),
    );
  await option(anna, "Tea").click();
  await shows(anna, /100\s?%/);
  t.notMatch(
    await of(ben).innerText(),
    /%/,
    "who has not voted sees no result",
  );
  await option(ben, "Coffee").click();
  await shows(ben, /50\s?%/);
  await shows(anna, /50\s?%/);
  await shows(mona, /50\s?%/);

  await of(mona).getByRole("button", { name: "Close", exact: true }).click();
  await eventually("voting has ended", async () => {
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

void t.test("a poll and a message make themselves noticed", async (t) => {
  const { anna, ben, mona } = await threeOf(t);
  await mona.tab("Polls").click();
  await createPoll(mona, "Tea", "Coffee");
  await mona.button("Open").click();

  const card = ({ page }: Visitor) =>
    page.getByRole("region", { name: "Tea or coffee?" });
  const counts = (visitor: Visitor, tab: string, n: string) =>
    eventually(`${tab} counts ${n}`, async () =>
      (await visitor.tab(tab).innerText()).endsWith(n),
    );
  await counts(anna, "Polls", "1 waiting");
  await card(anna).getByRole("button", { name: "Tea" }).click();
  await eventually("the result is in the card", async () =>
    /100\s?%/.test(await card(anna).innerText()),
  );
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

void t.test("reactions float for all", async (t) => {
  const { anna, ben } = await threeOf(t);
  const floating = ben.page.locator(".sky").getByText("👏").first();
  // The server may not have let both in yet when the page shows the room, and what
  // floats does so for seconds only.
  await eventually("it floats", async () => {
    await anna.button("React with 👏").click();
    return floating.waitFor({ timeout: 5000 }).then(
      () => true,
      () => false,
    );
  });
});

void t.test("who may sees who is here", async (t) => {
  const { anna, mona } = await threeOf(t);
  await mona.tab("People").click();
  const panel = mona.page.getByRole("tabpanel", { name: /^People/ });
  await panel.getByText("Ben").waitFor();
  await panel.getByText("Anna").waitFor();
  t.equal(await anna.tab("People").count(), 0);
});
