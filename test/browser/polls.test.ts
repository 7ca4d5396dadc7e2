import { until } from "../support/helper.js";
import { allModules, type Lifetime, Site, type Visitor } from "./kit.js";
import t, { nightly, test } from "./tap.js";

const site = await Site.open(t);

const moderator = { uid: "mona", name: "Mona", traits: ["moderator"] };

/** Opens the polls of a room: a guest on a phone, another guest, and a manager. */
async function threeOf(t: Lifetime) {
  const world = await site.world(t);
  const room = await world.room("Main stage", allModules);
  const [anna, ben, mona] = await Promise.all([
    world.guest("Anna", { size: "phone", reducedMotion: true }),
    world.guest("Ben"),
    world.bearer(moderator),
  ]);
  for (const visitor of [anna, ben, mona]) {
    await visitor.enter("Main stage");
    await visitor.tab("Polls").click();
  }
  return { world, room, anna, ben, mona };
}

const QUESTION = "What makes a good map?";
const of = (visitor: Visitor) => visitor.page.getByRole("article", { name: QUESTION });

/** A word's row in the table for screen readers. */
const wordIn = ({ page }: Visitor, name: string | RegExp) => page.getByRole("row", { name });

const shows = (visitor: Visitor, pattern: RegExp) =>
  until(async () => pattern.test((await of(visitor).innerText()).replace(/\s+/g, " ")));

/** Creates and opens a poll with the form. */
async function createPoll(
  visitor: Visitor,
  kind: string,
  options: readonly string[],
  fill?: (dialog: ReturnType<Visitor["dialog"]>) => Promise<unknown>,
) {
  await visitor.button("New poll").click();
  const dialog = visitor.dialog("New poll");
  await dialog.getByText(kind, { exact: true }).click();
  await dialog.getByRole("textbox", { name: "Question" }).fill(QUESTION);
  for (const [i, option] of options.entries()) {
    if (i > 1) await dialog.getByRole("button", { name: "Add option" }).click();
    await dialog.getByRole("textbox", { name: `Option ${i + 1}` }).fill(option);
  }
  await fill?.(dialog);
  await dialog.getByRole("button", { name: "Open now" }).click();
}

const press = (visitor: Visitor, name: string | RegExp) =>
  of(visitor).getByRole("button", { name, exact: true }).click();

test("words become a cloud, and a manager hides one", async (t) => {
  const { anna, ben, mona, world, room } = await threeOf(t);
  await createPoll(mona, "Word cloud", [], (dialog) =>
    dialog.getByLabel("Answers per person").selectOption("2"),
  );
  await of(anna).getByLabel("Answer 1").fill("Coffee");
  await of(anna).getByLabel("Answer 2").fill("rude");
  t.equal(await of(anna).getByLabel("Answer 3").count(), 0, "two at most");
  await press(anna, "Send");
  await wordIn(anna, "Coffee once").waitFor({ state: "attached" });
  await of(ben).getByLabel("Answer 1").fill("coffee");
  await press(ben, "Send");
  await wordIn(anna, /^coffee 2 times$/i).waitFor({ state: "attached" });
  t.same(await anna.faults(), [], "voted");

  await of(mona).getByText("Hide words").click();
  const word = of(mona).getByRole("listitem").filter({ hasText: "rude" });
  await word.getByRole("button", { name: "Hide" }).click();
  await word.getByText("Hidden").waitFor();
  await wordIn(ben, "rude once").waitFor({ state: "detached" });
  t.same(await mona.faults(), [], "manager");

  const screen = await world.visitor();
  const { page } = screen;
  const token = world.token({ uid: "screen", traits: ["moderator"] });
  await page.goto(`${world.attend}?screen=live&room=${room}#token=${token}`);
  const live = await world.live(moderator);
  await live.call("room.enter", { room });
  await live.call("screen.show", { room, show: "words" });
  await screen.heading(QUESTION).waitFor();
  await wordIn(screen, /^coffee 2 times$/i).waitFor({ state: "attached" });
  t.equal(
    await page.getByText("rude").count(),
    0,
    "the screen's user manages, its audience does not",
  );
  t.same(await screen.faults(), [], "screen");
});

