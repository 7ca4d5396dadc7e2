import { exportJWK, generateKeyPair } from "jose";
import type { Page } from "playwright-core";
import { Webhook } from "standardwebhooks";
import type { Test } from "tap";
import { keyOf, until } from "../support/helper.js";
import { startProvider } from "../support/provider.js";
import { browserKeys, pushService, receiver } from "../support/receiver.js";
import { say } from "./furnish.js";
import { type Bearer, Site, type Visitor, type World } from "./kit.js";
import t from "./tap.js";
import { nightly } from "./tap.js";

// The console's pages for webhooks and OpenID Connect providers.

const site = await Site.open(t, { WEBHOOK_ALLOW: "127.0.0.1" });

nightly("webhooks", async (t) => {
  const world = await site.world(t);
  const { got, url } = await receiver(t, 200, 410, 410, 200);
  const host = await world.host();
  host.watch.tolerate(/^400: /);
  const main = host.page.getByRole("main");
  await host.consoleNav.getByRole("link", { name: "Webhooks" }).click();
  await main.getByText("No webhooks").waitFor();

  // An invalid address shows the reason and keeps the input.
  await host.button("New webhook").click();
  await host.field("Address").fill("http://10.0.0.1/hook");
  await host.field("Description").fill("The shop");
  await host.page.getByLabel("Everything").uncheck();
  await host.button("Create webhook").click();
  await host.dialog().getByText("Choose at least one.").waitFor();
  await host.page.getByLabel("Rooms").check();
  await host.button("Create webhook").click();
  await host.dialog().getByText("Must begin with https://.").waitFor();
  await host.field("Address").fill(url);
  await host.button("Create webhook").click();
  const secrets = host.dialog("Secret of the webhook");
  const secret = await secrets.locator("output").innerText();
  t.match(secret, /^whsec_/);
  t.same(await host.faults(), []);
  await host.button("I have saved it").click();
  const card = main.getByRole("listitem").filter({ hasText: url });
  await card.getByText("The shop").waitFor();
  await card.getByText("room.*").waitFor();
  await card.getByText("On", { exact: true }).waitFor();

  // The first delivery succeeds; the receiver answers the next one with 410.
  await world.room("Stage");
  await until(() => got.length === 1);
  const [first] = got;
  new Webhook(secret).verify(first!.text, first!.headers as Record<string, string>);
  await card.getByText("200", { exact: true }).waitFor();
  await world.room("Hallway");
  await card.getByText("Disabled by the server").waitFor();
  await card.getByText(/gone permanently \(410\)/).waitFor();
  t.same(await host.faults(), []);
  await card.getByRole("button", { name: "Send a test" }).click();
  await host.page.getByText("The receiver is gone permanently").last().waitFor();
  await card.getByRole("button", { name: "Turn on again" }).click();
  await host.page.getByText("resumes where it stopped").waitFor();
  await card.getByText("On", { exact: true }).waitFor();
  await until(() => got.length === 4);

  await card.getByRole("button", { name: "Send again" }).click();
  await host.field("After change").fill("999999");
  await host.dialog().getByRole("button", { name: "Send again" }).click();
  await host.dialog().getByText("future cursor").waitFor();
  t.same(await host.faults(), []);
  await host.field("After change").fill("0");
  await host.dialog().getByRole("button", { name: "Send again" }).click();
  await host.page.getByText("is sending them again").waitFor();
  const id = (n: number) => got[n]?.headers["webhook-id"];
  await until(() => got.some((_, i) => i >= 4 && id(i) === id(0)));

  await card.getByRole("button", { name: "New secret" }).click();
  await host.dialog().getByRole("button", { name: "New secret" }).click();
  const other = await secrets.locator("output").innerText();
  t.not(other, secret);
  await host.button("I have saved it").click();
  await card.getByRole("button", { name: "Send a test" }).click();
  await host.page.getByText(/The test arrived: 200/).waitFor();
  const last = got.at(-1)!;
  new Webhook(other).verify(last.text, last.headers as Record<string, string>);

  // Saving the form keeps another host's concurrent changes.
  await card.getByRole("button", { name: "Edit" }).click();
  const read = await world.api.request("GET", "/webhooks/");
  const { results } = (await read.json()) as { results: { id: string }[] };
  const moved = "http://127.0.0.1:1/moved";
  await world.api.request("PATCH", `/webhooks/${results[0]!.id}/`, { url: moved });
  await host.field("Description").fill("The new shop");
  await host.page.getByLabel("Everything").check();
  await host.button("Save").click();
  const now = main.getByRole("listitem").filter({ hasText: moved });
  await now.getByText("The new shop").waitFor();
  await now.getByText("Everything").waitFor();

  // A failing webhook that a host turns off is not shown as disabled by the server.
  await world.room("Lobby");
  await now.getByText("Failing", { exact: true }).waitFor();
  await now.getByRole("button", { name: "Turn off" }).click();
  await now.getByText("Off", { exact: true }).waitFor();
  await now.getByRole("button", { name: "Delete" }).click();
  await host.dialog().getByRole("button", { name: "Delete" }).click();
  await main.getByText("No webhooks").waitFor();
});

