import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";
import { until } from "../support/helper.js";
import { Site, type Visitor } from "./kit.js";
import t, { nightly, test } from "./tap.js";

// Reports, held messages, slow mode and blocked words, as the people involved see them.

const site = await Site.open(t);

/** Opens a world with one room, whose chat has the given settings. */
async function scene(t: Test, config: object) {
  const world = await site.world(t);
  const hall = await world.room("Hall", [{ type: "chat.native", config }]);
  return { world, hall };
}

const hostView = (visitor: Visitor, room: string) =>
  visitor.page.evaluate((hash) => {
    location.hash = hash;
  }, `#/rooms/${room}/host`);

const reportsOf = (host: Visitor) => host.consoleNav.getByRole("link", { name: /^Reports/ });

/** Writes a message without waiting for it to be sent. */
async function write(visitor: Visitor, text: string): Promise<void> {
  await visitor.message.fill(text);
  await visitor.button("Send").click();
}

test("a message is reported, and a moderator deletes it", async (t) => {
  const { world } = await scene(t, {});
  const host = await world.host();
  const reports = reportsOf(host);
  const [ada, ben] = [await world.guest("Ada"), await world.guest("Ben")];
  await ben.say("Buy tickets at my place");
  await ada.choose(ada.post("Buy tickets"), "Message actions", "Report");
  const dialog = ada.dialog("Report this message");
  await dialog.getByLabel("Spam or advertising").check();
  await dialog.getByLabel("Details, if you like").fill("Third time <b>today</b>");
  await dialog.getByRole("button", { name: "Report", exact: true }).click();
  await ada.page.getByText("Thank you. The moderators will take a look.").waitFor();
  t.equal(await ben.page.getByText(/report/i).count(), 0, "the author learns nothing");

  await until(async () => /, 1 open/.test((await reports.textContent()) ?? ""));
  await reportsOf(host).click();
  const card = host.page.getByRole("listitem").filter({ hasText: "Reported by 1 person" });
  t.match(await card.innerText(), /Message\s+by Ben\s+Hall[^]*Buy tickets at my place/);
  t.match(await card.innerText(), /Spam or advertising\s+Third time <b>today<\/b>\s+Ada/);
  t.strictSame(await host.faults(), []);
  await card.getByRole("button", { name: "Delete" }).click();
  await host.dialog("Delete it?").getByRole("button", { name: "Delete" }).click();
  await host.page.getByText("No open reports").waitFor();
  await ada.post("Buy tickets").waitFor({ state: "detached" });
  await until(async () => (await reports.textContent())?.trim() === "Reports");
  await host.button("All").click();
  t.match(await card.innerText(), /Deleted\s+by Host/);
  t.equal(await card.getByRole("button").count(), 0, "it is decided");
});

test("messages wait until a key lets them through or turns them down", async (t) => {
  const { world, hall } = await scene(t, { hold: true });
  const host = await world.bearer({ uid: "host", name: "Hanna", traits: ["admin", "api"] });
  const [ada, ben] = [await world.guest("Ada"), await world.guest("Ben")];
  for (const text of ["First of Ada", "Second of Ada", "Third of Ada"]) {
    await write(ada, text);
    await ada.page.getByLabel("You: Waits for a moderator").filter({ hasText: text }).waitFor();
  }
  await host.page.getByText("3 messages wait").waitFor();
  await hostView(host, hall);
  await host.heading("Messages that wait 3").waitFor();
  t.strictSame(await host.faults(), []);

  const { keyboard } = host.page;
  await host.page
    .getByRole("article", { name: /Waits for a moderator/ })
    .first()
    .focus();
  await keyboard.press("ArrowDown");
  await keyboard.press("y");
  await ben.post("Second of Ada").waitFor();
  await host.heading("Messages that wait 2").waitFor();
  t.match(await host.focused(), /Ada: Waits/, "the focus goes to the next message");
  await keyboard.press("n");
  const rejected = ada.page.getByText("A moderator did not let this through.");
  await rejected.waitFor();
  await host.heading("Messages that wait 1").waitFor();
  await host.button("More").click();
  await host.page.getByRole("menuitem", { name: "Turn down with a reason" }).click();
  await host.field("Reason").fill("Ask it as a question");
  await host.button("Turn down").last().click();
  await ada.page.getByText("did not let this through: Ask it as a question").waitFor();
  t.equal(await ada.page.getByText("Waits for a moderator").count(), 0);
  t.equal(await ben.page.getByText(/First|Third/).count(), 0, "nobody else saw them");
  t.equal(await ben.post("Second of Ada").count(), 1);

  await ada.button("Edit again").last().click();
  t.match(await ada.message.inputValue(), /First of Ada/);
});

