import type { Locator } from "playwright-core";
import type { Test } from "tap";
import { eventually, Site, textsOf, type Visitor } from "./kit.js";
import t from "./tap.js";

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
  await host.consoleNav.getByRole("link", { name: "Rooms" }).click();
  await host.page.getByRole("heading", { name: "Rooms", level: 1 }).waitFor();
}

/** The list of rooms: the preview as another user is a list as well. */
const roomsOf = (host: Visitor): Locator =>
  host.page.getByRole("list", { name: "Rooms", exact: true });

/** The name of each room, in the order of the list. */
const orderOf = async (host: Visitor): Promise<string[]> => {
  const items = roomsOf(host).getByRole("listitem");
  const texts = await textsOf(items);
  return texts.flatMap(
    (text) => /Main stage|Hallway|Garden/.exec(text)?.[0] ?? [],
  );
};

const toEditor = async (host: Visitor, room: string): Promise<void> => {
  await host.page
    .getByRole("main")
    .getByRole("link", { name: new RegExp(`^${room}`) })
    .first()
    .click();
  await eventually(
    "the room is loaded",
    async () => (await host.field("Name").inputValue()) === room,
  );
};

/** Saves, and waits for the answer: it may fill the form again. */
async function save(host: Visitor): Promise<void> {
  await host.button("Save").click();
  await host.button("Save").waitFor({ state: "detached" });
}

void t.test("a room is created, edited and deleted", async (t) => {
  const { world, host } = await scene(t);
  const anna = await world.guest("Anna");
  await host.button("New room").click();
  const dialog = host.dialog();
  await dialog
    .getByRole("radio", { name: /Hallway chat/ })
    .or(dialog.getByRole("button", { name: /Hallway chat/ }))
    .first()
    .click();
  await dialog.getByRole("textbox", { name: "Name" }).fill("Library");
  await dialog.getByRole("button", { name: "Create" }).click();
  // It has a field for the name as well.
  await dialog.waitFor({ state: "detached" });
  await eventually(
    "its editor opens",
    async () => (await host.field("Name").inputValue()) === "Library",
  );
  await anna.rooms.getByRole("link", { name: /^Library/ }).waitFor();

  await host.field("Name").fill("Quiet library");
  await host.field("Description").fill("Please **whisper**.");
  await save(host);
  await anna.enter("Quiet library");
  await anna.page
    .getByRole("main")
    .locator("strong", { hasText: "whisper" })
    .waitFor();

  await host.button("Delete room").click();
  const sure = host.dialog();
  await sure.getByRole("textbox").fill("Quiet library");
  await sure.getByRole("button", { name: /^Delete/ }).click();
  await anna.rooms
    .getByRole("link", { name: /^Quiet library/ })
    .waitFor({ state: "detached" });
  t.equal((await world.api.listRooms()).count, 3);
});

void t.test("rooms change their order by keyboard", async (t) => {
  const { world, host } = await scene(t);
  await eventually(
    "all are listed",
    async () => (await orderOf(host)).length === 3,
  );
  const garden = roomsOf(host)
    .getByRole("listitem")
    .filter({ hasText: "Garden" });
  const up = garden.getByRole("button", { name: /^Move up/ });
  await up.focus();
  await host.page.keyboard.press("Enter");
  await eventually(
    "it moved up",
    async () => (await orderOf(host)).join() === "Main stage,Garden,Hallway",
  );
  t.match(await host.focused(), /Move up/, "the focus stays with it");
  await host.page.keyboard.press("Enter");
  await eventually(
    "and again",
    async () => (await orderOf(host)).join() === "Garden,Main stage,Hallway",
  );
  await eventually("the server keeps it", async () => {
    const { results } = await world.api.listRooms();
    return (
      results.map(({ name }) => name).join() === "Garden,Main stage,Hallway"
    );
  });
});

void t.test("rooms change their order by drag", async (t) => {
  const { world, host } = await scene(t);
  await eventually(
    "all are listed",
    async () => (await orderOf(host)).length === 3,
  );
  const row = (name: string) =>
    roomsOf(host).getByRole("listitem").filter({ hasText: name });
  // With the rules come marks and a button: nothing moves any more.
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
  await eventually(
    "it is the first",
    async () => (await orderOf(host))[0] === "Garden",
  );
  await eventually(
    "the server keeps it",
    async () => (await world.api.listRooms()).results[0]!.name === "Garden",
  );
  t.pass();
});

