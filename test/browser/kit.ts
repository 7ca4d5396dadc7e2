import { setTimeout as delay } from "node:timers/promises";
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
} from "playwright-core";
import type { Test } from "tap";
import { WebSocket } from "ws";
import { Foyer, Live, type SocketClass } from "../../client/index.js";
import { POLL_KINDS } from "../../schemas/plain/polls.js";
import { draftWorld } from "../../db/world-management.js";
import type { PermissionConfig } from "../../schemas/rules.js";
import type { TestWorld } from "../../testing.js";
import { keyOf, rules, tokenOf } from "../support/helper.js";
import { type Server, startServer } from "../support/server.js";
import { shortFolder } from "../support/testdir.js";
import { axe } from "./axe.js";
import { findChromium } from "./chromium.js";
import { Watch } from "./watch.js";

/** The timeout of every wait, in milliseconds; long, because the machine may be busy. */
export const LIMIT = 45_000;

/** Window sizes, in CSS pixels. */
export const sizes = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 360, height: 740 },
} as const;

export type Size = keyof typeof sizes;
export type Scheme = "light" | "dark";

/** The permissions in test worlds. Traits are named after roles. */
export const testRules: PermissionConfig = rules({ "chat.moderate": [["moderator", "admin"]] });

/** The modules of a full-featured room. */
export const allModules = [
  { type: "livestream.native", config: {} },
  { type: "chat.native", config: { volatile: false } },
  { type: "question", config: { active: true, requires_moderation: true } },
  { type: "poll", config: { active: true } },
];

/** A scope with teardown: a tap test, or a script. */
export interface Lifetime {
  readonly fullname?: string;
  teardown(work: () => unknown): void;
  /** Whether the test has no failures so far. */
  passing?(): boolean;
  comment?(text: string): void;
}

/** Fails the test file after a test has ended, since tap cannot handle errors thrown in a teardown. */
function failLate(t: Lifetime, faults: readonly string[]): void {
  if (faults.length === 0) return;
  process.exitCode = 1;
  const say = t.comment?.bind(t) ?? console.error;
  say(`FAULTS of "${t.fullname}":\n${faults.join("\n")}`);
}

/** Differences from an English desktop browser. */
export interface VisitorOptions {
  scheme?: Scheme;
  size?: Size;
  locale?: string;
  /** Time zone; defaults to UTC. */
  zone?: string;
  reducedMotion?: boolean;
  /** For scripts that change the look of a page. */
  bypassCSP?: boolean;
  /** Whether to allow the service worker, whose requests tests cannot see. */
  hasWorker?: boolean;
  viewport?: { width: number; height: number };
}

export interface Bearer {
  uid: string;
  name?: string;
  traits?: string[];
  /** Lifetime of the token, in seconds. */
  seconds?: number;
}

