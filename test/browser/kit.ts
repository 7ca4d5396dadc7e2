import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import {
  type Browser,
  type BrowserContext,
  chromium,
  type FileChooser,
  type Locator,
  type Page,
} from "playwright-core";
import { WebSocket } from "ws";
import { Foyer, Live, type SocketClass } from "../../client/index.js";
import { loadConfig } from "../../config.js";
import type { PermissionConfig } from "../../schemas/rules.js";
import { startTestServer, type TestServer } from "../../testing.js";
import { keyOf, rules, tokenOf } from "../helper.js";
import { findChromium } from "./chromium.js";
import { Watch } from "./watch.js";

/** How long a test waits for anything, in milliseconds: the machine may be busy. */
export const PATIENCE = Number(process.env.PATIENCE ?? 45) * 1000;

/** The sizes of windows that the pages are shown in. */
export const sizes = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 360, height: 740 },
} as const;

export type Size = keyof typeof sizes;
export type Scheme = "light" | "dark";

/** Who may do what in a world of these tests: traits are the names of the people. */
export const testRules: PermissionConfig = rules({
  "chat.moderate": [["moderator", "admin"]],
});

/** Everything that a room may have. */
export const allModules = [
  { type: "livestream.native", config: {} },
  { type: "chat.native", config: { volatile: false } },
  { type: "question", config: { active: true, requires_moderation: true } },
  { type: "poll", config: { active: true } },
];

/** What ends what was begun: a test of tap, or a script. */
export interface Lifetime {
  readonly fullname?: string;
  teardown(work: () => unknown): void;
  /** Whether nothing has failed so far. */
  passing?(): boolean;
  comment?(text: string): void;
}

/** Fails the file of a test that is over: what a teardown throws would confuse tap. */
function failLate(t: Lifetime, faults: readonly string[]): void {
  if (faults.length === 0) return;
  process.exitCode = 1;
  const say = t.comment?.bind(t) ?? console.error;
  say(`FAULTS of "${t.fullname}":\n${faults.join("\n")}`);
}

/** How a browser differs from one on a desk in English. */
export interface VisitorOptions {
  scheme?: Scheme;
  size?: Size;
  locale?: string;
  /** Its time zone; UTC by default. */
  zone?: string;
  reducedMotion?: boolean;
  /** For scripts that change how a page looks. */
  bypassCSP?: boolean;
  /** Whether it has the worker of the page, past which tests see no requests. */
  hasWorker?: boolean;
  viewport?: { width: number; height: number };
}

export interface Bearer {
  uid: string;
  name?: string;
  traits?: string[];
  /** For how many seconds from now the token is valid. */
  seconds?: number;
}

/** Starts the browser of a test file. It ends with the test. */
export async function openBrowser(t: Lifetime): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) {
    throw new Error("There is no chromium: set CHROMIUM.");
  }
  const browser = await chromium.launch({
    executablePath,
    timeout: 2 * PATIENCE,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-dev-shm-usage",
      // Whatever a page asks of another host ends here.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ],
  });
  t.teardown(() => browser.close());
  return browser;
}

/** A server in this process and a browser, for one test file. */
export class Site {
  #worlds = 0;

  private constructor(
    readonly server: TestServer,
    readonly browser: Browser,
  ) {}

  /**
   * Starts a server and a browser. They end with the test, which fails if the server
   * logged an error.
   * @param env variables of the server. The rates are high enough for these tests.
   * @param opened a browser that is open already.
   */
  static async open(
    t: Lifetime,
    env: Record<string, string> = {},
    opened?: Browser,
  ): Promise<Site> {
    const errors: string[] = [];
    const lines = new Writable({
      decodeStrings: false,
      write(line: string, _encoding, done) {
        errors.push(line);
        done();
      },
    });
    // Without a folder of the test, the server makes one and deletes it.
    const { live, load, dataDir, ...config } = loadConfig(env);
    const [browser, server] = await Promise.all([
      opened ?? openBrowser(t),
      startTestServer({
        config: {
          ...config,
          ...(env["DATA_DIR"] !== undefined && { dataDir }),
          live: { ...live, messagesPerSecond: 1000, commandsPerSecond: 1000 },
          patience: { stop: 500, close: 500 },
          load: { ...load, eventLoopDelay: 0 },
        },
        logger: pino({ level: "error" }, lines),
      }),
    ]);
    t.teardown(async () => {
      await server.close();
      failLate(t, errors);
    });
    return new Site(server, browser);
  }

  get baseUrl(): string {
    return this.server.baseUrl;
  }

  /** Creates a world. Its title is "The party". */
  async world(
    t: Lifetime,
    overrides: Partial<
      Omit<Parameters<TestServer["createWorld"]>[0], "id">
    > = {},
  ): Promise<World> {
    const id = `w${++this.#worlds}`;
    await this.server.createWorld({
      id,
      title: "The party",
      permission_config: testRules,
      ...overrides,
      config: { JWT_secrets: [keyOf(id)], ...overrides.config },
    });
    return new World(t, this.browser, this.baseUrl, id);
  }
}

/** A world of a server, and the people who visit it. */
export class World {
  readonly api: Foyer;

  constructor(
    readonly t: Lifetime,
    readonly browser: Browser,
    readonly baseUrl: string,
    readonly id: string,
  ) {
    const token = this.token({ uid: "api", traits: ["admin", "api"] });
    this.api = new Foyer({ baseUrl, world: id, token });
  }

