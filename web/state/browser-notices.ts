import { type Readable, writable } from "svelte/store";
import type { Live } from "../../client/index.js";
import type { Session } from "./session.js";

/**
 * Whether this browser shows notifications while the page is closed. `absent`: it cannot, or the
 * server has no key; `blocked`: its user refused.
 */
type NoticeState = "absent" | "blocked" | "off" | "on";

/** What {@link BrowserNotices} needs of a browser. */
export interface Browser {
  /** The worker of the page; undefined without one. */
  readonly worker: () => Promise<Pick<ServiceWorkerRegistration, "pushManager"> | undefined>;
  /** Whether its user allows notifications; undefined where there are none. */
  readonly permission: () => NotificationPermission | undefined;
  readonly ask: () => Promise<NotificationPermission>;
}

/** The bytes of base64url. */
const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
    char.charCodeAt(0),
  );

const isSame = (a: ArrayBuffer | null | undefined, b: Uint8Array): boolean => {
  const bytes = new Uint8Array(a ?? new ArrayBuffer());
  return bytes.length === b.length && bytes.every((it, i) => it === b[i]);
};

/** Notifications of this browser, by web push. */
export class BrowserNotices implements Readable<NoticeState> {
  readonly #state = writable<NoticeState>("absent");
  readonly subscribe = this.#state.subscribe;
  readonly #live: Live;
  readonly #browser: Browser;

  constructor(live: Live, browser: Browser) {
    this.#live = live;
    this.#browser = browser;
  }

  /** Finds out what is on. A subscription is sent once more: it belongs to the present user. */
  async begin(): Promise<void> {
    const manager = await this.#manager();
    const subscription = await manager?.getSubscription();
    if (this.#browser.permission() === "granted" && subscription) {
      await this.turnOn();
    } else {
      this.#state.set(this.#without(manager));
    }
  }

  /** Asks for permission, if need be, and subscribes. It throws what the browser or the server says. */
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
      // The server has another key than before.
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
    });
    this.#state.set("on");
  }

  /** Ends the subscription. The server forgets it when the push service refuses a message. */
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

// The service worker of an event: web/worker/. Browsers have it for secure pages only.

/** Where the worker works: the folder of the event. @param baseUrl the folder of the server. */
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

/** The address of the worker, for pages that require trusted types. */
function trusted(url: string): string {
  const policies = (globalThis as { trustedTypes?: Policies }).trustedTypes;
  return (
    policies?.createPolicy("foyer-worker", { createScriptURL: (it) => it }).createScriptURL(url) ??
    url
  );
}

let registration: Promise<ServiceWorkerRegistration | undefined> | undefined;

/**
 * The worker of this page, which keeps the files that the page has loaded. It is registered once.
 * @returns undefined where browsers have none, or refuse it.
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

/** Keeps the shell of the page, and finds out whether this browser shows notifications. */
export function beginWorker(session: Session): void {
  void workerOf(session.baseUrl, session.world);
  noticesOf(session);
}

/** The notifications of this browser for a visit, which begin with the first call. */
export function noticesOf(session: Session): BrowserNotices {
  let notices = known.get(session);
  if (!notices) {
    notices = new BrowserNotices(session.live, {
      worker: () => workerOf(session.baseUrl, session.world),
      permission: () =>
        (globalThis as { Notification?: typeof Notification }).Notification?.permission,
      ask: () => Notification.requestPermission(),
    });
    known.set(session, notices);
    // Without an answer of the server, they stay as they were.
    void notices.begin().catch(() => {});
  }
  return notices;
}
