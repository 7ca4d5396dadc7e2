import { type Browser, firefox } from "playwright-core";
import { until } from "../support/helper.js";
import { findFirefox } from "./chromium.js";
import { allModules, type Lifetime, LIMIT, Site } from "./kit.js";
import t from "./tap.js";

// The main flows in Firefox: join, chat, ask, vote, the console, a screen. The same faults fail a
// test as in Chromium: errors, requests to other hosts, policy violations.

const skip = findFirefox() === undefined && "there is no firefox-esr: set FIREFOX";
const site = await Site.open(t, {}, skip ? undefined : openFirefox(t));
const phone = { viewport: { width: 390, height: 664 } };

void t.test("two people talk, ask and vote", { skip }, async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const mona = await world.live({ uid: "mona", traits: ["moderator"] });
  const [anna, ben] = [await world.guest("Anna", phone), await world.guest("Ben")];
  await anna.say("Hello from Firefox.");
  await ben.post("Hello from Firefox.").waitFor();
  await ben.say("And back!");
  await anna.post("And back!").waitFor();

  for (const visitor of [anna, ben]) await visitor.tab("Questions").click();
  await anna.field("Your question").fill("Is there tea?");
  await anna.button("Ask").click();
  let id = "";
  await until(async () => {
    const [question] = await mona.call("question.list", { room: stage });
    id = question?.id ?? "";
    return id !== "";
  });
  await mona.call("question.update", { room: stage, id, state: "visible" });
  const asked = ben.page.getByRole("article").filter({ hasText: "tea" });
  await asked.getByRole("button", { name: /^Vote/ }).click();
  const { page } = ben;
  await page.locator("article [aria-pressed=true]").first().waitFor();

  await mona.call("poll.create", {
    room: stage,
    content: "Tea or coffee?",
    poll_type: "choice",
    state: "open",
    options: [{ content: "Tea" }, { content: "Coffee" }],
  });
  for (const visitor of [anna, ben]) {
    await visitor.tab("Polls").click();
    const { page } = visitor;
    const poll = page.getByRole("article", { name: "Tea or coffee?" });
    await poll.getByRole("button", { name: /^Tea/ }).click();
  }
  await until(async () => {
    const [poll] = await mona.call("poll.list", { room: stage });
    return Object.values(poll?.results ?? {}).some((n) => n === 2);
  });
  for (const visitor of [anna, ben]) t.equal(await visitor.overflow(), 0);
  await anna.tab("Chat").click();
  const field = await anna.message.boundingBox();
  t.ok(field!.y + field!.height <= phone.viewport.height, "in sight");
});

void t.test("an event is run from the console", { skip }, async (t) => {
  const world = await site.world(t);
  await world.room("Main stage", allModules);
  const host = await world.host();
  const { page } = host;
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await host.consoleNav.getByRole("link", { name: "Look" }).click();
  await host.field("Title").fill("A day of maps");
  await host.button("Save").click();
  await page.getByText("Saved").first().waitFor();
  await until(async () => (await world.api.getWorld()).title === "A day of maps");
  const names = [
    "Program",
    "Rooms",
    "Invite",
    "Roles",
    "People",
    "Announcements",
    "Results",
    "Activity",
    "History",
    "Keys",
  ];
  for (const name of names) {
    await host.consoleNav.getByRole("link", { name, exact: true }).click();
    await page.getByRole("heading", { name, level: 1 }).waitFor();
    await page.waitForLoadState("networkidle");
    t.equal(await host.overflow(), 0, name);
  }
});

void t.test("a screen in the hall", { skip }, async (t) => {
  const world = await site.world(t);
  const stage = await world.room("Main stage", allModules);
  const visitor = await world.visitor();
  const token = world.token({ uid: "screen", name: "Screen" });
  const address = `${world.attend}?screen=welcome&room=${stage}`;
  await visitor.page.goto(`${address}#token=${token}`);
  await visitor.page.getByRole("img", { name: "Scan to take part" }).waitFor();
  t.equal(await visitor.overflow(), 0);
});

/** Internal WebDriver BiDi connection of playwright-core, which has no public API for it. */
interface Connection {
  send: (method: string, params?: unknown) => Promise<unknown>;
}

/** Not supported by Debian's Firefox yet. Its failure is ignored, so the color scheme stays as is. */
const NEWER = "emulation.setMediaFeaturesOverride";

/** Starts the system's Firefox over WebDriver BiDi. It is closed at the end of the test. */
async function openFirefox(t: Lifetime): Promise<Browser> {
  const executablePath = findFirefox();
  if (executablePath === undefined) throw new Error("There is no Firefox.");
  const browser = await firefox.launch({
    executablePath,
    channel: "moz-firefox",
    timeout: 4 * LIMIT,
    // Blocks requests to other hosts.
    firefoxUserPrefs: {
      "network.proxy.type": 1,
      "network.proxy.http": "127.0.0.1",
      "network.proxy.http_port": 9,
      "network.proxy.ssl": "127.0.0.1",
      "network.proxy.ssl_port": 9,
      "network.proxy.no_proxies_on": "127.0.0.1",
    },
  });
  t.teardown(() => browser.close());
  const inner = browser as unknown as {
    _connection: {
      toImpl(of: unknown): { _browserSession: Connection };
    };
  };
  const session = inner._connection.toImpl(browser)._browserSession;
  const connection = Object.getPrototypeOf(session) as Connection;
  const { send } = connection;
  connection.send = async function (this: Connection, method, params) {
    try {
      return await send.call(this, method, params);
    } catch (error) {
      if (method !== NEWER) throw error;
      return {};
    }
  };
  return browser;
}
