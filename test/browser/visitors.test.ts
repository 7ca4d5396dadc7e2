import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import { DEMO } from "../../cli/demo/demo.js";
import { Live } from "../../client/index.js";
import type { ServerProcess } from "../support/helper.js";
import { startServer } from "../support/server.js";
import { shortFolder } from "../support/testdir.js";
import { until } from "../support/helper.js";
import { say } from "./furnish.js";
import { Site, textsOf, Visitor } from "./kit.js";
import t, { nightly, test } from "./tap.js";

const site = await Site.open(t);

nightly("a link with a token", async (t) => {
  const world = await site.world(t);
  const hallway = await world.room("Hallway");
  await world.room("Garden", undefined, { sorting_priority: -1 });
  const visitor = await world.visitor();
  await visitor.page.goto(world.link({ uid: "anna", name: "Anna" }, hallway));
  await visitor.heading("Hallway").waitFor();
  t.notMatch(visitor.page.url(), /token|eyJ/, "it leaves the address bar");
  const entries = await visitor.page.evaluate(() => history.length);
  await visitor.say("Here by link.");
  await visitor.log.getByRole("article", { name: /Anna/ }).waitFor();
  await visitor.page.goBack().catch(() => null);
  t.notMatch(visitor.page.url(), /token/, "nor is it in the history");
  t.ok(entries <= 2);

  await visitor.page.goto(world.attend);
  await visitor.rooms.waitFor();
  t.equal(await visitor.button("Join").count(), 0, "it is kept");
  await visitor.page.getByRole("link", { name: /^Profile/ }).click();
  await visitor.button("Sign out").click();
  await visitor.button("Sign out anyway").click();
  await visitor.button("Join").waitFor();
});

nightly("a token that is worth nothing", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  for (const [name, token] of Object.entries({
    expired: world.token({ uid: "anna", seconds: -60 }),
    garbled: "a.b.c",
  })) {
    const visitor = await world.visitor();
    await visitor.page.goto(`${world.attend}#token=${token}`);
    const said = visitor.page
      .getByRole("alert")
      .or(visitor.page.getByRole("heading"))
      .filter({ hasText: /link|token|sign|expired|invalid/i });
    await said.first().waitFor();
    t.notMatch(visitor.page.url(), /token/, name);
  }
});

nightly("a world that guests may not see", async (t) => {
  const world = await site.world(t, {
    permission_config: { "world.view": ["attendee"] },
    title: "A secret title",
  });
  const visitor = await world.visitor();
  await visitor.page.goto(world.attend);
  await visitor.heading("You have no access").waitFor();
  t.equal(await visitor.button("Join").count(), 0, "no guest can join by name");
  t.notMatch(await visitor.page.content(), /A secret title/);
});

nightly("addresses that lead nowhere", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const anna = await world.guest("Anna");
  for (const [route, heading] of [
    ["rooms/nowhere", "This room is not open"],
    ["messages/nobody", "This conversation isn’t here"],
    ["what/is/this", "Hallway"],
  ] as const) {
    await anna.page.goto(`${world.attend}#/${route}`);
    await anna.page.getByRole("heading", { name: heading, level: 1 }).waitFor();
  }
  const stranger = await world.visitor();
  stranger.watch.tolerate(/^404: GET /);
  const answer = await stranger.page.goto(`${site.baseUrl}/w/none/`);
  await stranger.heading("There is no event here").waitFor();
  t.equal(answer!.status(), 404);
});

/** Waits until the browser shows an error page instead of the frame. */
const isBlocked = ({ page }: Visitor): Promise<unknown> =>
  until(() => page.frames().some((frame) => frame.url().startsWith("chrome-error:")));

/** Starts another site whose page embeds a URL in a frame. */
async function framing(t: Test) {
  const site = { origin: "", target: "" };
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(
      `<!doctype html><html lang=en><title>Elsewhere</title><iframe title=framed width=400 height=600 src="${site.target}"></iframe>`,
    );
  });
  t.teardown(() => server.close());
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  site.origin = `http://127.0.0.1:${port}`;
  return site;
}

