import { get, type Readable, type Writable, writable } from "svelte/store";
import type { Live } from "../../client/index.js";
import { browserShelf, type Shelf } from "../lib/storage.js";
import type { Session } from "./session.js";

/**
 * Whether this browser shows notifications while the page is closed. `absent`: the browser does not
 * support notifications, or the server has no key; `blocked`: the user refused.
 */
type NoticeState = "absent" | "blocked" | "off" | "on";

/** The browser features that {@link BrowserNotices} uses. */
export interface Browser {
  /** Returns the page's service worker, or undefined if there is none. */
  readonly worker: () => Promise<Pick<ServiceWorkerRegistration, "pushManager"> | undefined>;
  /** Returns the user's decision, or undefined if the browser does not support notifications. */
  readonly permission: () => NotificationPermission | undefined;
  readonly ask: () => Promise<NotificationPermission>;
  /** Where this browser keeps whether the user wants what waits for moderators. */
  readonly shelf: Shelf;
  /** Unique per world. */
  readonly key: string;
}

/** Decodes base64url. */
const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
    char.charCodeAt(0),
  );

const isSame = (a: ArrayBuffer | null | undefined, b: Uint8Array): boolean => {
  const bytes = new Uint8Array(a ?? new ArrayBuffer());
  return bytes.length === b.length && bytes.every((it, i) => it === b[i]);
};

/** This browser's notifications, by web push. */
export class BrowserNotices implements Readable<NoticeState> {
  readonly #state = writable<NoticeState>("absent");
  readonly subscribe = this.#state.subscribe;
  readonly #live: Live;
  readonly #browser: Browser;
  /** Whether this browser also shows what waits for the user as a moderator. */
  readonly moderation: Readable<boolean>;
  readonly #moderation: Writable<boolean>;

  constructor(live: Live, browser: Browser) {
    this.#live = live;
    this.#browser = browser;
    this.#moderation = writable(browser.shelf.getItem(browser.key) !== null);
    this.moderation = this.#moderation;
  }

  /**
   * Determines the current state. An existing subscription is re-sent, because it must belong to
   * the current user.
   */
  async begin(): Promise<void> {
    const manager = await this.#manager();
    const subscription = await manager?.getSubscription();
    if (this.#browser.permission() === "granted" && subscription) {
      await this.turnOn();
    } else {
      this.#state.set(this.#without(manager));
    }
  }

  /**
   * Asks for permission if necessary, and subscribes.
   * @throws any error from the browser or the server.
   */
  async turnOn(): Promise<void> {
    const manager = await this.#manager();
    if (!manager) return;
    if ((await this.#browser.ask()) !== "granted") {
      this.#state.set(this.#without(manager));
      return;
    }
    const key = bytesOf(this.#key!);
    let subscription = await manager.getSubscription();
    if (subscription && !isSame(subscription.options.applicationServerKey, key)) {
      // The server's key has changed.
      await subscription.unsubscribe();
      subscription = null;
    }
    subscription ??= await manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    const { endpoint, expirationTime, keys = {} } = subscription.toJSON();
    const { p256dh = "", auth = "" } = keys;
    await this.#live.call("user.web_push.subscribe", {
      subscription: {
        endpoint: endpoint ?? "",
        expirationTime: expirationTime ?? null,
        keys: { p256dh, auth },
      },
      moderation: get(this.#moderation),
    });
    this.#state.set("on");
  }

  /**
   * Turns notifications about what waits for moderators on or off.
   * @throws any error from the browser or the server. Then, nothing changes.
   */
  async setModeration(isOn: boolean): Promise<void> {
    const before = get(this.#moderation);
    this.#moderation.set(isOn);
    try {
      await this.turnOn();
    } catch (error) {
      this.#moderation.set(before);
      throw error;
    }
    const { shelf, key } = this.#browser;
    if (isOn) shelf.setItem(key, "1");
    else shelf.removeItem(key);
  }

  /** Ends the subscription. The server drops the subscription when the push service refuses a message. */
  async turnOff(): Promise<void> {
    const manager = await this.#manager();
    await (await manager?.getSubscription())?.unsubscribe();
    this.#state.set(this.#without(manager));
  }

  get #key(): string | null | undefined {
    return this.#live.state?.world.vapid_public_key;
  }

  async #manager(): Promise<PushManager | undefined> {
    if (!this.#key || this.#browser.permission() === undefined) return undefined;
    return (await this.#browser.worker())?.pushManager;
  }

  #without(manager: PushManager | undefined): NoticeState {
    if (!manager) return "absent";
    return this.#browser.permission() === "denied" ? "blocked" : "off";
  }
}

// The event's service worker: web/worker/. Browsers support it on secure pages only.

/**
 * Returns the worker's scope: the event's path.
 * @param baseUrl the server's address.
 */
export function scopeOf(baseUrl: string, href: string, world: string): string {
  const path = href.slice(baseUrl.length);
  return path.startsWith("w/") ? new URL(`w/${encodeURIComponent(world)}/`, baseUrl).href : baseUrl;
}

type Policies = {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
};

/** Wraps the worker's address for pages that require Trusted Types. */
function trusted(url: string): string {
  const policies = (globalThis as { trustedTypes?: Policies }).trustedTypes;
  return (
    policies?.createPolicy("foyer-worker", { createScriptURL: (it) => it }).createScriptURL(url) ??
    url
  );
}

let registration: Promise<ServiceWorkerRegistration | undefined> | undefined;

/**
 * Registers the page's service worker, once. The worker caches the files that the page has loaded.
 * @returns undefined if the browser does not support service workers or refuses the worker.
 */
function workerOf(baseUrl: string, world: string): Promise<ServiceWorkerRegistration | undefined> {
  return (registration ??= register(baseUrl, world));
}

async function register(baseUrl: string, world: string) {
  const { serviceWorker } = navigator as Partial<Navigator>;
  if (!serviceWorker) return undefined;
  try {
    await serviceWorker.register(trusted(new URL("web/worker.js", baseUrl).href), {
      scope: scopeOf(baseUrl, location.href, world),
    });
  } catch {
    return undefined;
  }
  const ready = await serviceWorker.ready;
  serviceWorker.addEventListener("message", ({ data }) => {
    const { open } = Object(data) as { open?: unknown };
    if (typeof open === "string") location.hash = open;
  });
  const shell = performance.getEntriesByType("resource").map((it) => it.name);
  ready.active?.postMessage({ shell });
  return ready;
}

const known = new WeakMap<Session, BrowserNotices>();

/** Caches the page's shell, and determines whether this browser shows notifications. */
export function beginWorker(session: Session): void {
  void workerOf(session.baseUrl, session.world);
  noticesOf(session);
}

/** Returns this browser's notifications for a visit. The first call determines their state. */
export function noticesOf(session: Session): BrowserNotices {
  let notices = known.get(session);
  if (!notices) {
    notices = new BrowserNotices(session.live, {
      worker: () => workerOf(session.baseUrl, session.world),
      permission: () =>
        (globalThis as { Notification?: typeof Notification }).Notification?.permission,
      ask: () => Notification.requestPermission(),
      shelf: browserShelf(),
      key: `foyer:${session.world}:moderation-notices`,
    });
    known.set(session, notices);
    // If the server does not answer, the state stays unchanged.
    void notices.begin().catch(() => {});
  }
  return notices;
}
