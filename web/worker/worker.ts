// An event's service worker. It shows push messages while the page is closed, and caches the page's
// shell (its HTML and its own files, but nothing that people wrote) for offline use. It is a
// classic script, so it cannot import anything.

/** An event during which the browser keeps the worker alive: `ExtendableEvent`. */
interface Lasting extends Event {
  waitUntil(work: Promise<unknown>): void;
}

/** The worker globals that this file uses, which the DOM types lack. */
interface Scope {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: object): Promise<readonly Tab[]>;
    openWindow(url: string): Promise<unknown>;
  };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", listener: (event: Lasting) => void): void;
  addEventListener(
    type: "fetch",
    listener: (
      event: Lasting & {
        request: Request;
        respondWith(response: Promise<Response>): void;
      },
    ) => void,
  ): void;
  addEventListener(type: "message", listener: (event: Lasting & { data: unknown }) => void): void;
  addEventListener(
    type: "push",
    listener: (event: Lasting & { data: { json(): unknown } | null }) => void,
  ): void;
  addEventListener(
    type: "notificationclick",
    listener: (event: Lasting & { notification: Notification }) => void,
  ): void;
}

interface Tab {
  readonly url: string;
  readonly visibilityState: DocumentVisibilityState;
  focus(): Promise<unknown>;
  postMessage(message: unknown): void;
}

const worker = self as unknown as Scope;
const { scope } = worker.registration;
const SHELL = `foyer-shell:${scope}`;

/** The build puts a content hash into the name, so these files never change. */
const HASHED = /\/web\/[\w-]+-[\w-]{8}\.\w+$/;

/** Whether an address is the page itself, apart from the URL fragment. */
const isPage = (url: string) => url.split("#")[0] === scope;

const isOwnFile = (url: string) => new URL(url).origin === location.origin && HASHED.test(url);

worker.addEventListener("install", (event) => event.waitUntil(worker.skipWaiting()));
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET") return;
  if (request.mode === "navigate") {
    if (isPage(request.url)) event.respondWith(page(request));
  } else if (isOwnFile(request.url)) {
    event.respondWith(file(request));
  }
});

/** Fetches the page, or returns the cached page if the server is unreachable. */
async function page(request: Request): Promise<Response> {
  const kept = () => caches.open(SHELL).then((cache) => cache.match(scope));
  try {
    const response = await fetch(request);
    // Proxies respond like this while the server is down.
    return (response.status >= 502 && (await kept())) || response;
  } catch (error) {
    const response = await kept();
    if (response) return response;
    throw error;
  }
}

/** Returns a file from the cache. On first use, the file is fetched and cached. */
async function file(request: Request): Promise<Response> {
  const cache = await caches.open(SHELL);
  const kept = await cache.match(request.url);
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok) await cache.put(request.url, response.clone());
  return response;
}

worker.addEventListener("message", (event) => {
  const { shell } = Object(event.data) as { shell?: unknown };
  if (Array.isArray(shell)) event.waitUntil(keep(shell.map(String)));
});

/** Caches the page and its files, and removes the files of outdated versions. */
async function keep(urls: readonly string[]): Promise<void> {
  const cache = await caches.open(SHELL);
  const response = await fetch(scope, { headers: { accept: "text/html" } });
  if (!response.ok) return;
  const [text, before] = await Promise.all([
    response.clone().text(),
    cache.match(scope).then((it) => it?.text()),
  ]);
  if (text !== before) {
    const old = await cache.keys();
    await Promise.all(old.map((it) => cache.delete(it)));
    await cache.put(scope, response);
  }
  const known = new Set((await cache.keys()).map(({ url }) => url));
  const missing = urls.filter((url) => isOwnFile(url) && !known.has(url));
  await Promise.allSettled([...new Set(missing)].map((url) => cache.add(url)));
}

/** Returns the event's open windows. */
const tabs = async (): Promise<readonly Tab[]> => {
  const all = { type: "window", includeUncontrolled: true };
  return (await worker.clients.matchAll(all)).filter(({ url }) => url.startsWith(scope));
};

worker.addEventListener("push", (event) => {
  const message = Object(event.data?.json()) as Record<string, unknown>;
  event.waitUntil(show(message));
});

async function show({ title, body, url, tag }: Record<string, unknown>): Promise<void> {
  const isSeen = (await tabs()).some((it) => it.visibilityState === "visible");
  const name = String(tag);
  // The page shows messages itself, but not sessions that begin.
  if (isSeen && !name.startsWith("session ")) return;
  await worker.registration.showNotification(String(title), {
    body: String(body),
    tag: name,
    dir: "auto",
    icon: `${scope}icon.svg`,
    data: addressOf(String(url)),
  });
}

worker.addEventListener("notificationclick", (event) => {
  const { notification } = event;
  notification.close();
  event.waitUntil(open(String(notification.data)));
});

/** Whether an address is that of the event's console. */
const isConsole = (url: string) => new URL(url).pathname.endsWith("/console");

/**
 * Returns the address of a notification's target, below this worker's own path: a proxy may serve
 * the event elsewhere than the server thinks.
 */
function addressOf(url: string): string {
  const { href, pathname, hash } = new URL(url, scope);
  if (!isConsole(href)) return scope + hash;
  return new URL(/\/w\/[^/]+\/$/.test(scope) ? "console" : pathname.slice(1), scope).href + hash;
}

/** Opens an address of the event or its console in an existing window of it, or in a new window. */
async function open(address: string): Promise<void> {
  const [, hash = ""] = address.split("#");
  const tab = (await tabs()).find(({ url }) => isConsole(url) === isConsole(address));
  if (!tab) {
    await worker.clients.openWindow(address);
    return;
  }
  tab.postMessage({ open: `#${hash}` });
  await tab.focus();
}
