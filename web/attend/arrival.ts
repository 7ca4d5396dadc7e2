import { readPage } from "../lib/page.js";
import { browserShelf, forgetAll } from "../lib/storage.js";
import { Identities, tokenOf, withoutToken } from "../state/identity.js";

/** This browser's storage. */
export const shelf = browserShelf();
const { world } = readPage(document);

/** This browser's storage for the event; undefined at an address without one. */
export const identities =
  world === null ? undefined : new Identities(shelf, world, "attend");

/**
 * Takes the token out of the address, where histories and screenshots would keep it.
 * @returns whether there was one.
 */
export function takeToken(): boolean {
  const { pathname, search, hash } = location;
  const token = tokenOf(hash);
  if (token === undefined) return false;
  history.replaceState(null, "", pathname + search + withoutToken(hash));
  identities?.keepToken(token);
  return true;
}

/** Forgets the user and their drafts: others may use this computer. */
export function forgetVisitor(): void {
  identities?.forget();
  if (world !== null) forgetAll(`foyer:${world}:chat:`);
}
