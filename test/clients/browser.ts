import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium } from "playwright-core";
import { Unavailable } from "./shell.js";
import type { Access } from "./access.js";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/**
 * Runs the `run` of a bundle in a page of another origin than the server's.
 * @param name how the room is named that it creates.
 * @returns what it gives, as JSON.
 */
export async function inBrowser(
  bundle: string,
  name: string,
  { baseUrl, token, uploader, file }: Access,
): Promise<string> {
  if (!existsSync(CHROMIUM)) {
    throw new Unavailable(`no browser at ${CHROMIUM}: set CHROMIUM`);
  }
  const pages = createServer((request, response) => {
    const isScript = request.url === "/bundle.js";
    response.setHeader(
      "content-type",
      isScript ? "text/javascript; charset=utf-8" : "text/html",
    );
    response.end(
      isScript ? bundle : "<!doctype html><script src=bundle.js></script>",
    );
  });
  await new Promise<void>((done) => pages.listen(0, "127.0.0.1", done));
  const { port } = pages.address() as AddressInfo;
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    const options = {
      ...{ baseUrl, token, uploader, name },
      file: await readFile(file, "utf8"),
    };
    const got = await page.evaluate(
      (options) =>
        (
          globalThis as unknown as { run(options: object): Promise<object> }
        ).run(options),
      options,
    );
    return JSON.stringify(got);
  } finally {
    await browser.close();
    pages.close();
  }
}
