import type { Page } from "playwright-core";
import { until } from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { silentEngine } from "./furnish.js";
import { ELSEWHERE, seedHostileWorld, payloads, reader } from "./hostile.js";
import { type Lifetime, type Scheme, Site, textsOf, type Visitor } from "./kit.js";
import t from "./tap.js";
import { test } from "./tap.js";

// Attackers talk to the server directly and write into every field. Then a user views every page.
// No payload may run, load anything, or change the page.

const site = await Site.open(t, silentEngine);
const world = await site.world(t, {
  title: `${payloads[1]} ${payloads[22]}`.slice(0, 300),
  config: {
    trait_badges_map: { evil: payloads[1]! },
    theme: {
      colors: { primary: payloads.find((text) => text.startsWith("red")) },
      logo: { url: "javascript:window.__xss=1" },
      css: "*{background:url(https://evil.example/x)}",
    },
  },
});
const { stage, rooms, names, direct } = await seedHostileWorld(world);

/**
 * Samples items that are opened one by one. The pre-merge run opens fewer: the room list, the chat,
 * questions, polls, and the Markdown and HTML rooms contain every payload anyway.
 */
const some = <T>(all: readonly T[], inLanding: number, byNight = 1): T[] =>
  all.filter((_, at) => at % (!NIGHT ? inLanding : byNight) === 0);

const named = rooms.slice(0, names.length);
/** Rooms with hostile module configurations. */
const filled = rooms.slice(names.length);

/** Returns the traces of injections since the last call. */
const look = async ({ page, watch }: Visitor): Promise<string[]> => [
  ...(await scan(page)),
  ...watch.take(),
];

/**
 * Policy reports caused by DOMPurify. Hosts may write HTML, which DOMPurify parses in an inert
 * document; the browser reports violations even there.
 */
const PARSED = new RegExp(
  [
    "^policy: (script-src-attr|style-src-attr|style-src-elem|base-uri) ",
    "^console: Executing inline event handler violates",
    "^console: Applying inline style violates",
    "^console: Setting the document's base URI",
  ].join("|"),
);

/** Waits until nothing on the page is loading. */
const settled = ({ page }: Visitor): Promise<unknown> =>
  until(async () => {
    const loading = page.getByRole("status").filter({ hasText: "Loading" });
    return (await loading.count()) === 0;
  });

const squeeze = (text: string) => text.replace(/\s+/g, " ").trim();

async function attend(t: Lifetime, scheme?: Scheme) {
  return world.during(t).bearer(reader, scheme ? { scheme } : {});
}

test("the pages of attendees", async (t) => {
  const visitor = await attend(t);
  const { page } = visitor;
  await t.test("the names of rooms are text", async (t) => {
    const links = await textsOf(visitor.rooms.getByRole("link"));
    const shown = links.map(squeeze).join("\n");
    const missing = names.filter((name) => !shown.includes(squeeze(name)));
    t.same(missing, []);
    t.same(await look(visitor), []);
  });

  await t.test("messages, and who sent them", async (t) => {
    await page.goto(`${world.attend}#/rooms/${stage}`);
    await visitor.log.getByRole("article").first().waitFor();
    await until(async () => {
      const older = visitor.button("Show earlier messages");
      if (await older.isVisible()) await older.click().catch(() => {});
      await visitor.log.hover();
      await page.mouse.wheel(0, -6000);
      const count = await visitor.log.getByRole("article").count();
      return count >= 2 * payloads.length;
    });
    const authors = await visitor.log
      .getByRole("article")
      .evaluateAll((all) => all.map((it) => it.textContent));
    t.ok(
      authors.some((text) => text.includes(payloads[1]!)),
      "as text",
    );
    t.same(await look(visitor), []);

    for (const at of [0, 1, 20, 22]) {
      const name = payloads[at]!;
      await visitor.log
        .getByRole("button")
        // The page truncates long names.
        .filter({ hasText: name.slice(0, 30) })
        .first()
        .click();
      await visitor.dialog().waitFor();
      t.same(await look(visitor), [], name);
      await page.keyboard.press("Escape");
    }
    await visitor.message.fill("@");
    await visitor.message.press("End");
    await page.getByRole("option").first().waitFor();
    t.same(await look(visitor), [], "the names to mention");
    await visitor.message.fill("");
  });

  for (const [tab, count] of [
    ["Questions", payloads.length],
    ["Polls", payloads.length],
    ["People", 1],
  ] as const) {
    await t.test(tab, async (t) => {
      await visitor.tab(tab).click();
      const panel = page.getByRole("tabpanel", { name: new RegExp(`^${tab}`) });
      await until(async () => {
        if (tab === "People") return panel.getByText(reader.name).isVisible();
        const more = panel.getByRole("button", { name: /more/i });
        if (await more.isVisible()) await more.click().catch(() => {});
        return (await panel.getByRole("article").count()) >= count;
      });
      if (tab !== "People") {
        const text = squeeze((await panel.innerText()) ?? "");
        const missing = payloads.filter((it) => !text.includes(squeeze(it)));
        t.same(missing, [], "all of it is text");
      }
      t.same(await look(visitor), []);
    });
  }

  await t.test("direct messages and the profile", async (t) => {
    await page.goto(`${world.attend}#/messages/${direct}`);
    await visitor.heading("Main stage").waitFor({ state: "detached" });
    await visitor.log.getByRole("article").first().waitFor();
    t.same(await look(visitor), []);
    await page.goto(`${world.attend}#/profile`);
    await visitor.heading("Profile").waitFor();
    t.same(await look(visitor), []);
  });

  // Must run last: the reports about hosts' HTML may arrive after the next page is open.
  await t.test("every room", async (t) => {
    visitor.watch.tolerate(PARSED);
    const heading = page.getByRole("heading", { level: 1 });
    for (const { id, name } of [...some(named, 9), ...filled]) {
      await page.goto(`${world.attend}#/rooms/${id}`);
      await until(async () => squeeze((await heading.textContent()) ?? "") === squeeze(name));
      await settled(visitor);
      t.same(await look(visitor), [], name);
    }
  });
});

