/** How long the server may take to answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

/** The part of a window that a reload needs. */
export interface ReloadWindow {
  readonly location: Pick<Location, "href" | "reload">;
  readonly fetch: typeof fetch;
}

/**
 * Reloads the page if the server is in reach: a reload without a network would replace the
 * page by an error of the browser. Browsers may remember that code could not be loaded, so
 * only a new page can load it again.
 * @returns false if the server is out of reach; the page stays then.
 */
export async function reloadOnline(
  window: ReloadWindow,
  timeout = ANSWER_TIMEOUT_MS,
): Promise<boolean> {
  try {
    const { ok } = await window.fetch(window.location.href, {
      method: "HEAD",
      cache: "no-store",
      signal: AbortSignal.timeout(timeout),
    });
    if (!ok) return false;
  } catch {
    return false;
  }
  window.location.reload();
  return true;
}