/** Starts the test file's browser. It is closed at the end of the test. */
export async function openBrowser(t: Lifetime): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error("There is no chromium: set CHROMIUM.");
  }
  const browser = await chromium.launch({
    executablePath,
    timeout: 2 * LIMIT,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-dev-shm-usage",
      // A generated camera and microphone.
      "--use-fake-device-for-media-stream",
      // Blocks requests to other hosts. Passkeys need a host with a name.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
  t.teardown(() => browser.close());
  return browser;
}

/** A server in this process, with a browser that is started lazily. */
export class Site {
  #worlds = 0;

  private constructor(
    readonly t: Lifetime,
    readonly server: Server,
    private opened?: Promise<Browser>,
  ) {}

  /**
   * Starts a server. It is stopped at the end of the test, which fails if the server logged an
   * error.
   * @param browser reuses an open browser.
   */
  static async open(t: Lifetime, env = {}, browser?: Promise<Browser>, dataDir = shortFolder(t)) {
    const server = await startServer(t as Test, { dataDir, env, mayLogErrors: true });
    t.teardown(() => {
      const errors = server.log.filter(({ level }) => level >= 50);
      failLate(
        t,
        errors.map((error) => JSON.stringify(error)),
      );
    });
    return new Site(t, server, browser);
  }

  browser(): Promise<Browser> {
    return (this.opened ??= openBrowser(this.t));
  }

  get baseUrl(): string {
    return this.server.baseUrl;
  }

  /** Creates a world with the title "The party". */
  async world(t: Lifetime, { config, ...more }: Partial<Omit<TestWorld, "id">> = {}) {
    const id = `w${++this.#worlds}`;
    const draft = draftWorld({ id, title: "The party", domain: `${id}.localhost` });
    await this.server.store.worlds.create({
      ...draft,
      permission_config: testRules,
      ...more,
      config: { ...draft.config, JWT_secrets: [keyOf(id)], ...config },
    });
    return new World(t, this, id);
  }
}

/** A world on a server, and its visitors. */
export class World {
  readonly api: Foyer;

  constructor(
    readonly t: Lifetime,
    readonly site: Site,
    readonly id: string,
  ) {
    const token = this.token({ uid: "api", traits: ["admin", "api"] });
    this.api = new Foyer({ baseUrl: site.baseUrl, world: id, token });
  }

  /** Returns the same world for another test, whose end also closes its visitors. */
  during(t: Lifetime): World {
    return new World(t, this.site, this.id);
  }

  get baseUrl(): string {
    return this.site.baseUrl;
  }

  get attend(): string {
    return `${this.baseUrl}/w/${this.id}/`;
  }

  get console(): string {
    return `${this.baseUrl}/w/${this.id}/console`;
  }

  token({ uid, name, traits = [], seconds = 3600 }: Bearer): string {
    return tokenOf(keyOf(this.id), {
      uid,
      traits,
      ...(name !== undefined && { profile: { display_name: name } }),
      exp: Math.floor(Date.now() / 1000) + seconds,
    });
  }

  /** Returns a link to the event or a room that signs a user in. */
  link(bearer: Bearer, room?: string): string {
    return `${this.attend}#token=${this.token(bearer)}${room ? `&room=${room}` : ""}`;
  }

  async room(
    name: string,
    modules: object[] = [{ type: "chat.native", config: {} }],
    more: object = {},
  ): Promise<string> {
    const draft = { name, module_config: modules as never, ...more };
    return (await this.api.createRoom(draft)).id;
  }

  /** Connects a user without a browser. The connection is closed at the end of the test. */
  async live(bearer: Bearer): Promise<Live> {
    const live = new Live({
      baseUrl: this.baseUrl,
      world: this.id,
      token: this.token(bearer),
      WebSocket: WebSocket as unknown as SocketClass,
      pollKinds: POLL_KINDS,
    });
    this.t.teardown(() => live.close());
    await live.connected();
    return live;
  }

  /** Opens an isolated browser context with a blank page. */
  async visitor(options: VisitorOptions = {}): Promise<Visitor> {
    return Visitor.open(this.t, await this.site.browser(), this.baseUrl, options);
  }

  /** Joins as a guest with a name and enters the first room. */
  async guest(name: string, options?: VisitorOptions): Promise<Visitor> {
    const visitor = await this.visitor(options);
    await visitor.page.goto(this.attend);
    await visitor.join(name);
    await visitor.leaveLobby();
    return visitor;
  }

  /** Signs a user in by a token link and enters the first room. */
  async bearer(bearer: Bearer, options?: VisitorOptions): Promise<Visitor> {
    const visitor = await this.visitor(options);
    const named = { name: bearer.uid, ...bearer };
    await visitor.page.goto(this.link(named));
    await visitor.arrived();
    await visitor.leaveLobby();
    return visitor;
  }

  /** Opens the console as an organizer, signed in by a link. */
  async host(bearer: Partial<Bearer> = {}, options?: VisitorOptions): Promise<Visitor> {
    const visitor = await this.visitor(options);
    const all = { uid: "host", name: "Host", traits: ["admin", "api"] };
    const token = this.token({ ...all, ...bearer });
    await visitor.page.goto(`${this.console}#token=${token}`);
    await visitor.consoleNav.waitFor();
    return visitor;
  }
}

/** One person's browser context and page. Finds elements by their accessible names. */
export class Visitor {
  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    readonly watch: Watch,
  ) {}

  static async open(
    t: Lifetime,
    browser: Browser,
    baseUrl: string,
    {
      scheme = "light",
      size = "desktop",
      locale = "en-US",
      zone = "UTC",
      reducedMotion = false,
      bypassCSP = false,
      hasWorker = false,
      viewport = sizes[size],
    }: VisitorOptions = {},
  ): Promise<Visitor> {
    const context = await browser.newContext({
      colorScheme: scheme,
      viewport,
      bypassCSP,
      serviceWorkers: hasWorker ? "allow" : "block",
      isMobile: size === "phone",
      hasTouch: size === "phone",
      locale,
      timezoneId: zone,
      reducedMotion: reducedMotion ? "reduce" : "no-preference",
      permissions: ["clipboard-read", "clipboard-write", "camera", "microphone"],
    });
    context.setDefaultTimeout(LIMIT);
    context.setDefaultNavigationTimeout(LIMIT);
    const watch = await Watch.over(context, baseUrl);
    const page = await context.newPage();
    t.teardown(async () => {
      if (t.passing?.() === false) {
        const shown = await page.locator("body").ariaSnapshot().catch(String);
        t.comment?.(`${page.url()}\n${shown}`);
      }
      // Chromium may never respond, for example while the page is reloading. In that case, the
      // context is closed along with the browser.
      await Promise.race([context.close(), delay(5000, null, { ref: false })]);
      failLate(t, watch.faults);
    });
    return new Visitor(context, page, watch);
  }

  get rooms(): Locator {
    return this.page.getByRole("navigation", { name: "Rooms" });
  }

  get consoleNav(): Locator {
    return this.page.getByRole("navigation", { name: "Console" });
  }

  get log(): Locator {
    return this.page.getByRole("log", { name: "Messages" });
  }

  get message(): Locator {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }

  async join(name: string): Promise<void> {
    await this.page.getByRole("textbox", { name: "Your name" }).fill(name);
    await this.button("Join").click();
    await this.arrived();
  }

  /** Waits until the event is loaded. Phones hide the room list at first. */
  async arrived(): Promise<void> {
    await this.page.locator("nav[aria-label=Rooms]").waitFor({ state: "attached" });
  }

  /** Leaves the lobby, which exists only if there are several rooms, for the first room. */
  async leaveLobby(): Promise<void> {
    const heading = this.page.locator("main h1");
    await heading.waitFor();
    const first = this.page.locator(".lobby li a").first();
    if (!(await first.isVisible())) return;
    const name = await first.locator("strong").innerText();
    await first.click();
    await heading.filter({ hasText: name }).waitFor();
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  heading(name: string): Locator {
    return this.page.getByRole("heading", { name, exact: true });
  }

  tab(name: string): Locator {
    return this.page.getByRole("tab", { name: new RegExp(`^${name}`) });
  }

  field(name: string): Locator {
    return this.page.getByRole("textbox", { name, exact: true });
  }

  dialog(name?: string | RegExp): Locator {
    return this.page.getByRole("dialog", name === undefined ? {} : { name });
  }

  /** Enters a room from the room list. */
  async enter(room: string): Promise<void> {
    await this.unfold();
    await this.rooms.getByRole("link", { name: new RegExp(`^${room}`) }).click();
    await this.page.getByRole("heading", { name: room, level: 1 }).waitFor();
  }

  /** Opens the room list if it is collapsed, as on phones. */
  async unfold(): Promise<void> {
    const menu = this.button("Menu");
    // The page may still be loading if the visitor has just joined.
    await menu.or(this.rooms).first().waitFor();
    if (!(await menu.isVisible())) return;
    // The list stays visible during its closing animation, so check the menu instead.
    const isOpen = async () => (await menu.getAttribute("aria-expanded")) === "true";
    if (!(await isOpen())) await menu.click();
    await this.rooms.waitFor();
  }

  /** Sends a message and waits until the server has stored it. */
  async say(text: string): Promise<void> {
    await this.message.fill(text);
    await this.button("Send").click();
    await this.post(text).waitFor();
  }

  /** Finds a message by its text. Messages still being sent do not match. */
  post(text: string): Locator {
    return this.log.locator("article[data-event]").filter({ hasText: text });
  }

  async choose(place: Locator, menu: string, item: string): Promise<void> {
    await place.hover();
    await place.getByRole("button", { name: menu, exact: true }).click();
    await this.page.getByRole("menuitem", { name: item, exact: true }).click();
  }

  /** Attaches files with a button that opens a file chooser. */
  async attach(button: string, ...files: { name: string; mimeType: string; buffer: Buffer }[]) {
    const choosing = this.page.waitForEvent("filechooser");
    await this.button(button).click();
    await (await choosing).setFiles(files);
  }

  /** Opens a page of the console. */
  async toPage(name: string): Promise<void> {
    await this.consoleNav.getByRole("link", { name, exact: true }).click();
    await this.page.getByRole("heading", { name, level: 1 }).waitFor();
  }

  /** Returns the violations that axe-core finds in both color schemes. */
  async faults(): Promise<string[]> {
    const found: string[] = [];
    for (const colorScheme of ["dark", "light"] as const) {
      await this.page.emulateMedia({ colorScheme });
      found.push(...(await axe(this.page)));
    }
    return found;
  }

  /** Returns the page's horizontal overflow, in CSS pixels. */
  overflow(): Promise<number> {
    return this.page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth - clientWidth;
    });
  }

  /** Describes the focused element by its tag and label. */
  focused(): Promise<string> {
    return this.page.evaluate(() => {
      const { activeElement: it } = document;
      return `${it?.tagName} ${it?.getAttribute("aria-label") ?? it?.textContent?.trim()}`;
    });
  }
}

export const textsOf = async (locator: Locator): Promise<string[]> =>
  (await locator.allInnerTexts()).map((text) => text.trim());