nightly("in a frame of another site", async (t) => {
  // The server needs the embedding site's origin at startup.
  const elsewhere = await framing(t);
  const { origin } = elsewhere;
  const open = await Site.open(t, { EMBED_ORIGINS: origin }, site.browser());
  const world = await open.world(t);
  const room = await world.room("Hallway");

  await t.test("that EMBED_ORIGINS names", async (t) => {
    elsewhere.target = `${world.attend}?embed=1&room=${room}`;
    const visitor = await world.during(t).visitor();
    visitor.watch.tolerate(/^request: /);
    await visitor.page.goto(origin);
    const frame = visitor.page.frameLocator("iframe");
    await frame.getByRole("textbox", { name: "Your name" }).fill("Fay");
    await frame.getByRole("button", { name: "Join" }).click();
    await frame.getByRole("heading", { name: "Hallway", level: 1 }).waitFor();
    t.equal(
      await frame.getByRole("navigation", { name: "Rooms" }).count(),
      0,
      "there is nothing around the room",
    );
  });

  await t.test("the console is never framed", async (t) => {
    elsewhere.target = world.console;
    const visitor = await world.during(t).visitor();
    visitor.watch.tolerate(/^request: /, /frame-ancestors|ERR_BLOCKED|chrome-error/);
    await visitor.page.goto(origin);
    await isBlocked(visitor);
    const frame = visitor.page.frameLocator("iframe");
    t.equal(await frame.getByRole("textbox", { name: "Token" }).count(), 0);
  });

  await t.test("an unknown address", async (t) => {
    const world = await site.world(t);
    const room = await world.room("Hallway");
    elsewhere.target = `${world.attend}?embed=1&room=${room}`;
    const visitor = await world.visitor();
    visitor.watch.tolerate(/^request: /, /frame-ancestors|ERR_BLOCKED|chrome-error/);
    await visitor.page.goto(origin);
    await isBlocked(visitor);
    const frame = visitor.page.frameLocator("iframe");
    t.equal(await frame.getByRole("textbox", { name: "Your name" }).count(), 0);
  });
});

nightly("in German", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const visitor = await world.visitor({ locale: "de-AT" });
  const { page } = visitor;
  await page.goto(world.attend);
  await page
    .getByRole("textbox", { name: "Dein Name" })
    .or(page.getByRole("textbox", { name: "Ihr Name" }))
    .fill("Jürgen");
  await page.getByRole("main").getByRole("button").first().click();
  await page.getByRole("link", { name: /^Hallway/ }).click();
  await page.getByRole("heading", { name: "Hallway" }).waitFor();
  t.equal(await page.locator("html").getAttribute("lang"), "de");
  const words = await page.locator("body").innerText();
  t.notMatch(words, /\b(Send|Messages|Profile|Join|Loading)\b/, "nothing is left in English");
  await page.getByRole("link", { name: /^Profil/ }).click();
  const select = page.getByRole("combobox", { name: "Sprache" });
  await select.selectOption({ label: "English" });
  await page.getByRole("heading", { name: "Profile" }).waitFor();
  t.equal(await page.locator("html").getAttribute("lang"), "en");
  await page.reload();
  await page.getByRole("heading", { name: "Profile" }).waitFor();
});

test("a reload keeps the identity, and the typed text", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  await world.room("Garden");
  const anna = await world.guest("Anna");
  await anna.enter("Hallway");
  await anna.say("Hello.");
  await anna.message.fill("Not yet sen");
  await anna.message.press("t");
  await anna.page.reload();
  await anna.heading("Hallway").waitFor();
  await until(async () => (await anna.message.inputValue()) === "Not yet sent");
  await anna.enter("Garden");
  t.equal(await anna.message.inputValue(), "", "each room has its own");
  await anna.enter("Hallway");
  await anna.message.press("Enter");
  const last = anna.log.getByRole("article", { name: /Anna/ });
  await until(async () => (await last.count()) === 2);
  t.equal(await anna.page.getByRole("button", { name: "Join" }).count(), 0);
});

/** The status that reports a lost connection. */
const trouble = ({ page }: Visitor, text: string | RegExp) =>
  page.getByRole("status").filter({ hasText: text });

/** Waits until the page reconnects, clicking "Try now" whenever it is shown. */
const comesBack = (visitor: Visitor): Promise<unknown> =>
  until(async () => {
    const button = visitor.button("Try now");
    if (await button.isVisible()) {
      await button.click({ timeout: 1000 }).catch(() => {});
    }
    return (await trouble(visitor, /answering|offline|Connecting/).count()) === 0;
  });

async function stop(server: ServerProcess): Promise<void> {
  server.signal("SIGTERM");
  await server.finished;
}

