import type { Page } from "playwright-core";
import { browserKeys, pushService } from "../push-service.js";
import { until } from "../helper.js";
import { type Bearer, eventually, Site, type Visitor } from "./kit.js";
import t from "./tap.js";

// Web push, against a push service of this test: the browser has no account at a real one.

const site = await Site.open(t, { WEBHOOK_ALLOW: "127.0.0.1" });
const anna: Bearer = { uid: "anna", name: "Anna" };

/**
 * Lets a browser subscribe at the service of this test.
 * @returns delivers a message as a push service does.
 */
async function subscribable(
  visitor: Visitor,
  subscription: { endpoint: string; keys: object },
) {
  await visitor.context.grantPermissions(["notifications"], {
    origin: site.baseUrl,
  });
  await visitor.page.addInitScript((json) => {
    let options: PushSubscriptionOptionsInit | undefined;
    const given = () =>
      options && {
        ...{ options, toJSON: () => ({ ...json, expirationTime: null }) },
        unsubscribe: async () => {
          options = undefined;
          return true;
        },
      };
    PushManager.prototype.subscribe = async (asked) => {
      options = asked;
      return given() as unknown as PushSubscription;
    };
    PushManager.prototype.getSubscription = async () =>
      (given() ?? null) as PushSubscription | null;
  }, subscription);
  const devtools = await visitor.context.newCDPSession(visitor.page);
  let registrationId = "";
  devtools.on("ServiceWorker.workerRegistrationUpdated", (event) => {
    registrationId = event.registrations[0]?.registrationId ?? "";
  });
  await devtools.send("ServiceWorker.enable");
  return async (data: string) => {
    await until(() => registrationId !== "");
    const origin = site.baseUrl;
    await devtools.send("ServiceWorker.deliverPushMessage", {
      ...{ origin, registrationId, data },
    });
  };
}

const shownIn = (page: Page) =>
  page.evaluate(async () => {
    const { ready } = navigator.serviceWorker;
    return (await (await ready).getNotifications()).map((it) => ({
      ...{ title: it.title, body: it.body, tag: it.tag },
    }));
  });

void t.test("a message arrives while the page is not seen", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const [service, phone] = [await pushService(t), browserKeys()];
  const visitor = await world.visitor({ hasWorker: true });
  const { page } = visitor;
  const deliver = await subscribable(visitor, {
    endpoint: `${service.base}/anna`,
    keys: phone.keys,
  });
  await page.goto(`${world.attend}#token=${world.token(anna)}`);
  await visitor.arrived();
  await page.evaluate(() => (location.hash = "#/profile"));
  await visitor.button("Turn on notifications").click();
  await page.getByText("Notifications are on in this browser.").waitFor();

  const eve = await world.live({ uid: "eve", name: "Eve" });
  const { results } = await eve.call("user.list.search", {
    ...{ search_term: "Anna", page: 1 },
  });
  const { id: channel } = await eve.call("chat.direct.create", {
    users: [results[0]!.id],
  });
  await eve.call("chat.send", {
    ...{ channel, event_type: "channel.message" },
    content: { type: "text", body: "Hello" },
  });
  await until(() => service.got.length === 1);
  const sent = phone.read(service.got[0]!.body);
  t.match(sent, { title: "Eve", body: "Hello" });

  await deliver(JSON.stringify(sent));
  await deliver(JSON.stringify({ ...sent, title: "Maps", tag: "session 1" }));
  await eventually("a session that begins is shown beside the page", async () =>
    (await shownIn(page)).some(({ title }) => title === "Maps"),
  );
  t.equal((await shownIn(page)).length, 1, "the page tells of the message");

  await page.evaluate(() => (location.hash = "#/profile"));
  await visitor.button("Turn off notifications").click();
  await visitor.button("Turn on notifications").waitFor();
});

void t.test("the page opens without a network", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const visitor = await world.visitor({ hasWorker: true });
  const { page, context } = visitor;
  await page.goto(`${world.attend}#token=${world.token(anna)}`);
  await visitor.arrived();
  const kept = () =>
    page.evaluate(async () => {
      const [name] = await caches.keys();
      if (name === undefined) return [];
      const files = await (await caches.open(name)).keys();
      return files.map(({ url }) => new URL(url).pathname);
    });
  await eventually("the shell is kept", async () => {
    const files = await kept();
    return files.includes(`/w/${world.id}/`) && files.length > 5;
  });
  t.same(
    (await kept()).filter(
      (it) => !/^\/w\/\w+\/$|^\/web\/[\w-]+\.\w+$/.test(it),
    ),
    [],
    "and nothing else",
  );
  visitor.watch.tolerate(/ERR_INTERNET_DISCONNECTED|WebSocket/);
  await context.setOffline(true);
  await page.reload();
  await page
    .getByText(/offline/i)
    .first()
    .waitFor();
  await context.setOffline(false);
  await visitor.arrived();
});