  /** The same world, for another test: whom it shows then end with that test. */
  during(t: Lifetime): World {
    return new World(t, this.browser, this.baseUrl, this.id);
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

  async room(
    name: string,
    modules: object[] = [{ type: "chat.native", config: {} }],
    more: object = {},
  ): Promise<string> {
    const draft = { name, module_config: modules as never, ...more };
    return (await this.api.createRoom(draft)).id;
  }

  /** Connects a user without a browser. The connection closes with the test. */
  async live(bearer: Bearer): Promise<Live> {
    const live = new Live({
      baseUrl: this.baseUrl,
      world: this.id,
      token: this.token(bearer),
      WebSocket: WebSocket as unknown as SocketClass,
    });
    this.t.teardown(() => live.close());
    await live.connected();
    return live;
  }

  /** Opens a separate browser, without a page yet. */
  async visitor(options: VisitorOptions = {}): Promise<Visitor> {
    return Visitor.open(this.t, this.browser, this.baseUrl, options);
  }

  /** A guest who enters a name, and goes to the first room. */
  async guest(name: string, options?: VisitorOptions): Promise<Visitor> {
    const visitor = await this.visitor(options);
    await visitor.page.goto(this.attend);
    await visitor.join(name);
    await visitor.leaveLobby();
    return visitor;
  }

  /** A user who enters by a link with a token, and goes to the first room. */
  async bearer(bearer: Bearer, options?: VisitorOptions): Promise<Visitor> {
    const visitor = await this.visitor(options);
    const named = { name: bearer.uid, ...bearer };
    await visitor.page.goto(`${this.attend}#token=${this.token(named)}`);
    await visitor.arrived();
    await visitor.leaveLobby();
    return visitor;
  }

  /** An organizer at the console, signed in by a link. */
  async host(
    bearer: Partial<Bearer> = {},
    options?: VisitorOptions,
  ): Promise<Visitor> {
    const visitor = await this.visitor(options);
    const all = { uid: "host", name: "Host", traits: ["admin", "api"] };
    const token = this.token({ ...all, ...bearer });
    await visitor.page.goto(`${this.console}#token=${token}`);
    await visitor.consoleNav.waitFor();
    return visitor;
  }
}

/** A browser of one person, whose page a test looks at. It finds things by their accessible names. */
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
      permissions: ["clipboard-read", "clipboard-write"],
    });
    context.setDefaultTimeout(PATIENCE);
    context.setDefaultNavigationTimeout(PATIENCE);
    const watch = await Watch.over(context, baseUrl);
    const page = await context.newPage();
    t.teardown(async () => {
      if (t.passing?.() === false) {
        const shown = await page.locator("body").ariaSnapshot().catch(String);
        t.comment?.(`${page.url()}\n${shown}`);
      }
      // Chromium may never answer, as when the page is reloading. Then it ends with the browser.
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

  /** Waits until the event is there. On a phone, the list of rooms is hidden at first. */
  async arrived(): Promise<void> {
    await this.page
      .locator("nav[aria-label=Rooms]")
      .waitFor({ state: "attached" });
  }

  /** Goes from the lobby, if there are several rooms, to the first one. */
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

  /** Goes to a room by the list of rooms. */
  async enter(room: string): Promise<void> {
    await this.unfold();
    await this.rooms
      .getByRole("link", { name: new RegExp(`^${room}`) })
      .click();
    await this.page.getByRole("heading", { name: room, level: 1 }).waitFor();
  }

  /** Shows the list of rooms, where a phone hides it. */
  async unfold(): Promise<void> {
    const menu = this.button("Menu");
    // The page of a visitor who has just joined may still be loading.
    await menu.or(this.rooms).first().waitFor();
    if (!(await menu.isVisible())) return;
    // The list is still to be seen while it goes.
    const isOpen = async () =>
      (await menu.getAttribute("aria-expanded")) === "true";
    if (!(await isOpen())) await menu.click();
    await this.rooms.waitFor();
  }

  /** Sends a message, and waits until the server has it. */
  async say(text: string): Promise<void> {
    await this.message.fill(text);
    await this.button("Send").click();
    await this.post(text).waitFor();
  }

  /** A message that holds a text. One that waits for the server is none yet. */
  post(text: string): Locator {
    return this.log.locator("article[data-event]").filter({ hasText: text });
  }

  async choose(place: Locator, menu: string, item: string): Promise<void> {
    await place.hover();
    await place.getByRole("button", { name: menu, exact: true }).click();
    await this.page.getByRole("menuitem", { name: item, exact: true }).click();
  }

  async chooses(button: string): Promise<FileChooser> {
    const [chooser] = await Promise.all([
      this.page.waitForEvent("filechooser"),
      this.button(button).click(),
    ]);
    return chooser;
  }

  /** The text of the field that has the focus, and the like. */
  focused(): Promise<string> {
    return this.page.evaluate(() => {
      const { activeElement: it } = document;
      return `${it?.tagName} ${it?.getAttribute("aria-label") ?? it?.textContent?.trim()}`;
    });
  }
}

/** Waits until something is so. @param what is said if it never is. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  const ends = Date.now() + PATIENCE;
  while (!(await condition())) {
    if (Date.now() > ends) throw new Error(`It never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

export const textsOf = async (locator: Locator): Promise<string[]> =>
  (await locator.allInnerTexts()).map((text) => text.trim());
