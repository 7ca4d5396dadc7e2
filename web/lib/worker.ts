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

/** The address of the worker, as pages that require trusted types take it. */
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
export function workerOf(
  baseUrl: string,
  world: string,
): Promise<ServiceWorkerRegistration | undefined> {
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
