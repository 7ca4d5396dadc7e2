import { readFile } from "node:fs/promises";
import type { Locator } from "playwright-core";
import type { Test } from "tap";
import { until } from "../support/helper.js";
import { say } from "./furnish.js";
import { allModules, Site, textsOf, type Visitor } from "./kit.js";
import t, { nightly, test } from "./tap.js";

const site = await Site.open(t);

async function scene(t: Test) {
  const world = await site.world(t);
  const ids = {
    stage: await world.room("Main stage", undefined, { sorting_priority: 1 }),
    hallway: await world.room("Hallway", undefined, { sorting_priority: 2 }),
    garden: await world.room("Garden", undefined, { sorting_priority: 3 }),
  };
  const host = await world.host();
  await toRooms(host);
  return { world, host, ids };
}

async function toRooms(host: Visitor): Promise<void> {
  await host.toPage("Rooms");
}

/** Matches the name exactly, since the preview as another user is a list, too. */
const roomsOf = (host: Visitor): Locator =>
  host.page.getByRole("list", { name: "Rooms", exact: true });

/** Returns the room names in list order. */
const orderOf = async (host: Visitor): Promise<string[]> => {
  const items = roomsOf(host).getByRole("listitem");
  const texts = await textsOf(items);
  return texts.flatMap((text) => /Main stage|Hallway|Garden/.exec(text)?.[0] ?? []);
};

const toEditor = async (host: Visitor, room: string): Promise<void> => {
  await host.page
    .getByRole("main")
    .getByRole("link", { name: new RegExp(`^${room}`) })
    .first()
    .click();
  await until(async () => (await host.field("Name").inputValue()) === room);
};

/** Saves and waits for the response, which may reset the form. */
async function save(host: Visitor): Promise<void> {
  await host.button("Save").click();
  await host.button("Save").waitFor({ state: "detached" });
}

nightly("a room is created, edited and deleted", async (t) => {
  const { world, host } = await scene(t);
  const anna = await world.guest("Anna");
  await host.button("New room").click();
  const dialog = host.dialog();
  await dialog
    .getByRole("radio", { name: /^Hallway/ })
    .or(dialog.getByRole("button", { name: /^Hallway/ }))
    .first()
    .click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("Library");
  await dialog.getByRole("button", { name: "Create" }).click();
  // The dialog has a "Name" field, too.
  await dialog.waitFor({ state: "detached" });
  await until(async () => (await host.field("Name").inputValue()) === "Library");
  await anna.rooms.getByRole("link", { name: /^Library/ }).waitFor();

  await host.field("Name").fill("Quiet library");
  await host.field("Description").fill("Please **whisper**.");
  await save(host);
  await anna.enter("Quiet library");
  await anna.page.getByRole("main").locator("strong", { hasText: "whisper" }).waitFor();

  await host.button("Delete room").click();
  const sure = host.dialog();
  await sure.getByRole("textbox").fill("Quiet library");
  await sure.getByRole("button", { name: /^Delete/ }).click();
  await anna.rooms.getByRole("link", { name: /^Quiet library/ }).waitFor({ state: "detached" });
  t.equal((await world.api.listRooms()).count, 3);
});

nightly("the address of a video call becomes a link to it", async (t) => {
  const { world, host, ids } = await scene(t);
  const url = "https://us02web.zoom.us/j/81234567890?pwd=x";
  const stream = { type: "livestream.native", config: { hls_url: url } };
  await world.api.updateRoom(ids.garden, { module_config: [stream] });
  await host.page.goto(`${world.console}#/rooms/${ids.garden}`);
  await host.button("Show a link to the call").click();
  await host.button("Save").click();
  await until(async () => {
    const [module] = (await world.api.getRoom(ids.garden)).module_config;
    return module?.type === "page.markdown";
  });
  const anna = await world.guest("Anna");
  await anna.enter("Garden");
  const link = anna.page.getByRole("main").getByRole("link", { name: "Join the call" });
  t.equal(await link.getAttribute("href"), url);
});