test("the server goes and comes back", async (t) => {
  const dataDir = shortFolder(t);
  const start = async (env: Record<string, string>, ...args: string[]) =>
    (await startServer(t, { processes: 1, dataDir, env, args })).processes[0]!;
  let server = await start({}, "--demo");
  const { address, port } = server;
  const api = `${address}/api/v1/worlds/${DEMO}/rooms/?search=Hallway`;
  const headers = { authorization: `Bearer ${server.token}` };
  const { results } = (await (await fetch(api, { headers })).json()) as {
    results: { id: string }[];
  };
  const hallway = results[0]!.id;

  const visit = async (name: string) => {
    const visitor = await Visitor.open(t, await site.browser(), address);
    visitor.watch.tolerate(/ERR_CONNECTION_REFUSED/, /WebSocket/);
    await visitor.page.goto(address);
    await visitor.join(name);
    await visitor.enter("Hallway");
    return visitor;
  };
  const anna = await visit("Anna");
  const ben = await visit("Ben");
  await anna.say("First.");
  await ben.post("First.").waitFor();
  await ben.message.fill("I was just writing");

  await stop(server);
  for (const visitor of [anna, ben]) {
    await trouble(visitor, /The server isn’t answering/).waitFor();
  }
  t.equal(await ben.post("First.").count(), 1, "what was there stays");

  // The server is up again, with new messages, before the pages reconnect.
  server = await start({ PORT: String(port) });
  t.equal(server.port, port);
  const other = new Live({ baseUrl: address, world: DEMO, clientId: "other" });
  t.teardown(() => other.close());
  await other.connected();
  await other.call("user.update", { profile: { display_name: "Otto" } });
  await other.call("chat.join", { channel: hallway });
  const numbers = Array.from({ length: 12 }, (_, i) => i + 1);
  for (const n of numbers) await say(other, hallway, `Missed ${n}.`);

  await comesBack(anna);
  for (const visitor of [anna, ben]) {
    await trouble(visitor, /The server isn’t answering/).waitFor({ state: "detached" });
    await visitor.post("Missed 12.").waitFor();
    const texts = await textsOf(visitor.log.getByRole("article"));
    const missed = texts.flatMap((text) => /Missed (\d+)\./.exec(text)?.[1] ?? []);
    t.same(missed.map(Number), numbers, "each once, in order");
    t.equal(await visitor.post("First.").count(), 1);
  }
  t.equal(await ben.message.inputValue(), "I was just writing");
  await ben.message.press("Enter");
  await anna.post("I was just writing").waitFor();
  t.equal(await anna.post("I was just writing").count(), 1);
});

for (const name of ["attend", "console"] as const) {
  test(`${name} connects at once when its user comes back`, async (t) => {
    const world = await site.world(t);
    const visitor = await world.visitor();
    const { page } = visitor;
    let attempts = 0;
    let isUp = true;
    let drop: () => unknown = () => {};
    await page.routeWebSocket(/\/ws\//, (socket) => {
      attempts++;
      if (!isUp) return void socket.close();
      drop = () => socket.close();
      socket.connectToServer();
    });
    await page.clock.install();
    const token = world.token({ uid: "host", name: "Host", traits: ["admin", "api"] });
    await page.goto(`${world[name]}#token=${token}`);
    await visitor.rooms.or(visitor.consoleNav).waitFor();
    // From here on, no timer fires.
    await page.clock.pauseAt(Date.now() + 60_000);
    isUp = false;
    drop();

    for (const [event, target] of [
      ["online", "window"],
      ["focus", "window"],
      ["visibilitychange", "document"],
    ] as const) {
      const before = attempts;
      await until(async () => {
        // The page may not have noticed yet that the last attempt failed.
        await page.evaluate(
          ([event, target]) => globalThis[target].dispatchEvent(new Event(event)),
          [event, target] as const,
        );
        return attempts > before;
      });
    }
  });
}

// Data that one user could leak to another: on a shared computer, in a text, by a link.

const world = await site.world(t);
await world.room("Hall", [{ type: "chat.native", config: { volatile: false } }]);

nightly("who signs out leaves nothing to the next", async (t) => {
  const visitor = await world.during(t).guest("Ada");
  const { page } = visitor;
  await visitor.enter("Hall");
  await visitor.message.fill("a private draft");
  await page.goto("about:blank");
  await page.goto(world.link({ uid: "ada", name: "Ada L." }));
  await visitor.rooms.waitFor();
  await visitor.enter("Hall");
  await visitor.message.fill("nor this");
  await page.getByRole("link", { name: "Profile" }).click();
  await visitor.button("Sign out").click();
  await visitor.button("Sign out anyway").click();

  await visitor.join("Eve");
  const kept = await page.evaluate(() => JSON.stringify(localStorage));
  t.notMatch(kept, /a private draft|nor this|token/);
  await page.getByRole("link", { name: "Profile" }).click();
  t.equal(await visitor.field("Your name").inputValue(), "Eve");
  await visitor.enter("Hall");
  t.equal(await visitor.message.inputValue(), "");
});

nightly("the player plays for the pages around it only", async (t) => {
  const { page } = await world.during(t).visitor();
  await page.goto(`${world.baseUrl}/web/player.html#src=https%3A%2F%2Fevil.example%2Fa.mp4`);
  await page.getByText("No stream yet").waitFor();
  t.equal(await page.locator("video").count(), 0);
});

nightly("a text that is nested too deep breaks no room", async (t) => {
  const deep = "> ".repeat(5000);
  await world.room("Deep", [{ type: "chat.native", config: {} }], {
    description: `${deep} the end`,
  });
  const visitor = await world.during(t).guest("Bob");
  await visitor.enter("Deep");
  const body = visitor.page.locator("body");
  await until(async () => (await body.innerText()).includes("> > >"));
  await visitor.say("still here");
});
