// The service worker of an event. It shows messages of push services while the page is closed, and
// keeps the shell of the page (its HTML and its own files, and nothing that people wrote) for times
// without a network. It is a classic script: it imports nothing.

/** An event that the browser waits for. */
interface Lasting extends Event {
  waitUntil(work: Promise<unknown>): void;
}

/** What this file uses of the globals of a worker: the types of pages lack them. */
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

/** The build puts a hash of the content into the name: such a file never changes. */
const HASHED = /\/web\/[\w-]+-[\w-]{8}\.\w+$/;

/** The page itself, without anything in its address. */
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

/** The page of the server, or the kept one while the server cannot be reached. */
async function page(request: Request): Promise<Response> {
  const kept = () => caches.open(SHELL).then((cache) => cache.match(scope));
  try {
    const response = await fetch(request);
    // A proxy answers so while the server is away.
    return (response.status >= 502 && (await kept())) || response;
  } catch (error) {
    const response = await kept();
    if (response) return response;
    throw error;
  }
}

/** A file, which is kept once it was asked for. */
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

/** Keeps the page and its files, and removes the files of other versions. */
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

/** The windows of this event. */
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
    data: new URL(String(url), scope).hash,
  });
}

worker.addEventListener("notificationclick", (event) => {
  const { notification } = event;
  notification.close();
  event.waitUntil(open(String(notification.data)));
});

/** Shows a place of the event in a window that is open, or in a new one. */
async function open(hash: string): Promise<void> {
  const [tab] = await tabs();
  if (!tab) {
    await worker.clients.openWindow(scope + hash);
    return;
  }
  tab.postMessage({ open: hash });
  await tab.focus();
}
