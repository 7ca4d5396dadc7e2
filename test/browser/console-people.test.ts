import { Site, textsOf } from "./kit.js";
import t from "./tap.js";

const site = await Site.open(t);

void t.test("people are found, silenced, banned and erased", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const troll = await world.guest("Trudy");
  await troll.enter("Hallway");
  await troll.say("Here I am.");
  const away = await world.live({ uid: "away", name: "Walter" });
  away.close();
  const host = await world.host();
  await host.consoleNav.getByRole("link", { name: "People" }).click();
  await host.page.getByRole("heading", { name: "People", level: 1 }).waitFor();
  const row = (name: string) =>
    host.page
      .getByRole("table")
      .first()
      .getByRole("row")
      .filter({ hasText: name });
  await row("Trudy").waitFor();
  await row("Walter").waitFor();
  await row("Trudy").getByText("Online").waitFor();
  const role = (name: string) => row(name).getByRole("cell").nth(1);
  t.equal((await role("Trudy").innerText()).trim(), "Guest");
  t.equal((await role("Host").innerText()).trim(), "Host");
  await host.page.getByRole("searchbox", { name: "Search people" }).fill("tru");
  await row("Walter").waitFor({ state: "detached" });
  await row("Trudy").waitFor();

  const act = async (action: string, says = "") => {
    const direct = row("Trudy").getByRole("button", {
      name: action,
      exact: true,
    });
    if (await direct.isVisible()) await direct.click();
    else {
      await row("Trudy")
        .getByRole("button", { name: /^Actions/ })
        .click();
      await host.page
        .getByRole("menuitem", { name: action, exact: true })
        .click();
    }
    const sure = host.dialog();
    await sure.getByText(says).first().waitFor();
    const typed = sure.getByRole("textbox");
    if ((await typed.count()) > 0) await typed.fill("Trudy");
    await sure.getByRole("button", { name: action, exact: true }).click();
    await sure.waitFor({ state: "detached" });
  };
  await act("Silence");
  await row("Trudy").getByText("Silenced").waitFor();
  await act("Reactivate");
  await row("Trudy").getByText("Silenced").waitFor({ state: "detached" });
  await act("Ban", "A guest can come back");
  await row("Trudy").getByText("Banned").waitFor();
  await troll.rooms.waitFor({ state: "detached" });
  await act("Erase");
  await row("Trudy").waitFor({ state: "detached" });
  const { results } = await world.api.listUsers();
  t.notMatch(JSON.stringify(results), /Trudy/);
});

void t.test("a moderator without the HTTP API finds people", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const live = await world.live({ uid: "walter", name: "Walter" });
  live.close();
  // What the server refuses would fail this test.
  const host = await world.host({
    uid: "mod",
    name: "Mo",
    traits: ["moderator"],
  });
  await host.consoleNav.getByRole("link", { name: "People" }).click();
  const row = host.page
    .getByRole("table")
    .getByRole("row")
    .filter({ hasText: "Walter" });
  await row.waitFor();
  await row.getByRole("button", { name: /^Actions/ }).click();
  t.same(await textsOf(host.page.getByRole("menuitem")), ["Silence", "Ban"]);
  await host.page.reload();
  await row.waitFor();
});

void t.test("an announcement reaches everybody", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const anna = await world.guest("Anna");
  const host = await world.host();
  await host.consoleNav.getByRole("link", { name: "Announcements" }).click();
  await host.page
    .getByRole("heading", { name: "Announcements", level: 1 })
    .waitFor();
  await host.button("New announcement").click();
  const dialog = host.dialog("New announcement");
  await dialog.getByRole("textbox", { name: "Text" }).fill("Lunch is ready.");
  await dialog.getByRole("button", { name: "Publish now" }).click();
  const shown = anna.page.getByRole("region", { name: "Announcement" });
  await shown.getByText("Lunch is ready.").waitFor();
  await shown.getByRole("button", { name: "Dismiss" }).click();
  await shown.waitFor({ state: "detached" });
  await anna.page.reload();
  await anna.rooms.waitFor();
  t.equal(await shown.count(), 0, "it stays dismissed");

  const late = await world.guest("Late");
  await late.page
    .getByRole("region", { name: "Announcement" })
    .getByText("Lunch is ready.")
    .waitFor();
  await host.button("Archive").first().click();
  await host.dialog().getByRole("button", { name: "Archive" }).click();
  await late.page
    .getByRole("region", { name: "Announcement" })
    .waitFor({ state: "detached" });
});