nightly("providers to sign in with", async (t) => {
  const world = await site.world(t);
  const provider = await startProvider(t, [`${world.attend}sign-in/the-club/callback`]);
  const { publicKey } = await generateKeyPair("ES256");
  const key = await exportJWK(publicKey);
  // Two issuers share a name, as during a key rotation.
  const issuers = ["a", "b"].map((kid) => ({
    issuer: "https://shop.example",
    audience: "foyer",
    jwks: { keys: [{ ...key, kid }] },
  }));
  const { config } = await world.api.getWorld();
  const keys = { JWT_secrets: config.JWT_secrets };
  await world.api.updateWorld({ config: { theme: { kept: true }, JWT_issuers: issuers } });
  const host = await world.host();
  host.watch.tolerate(/^400: /);
  const main = host.page.getByRole("main");
  await host.consoleNav.getByRole("link", { name: "Sign-in" }).click();
  await main.getByText("No providers").waitFor();
  await main.getByText("https://shop.example").nth(1).waitFor();
  await host.button("New provider").click();
  await host.field("Name").fill("The Club");
  await host.field("Issuer").fill("https://10.0.0.1/");
  await host.field("Client ID").fill("foyer");
  await host.field("Client secret").fill("a-secret-of-the-client");
  await host.field("Traits of everyone").fill("attendee, member");
  const callback = `${world.attend}sign-in/the-club/callback`;
  await host.dialog().getByText(callback).waitFor();
  await host.button("Add provider").click();
  await host.dialog().getByText("Must have a public address").waitFor();
  t.same(await host.faults(), []);
  await host.field("Issuer").fill(provider.issuer);
  await host.button("Add provider").click();
  await main.getByText(callback).waitFor();
  t.same(await host.faults(), []);
  const saved = async () => (await world.api.getWorld()).config as Record<string, unknown>;
  const expected = {
    id: "the-club",
    name: "The Club",
    issuer: provider.issuer,
    client_id: "foyer",
    client_secret: "a-secret-of-the-client",
    traits: { always: ["attendee", "member"] },
  };
  t.match(await saved(), {
    ...keys,
    theme: { kept: true },
    JWT_issuers: issuers,
    oidc: [expected],
  });

  // Settings without a form field survive a save.
  const mapped = { ...expected.traits, claim: "groups", map: { a: ["b"] } };
  await world.api.updateWorld({ config: { oidc: [{ ...expected, traits: mapped }] } });
  await main.getByText("groups").waitFor();
  await host.button("Edit The Club").click();
  await host.field("Name").fill("Our club");
  await host.field("Traits of everyone").fill("attendee");
  await host.button("Save").click();
  await host.heading("Our club").waitFor();
  t.match(await saved(), {
    oidc: [
      {
        ...expected,
        name: "Our club",
        traits: { always: ["attendee"], claim: "groups", map: { a: ["b"] } },
      },
    ],
  });

  const visitor = await world.visitor();
  await visitor.page.goto(world.attend);
  await visitor.page.getByRole("link", { name: "Sign in with Our club" }).waitFor();
  await host.button("Remove Our club").click();
  await host.dialog().getByRole("button", { name: "Remove" }).click();
  await main.getByText("No providers").waitFor();
  t.same((await saved())["oidc"], []);
});

