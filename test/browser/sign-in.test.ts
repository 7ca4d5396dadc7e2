import type { Test } from "tap";
import { startProvider } from "../integrate/provider.js";
import { keyOf } from "../helper.js";
import { Site, type World } from "./kit.js";
import t from "./tap.js";

const site = await Site.open(t, { WEBHOOK_ALLOW: "127.0.0.1" });

/** A world whose people sign in at a provider that asks them who they are. */
async function signingIn(t: Test, overrides: object = {}) {
  const world = await site.world(t, overrides);
  const uri = (id: string) => `${world.attend}sign-in/${id}/callback`;
  const provider = await startProvider(t, [uri("sso"), uri("club")]);
  provider.account = undefined;
  const one = {
    ...{ id: "sso", name: "Example", issuer: provider.issuer },
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
  // The pages of the provider, and the fonts that they ask for.
  visitor.watch.tolerate(/^request: /, /^failed: /, /^policy: /, /^console: /);
  return visitor;
}

void t.test("an open event offers its providers beside the name", async (t) => {
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

void t.test("a closed event leads to its only provider, once", async (t) => {
  const { world, one, offer } = await signingIn(t, {
    permission_config: { "world.view": ["attendee"] },
  });
  const visitor = await visit(world);
  const { page } = visitor;
  await page.goto(world.attend);
  await page.locator("input[name=login]").waitFor();
  await page.getByText("Cancel").click();
  await page
    .getByRole("alert")
    .filter({ hasText: "The sign-in was not completed" })
    .waitFor();
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
  await page
    .getByRole("alert")
    .filter({ hasText: "does not answer" })
    .waitFor();

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

void t.test("a closed event with two providers asks", async (t) => {
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
