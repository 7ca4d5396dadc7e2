import type { PageConfig } from "../lib/page.js";
import type { Shelf } from "../lib/storage.js";

/** Reasons why a provider's sign-in failed, as the server reports them in the address: `?sign-in=…`. */
export const problems = ["denied", "expired", "unavailable", "failed"] as const;

export type Problem = (typeof problems)[number];

/** Returns the failure reported in an address, or undefined if there is none. */
export function problemIn(search: string): Problem | undefined {
  const code = new URLSearchParams(search).get("sign-in");
  return problems.find((it) => it === code);
}

/**
 * Returns the address at which a provider's sign-in starts. The sign-in leads back to this page.
 * @param address this page's address.
 */
export function signInAddress(
  { world }: PageConfig,
  baseUrl: string,
  id: string,
  address: string,
): string {
  const { pathname, searchParams, hash } = new URL(address);
  searchParams.delete("sign-in");
  const query = searchParams.size > 0 ? `?${String(searchParams)}` : "";
  const to = encodeURIComponent(pathname + query + hash);
  return `${baseUrl}w/${world}/sign-in/${id}/?to=${to}`;
}

/** Shelf key for the time of the last automatic sign-in. */
const keyOf = (world: string) => `foyer:${world}:sign-in`;

/** Minimum interval between automatic redirects to a provider, in milliseconds. */
const REDIRECT_INTERVAL_MS = 60_000;

/**
 * Returns the provider to redirect to automatically: the only provider of an event that is closed
 * to guests. A redirect happens at most once per interval, even if the person returns without a
 * token or with a token that is refused.
 * @param now in milliseconds since 1970.
 */
export function autoRedirectProvider(
  page: PageConfig,
  search: string,
  shelf: Pick<Shelf, "getItem" | "setItem">,
  now: number,
): string | undefined {
  const { world, title, embed, signIn } = page;
  const [only, another] = signIn;
  if (world === null || title !== null || !only || another) return undefined;
  if (embed !== null || problemIn(search)) return undefined;
  const last = Number(shelf.getItem(keyOf(world)));
  if (now < last + REDIRECT_INTERVAL_MS) return undefined;
  shelf.setItem(keyOf(world), String(now));
  return only.id;
}
