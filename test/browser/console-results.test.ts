import { readFile } from "node:fs/promises";
import { allModules, eventually, Site } from "./kit.js";
import t from "./tap.js";

const site = await Site.open(t);

void t.test("results as files and charts, and the history", async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Stage", allModules);
  await world.room("Hallway");
  const ada = await world.live({ uid: "ada", name: "=Ada" });
  await ada.call("room.enter", { room: stage });
  await ada.call("chat.join", { channel: stage });
  for (const body of ["One", "Two"]) {
    await ada.call("chat.send", {
      channel: stage,
      event_type: "channel.message",
      content: { type: "text", body },
    });
  }
  await ada.call("question.ask", { room: stage, content: "Why?" });
  const host = await world.host();
  const main = host.page.getByRole("main");

  // The overview counts them, and leads to the question that waits.
  const figures = main.getByRole("region", { name: "At a glance" });
  await figures.getByRole("link", { name: "2", exact: true }).first().waitFor();
  const waiting = figures.locator(`a[href$="${stage}/host"]`);
  await eventually("a question waits", async () => {
    return (await waiting.count()) === 1;
  });

  await host.consoleNav.getByRole("link", { name: "Results" }).click();
  const chart = (title: string) =>
    main.getByRole("figure").filter({ hasText: title });
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
    t.equal(
      file.suggestedFilename(),
      `${world.id}-${what.toLowerCase()}.${format.toLowerCase()}`,
    );
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
  await eventually("it is kept", async () => {
    const { config } = await world.api.getWorld();
    return (config as { attendance?: string }).attendance === "people";
  });

  await host.consoleNav.getByRole("link", { name: "History" }).click();
  const entries = main.getByRole("listitem");
  await entries.filter({ hasText: "Changed: Attendance" }).waitFor();
  // The charts are no download.
  t.equal(await entries.filter({ hasText: "downloaded results" }).count(), 4);
  await main.getByLabel("About").selectOption("Results");
  await entries
    .filter({ hasText: "changed the event" })
    .waitFor({ state: "detached" });
  await main.getByLabel("By", { exact: true }).selectOption("Host");
  await entries.filter({ hasText: /people · csv/ }).waitFor();
});
