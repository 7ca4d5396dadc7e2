import { readPage } from "../lib/page.js";
import { browserShelf, forgetAll, tabShelf } from "../lib/storage.js";
import {
  claimsOf,
  Identities,
  type Identity,
  inviteOf,
  type Purpose,
  tokenOf,
  withoutToken,
} from "../state/identity.js";
import { screenIn } from "../state/rooms.js";
import { isHostView, routeOf } from "../state/route.js";

export const shelf = browserShelf();
const { world } = readPage(document);

/** The hall screen requested by the address, if any. */
export const hall = screenIn(location.search);

const identitiesOf = (purpose: Purpose, on = shelf) =>
  world === null ? undefined : new Identities(on, world, purpose);

/**
 * A room's link for people without a name. The link applies to this tab only, so that other tabs
 * open the event itself as usual. The guest identity persists, so that each person votes only once.
 */
const invite = {
  key: `foyer:${world}:invite:token`,
  tab: tabShelf(),
  guests: identitiesOf("invite"),
  /** The identity for the link opened in this tab, if any. */
  get visitor(): Identity | undefined {
    const inviteToken = this.tab.getItem(this.key);
    if (inviteToken === null || !this.guests) return undefined;
    return { ...this.guests.guest(), inviteToken };
  },
};

/** Forgets the room link opened in this tab, so that the tab returns to the event itself. */
export const leaveInvite = (): void => invite.tab.removeItem(invite.key);

const previews = identitiesOf("preview", tabShelf());

/** Whether an organizer previews the event in a role (`?preview`), with a separate token in this tab only. */
export const isPreview =
  new URLSearchParams(location.search).has("preview") &&
  (tokenOf(location.hash) ?? previews?.kept) !== undefined;

/** Whether an organizer tries the event as a new guest (`?guest`), in this tab only. */
const isTrial = new URLSearchParams(location.search).has("guest");

/** Whether the user exists in this tab only. The browser's notifications remain the organizer's. */
export const isOfTab = isPreview || isTrial;

/** Storage for the user's drafts. A trial guest's drafts are discarded with the tab. */
export const visitorShelf = isOfTab ? tabShelf() : shelf;

function visitors(): Identities | undefined {
  if (isPreview) return previews;
  if (hall) return identitiesOf("screen");
  return identitiesOf("attend", isTrial ? tabShelf() : shelf);
}

/** The identities that this browser stores for the event; undefined if the address names no event. */
export const identities = visitors();

/**
 * Signs in a host who follows a console link or a bookmark as the console's user: always in host
 * views, and elsewhere in the event unless somebody has joined in this browser before.
 */
function takeHost(): void {
  const route = routeOf(location.hash);
  if (hall || isOfTab || route.length === 0) return;
  const { token } = identitiesOf("console")?.kept ?? {};
  const kept = identities?.kept;
  if (token === undefined || kept?.token !== undefined) return;
  if (!isHostView(route) && kept !== undefined) return;
  const claims = claimsOf(token);
  // The links of hosts may have no end.
  const { exp } = claims ?? {};
  if (!claims || (typeof exp === "number" && exp * 1000 <= Date.now())) return;
  leaveInvite();
  identities?.keepToken(token);
}

/**
 * Returns the page's initial identity. A hall screen without its own link shows what this browser's
 * regular user sees.
 */
export function keptIdentity(): Identity | undefined {
  takeHost();
  return (
    (!hall && !isOfTab && invite.visitor) ||
    (identities?.kept ?? (hall && identitiesOf("attend")?.kept))
  );
}

/**
 * Moves the token from the address to the storage, because an address persists in histories and
 * screenshots.
 * @returns whether the address contained a token.
 */
export function takeToken(): boolean {
  const { pathname, search, hash } = location;
  const token = tokenOf(hash);
  const invited = token === undefined ? inviteOf(hash) : undefined;
  if (invited !== undefined && world !== null) {
    history.replaceState(null, "", pathname + search);
    invite.tab.setItem(invite.key, invited);
    return true;
  }
  if (token === undefined) return false;
  history.replaceState(null, "", pathname + search + withoutToken(hash));
  leaveInvite();
  identities?.keepToken(token);
  return true;
}

/** Forgets the user and their drafts, because others may use this computer. */
export function forgetVisitor(): void {
  leaveInvite();
  identities?.forget();
  if (world === null) return;
  forgetAll(`foyer:${world}:chat:`, isOfTab);
  forgetAll(`foyer:${world}:draft:`, isOfTab);
}
