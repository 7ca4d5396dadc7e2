import { exportJWK, generateKeyPair } from "jose";
import { Webhook } from "standardwebhooks";
import { receiver } from "../integrate/receivers.js";
import { startProvider } from "../integrate/provider.js";
import { axe } from "./axe.js";
import { eventually, Site, type Visitor } from "./kit.js";
import t from "./tap.js";

// The pages of the console for webhooks and for providers of OpenID Connect.

const site = await Site.open(t, { WEBHOOK_ALLOW: "127.0.0.1" });

/** Whether the page, in both color schemes, is free of violations. */
async function isClean(t: { same: typeof import("tap").same }, it: Visitor) {
  for (const colorScheme of ["dark", "light"] as const) {
    await it.page.emulateMedia({ colorScheme });
    t.same(await axe(it.page), [], `axe, ${colorScheme}`);
  }
}

void t.test("webhooks", async (t) => {
  const world = await site.world(t);
  const { got, url } = await receiver(t, 200, 410, 410, 200);
  const host = await world.host();
  host.watch.tolerate(/^400: /);
  const main = host.page.getByRole("main");
  await host.consoleNav.getByRole("link", { name: "Webhooks" }).click();
  await main.getByText("No webhooks").waitFor();

  // A wrong address says why, and nothing that was typed is lost.
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
  await isClean(t, host);
  await host.button("I have saved it").click();
  const card = main.getByRole("listitem").filter({ hasText: url });
  await card.getByText("The shop").waitFor();
  await card.getByText("room.*").waitFor();
  await card.getByText("On", { exact: true }).waitFor();

  // Deliveries: one arrives, and after the next one the receiver is gone.
  await world.room("Stage");
  await eventually("it arrives", () => got.length === 1);
  const [first] = got;
  new Webhook(secret).verify(
    first!.text,
    first!.headers as Record<string, string>,
  );
  await card.getByText("200", { exact: true }).waitFor();
  await world.room("Hallway");
  await card.getByText("Disabled by the server").waitFor();
  await card.getByText(/gone for good \(410\)/).waitFor();
  await isClean(t, host);
  await card.getByRole("button", { name: "Send a test" }).click();
  await host.page.getByText("The receiver is gone for good").last().waitFor();
  await card.getByRole("button", { name: "Turn on again" }).click();
  await host.page.getByText("goes on where it stopped").waitFor();
  await card.getByText("On", { exact: true }).waitFor();
  await eventually("what was missed arrives", () => got.length === 4);

  await card.getByRole("button", { name: "Send again" }).click();
  await host.field("After change").fill("999999");
  await host.dialog().getByRole("button", { name: "Send again" }).click();
  await host.dialog().getByText("of the future").waitFor();
  await isClean(t, host);
  await host.field("After change").fill("0");
  await host.dialog().getByRole("button", { name: "Send again" }).click();
  await host.page.getByText("sends them again").waitFor();
  const id = (n: number) => got[n]?.headers["webhook-id"];
  await eventually("all are sent again", () =>
    got.some((_, i) => i >= 4 && id(i) === id(0)),
  );

  await card.getByRole("button", { name: "New secret" }).click();
  await host.dialog().getByRole("button", { name: "New secret" }).click();
  const other = await secrets.locator("output").innerText();
  t.not(other, secret);
  await host.button("I have saved it").click();
  await card.getByRole("button", { name: "Send a test" }).click();
  await host.page.getByText(/The test arrived: 200/).waitFor();
  const last = got.at(-1)!;
  new Webhook(other).verify(last.text, last.headers as Record<string, string>);

  // What another host changes while the form is open stays.
  await card.getByRole("button", { name: "Edit" }).click();
  const read = await world.api.request("GET", "/webhooks/");
  const { results } = (await read.json()) as { results: { id: string }[] };
  const moved = "http://127.0.0.1:1/moved";
  await world.api.request("PATCH", `/webhooks/${results[0]!.id}/`, {
    url: moved,
  });
  await host.field("Description").fill("The new shop");
  await host.page.getByLabel("Everything").check();
  await host.button("Save").click();
  const now = main.getByRole("listitem").filter({ hasText: moved });
  await now.getByText("The new shop").waitFor();
  await now.getByText("Everything").waitFor();

  // A person turns off one that fails: the server did not.
  await world.room("Lobby");
  await now.getByText("Failing", { exact: true }).waitFor();
  await now.getByRole("button", { name: "Turn off" }).click();
  await now.getByText("Off", { exact: true }).waitFor();
  await now.getByRole("button", { name: "Delete" }).click();
  await host.dialog().getByRole("button", { name: "Delete" }).click();
  await main.getByText("No webhooks").waitFor();
});

void t.test("providers to sign in with", async (t) => {
  const world = await site.world(t);
  const provider = await startProvider(t, [
    `${world.attend}sign-in/the-club/callback`,
  ]);
  const { publicKey } = await generateKeyPair("ES256");
  const key = await exportJWK(publicKey);
  // Two of one name, as while its keys change.
  const issuers = ["a", "b"].map((kid) => ({
    ...{ issuer: "https://shop.example", audience: "foyer" },
    jwks: { keys: [{ ...key, kid }] },
  }));
  const { config } = await world.api.getWorld();
  const keys = { JWT_secrets: config.JWT_secrets };
  await world.api.updateWorld({
    config: { theme: { kept: true }, JWT_issuers: issuers },
  });
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
  await host.dialog().getByText("Must be at a public address").waitFor();
  await isClean(t, host);
  await host.field("Issuer").fill(provider.issuer);
  await host.button("Add provider").click();
  await main.getByText(callback).waitFor();
  await isClean(t, host);
  const saved = async () =>
    (await world.api.getWorld()).config as Record<string, unknown>;
  const expected = {
    ...{ id: "the-club", name: "The Club", issuer: provider.issuer },
    ...{ client_id: "foyer", client_secret: "a-secret-of-the-client" },
    traits: { always: ["attendee", "member"] },
  };
  t.match(await saved(), {
    ...keys,
    ...{ theme: { kept: true }, JWT_issuers: issuers, oidc: [expected] },
  });

  // What has no field in the form stays.
  const mapped = { ...expected.traits, claim: "groups", map: { a: ["b"] } };
  await world.api.updateWorld({
    config: { oidc: [{ ...expected, traits: mapped }] },
  });
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
  await visitor.page
    .getByRole("link", { name: "Sign in with Our club" })
    .waitFor();
  await host.button("Remove Our club").click();
  await host.dialog().getByRole("button", { name: "Remove" }).click();
  await main.getByText("No providers").waitFor();
  t.same((await saved())["oidc"], []);
});