nightly("rooms change their order by keyboard", async (t) => {
  const { world, host } = await scene(t);
  await until(async () => (await orderOf(host)).length === 3);
  const garden = roomsOf(host).getByRole("listitem").filter({ hasText: "Garden" });
  const up = garden.getByRole("button", { name: /^Move up/ });
  await up.focus();
  await host.page.keyboard.press("Enter");
  await until(async () => (await orderOf(host)).join() === "Main stage,Garden,Hallway");
  t.match(await host.focused(), /Move up/, "the focus stays with it");
  await host.page.keyboard.press("Enter");
  await until(async () => (await orderOf(host)).join() === "Garden,Main stage,Hallway");
  await until(async () => {
    const { results } = await world.api.listRooms();
    return results.map(({ name }) => name).join() === "Garden,Main stage,Hallway";
  });
});

nightly("rooms change their order by drag", async (t) => {
  const { world, host } = await scene(t);
  await until(async () => (await orderOf(host)).length === 3);
  const row = (name: string) => roomsOf(host).getByRole("listitem").filter({ hasText: name });
  // The button appears once the rules are loaded; from then on, the layout is stable.
  await host.button("Test access").waitFor();
  const handle = row("Garden").getByTitle("Drag to move");
  const from = (await handle.boundingBox())!;
  const to = (await row("Main stage").boundingBox())!;
  const { mouse } = host.page;
  await mouse.move(from.x + from.width / 2, from.y + from.height / 2);
  await mouse.down();
  await mouse.move(to.x + 20, to.y + to.height / 2, { steps: 8 });
  await mouse.move(to.x + 20, to.y + 2, { steps: 4 });
  await mouse.up();
  await until(async () => (await orderOf(host))[0] === "Garden");
  await until(async () => (await world.api.listRooms()).results[0]!.name === "Garden");
  t.pass();
});

nightly("several rooms are edited together", async (t) => {
  const { world, host, ids } = await scene(t);
  const config = { type: "chat.native", config: { volatile: true } };
  await world.api.updateRoom(ids.garden, { module_config: [config] });
  await host.button("Select").click();
  for (const name of ["Hallway", "Garden"])
    await host.page.getByLabel(name, { exact: true }).check();
  await host.button("Edit together").click();
  const dialog = host.dialog("Edit 2 rooms");
  await dialog.getByLabel("Parts").selectOption({ label: "Like “Stage”" });
  await dialog.getByLabel("Change who sees these rooms").check();
  await dialog.getByLabel("These roles").check();
  await dialog.getByLabel("Place in the order").selectOption({ label: "To the beginning" });
  await dialog.getByRole("button", { name: "Apply" }).click();
  await dialog.waitFor({ state: "detached" });
  await until(async () => (await orderOf(host)).join() === "Hallway,Garden,Main stage");

  const stored = new Map((await world.api.listRooms()).results.map((it) => [it.name, it]));
  const types = (name: string) => stored.get(name)!.module_config.map(({ type }) => type);
  const parts = ["chat.native", "livestream.native", "question", "poll"];
  t.strictSame([types("Hallway"), types("Garden")], [parts, parts]);
  t.match(stored.get("Garden")!.module_config[0], config, "a part keeps its settings");
  const guest = await world.guest("Anna");
  t.strictSame(await textsOf(guest.rooms.getByRole("link", { name: /Hallway|Garden/ })), []);
  t.strictSame(types("Main stage"), ["chat.native"], "other rooms stay as they are");
});

nightly("modules, as forms and as JSON", async (t) => {
  const { world, host, ids } = await scene(t);
  await toEditor(host, "Garden");
  await host.button("Add a part").click();
  await host.page.getByRole("menuitem", { name: "Text", exact: true }).click();
  await host.page.getByRole("textbox", { name: "Text" }).fill("# Roses\n\nand *tulips*");
  const stored = async () => JSON.stringify((await world.api.getRoom(ids.garden)).module_config);
  await save(host);
  t.match(await stored(), /Roses/);

  const module = host.page
    .getByRole("listitem")
    .filter({ has: host.page.getByRole("heading", { name: "Text", level: 3 }) });
  await module.getByRole("switch", { name: "Edit as JSON" }).click();
  const json = module.getByRole("textbox", { name: "JSON" });
  const text = await json.inputValue();
  t.match(text, /Roses/);
  await json.fill("{ not json");
  await until(async () => /can’t be used/.test(await host.page.getByRole("main").innerText()));
  await json.fill(text.replace("Roses", "Lilies"));
  await save(host);
  t.match(await stored(), /Lilies/);
});

