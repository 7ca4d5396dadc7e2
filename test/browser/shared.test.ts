import t from "tap";
import { eventually, Site } from "./kit.js";

// What one person leaves to another: on a shared computer, in a text, by a link.

const site = await Site.open(t);
const world = await site.world(t);
await world.room("Hall", [
  { type: "chat.native", config: { volatile: false } },
]);

void t.test("who signs out leaves nothing to the next", async (t) => {
  const visitor = await world.during(t).guest("Ada");
  const { page } = visitor;
  await visitor.enter("Hall");
  await visitor.message.fill("a private draft");
  await page.goto("about:blank");
  const token = world.token({ uid: "ada", name: "Ada L." });
  await page.goto(`${world.attend}#token=${token}`);
  await visitor.rooms.waitFor();
  await visitor.enter("Hall");
  await visitor.message.fill("nor this");
  await page.getByRole("link", { name: "Profile" }).click();
  await visitor.button("Sign out").click();

  await visitor.join("Eve");
  const kept = await page.evaluate(() => JSON.stringify(localStorage));
  t.notMatch(kept, /a private draft|nor this|token/);
  await page.getByRole("link", { name: "Profile" }).click();
  t.equal(await visitor.field("Your name").inputValue(), "Eve");
  await visitor.enter("Hall");
  t.equal(await visitor.message.inputValue(), "");
});

void t.test("the player plays for the pages around it only", async (t) => {
  const { page } = await world.during(t).visitor();
  await page.goto(
    `${world.baseUrl}/web/player.html#src=https%3A%2F%2Fevil.example%2Fa.mp4`,
  );
  await page.getByText("No stream yet").waitFor();
  t.equal(await page.locator("video").count(), 0);
});

void t.test("a text that is nested too deep breaks no room", async (t) => {
  const deep = "> ".repeat(5000);
  await world.room("Deep", [{ type: "chat.native", config: {} }], {
    description: `${deep} the end`,
  });
  const visitor = await world.during(t).guest("Bob");
  await visitor.enter("Deep");
  const body = visitor.page.locator("body");
  await eventually("the text is there, as text", async () =>
    (await body.innerText()).includes("> > >"),
  );
  await visitor.say("still here");
});