test("links in what people write", async (t) => {
  const visitor = await attend(t);
  await visitor.page.goto(`${world.attend}#/rooms/${stage}`);
  await visitor.log.getByRole("article").first().waitFor();
  const links = visitor.log.locator("a[href]");
  // The page renders Markdown after plain text.
  await links.first().waitFor();
  const all = await links.evaluateAll((all) =>
    all.map((it) => {
      const { href, rel, target } = it as HTMLAnchorElement;
      return { href, rel, target };
    }),
  );
  for (const { href, rel, target } of all) {
    t.match(href, /^https?:/);
    if (!href.includes(ELSEWHERE)) continue;
    t.match(rel, /noopener/, href);
    t.equal(target, "_blank", href);
  }
});

test("the console", async (t) => {
  const visitor = await world.during(t).host();
  const { page } = visitor;
  for (const title of [
    "Look",
    "Keys",
    "Roles",
    "Rooms",
    "People",
    "Activity",
    "Announcements",
    "Invite",
    "JSON",
  ]) {
    await t.test(title, async (t) => {
      const word = title === "Look" ? "world" : title.toLowerCase();
      await page.goto(`${world.console}#/${word}`);
      await page.getByRole("heading", { name: title, level: 1 }).waitFor();
      await settled(visitor);
      t.same(await look(visitor), []);
    });
  }
  await t.test("the editor of rooms", async (t) => {
    visitor.watch.tolerate(PARSED);
    for (const { id, name } of [...some(named, 18, 9), ...some(filled, 3)]) {
      await page.goto(`${world.console}#/rooms/${id}`);
      await until(
        // Single-line fields strip line breaks.
        async () => (await visitor.field("Name").inputValue()) === name.replaceAll("\n", ""),
      );
      await settled(visitor);
      t.same(await look(visitor), [], name);
    }
  });
});

test("themes", async (t) => {
  for (const text of some(payloads, 32, 8)) {
    const world = await site.world(t, {
      title: "Themes",
      config: {
        theme: { colors: { primary: text }, logo: { url: text }, css: text },
        locale: text,
      },
    });
    const visitor = await world.visitor();
    await visitor.page.goto(world.attend);
    await visitor.button("Join").or(visitor.page.getByRole("button").first()).first().waitFor();
    t.same(await look(visitor), [], text);
  }
});

/**
 * Scans a page, including its frames and shadow trees, for anything that only an injection could
 * leave there.
 * @returns a line for each finding.
 */
export async function scan(page: Page): Promise<string[]> {
  const finds = await Promise.all(
    page.frames().map((frame) => frame.evaluate(findsIn).catch(() => [])),
  );
  return finds.flat();
}

/** Runs inside the page. */
function findsIn(): string[] {
  const finds: string[] = [];
  const say = (what: string, element: Element) =>
    finds.push(`${what}: ${element.outerHTML.slice(0, 200)}`);
  const isRun = (globalThis as { __xss?: unknown }).__xss !== undefined;
  if (isRun) finds.push("a script ran");
  const URLS = ["href", "src", "action", "formaction", "data", "xlink:href"];
  const walk = (root: ParentNode) => {
    for (const element of root.querySelectorAll("*")) {
      const tag = element.localName;
      for (const { name, value } of element.attributes) {
        if (name.startsWith("on")) say(`attribute ${name}`, element);
        if (name === "srcdoc") say("srcdoc", element);
        // Browsers ignore these characters before and inside a URL scheme.
        // oxlint-disable-next-line no-control-regex
        const url = value.replace(/[\u0000-\u0020]/g, "").toLowerCase();
        if (!URLS.includes(name)) continue;
        if (/^(javascript|vbscript):/.test(url)) say(`${name}`, element);
        if (/^data:/.test(url) && tag !== "img") say(`${name}`, element);
      }
      if (["base", "object", "embed", "applet", "math", "marquee"].includes(tag))
        say("element", element);
      if (tag === "meta" && element.hasAttribute("http-equiv")) say("element", element);
      if (tag === "script" && !element.hasAttribute("src")) say("inline script", element);
      if (tag === "form" && element.hasAttribute("action")) say("form", element);
      if (tag === "style") say("inline style", element);
      if (/url\(|expression|behavior/i.test(element.getAttribute("style") ?? ""))
        say("style", element);
      if (element.shadowRoot) walk(element.shadowRoot);
      if (element instanceof HTMLTemplateElement) walk(element.content);
    }
  };
  walk(document);
  return finds;
}