nightly("a change that would lock its author out is confirmed first", async (t) => {
  const { world, host, ids } = await scene(t);
  // The button appears once the world's rules are loaded, which the lockout check needs.
  await host.button("Test access").waitFor();
  await toEditor(host, "Garden");
  const role = (name: string) =>
    host.page.getByRole("group", { name: "Open to" }).getByRole("checkbox", { name, exact: true });
  await host.page.getByRole("radio", { name: "These roles" }).check();
  for (const name of ["Attendee", "Moderator", "Host"]) {
    await role(name).uncheck();
  }
  await host.button("Save").click();
  const sure = host.dialog("Lock yourself out?");
  await sure.getByText("See and enter a room").waitFor();
  await sure.getByRole("button", { name: "Cancel" }).click();
  t.same((await world.api.getRoom(ids.garden)).permission_config, {});
  await role("Host").check();
  await save(host);
  t.same((await world.api.getRoom(ids.garden)).permission_config, {
    "room.view": [["speaker", "admin"]],
  });
});

nightly("people are found, silenced, banned and erased", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const troll = await world.guest("Trudy");
  await troll.enter("Hallway");
  await troll.say("Here I am.");
  const away = await world.live({ uid: "away", name: "Walter" });
  away.close();
  const host = await world.host();
  await host.toPage("People");
  const row = (name: string) =>
    host.page.getByRole("table").first().getByRole("row").filter({ hasText: name });
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
    const direct = row("Trudy").getByRole("button", { name: action, exact: true });
    if (await direct.isVisible()) await direct.click();
    else {
      await row("Trudy")
        .getByRole("button", { name: /^Actions/ })
        .click();
      await host.page.getByRole("menuitem", { name: action, exact: true }).click();
    }
    const sure = host.dialog();
    await sure.getByText(says).first().waitFor();
    const typed = sure.getByRole("textbox");
    if ((await typed.count()) > 0) await typed.fill("Trudy");
    await sure.getByRole("button", { name: action, exact: true }).click();
    await sure.waitFor({ state: "detached" });
  };
  await act("Silence");
  await row("Trudy").getByText("Silenced until").waitFor();
  await row("Trudy")
    .getByRole("button", { name: /^Actions/ })
    .click();
  await host.page.getByRole("menuitem", { name: "Unsilence", exact: true }).click();
  await row("Trudy").getByText("Silenced").waitFor({ state: "detached" });
  await act("Delete all messages");
  await act("Ban", "they can come back in a private window");
  await row("Trudy").getByText("Banned").waitFor();
  await troll.rooms.waitFor({ state: "detached" });
  await act("Erase");
  await row("Trudy").waitFor({ state: "detached" });
  const { results } = await world.api.listUsers();
  t.notMatch(JSON.stringify(results), /Trudy/);
});

nightly("a moderator without the HTTP API finds people", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const live = await world.live({ uid: "walter", name: "Walter" });
  live.close();
  // A request that the server denies would fail this test.
  const host = await world.host({ uid: "mod", name: "Mo", traits: ["moderator"] });
  await host.consoleNav.getByRole("link", { name: "People" }).click();
  const row = host.page.getByRole("table").getByRole("row").filter({ hasText: "Walter" });
  await row.waitFor();
  await row.getByRole("button", { name: /^Actions/ }).click();
  t.same(await textsOf(host.page.getByRole("menuitem")), ["Silence", "Ban", "Delete all messages"]);
  await host.page.reload();
  await row.waitFor();
});