nightly("the composer counts down in slow mode, also after a reload", async (t) => {
  const { world } = await scene(t, { slow_mode: 8 });
  const ada = await world.guest("Ada");
  await ada.page.getByText("Slow mode: one message in 8 seconds.").waitFor();
  await ada.say("One");
  await ada.message.fill("Two");
  t.ok(await ada.button("Send").isDisabled());
  await ada.page.getByText(/you can write again in \d+ seconds?/).waitFor();
  await ada.message.press("Enter");
  t.equal(await ada.message.inputValue(), "Two", "it is kept");
  await ada.page.reload();
  await ada.message.waitFor();
  await ada.page.getByText(/you can write again in \d+ seconds?/).waitFor();
  await until(async () => ada.button("Send").isEnabled());
  await ada.button("Send").click();
  await ada.post("Two").waitFor();

  const mod = await world.bearer({ uid: "mod", name: "Mo", traits: ["moderator"] });
  await mod.say("Three");
  await mod.say("Four");
  t.equal(await mod.page.getByText(/Slow mode/).count(), 0, "moderators write as they like");
});

nightly("words are blocked in the console", async (t) => {
  const { world } = await scene(t, {});
  const host = await world.host();
  await host.toPage("Reports");
  const words = host.field("Words, one per line");
  await words.fill("x\nspam*");
  await host.button("Save").click();
  await host.page.getByText("“x” can’t be blocked", { exact: false }).first().waitFor();
  await words.fill("spam*\nfoo bar");
  await host.page.getByLabel("is asked to write something else").check();
  await host.button("Save").click();
  await host.page.getByText("Saved.").waitFor();
  t.match((await world.api.getWorld()).config["blocked_words"], {
    words: ["spam*", "foo bar"],
    action: "refuse",
  });

  const ada = await world.guest("Ada");
  await write(ada, "No SPAMMERS please");
  await ada.page.getByText("Not sent: it contains a word that may not be used here.").waitFor();
  await ada.button("Edit again").click();
  t.equal(await ada.message.inputValue(), "No SPAMMERS please");
  await ada.say("No such people please");
  await words.fill("");
  await host.page.getByLabel("waits for a moderator").check();
  await host.button("Save").click();
  await until(async () =>
    isDeepStrictEqual((await world.api.getWorld()).config["blocked_words"], {
      words: [],
      action: "hold",
    }),
  );
  await ada.say("spam");
  t.pass();
});

nightly("a person is reported, and banned", async (t) => {
  const { world } = await scene(t, {});
  const host = await world.host();
  const [ada, ben] = [await world.guest("Ada"), await world.guest("Ben")];
  await ben.say("Hello");
  await ada.post("Hello").getByRole("button", { name: "Ben", exact: true }).click();
  await ada.dialog("Ben").getByRole("button", { name: "Report" }).click();
  const dialog = ada.dialog("Report Ben");
  await dialog.getByLabel("Something else").check();
  await dialog.getByRole("button", { name: "Report", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  await reportsOf(host).click();
  await host.button("Ban").click();
  await host.dialog("Ban Ben?").getByRole("button", { name: "Ban" }).click();
  await host.page.getByText("No open reports").waitFor();
  await ben.page.getByText("A moderator removed you.").first().waitFor();
  t.pass();
});
