import type { Test } from "tap";
import { Live } from "../../client/index.js";
import { DEMO } from "../../cli/demo/demo.js";
import { startFoyer, type ServerProcess } from "../helper.js";
import { testdir } from "../testdir.js";
import { say } from "./furnish.js";
import { eventually, openBrowser, Site, textsOf, Visitor } from "./kit.js";
import t from "./tap.js";

const browser = await openBrowser(t);

void t.test("a reload keeps the identity, and the typed text", async (t) => {
  const site = await Site.open(t);
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
  await eventually(
    "the draft is back",
    async () => (await anna.message.inputValue()) === "Not yet sent",
  );
  await anna.enter("Garden");
  t.equal(await anna.message.inputValue(), "", "each room has its own");
  await anna.enter("Hallway");
  await anna.message.press("Enter");
  const last = anna.log.getByRole("article", { name: /Anna/ });
  await eventually("both are Anna's", async () => (await last.count()) === 2);
  t.equal(await anna.page.getByRole("button", { name: "Join" }).count(), 0);
});

/** What says that there is no connection. */
const trouble = ({ page }: Visitor, text: string | RegExp) =>
  page.getByRole("status").filter({ hasText: text });

/** Has a page try to connect, unless it does so by itself, until it has. */
const comesBack = (visitor: Visitor): Promise<void> =>
  eventually("the page is back", async () => {
    const button = visitor.button("Try now");
    if (await button.isVisible()) {
      await button.click({ timeout: 1000 }).catch(() => {});
    }
    return (
      (await trouble(visitor, /answering|offline|Connecting/).count()) === 0
    );
  });

async function stop(server: ServerProcess): Promise<void> {
  server.signal("SIGTERM");
  await server.finished;
}

void t.test("the server goes and comes back", async (t: Test) => {
  const dataDir = testdir(t);
  let server = await startFoyer(t, dataDir, ["--demo"]);
  const { address, port } = server;
  const env = { PORT: String(port) };
  const api = `${address}/api/v1/worlds/${DEMO}/rooms/?search=Hallway`;
  const headers = { authorization: `Bearer ${server.token}` };
  const { results } = (await (await fetch(api, { headers })).json()) as {
    results: { id: string }[];
  };
  const hallway = results[0]!.id;

  const visit = async (name: string) => {
    const visitor = await Visitor.open(t, browser, address);
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

  // Back, and busy, before the pages are.
  server = await startFoyer(t, dataDir, [], env);
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
    await trouble(visitor, /The server isn’t answering/).waitFor({
      state: "detached",
    });
    await visitor.post("Missed 12.").waitFor();
    const texts = await textsOf(visitor.log.getByRole("article"));
    const missed = texts.flatMap(
      (text) => /Missed (\d+)\./.exec(text)?.[1] ?? [],
    );
    t.same(missed.map(Number), numbers, "each once, in order");
    t.equal(await visitor.post("First.").count(), 1);
  }
  t.equal(await ben.message.inputValue(), "I was just writing");
  await ben.message.press("Enter");
  await anna.post("I was just writing").waitFor();
  t.equal(await anna.post("I was just writing").count(), 1);
});

for (const name of ["attend", "console"] as const) {
  void t.test(
    `${name} connects at once when its user comes back`,
    async (t) => {
      const site = await Site.open(t, {}, browser);
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
      const token = world.token({
        uid: "host",
        name: "Host",
        traits: ["admin", "api"],
      });
      await page.goto(`${world[name]}#token=${token}`);
      await visitor.rooms.or(visitor.consoleNav).waitFor();
      // From now on, no wait ends by itself.
      await page.clock.pauseAt(Date.now() + 60_000);
      isUp = false;
      drop();

      for (const [event, target] of [
        ["online", "window"],
        ["focus", "window"],
        ["visibilitychange", "document"],
      ] as const) {
        const before = attempts;
        await eventually(`${event} leads to an attempt`, async () => {
          // The page may not know yet that the last one failed.
          await page.evaluate(
            ([event, target]) =>
              globalThis[target].dispatchEvent(new Event(event)),
            [event, target] as const,
          );
          return attempts > before;
        });
      }
    },
  );
}
