import { readPage } from "../lib/page.js";
import { screenIn } from "../state/screens.js";
import { browserShelf, forgetAll, tabShelf } from "../lib/storage.js";
import {
  Identities,
  type Identity,
  type Purpose,
  tokenOf,
  withoutToken,
} from "../state/identity.js";

/** This browser's storage. */
export const shelf = browserShelf();
const { world } = readPage(document);

/** The screen in a hall that the address asks for. */
export const hall = screenIn(location.search);

const identitiesOf = (purpose: Purpose, on = shelf) =>
  world === null ? undefined : new Identities(on, world, purpose);

const previews = identitiesOf("preview", tabShelf());

/**
 * Whether an organizer previews the event in a role, in this tab only: `?preview`,
 * with a token of its own.
 */
export const isPreview =
  new URLSearchParams(location.search).has("preview") &&
  (tokenOf(location.hash) ?? previews?.kept) !== undefined;

/** This browser's storage for the event; undefined at an address without one. */
export const identities = isPreview
  ? previews
  : identitiesOf(hall ? "screen" : "attend");

/**
 * As whom the page begins. A screen without a link of its own shows what the user of this
 * browser sees.
 */
export const keptIdentity = (): Identity | undefined =>
  identities?.kept ?? (hall && identitiesOf("attend")?.kept);

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