test("a call on a server without an engine says how to get one", async (t) => {
  const world = await site.world(t);
  const room = await world.room("Table", [{ type: "call.native", config: {} }]);
  await world.room("Hallway");
  const host = await world.host();
  await host.toPage("Rooms");
  const row = (name: string) => roomsOf(host).getByRole("listitem").filter({ hasText: name });
  await row("Table").getByText("No media server for calls").waitFor();
  t.equal(await row("Hallway").getByText("No media server for calls").count(), 0);
  await host.page.goto(world.link({ uid: "host", traits: ["admin", "api"] }, room));
  const manual = host.page.getByRole("link", { name: "How to set up calls" });
  t.match(await manual.getAttribute("href"), /docs\/calls$/);
  await host.page.getByText("set LIVEKIT_URL, LIVEKIT_API_KEY").waitFor();

  const guest = await world.bearer({ uid: "guest" });
  await guest.enter("Table");
  await guest.page.getByText("Ask the organizers, if you expected one here.").waitFor();
  t.equal(await guest.page.getByText("LIVEKIT_URL").count(), 0, "guests need no settings");
});

nightly("an announcement reaches everybody", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const anna = await world.guest("Anna");
  const host = await world.host();
  await host.toPage("Announcements");
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
  await late.page.getByRole("region", { name: "Announcement" }).waitFor({ state: "detached" });
});

nightly("results as files and charts, and the history", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Stage", allModules);
  await world.room("Hallway");
  const ada = await world.live({ uid: "ada", name: "=Ada" });
  await ada.call("room.enter", { room: stage });
  await ada.call("chat.join", { channel: stage });
  for (const body of ["One", "Two"]) {
    await say(ada, stage, body);
  }
  await ada.call("question.ask", { room: stage, content: "Why?" });
  const host = await world.host();
  const main = host.page.getByRole("main");

  // The overview counts them and links to the pending question.
  const figures = main.getByRole("region", { name: "At a glance" });
  await figures.getByRole("link", { name: "2", exact: true }).first().waitFor();
  const waiting = figures.locator(`a[href$="${stage}/host"]`);
  await until(async () => {
    return (await waiting.count()) === 1;
  });

  await host.consoleNav.getByRole("link", { name: "Results" }).click();
  const chart = (title: string) => main.getByRole("figure").filter({ hasText: title });
  const messages = chart("Messages");
  await messages.getByText("2", { exact: true }).first().waitFor();
  await messages.getByText("As a table").click();
  await messages.getByRole("row").nth(1).waitFor();
  await chart("Votes").waitFor();

  const download = async (what: string, format: string) => {
    const [file] = await Promise.all([
      host.page.waitForEvent("download"),
      host.button(`${what} as ${format}`).click(),
    ]);
    t.equal(file.suggestedFilename(), `${world.id}-${what.toLowerCase()}.${format.toLowerCase()}`);
    return readFile(await file.path());
  };
  t.match(String(await download("People", "CSV")), /'=Ada/);
  await main.getByLabel("Room", { exact: true }).selectOption("Hallway");
  t.notMatch(String(await download("Chat", "CSV")), /One/);
  await main.getByLabel("Room", { exact: true }).selectOption("Stage");
  t.match(String(await download("Chat", "CSV")), /One[^]*Two/);
  t.equal((await download("Polls", "XLSX")).subarray(0, 2).toString(), "PK");

  const mode = main.getByLabel("What to keep about attendance");
  await mode.selectOption("people");
  await until(async () => {
    const { config } = await world.api.getWorld();
    return (config as { attendance?: string }).attendance === "people";
  });

  await host.consoleNav.getByRole("link", { name: "History" }).click();
  const entries = main.getByRole("listitem");
  await entries.filter({ hasText: "Changed: Attendance" }).waitFor();
  // Viewing the charts does not count as a download.
  t.equal(await entries.filter({ hasText: "downloaded results" }).count(), 4);
  await main.getByLabel("About").selectOption("Results");
  await entries.filter({ hasText: "changed the event" }).waitFor({ state: "detached" });
  await main.getByLabel("By", { exact: true }).selectOption("Host");
  await entries.filter({ hasText: /people · csv/ }).waitFor();
});
