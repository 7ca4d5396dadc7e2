import type { CDPSession } from "playwright-core";
import type { Test } from "tap";
import { keyOf, tokenOf } from "../support/helper.js";
import { demo, startServer } from "../support/server.js";
import { openBrowser, testRules, Visitor } from "./kit.js";
import root, { test } from "./tap.js";

// Uses Chromium's virtual authenticator, at http://localhost, because pages at an IP address cannot
// use passkeys. Any other debugger session on the page, such as axe-core's, removes the
// authenticator.

let browser: ReturnType<typeof openBrowser> | undefined;

/** A person's browser, and the authenticator in the person's device. */
interface Device {
  readonly visitor: Visitor;
  readonly cdp: CDPSession;
  readonly authenticatorId: string;
}

async function startSite(t: Test, processes: number) {
  const worlds = [
    demo({ title: "The party", permission_config: testRules }),
    demo({
      id: "closed",
      title: "The secret party",
      permission_config: { ...testRules, "world.view": ["attendee"] },
      config: { contact: "help@example.org" },
    }),
  ];
  const server = await startServer(t, { processes, worlds });
  const baseUrl = `http://localhost:${server.port}`;
  const token = (uid: string, traits: string[], claims = {}) =>
    tokenOf(keyOf("demo"), { uid, traits, profile: { display_name: uid }, ...claims });
  return {
    server,
    attend: `${baseUrl}/w/demo/`,
    closed: `${baseUrl}/w/closed/`,
    console: `${baseUrl}/w/demo/console`,
    token,
    async device(t: Test): Promise<Device> {
      browser ??= openBrowser(root);
      const visitor = await Visitor.open(t, await browser, baseUrl);
      const cdp = await visitor.context.newCDPSession(visitor.page);
      await cdp.send("WebAuthn.enable");
      const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
        options: {
          protocol: "ctap2",
          transport: "internal",
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      });
      return { visitor, cdp, authenticatorId };
    },
  };
}

/** Copies the passkeys from one device to another, as a password manager does. */
async function copyPasskeys(from: Device, to: Device) {
  const { authenticatorId } = from;
  const { credentials } = await from.cdp.send("WebAuthn.getCredentials", { authenticatorId });
  for (const credential of credentials) {
    const { authenticatorId } = to;
    await to.cdp.send("WebAuthn.addCredential", { authenticatorId, credential });
  }
}

const SIGN_IN = "Sign in with a passkey";

for (const processes of [0, 2]) {
  test(`people come back by passkey, with ${processes || 1} processes`, async (t) => {
    const site = await startSite(t, processes);

    await t.test("a host to the console, on two devices", async (t) => {
      const device = await site.device(t);
      const { visitor } = device;
      const { page } = visitor;
      await page.goto(`${site.console}#token=${site.token("Marta", ["admin", "api"])}`);
      await visitor.consoleNav.waitFor();
      await visitor.button("Sign out").click();
      await visitor.dialog("You would lose your access").waitFor();
      await page.getByText("nothing here lets you come back as Marta").waitFor();
      await visitor.dialog().getByRole("link", { name: "Keep your way in" }).click();
      await visitor.button("Add a passkey").click();
      await page.getByText("You can come back.").waitFor();
      await visitor.button("Sign out").click();
      await visitor.button(SIGN_IN).click();
      await visitor.consoleNav.waitFor();

      const other = await site.device(t);
      await copyPasskeys(device, other);
      await other.visitor.page.goto(site.console);
      await other.visitor.button(SIGN_IN).click();
      await other.visitor.consoleNav.waitFor();
      await other.visitor.page.getByRole("link", { name: "Your access" }).click();
      await other.visitor.button(/^Remove/).click();
      await other.visitor.dialog().getByRole("button", { name: "Remove" }).click();
      await other.visitor.page.getByText("choose at least one way").waitFor();
      await page.evaluate(() => localStorage.clear());
      await page.goto(site.console);
      visitor.watch.tolerate(/401/);
      await visitor.button(SIGN_IN).click();
      await page.getByText("This passkey doesn’t let you in here").waitFor();
    });

    await t.test("a guest to the event", async (t) => {
      const { visitor } = await site.device(t);
      const { page } = visitor;
      await page.goto(site.attend);
      await visitor.join("Gus");
      await page.goto(`${site.attend}#/profile`);
      await visitor.button("Add a passkey").click();
      await visitor.button(/^Remove the passkey/).waitFor();
      await page.evaluate(() => localStorage.clear());
      await page.goto("about:blank");
      await page.goto(site.attend);
      await visitor.button(SIGN_IN).click();
      await visitor.arrived();
      await page.goto(`${site.attend}#/profile`);
      t.equal(await visitor.field("Your name").inputValue(), "Gus");
    });
  });
}

test("dead ends and ends", async (t) => {
  const site = await startSite(t, 0);

  await t.test("the pages are accessible", async (t) => {
    const { visitor } = await site.device(t);
    const { page } = visitor;
    await page.goto(`${site.console}#token=${site.token("Marta", ["admin", "api"])}&page=account`);
    await visitor.button("Add a passkey").click();
    await page.getByText("You can come back.").waitFor();
    t.same(await visitor.faults(), []);
    await page.goto(`${site.attend}#token=${site.token("Marta", ["admin", "api"])}`);
    await visitor.arrived();
    await page.goto(`${site.attend}#/profile`);
    await visitor.button(/^Remove the passkey/).waitFor();
    t.same(await visitor.faults(), []);
    await page.goto(site.console);
    await visitor.button("Sign out").click();
    await visitor.button(SIGN_IN).waitFor();
    t.same(await visitor.faults(), []);
  });

  await t.test("a closed event names itself, its contact and the ways in", async (t) => {
    const { visitor } = await site.device(t);
    const { page } = visitor;
    await page.goto(site.closed);
    await page.getByText("The secret party").waitFor();
    const link = page.getByRole("link", { name: "help@example.org" });
    t.equal(await link.getAttribute("href"), "mailto:help@example.org");
    await visitor.button(SIGN_IN).waitFor();
    t.same(await visitor.faults(), []);
  });

  await t.test("a session that ends soon warns", async (t) => {
    const { visitor } = await site.device(t);
    const { page } = visitor;
    const now = Math.floor(Date.now() / 1000);
    const claims = { iat: now - 29 * 86_400, exp: now + 86_400 };
    for (const address of [site.attend, site.console]) {
      await page.goto(`${address}#token=${site.token("Marta", ["admin", "api"], claims)}`);
      await page.getByText("You will be signed out on").waitFor();
      t.same(await visitor.faults(), []);
      await page.goto("about:blank");
    }
  });

  await t.test("whoever has a way back signs out at once, others are asked", async (t) => {
    const { visitor } = await site.device(t);
    const { page } = visitor;
    await page.goto(`${site.attend}#token=${site.token("ada", ["attendee"])}`);
    await visitor.arrived();
    await page.goto(`${site.attend}#/profile`);
    await visitor.button("Sign out").click();
    await visitor.dialog("You would lose your access").waitFor();
    await visitor.button("Cancel").click();
    await visitor.button("Add a passkey").click();
    await visitor.button(/^Remove the passkey/).waitFor();
    await visitor.button("Sign out").click();
    await visitor.field("Your name").waitFor();
    await visitor.button("Join").waitFor();
  });
});