/** Creates a world whose users sign in at a provider that prompts for an account. */
async function signingIn(t: Test, overrides: object = {}) {
  const world = await site.world(t, overrides);
  const uri = (id: string) => `${world.attend}sign-in/${id}/callback`;
  const provider = await startProvider(t, [uri("sso"), uri("club")]);
  provider.account = undefined;
  const one = {
    id: "sso",
    name: "Example",
    issuer: provider.issuer,
    client_id: "foyer",
    client_secret: "a-secret-of-the-client",
    traits: { always: ["attendee"] },
  };
  const offer = (...oidc: object[]) =>
    site.server.app.store.worlds.update(world.id, {
      config: { JWT_secrets: [keyOf(world.id)], oidc: oidc as never },
    });
  await offer(one);
  return { world, provider, one, offer };
}

async function visit(world: World) {
  const visitor = await world.visitor();
  // Tolerates the provider's pages and the fonts that they load.
  visitor.watch.tolerate(/^request: /, /^failed: /, /^policy: /, /^console: /);
  return visitor;
}

nightly("an open event offers its providers beside the name", async (t) => {
  const { world, provider, one, offer } = await signingIn(t);
  const room = await world.room("Hallway");
  provider.claims = { name: "Ada Lovelace" };
  await offer(one, { ...one, id: "club", name: "the <club>" });
  const visitor = await visit(world);
  await visitor.page.goto(`${world.attend}#/rooms/${room}`);
  await visitor.button("Join").waitFor();
  const link = (name: string) => visitor.page.getByRole("link", { name });
  await link("Sign in with the <club>").waitFor();
  await link("Sign in with Example").click();
  await visitor.page.locator("input[name=login]").fill("ada");
  await visitor.page.locator("input[name=password]").fill("secret");
  await visitor.page.locator("[type=submit]").click();
  await visitor.page.locator("[type=submit]").click();
  await visitor.heading("Hallway").waitFor();
  t.notMatch(visitor.page.url(), /token|eyJ/);
  await visitor.say("Signed in.");
  await visitor.log.getByRole("article", { name: /Ada Lovelace/ }).waitFor();
});

nightly("a closed event leads to its only provider, once", async (t) => {
  const { world, one, offer } = await signingIn(t, {
    permission_config: { "world.view": ["attendee"] },
  });
  const visitor = await visit(world);
  const { page } = visitor;
  await page.goto(world.attend);
  await page.locator("input[name=login]").waitFor();
  await page.getByText("Cancel").click();
  await page.getByRole("alert").filter({ hasText: "The sign-in was not completed" }).waitFor();
  t.match(page.url(), `${world.attend}?sign-in=denied`);
  const link = page.getByRole("link", { name: "Sign in with Example" });
  await link.waitFor();
  await page.reload();
  await link.waitFor();
  await page.goto(world.attend);
  await link.waitFor();
  t.equal(page.url(), world.attend, "it waits for the person");

  await offer({ ...one, issuer: "http://127.0.0.1:1" });
  await page.goto(`${world.attend}sign-in/sso/`);
  await page.getByRole("alert").filter({ hasText: "isn’t responding" }).waitFor();

  await offer({ ...one, traits: {} });
  const other = await visit(world);
  await other.page.goto(world.attend);
  await other.page.locator("input[name=login]").fill("ada");
  await other.page.locator("input[name=password]").fill("secret");
  await other.page.locator("[type=submit]").click();
  await other.page.locator("[type=submit]").click();
  await other.heading("You have no access").waitFor();
  await other.page.reload();
  await other.heading("You have no access").waitFor();
  t.equal(new URL(other.page.url()).pathname, `/w/${world.id}/`);
});

