import { axe } from "./axe.js";
import { allModules, eventually, Site } from "./kit.js";
import t from "./tap.js";

// The links of a room: people in the hall without a name, and screens.

const site = await Site.open(t);
const host = { uid: "olga", name: "Olga", traits: ["admin", "api"] };

void t.test("people in the hall take part without a name", async (t) => {
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
  await eventually("it is allowed", () => anonymous.isEnabled());
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
  await eventually("it is asked", async () => (await ask()).length === 1);
  const live = await world.live(host);
  await live.call("poll.create", {
    ...{ room: stage, content: "Tea?", state: "open", poll_type: "choice" },
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
  await eventually("there is no screen", async () => {
    const { results } = await live.call("user.list", { type: "kiosk" });
    return results.length === 0;
  });
});