void t.test("modules, as forms and as JSON", async (t) => {
  const { world, host, ids } = await scene(t);
  await toEditor(host, "Garden");
  await host.button("Add a part").click();
  await host.page.getByRole("menuitem", { name: "Text", exact: true }).click();
  await host.page
    .getByRole("textbox", { name: "Text" })
    .fill("# Roses\n\nand *tulips*");
  const stored = async () =>
    JSON.stringify((await world.api.getRoom(ids.garden)).module_config);
  await save(host);
  t.match(await stored(), /Roses/);

  const module = host.page.getByRole("listitem").filter({
    has: host.page.getByRole("heading", { name: "Text", level: 3 }),
  });
  await module.getByRole("switch", { name: "Edit as JSON" }).click();
  const json = module.getByRole("textbox", { name: "JSON" });
  const text = await json.inputValue();
  t.match(text, /Roses/);
  await json.fill("{ not json");
  await eventually("it says what is wrong", async () =>
    /can’t be used/.test(await host.page.getByRole("main").innerText()),
  );
  await json.fill(text.replace("Roses", "Lilies"));
  await save(host);
  t.match(await stored(), /Lilies/);
});

void t.test("two hosts edit a room at the same time", async (t) => {
  const { world, host, ids } = await scene(t);
  host.watch.tolerate(/^412: /);
  await toEditor(host, "Garden");
  await host.field("Description").fill("Mine.");
  await world.api.updateRoom(ids.garden, { description: "Theirs." });
  await host.button("Save").click();
  await host.page
    .getByRole("alert")
    .filter({ hasText: "Someone changed this in the meantime." })
    .waitFor();
  t.equal((await world.api.getRoom(ids.garden)).description, "Theirs.");
  t.equal(await host.field("Description").inputValue(), "Mine.");
  await host.button("Show their version").click();
  await host.page.getByText("Theirs.").first().waitFor();
  await host.button("Load it").click();
  await eventually(
    "theirs is loaded",
    async () => (await host.field("Description").inputValue()) === "Theirs.",
  );
});

void t.test("what is typed while a save is answered stays", async (t) => {
  const { world, host, ids } = await scene(t);
  await toEditor(host, "Garden");
  const module = host.page.getByRole("listitem").filter({
    has: host.page.getByRole("heading", { name: "Chat", level: 3 }),
  });
  await module.getByRole("switch", { name: "Edit as JSON" }).click();
  const json = module.getByRole("textbox", { name: "JSON" });

  let answer = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  await host.page.route(`**/rooms/${ids.garden}/`, async (route) => {
    if (route.request().method() !== "PATCH") return route.continue();
    const response = await route.fetch();
    await answered;
    await route.fulfill({ response });
  });
  await host.field("Description").fill("Saved.");
  await host.button("Save").click();
  await eventually(
    "it is written",
    async () => (await world.api.getRoom(ids.garden)).description === "Saved.",
  );
  // What the save then reads is not what was sent.
  await world.api.updateRoom(ids.garden, { name: "Rose garden" });
  const typed = '{"type": "chat.native", "config": {"volat';
  await json.fill("");
  await json.pressSequentially(typed);
  answer();
  await host.heading("Rose garden").waitFor();
  t.equal(await json.inputValue(), typed);
  t.equal(
    await host.focused(),
    await json.evaluate(
      (it) => `${it.tagName} ${it.getAttribute("aria-label") ?? ""}`,
    ),
  );
  t.equal(await host.field("Name").inputValue(), "Rose garden");
  await json.pressSequentially('ile": false}, "more": 1');
  await json.press("Delete");
  await json.pressSequentially("}");
  t.equal(
    await json.inputValue(),
    `${typed}ile": false}, "more": 1}`,
    "text is left as it is typed",
  );
  await save(host);
  t.match((await world.api.getRoom(ids.garden)).module_config, [{ more: 1 }]);
  t.ok(await json.isVisible(), "JSON is still shown");
});

void t.test(
  "a change that would lock its author out is confirmed first",
  async (t) => {
    const { world, host, ids } = await scene(t);
    // It comes with the rules of the world, from which follows who is locked out.
    await host.button("Test access").waitFor();
    await toEditor(host, "Garden");
    const role = (name: string) =>
      host.page
        .getByRole("group", { name: "Open to" })
        .getByRole("checkbox", { name, exact: true });
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
  },
);

void t.test("what others would see", async (t) => {
  const { world, host } = await scene(t);
  await world.room("Backstage", undefined, {
    permission_config: { "room.view": [["speaker", "admin"]] },
  });
  await toRooms(host);
  await host.button("Test access").click();
  const sees = (pattern: RegExp) =>
    host.page.getByRole("status").filter({ hasText: pattern }).waitFor();
  await sees(/They see 3 rooms/);
  await host.button("Speaker").click();
  await sees(/They see 4 rooms/);
  t.pass();
});
