import { statSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "../support/helper.js";
import { furnish, say } from "./furnish.js";
import { Site, type Size, sizes, type Visitor } from "./kit.js";
import t, { nightly, test } from "./tap.js";

// Budgets for what a browser loads before users see something, and for layout shift while more
// content arrives. Nothing here depends on the speed of the machine.

const site = await Site.open(t);
const world = await site.world(t);
const { hallway, stage } = await furnish(world);

/** A room whose chat contains no Markdown. */
const quiet = await world.room("Quiet corner");
const speaker = await world.live({ uid: "speaker", name: "Ines" });
await speaker.call("chat.join", { channel: quiet });
await say(speaker, quiet, "On my way!");

const PAGES = fileURLToPath(new URL("../../pages/web/", import.meta.url));

/**
 * Budgets for scripts, in bytes after Brotli compression: the first page on a cold visit, a room
 * opened by a link with a token, and the console.
 */
const budgets = { join: 70 * 1024, attend: 112 * 1024, console: 96 * 1024 };
/** Budget for the libraries that render Markdown, which are lazily loaded. */
const MARKDOWN = 26 * 1024;
/** Budget for styles, in the same unit. */
const STYLES = 12 * 1024;
/** All requests of a page except images and the WebSocket. */
const MAX_REQUESTS = 32;
/** A score below 0.1 counts as good (web.dev/articles/cls); these pages should not shift at all. */
const MAX_SHIFT = 0.02;

/** Records the files that the pages load, and their sizes. */
function loads(visitor: Visitor) {
  const files = new Map<string, number>();
  const others: string[] = [];
  const faults: string[] = [];
  visitor.context.on("response", (answer) => {
    const { pathname } = new URL(answer.url());
    if (!/^\/web\/.+\.(js|css)$/.test(pathname)) {
      if (!pathname.startsWith("/media/")) others.push(pathname);
      return;
    }
    const encoding = answer.headers()["content-encoding"];
    if (encoding !== "br") faults.push(`${pathname} is sent as ${encoding}`);
    const name = basename(pathname);
    files.set(name, statSync(`${PAGES}${name}.br`).size);
  });
  return { files, others, faults };
}

const sum = (sizes: Iterable<number>): number =>
  [...sizes].reduce((total, size) => total + size, 0);

const listed = (files: Map<string, number>): string =>
  [...files]
    .sort(([, a], [, b]) => b - a)
    .map(([name, size]) => `${name} ${size}`)
    .join(", ");

for (const [name, budget, open] of [
  [
    "join",
    budgets.join,
    async (visitor: Visitor) => {
      await visitor.page.goto(world.attend, { waitUntil: "networkidle" });
      await visitor.field("Your name").waitFor();
    },
  ],
  [
    "attend",
    budgets.attend,
    async (visitor: Visitor) => {
      const link = world.link({ uid: "me", name: "Mara" }, quiet);
      await visitor.page.goto(link, { waitUntil: "commit" });
      await visitor.post("On my way!").waitFor();
    },
  ],
  [
    "console",
    budgets.console,
    async (visitor: Visitor) => {
      const traits = ["admin", "api"];
      const token = world.token({ uid: "host", name: "Host", traits });
      const link = `${world.console}#token=${token}`;
      await visitor.page.goto(link, { waitUntil: "commit" });
      await visitor.consoleNav.waitFor();
      await visitor.page.getByRole("heading", { level: 1 }).waitFor();
    },
  ],
] as const) {
  test(`what ${name} loads`, async (t) => {
    const visitor = await world.during(t).visitor();
    const { files, others, faults } = loads(visitor);
    await open(visitor);
    const sizeOf = (type: string) =>
      sum([...files].map(([name, size]) => (name.endsWith(type) ? size : 0)));
    const total = sizeOf(".js");
    const styles = sizeOf(".css");
    t.comment(`${total} bytes: ${listed(files)}`);
    t.same(faults, [], "everything is compressed beforehand");
    t.ok(total <= budget, `${total} of ${budget} bytes: ${listed(files)}`);
    t.ok(total > 30_000 && styles > 1000, "they were seen");
    t.ok(styles <= STYLES, `${styles} of ${STYLES} bytes of styles`);
    const requests = files.size + others.length;
    t.ok(requests <= MAX_REQUESTS, `${requests} requests: ${others.join()}`);
    for (const later of [/^hls/i, /^markdown/i]) {
      t.notOk(
        [...files.keys()].some((file) => later.test(file)),
        `not yet: ${later}`,
      );
    }
  });
}

nightly("what Markdown adds", async (t) => {
  const visitor = await world.during(t).visitor();
  const { files } = loads(visitor);
  await visitor.page.goto(world.link({ uid: "me", name: "Mara" }, hallway));
  const isLoaded = () => [...files.keys()].some((name) => /markdown/i.test(name));
  await until(isLoaded);
  const added = [...files].find(([name]) => /markdown/i.test(name))!;
  t.ok(added[1] <= MARKDOWN, `${added[1]} of ${MARKDOWN} bytes`);
});

/** Returns the layout shift without user input. */
const shiftOf = ({ page }: Visitor): Promise<{ total: number; what: string[] }> =>
  page.evaluate(async () => {
    type Shift = PerformanceEntry & {
      value: number;
      hadRecentInput: boolean;
      sources: {
        node: Element | null;
        previousRect: DOMRectReadOnly;
        currentRect: DOMRectReadOnly;
      }[];
    };
    const shifts = await new Promise<Shift[]>((resolve) => {
      const observer = new PerformanceObserver((list) => resolve(list.getEntries() as Shift[]));
      observer.observe({ type: "layout-shift", buffered: true });
      // The observer never fires if there were no shifts. Within two frames, it has reported all of
      // them.
      requestAnimationFrame(() => requestAnimationFrame(() => resolve([])));
    });
    const counted = shifts.filter(({ hadRecentInput }) => !hadRecentInput);
    return {
      total: counted.reduce((sum, { value }) => sum + value, 0),
      what: counted.flatMap(({ value, sources }) =>
        sources.map(
          ({ node, previousRect, currentRect }) =>
            `${value.toFixed(3)} ${node?.outerHTML?.slice(0, 100) ?? "?"} from ${JSON.stringify(previousRect)} to ${JSON.stringify(currentRect)}`,
        ),
      ),
    };
  });

for (const size of Object.keys(sizes) as Size[]) {
  nightly(`nothing moves while a room loads, on a ${size}`, async (t) => {
    for (const [room, text] of [
      [hallway, "On my way!"],
      [stage, "Welcome, everybody"],
    ] as const) {
      const visitor = await world.during(t).visitor({ size });
      await visitor.page.goto(world.link({ uid: "me", name: "Mara" }, room));
      await visitor.post(text).waitFor();
      await visitor.page.waitForLoadState("networkidle");
      const { total, what } = await shiftOf(visitor);
      t.ok(total < MAX_SHIFT, `${total}: ${what.join("\n")}`);
      await visitor.page.reload();
      await visitor.post(text).waitFor();
      await visitor.page.waitForLoadState("networkidle");
      const again = await shiftOf(visitor);
      t.ok(again.total < MAX_SHIFT, `${again.total}: ${again.what.join("\n")}`);
    }
  });
}

nightly("nothing moves when polls and questions come last", async (t) => {
  const visitor = await world.during(t).visitor();
  const { page } = visitor;
  let give = () => {};
  const given = new Promise<void>((resolve) => (give = resolve));
  await page.routeWebSocket(/\/ws\//, (socket) => {
    const server = socket.connectToServer();
    const lists = new Set<unknown>();
    socket.onMessage((message) => {
      const [command, id] = JSON.parse(String(message)) as [string, unknown];
      if (/^(question|poll)\.list$/.test(command)) lists.add(id);
      server.send(message);
    });
    server.onMessage((message) => {
      const [, id] = JSON.parse(String(message)) as [string, unknown];
      if (!lists.has(id)) return socket.send(message);
      void given.then(() => socket.send(message));
    });
  });
  await page.clock.install();
  await page.goto(world.link({ uid: "me", name: "Mara" }, stage));
  await visitor.message.waitFor();
  await page.waitForLoadState("networkidle");
  await page.clock.fastForward(10_000);
  give();
  await visitor.post("Welcome, everybody").waitFor();
  await visitor.tab("Questions").getByText(", ").waitFor({ state: "attached" });
  const { total, what } = await shiftOf(visitor);
  t.ok(total < 0.01, `${total}: ${what.join("\n")}`);
});
