import type { PageConfig } from "../lib/page.js";
import type { Shelf } from "../lib/storage.js";

/** Why a sign-in by a provider failed, as the server says in the address: `?sign-in=…`. */
export const problems = ["denied", "expired", "unavailable", "failed"] as const;

export type Problem = (typeof problems)[number];

/** The failure in an address; undefined for none. */
export function problemIn(search: string): Problem | undefined {
  const code = new URLSearchParams(search).get("sign-in");
  return problems.find((it) => it === code);
}

/**
 * The address at which a sign-in by a provider begins. It leads back to this page.
 * @param address the one of this page.
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

/** Where the time of the last automatic sign-in is kept. */
const keyOf = (world: string) => `foyer:${world}:sign-in`;

/** How long until a page may redirect to a provider again. */
const REDIRECT_INTERVAL_MS = 60_000;

/**
 * The provider to which a page leads by itself: the only one of an event that is closed to guests.
 * It does so only once, also if the person comes back without a token, or with one
 * that is refused.
 * @param now in milliseconds since 1970.
 */
export function providerToLeadTo(
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
