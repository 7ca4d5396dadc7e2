import { existsSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium } from "playwright-core";
import t, { type Test } from "tap";
import { keyOf, tokenOf } from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { demo, startServer } from "../support/server.js";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** Starts a proxy that strips the prefix `/foyer/` from paths. */
async function proxyTo(t: Test, port: number): Promise<string> {
  const proxy = createServer(({ method, url = "", headers }, answer) => {
    if (!url.startsWith("/foyer/")) return void answer.writeHead(404).end();
    const path = url.slice("/foyer".length);
    request({ port, method, path, headers }, (got) => {
      answer.writeHead(got.statusCode!, got.headers);
      got.pipe(answer);
    }).end();
  });
  t.teardown(() => proxy.close());
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/foyer`;
}

const skip =
  (!NIGHT && "the documents are no part of what runs") ||
  (!existsSync(CHROMIUM) && `no browser at ${CHROMIUM}: set CHROMIUM`);

void t.test("the pages of the documents in a browser", { skip }, async (t) => {
  const { port, baseUrl: direct } = await startServer(t, {
    worlds: [demo({ id: "sample", title: "The sample", config: { JWT_secrets: [keyOf("demo")] } })],
  });
  const token = tokenOf(keyOf("demo"), { uid: "7", traits: ["admin", "api"] });
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  t.teardown(() => browser.close());

  for (const [name, base] of Object.entries({
    "at its own address": direct,
    "below a path of a proxy": await proxyTo(t, port),
  })) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const elsewhere: string[] = [];
    const errors: string[] = [];
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${base}/`) && !url.startsWith("data:")) {
        elsewhere.push(url);
      }
    });
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (line) => {
      if (line.type() === "error") errors.push(line.text());
    });

    await page.goto(`${base}/docs/api`);
    await page.waitForSelector("#operations-worlds-getWorld");
    t.equal(page.url(), `${base}/docs/api`, name);
    t.equal(await page.title(), "Foyer API");
    t.equal(await page.locator(".topbar").count(), 0, "no bar with a logo");

    // The token is entered once. The demo world is already filled in.
    await page.click("button.authorize");
    await page.fill(".auth-container input[aria-label='auth-bearer-value']", token);
    await page.click(".auth-container button[type=submit]");
    await page.click("button.btn-done");
    await page.click("#operations-worlds-getWorld .opblock-summary-control");
    await page.click("#operations-worlds-getWorld button.execute");
    const body = page.locator("#operations-worlds-getWorld .live-responses-table .highlight-code");
    await body.first().waitFor();
    t.match(await body.first().innerText(), /The sample/, "the world is shown");

    await page.setViewportSize({ width: 360, height: 640 });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    t.ok(width <= 360, `it fits a phone: ${width}`);

    await page.click("a[href=live]");
    await page.waitForURL(`${base}/docs/live`);
    t.equal(await page.title(), "Foyer websocket");
    await page.click("nav a[href='#command-room.enter']");
    const section = page.locator("section:has(#command-room\\.enter)");
    t.ok(
      await section.evaluate((element) => element.getBoundingClientRect().top < 100),
      "a link leads to its command",
    );
    const { fontFamily, width: pageWidth } = await page.evaluate(() => ({
      fontFamily: getComputedStyle(document.body).fontFamily,
      width: document.documentElement.scrollWidth,
    }));
    t.match(fontFamily, "system-ui", "its style is allowed");
    t.ok(pageWidth <= 360, `it fits a phone: ${pageWidth}`);
    const href = await page
      .locator("a:text('asyncapi.json')")
      .evaluate((link) => (link as unknown as { href: string }).href);
    t.equal(href, `${base}/api/v1/asyncapi.json`);
    t.equal((await page.request.get(href)).status(), 200);
    await page.goto(`${base}/docs/api`);
    await page.click("a[href='live']");
    await page.waitForURL(`${base}/docs/live`);

    await page.goto(`${base}/docs/`);
    await page.fill("#search", "misspelt database_pool");
    await page.waitForSelector("#found:has-text('Nothing')");
    await page.fill("#search", "DATABASE_POOL");
    await page.click("#found a");
    await page.waitForURL(`${base}/docs/guides/*`);
    t.match(await page.locator("main").innerText(), "DATABASE_POOL");
    await page.goto(`${base}/docs/guides/configure`);
    const guide = await page.evaluate(() => document.documentElement.scrollWidth);
    t.ok(guide <= 360, `a guide fits a phone: ${guide}`);
    await page.goto(`${base}/docs/#/worlds/getWorld`);
    await page.waitForURL(`${base}/docs/api#/worlds/getWorld`);
    t.same(elsewhere, [], "nothing is asked of anybody else");
    t.same(errors, [], "and nothing fails in the pages");
    await context.close();
  }
});