test("a quiz counts the first answer, and shows what is correct at the end", async (t) => {
  const { anna, ben, mona } = await threeOf(t);
  await createPoll(mona, "Quiz", ["Paper", "Accuracy"], async (dialog) => {
    await dialog.getByRole("checkbox", { name: "Option 2 is correct" }).check();
    await dialog.getByRole("spinbutton").fill("300");
  });
  await of(anna).getByRole("timer").waitFor();
  t.same(await anna.faults(), [], "open");
  await press(anna, /^Accuracy/);
  await shows(anna, /Your answer counts/);
  t.equal(
    await of(anna).getByRole("button").count(),
    0,
    "nobody changes an answer, or withdraws it",
  );
  await press(ben, /^Paper/);
  await shows(ben, /Your answer counts/);
  for (const visitor of [anna, ben]) {
    t.notMatch(await of(visitor).innerText(), /Correct answer/, "not yet");
  }
  await press(mona, "Close");
  await shows(anna, /Accuracy Your choice Correct answer/);
  await shows(ben, /Correct answer/);
  await anna.heading("Leaderboard").waitFor();
  await anna.page.getByText("You are at place 1. Correct answers: 1.").waitFor();
  t.equal(await of(mona).getByRole("button", { name: "Open again" }).count(), 0);
  t.same(await anna.faults(), [], "closed");
});

test("texts wait for a manager who shows them", async (t) => {
  const { anna, ben, mona } = await threeOf(t);
  await createPoll(mona, "Open text", [], (dialog) =>
    dialog.getByLabel("Show answers only after I approve them").check(),
  );
  await of(anna).getByLabel("Your answer").fill("Patience\nand <b>ink</b>");
  await press(anna, "Send");
  const text = of(mona).getByRole("listitem").filter({ hasText: "Patience" });
  await text.getByText("Waiting").waitFor();
  t.match(await text.innerText(), /Anna/, "managers see who wrote it");
  await of(ben).getByLabel("Your answer").fill("Rivers");
  await press(ben, "Send");
  await shows(ben, /Rivers/);
  t.notMatch(await of(ben).innerText(), /Patience/, "it waits");
  await text.getByRole("button", { name: "Show" }).click();
  await shows(ben, /Patience and <b>ink<\/b>/);
  t.notMatch(await of(ben).innerText(), /Anna/, "others do not see who wrote it");
});

nightly("people rate on a scale, and put options in order", async (t) => {
  const { anna, ben, mona } = await threeOf(t);
  await createPoll(mona, "Rating", [], async (dialog) => {
    await dialog.getByLabel("Highest number").selectOption("10");
    await dialog.getByLabel("Its meaning").first().fill("Bad");
  });
  await press(anna, "10");
  await shows(anna, /10\.0 Average/);
  await press(ben, "5");
  await shows(anna, /7\.5 Average/);
  t.same(await anna.faults(), [], "rated");
  await press(anna, "Withdraw vote");
  await shows(anna, /You’ll see the results once/);
  t.equal(await anna.overflow(), 0);
  await mona.choose(of(mona), "Poll actions", "Delete");
  await mona.dialog().getByRole("button", { name: "Delete" }).click();
  await of(anna).waitFor({ state: "detached" });

  await createPoll(mona, "Ranking", ["Ink", "Paper", "Patience"]);
  await press(anna, /^Patience/);
  await press(anna, /^Ink/);
  await press(anna, "Send");
  await shows(anna, /1 Patience You: 1 3 points 2 Ink You: 2 2 points 3 Paper 0 points/);
  t.same(await anna.faults(), [], "ranked");
  await press(anna, "Change");
  await press(anna, "Start over");
  await press(anna, /^Paper/);
  await press(anna, "Send");
  await shows(anna, /1 Paper You: 1 3 points/);
});
