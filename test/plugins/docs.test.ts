import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import t from "tap";
import { admin, listen, serve } from "../helper.js";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

void t.test("the page in a browser", async (t) => {
  if (!existsSync(CHROMIUM)) {
    t.comment(`no browser at ${CHROMIUM}: set CHROMIUM to try the page`);
    return;
  }
  const { app } = await serve(t);
  const origin = `http://127.0.0.1:${await listen(app)}`;
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const elsewhere: string[] = [];
  const errors: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("data:")) {
      elsewhere.push(url);
    }
  });
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (line) => {
    if (line.type() === "error") errors.push(line.text());
  });

  await page.goto(`${origin}/`);
  await page.waitForSelector("#operations-worlds-getWorld");
  t.equal(new URL(page.url()).pathname.replace(/\/$/, ""), "/docs");

  // A token is given once, and a call is tried with it.
  await page.click("button.authorize");
  const token = admin("demo").replace("Bearer ", "");
  await page.fill(
    ".auth-container input[aria-label='auth-bearer-value']",
    token,
  );
  await page.click(".auth-container button[type=submit]");
  await page.click("button.btn-done");
  await page.click("#operations-worlds-getWorld .opblock-summary-control");
  await page.fill(
    "#operations-worlds-getWorld input[placeholder=world_id]",
    "demo",
  );
  await page.click("#operations-worlds-getWorld button.execute");
  const body = page.locator(
    "#operations-worlds-getWorld .live-responses-table .highlight-code",
  );
  await body.first().waitFor();
  t.match(await body.first().innerText(), /The demo/, "the world is shown");
  t.same(elsewhere, [], "nothing is asked of the internet");
  t.same(errors, [], "and nothing fails in the page");
});
