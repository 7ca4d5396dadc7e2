import { NIGHT } from "../support/night.js";
import { until } from "../support/helper.js";
import { axe } from "./axe.js";
import { furnish, silentEngine } from "./furnish.js";
import { Site, type Size, sizes, type Visitor } from "./kit.js";
import t, { test } from "./tap.js";
import { tours } from "./tour.js";

// Runs axe-core on every page and its main states, in both color schemes, on desktop and phone, and
// checks that nothing overflows the window. A pre-merge run visits each state once: on a phone,
// where overflow shows first, alternating between the schemes.

const shownOn = !NIGHT ? (["phone"] as const) : (Object.keys(sizes) as Size[]);
const schemes = ["light", "dark"] as const;

const site = await Site.open(t, silentEngine);
const world = await site.world(t);
const furnished = await furnish(world);

/**
 * Describes the elements that overflow the window; undefined if there are none. Compares against
 * `width`, because a phone's `innerWidth` grows with the overflowing content.
 */
const tooWide = ({ page }: Visitor, width: number) =>
  page.evaluate((width) => {
    const { scrollWidth } = document.scrollingElement!;
    if (scrollWidth <= width) return undefined;
    const wide = [...document.querySelectorAll("body *")].filter(
      (it) => it.getBoundingClientRect().right > width + 1,
    );
    const [first] = wide.slice(-1);
    return `${scrollWidth} > ${width}: ${first?.outerHTML.slice(0, 300)}`;
  }, width);

for (const size of shownOn) {
  for (const tour of tours) {
    test(`${tour.name} on a ${size}`, async (t) => {
      const visitor = await tour.begin(world.during(t), { size });
      for (const [at, stop] of tour.stops(furnished).entries()) {
        await t.test(stop.name, async (t) => {
          await stop.go(visitor);
          for (const colorScheme of !NIGHT ? [schemes[at % 2]!] : schemes) {
            await visitor.page.emulateMedia({ colorScheme });
            t.same(await axe(visitor.page), [], `axe, ${colorScheme}`);
          }
          t.equal(await tooWide(visitor, sizes[size].width), undefined, "nothing is too wide");
          await stop.leave?.(visitor);
        });
      }
    });
  }
}

test("by keyboard alone, from the welcome to a message", async (t) => {
  const visitor = await world.during(t).visitor();
  const { page } = visitor;
  await page.goto(world.attend);
  await visitor.field("Your name").waitFor();

  /** Presses a key until the wanted element has the focus, which must be visible. */
  const press = async (key: string, wanted: string | RegExp) => {
    for (let n = 0; n < 60; n++) {
      const focused = await page.evaluate(() => {
        const it = document.activeElement!;
        const label =
          it.getAttribute("aria-label") ??
          (it as HTMLInputElement).labels?.[0]?.textContent ??
          it.textContent;
        return `${it.localName}: ${label?.trim()}`;
      });
      if (new RegExp(wanted).test(focused)) return;
      await page.keyboard.press(key);
    }
    throw new Error(`${key} never led to ${wanted}`);
  };
  await press("Tab", /^input: Your name/);
  await page.keyboard.type("Kim");
  await press("Tab", /^button: Join/);
  await page.keyboard.press("Enter");
  await visitor.rooms.waitFor();
  await press("Tab", /^a: Hallway/);
  await page.keyboard.press("Enter");
  await visitor.heading("Hallway").waitFor();
  await visitor.message.waitFor();
  await press("Tab", /^textarea: Message/);
  await page.keyboard.type("Without a mouse.");
  await press("Tab", /^button: Send/);
  await page.keyboard.press("Enter");
  await visitor.post("Without a mouse.").waitFor();

  await t.test("the actions of a message as well", async () => {
    await press("Shift+Tab", /^button: Message actions/);
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Edit" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Escape");
    await page.getByRole("menuitem").first().waitFor({ state: "detached" });
    await press("Shift+Tab", /^button: Message actions/);
  });

  await t.test("the first link leads to the content", async () => {
    await page.reload();
    await visitor.rooms.waitFor();
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await press("Tab", /^a: Skip to the content/);
    await page.keyboard.press("Enter");
    await until(() =>
      page.evaluate(() => document.activeElement?.closest("main, [role=main]") !== null),
    );
  });
});

test("on a phone, everything can be reached", async (t) => {
  const visitor = await world.during(t).guest("Pat", { size: "phone" });
  await visitor.enter("Main stage");
  await visitor.say("From my pocket.");
  await visitor.tab("Questions").click();
  await visitor.field("Your question").fill("Is it hot?");
  await visitor.button("Ask").click();
  await visitor.tab("Polls").click();
  await visitor.page.getByRole("article").first().waitFor();
  await visitor.unfold();
  await visitor.page.getByRole("link", { name: /^Messages/ }).click();
  await visitor.heading("Direct messages").waitFor();
  await visitor.unfold();
  await visitor.page.getByRole("link", { name: /^Profile/ }).click();
  await visitor.heading("Profile").waitFor();
  const small = await visitor.page.evaluate(() =>
    [...document.querySelectorAll("button, a[href], input, select, textarea")]
      .map((it) => [it, it.getBoundingClientRect()] as const)
      // WCAG 2.2 (2.5.8) requires 24 by 24 CSS pixels, except for links in text.
      .filter(
        ([it, { width, height }]) =>
          width > 1 && (width < 24 || height < 24) && !it.closest("p, .unseen"),
      )
      .map(([it]) => it.outerHTML.slice(0, 120)),
  );
  t.same(small, [], "fingers hit everything");
});

test("with reduced motion, nothing moves", async (t) => {
  const visitor = await world.during(t).guest("Mo", { reducedMotion: true });
  await visitor.enter("Main stage");
  const moving = () =>
    visitor.page.evaluate(() =>
      document
        .getAnimations()
        .map((it) => it.effect as KeyframeEffect)
        .filter((effect) => {
          const { duration, iterations } = effect.getComputedTiming();
          const moves = effect
            .getKeyframes()
            .some((frame) => "transform" in frame || "translate" in frame);
          return moves && Number(duration) * (iterations ?? 1) > 100;
        })
        .map((effect) => effect.target?.outerHTML.slice(0, 120)),
    );
  const react = visitor.button("React with 👏");
  await react.click();
  for (let n = 0; n < 10; n++) t.same(await moving(), []);
});