nightly("a closed event with two providers asks", async (t) => {
  const { world, one, offer } = await signingIn(t, {
    permission_config: { "world.view": ["attendee"] },
  });
  await offer(one, { ...one, id: "club", name: "Club" });
  const visitor = await world.visitor({ locale: "de-DE" });
  await visitor.page.goto(world.attend);
  for (const name of ["Mit Example anmelden", "Mit Club anmelden"]) {
    await visitor.page.getByRole("link", { name }).waitFor();
  }
  t.equal(visitor.page.url(), world.attend);
});

// Web push against a local push service: the browser has no account with a real one.

const anna: Bearer = { uid: "anna", name: "Anna" };

/**
 * Lets a browser subscribe to the test's push service.
 * @returns a function that delivers a message like a push service.
 */
async function subscribable(visitor: Visitor, subscription: { endpoint: string; keys: object }) {
  await visitor.context.grantPermissions(["notifications"], { origin: site.baseUrl });
  await visitor.page.addInitScript((json) => {
    let options: PushSubscriptionOptionsInit | undefined;
    const given = () =>
      options && {
        options,
        toJSON: () => ({ ...json, expirationTime: null }),
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
    await devtools.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
  };
}

const shownIn = (page: Page) =>
  page.evaluate(async () => {
    const { ready } = navigator.serviceWorker;
    return (await (await ready).getNotifications()).map((it) => ({
      title: it.title,
      body: it.body,
      tag: it.tag,
    }));
  });

nightly("a message arrives while the page is not seen", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const [service, phone] = [await pushService(t), browserKeys()];
  const visitor = await world.visitor({ hasWorker: true });
  const { page } = visitor;
  const deliver = await subscribable(visitor, {
    endpoint: `${service.base}/anna`,
    keys: phone.keys,
  });
  await page.goto(world.link(anna));
  await visitor.arrived();
  await page.evaluate(() => (location.hash = "#/profile"));
  await visitor.button("Turn on notifications").click();
  await page.getByText("Notifications are on in this browser.").waitFor();

  const eve = await world.live({ uid: "eve", name: "Eve" });
  const { results } = await eve.call("user.list.search", { search_term: "Anna", page: 1 });
  const { id: channel } = await eve.call("chat.direct.create", { users: [results[0]!.id] });
  await say(eve, channel, "Hello");
  await until(() => service.got.length === 1);
  const sent = phone.read(service.got[0]!.body);
  t.match(sent, { title: "Eve", body: "Hello" });

  await deliver(JSON.stringify(sent));
  await deliver(JSON.stringify({ ...sent, title: "Maps", tag: "session 1" }));
  await until(async () => (await shownIn(page)).some(({ title }) => title === "Maps"));
  t.equal((await shownIn(page)).length, 1, "the page tells of the message");

  await page.evaluate(() => (location.hash = "#/profile"));
  await visitor.button("Turn off notifications").click();
  await visitor.button("Turn on notifications").waitFor();
});

nightly("the page opens without a network", async (t) => {
  const world = await site.world(t);
  await world.room("Hallway");
  const visitor = await world.visitor({ hasWorker: true });
  const { page, context } = visitor;
  await page.goto(world.link(anna));
  await visitor.arrived();
  const kept = () =>
    page.evaluate(async () => {
      const [name] = await caches.keys();
      if (name === undefined) return [];
      const files = await (await caches.open(name)).keys();
      return files.map(({ url }) => new URL(url).pathname);
    });
  await until(async () => {
    const files = await kept();
    return files.includes(`/w/${world.id}/`) && files.length > 5;
  });
  t.same(
    (await kept()).filter((it) => !/^\/w\/\w+\/$|^\/web\/[\w-]+\.\w+$/.test(it)),
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
