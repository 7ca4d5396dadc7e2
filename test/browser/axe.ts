import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const SOURCE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Runs axe-core on the current state of a page, in an isolated world that the page's content
 * security policy does not affect.
 * @returns a line for each violation.
 */
export async function axe(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", {
    frameId: frameTree.frame.id,
    worldName: "axe",
  });
  await session.send("Runtime.evaluate", {
    contextId,
    expression: `${SOURCE};0`,
  });
  // axe-core cannot measure the contrast of an element while it is animated.
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    contextId,
    awaitPromise: true,
    returnByValue: true,
    expression: `(async () => {
      const running = () => document.getAnimations().filter(
        (it) => it.playState === "running" && it.effect?.getComputedTiming().iterations !== Infinity);
      const still = Promise.allSettled(running().map((it) => it.finished));
      // One that was replaced meanwhile never says that it finished.
      await Promise.race([still, new Promise((done) => setTimeout(done, 2000))]);
      return axe.run(document, { iframes: false, resultTypes: ["violations"] });
    })()`,
  });
  await session.detach();
  if (exceptionDetails) {
    throw new Error(exceptionDetails.exception?.description ?? "axe failed");
  }
  const { violations } = result.value as AxeResults;
  return violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}\n${nodes
        .map(({ html, failureSummary }) => `  ${html}\n  ${failureSummary}`)
        .join("\n")}`,
  );
}
