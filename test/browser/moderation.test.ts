import { axe } from "./axe.js";
import { eventually, type Lifetime, Site, testRules } from "./kit.js";
import t from "./tap.js";

const site = await Site.open(t);

const moderator = { uid: "mona", name: "Mona", traits: ["moderator"] };

async function scene(t: Lifetime) {
  const world = await site.world(t);
  await world.room("Hallway");
  const mona = await world.bearer(moderator);
  const troll = await world.guest("Trudy");
  const anna = await world.guest("Anna");
  for (const visitor of [mona, troll, anna]) await visitor.enter("Hallway");
  await troll.say("Buy my things.");
  for (const visitor of [mona, anna]) await visitor.post("Buy").waitFor();
  return { world, mona, troll, anna };
}

void t.test("a moderator silences a user, who can still read", async (t) => {
  const { mona, troll, anna } = await scene(t);
  await mona.choose(mona.post("Buy"), "Message actions", "Silence");
  await mona.dialog().getByRole("button", { name: "Silence" }).click();
  // The server makes the page connect again; then nothing offers to write.
  await eventually("there is nothing to write into", () =>
    troll.message.isDisabled(),
  );
  await troll.page.getByText("A moderator has silenced you.").waitFor();
  await anna.say("Peace at last.");
  await troll.post("Peace at last.").waitFor();
  await mona.post("Buy").hover();
  await mona
    .post("Buy")
    .getByRole("button", { name: "Message actions" })
    .click();
  await mona.page.getByRole("menuitem", { name: "Reactivate" }).waitFor();
  const again = mona.page.getByRole("menuitem", { name: "Silence" });
  t.equal(await again.count(), 0, "the menu knows it");
  await mona.page.keyboard.press("Escape");

  await mona.post("Buy").getByRole("button", { name: "Trudy" }).first().click();
  await mona
    .dialog("Trudy")
    .getByRole("button", { name: "Reactivate" })
    .click();
  await mona.dialog("Trudy").getByRole("button", { name: "Silence" }).waitFor();
  await eventually("they write again, without a reload", () =>
    troll.message.isEnabled(),
  );
  await troll.say("I am sorry.");
  await anna.post("I am sorry.").waitFor();
});

void t.test("an event that opens again lets guests in", async (t) => {
  const { world, anna, mona } = await scene(t);
  const open = (...rule: string[]) =>
    world.api.updateWorld({
      permission_config: { ...testRules, "world.view": rule },
    });
  await open("moderator");
  await anna.heading("You have no access").waitFor();
  await open();
  await mona.say("Welcome back.");
  // The page gets no input.
  await anna.post("Welcome back.").waitFor();
});

void t.test("a moderator bans a user, whose page says so", async (t) => {
  const { mona, troll, anna } = await scene(t);
  await mona.post("Buy").getByRole("button", { name: "Trudy" }).first().click();
  await mona.dialog("Trudy").getByRole("button", { name: "Ban" }).click();
  await mona.page.getByText("A guest can come back").waitFor();
  await mona
    .dialog()
    .last()
    .getByRole("button", { name: "Ban", exact: true })
    .click();
  await troll.heading("You were removed from this event").waitFor();
  t.equal(await troll.log.count(), 0, "nothing of the event is left");
  await troll.page.reload();
  await troll.heading("You were removed from this event").waitFor();
  t.same(await axe(troll.page), []);
  await anna.say("Who was that?");
  await mona
    .dialog("Trudy")
    .getByRole("button", { name: "Reactivate" })
    .click();
  // The page gets no input.
  await troll.post("Who was that?").waitFor();
});

void t.test(
  "a moderator goes to the console by the link to the event",
  async (t) => {
    const { mona, anna, world } = await scene(t);
    const link = (who: typeof mona) =>
      who.page.getByRole("link", { name: "Console", exact: true });
    t.equal(await link(anna).count(), 0, "not for people without rights");
    const [tab] = await Promise.all([
      mona.context.waitForEvent("page"),
      link(mona).click(),
    ]);
    const nav = tab.getByRole("navigation", { name: "Console" });
    await nav.getByRole("link", { name: "People" }).click();
    await tab.getByRole("row").filter({ hasText: "Mona" }).waitFor();
    await tab.getByRole("button", { name: "Sign out" }).click();
    await tab.getByRole("textbox", { name: "Token" }).waitFor();
    await tab.reload();
    await tab.getByRole("textbox", { name: "Token" }).waitFor();
    await anna.page.goto(world.console);
    await anna.field("Token").waitFor();
  },
);
