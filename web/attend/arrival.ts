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

/** This browser's storage. */
export const shelf = browserShelf();
const { world } = readPage(document);

/** The screen in a hall that the address asks for. */
export const hall = screenIn(location.search);

const identitiesOf = (purpose: Purpose, on = shelf) =>
  world === null ? undefined : new Identities(on, world, purpose);

/**
 * The link of a room for people without a name. It counts in this tab only, so that the event
 * itself opens as always; the guest stays the same, so that a person votes once.
 */
const invite = {
  key: `foyer:${world}:invite:token`,
  tab: tabShelf(),
  guests: identitiesOf("invite"),
  /** The visitor of the link that this tab has opened. */
  get visitor(): Identity | undefined {
    const inviteToken = this.tab.getItem(this.key);
    if (inviteToken === null || !this.guests) return undefined;
    return { ...this.guests.guest(), inviteToken };
  },
};

/** Leaves the room of a link, for the event itself. */
export const leaveInvite = (): void => invite.tab.removeItem(invite.key);

const previews = identitiesOf("preview", tabShelf());

/**
 * Whether an organizer previews the event in a role, in this tab only: `?preview`,
 * with a token of its own.
 */
export const isPreview =
  new URLSearchParams(location.search).has("preview") &&
  (tokenOf(location.hash) ?? previews?.kept) !== undefined;

/** Whether an organizer tries the event as a new guest, in this tab only: `?guest`. */
const isTrial = new URLSearchParams(location.search).has("guest");

/** Whether the user is one of this tab only: the browser has the organizer's notifications. */
export const isOfTab = isPreview || isTrial;

/** Where the user's drafts are: what a trial guest wrote ends with the tab. */
export const visitorShelf = isOfTab ? tabShelf() : shelf;

function visitors(): Identities | undefined {
  if (isPreview) return previews;
  if (hall) return identitiesOf("screen");
  return identitiesOf("attend", isTrial ? tabShelf() : shelf);
}

/** This browser's storage for the event; undefined at an address without one. */
export const identities = visitors();

/** A host who opens a link of the console, or a bookmark, is the user of the console. */
function takeHost(): void {
  if (hall || isOfTab || !isHostView(routeOf(location.hash))) return;
  const { token } = identitiesOf("console")?.kept ?? {};
  if (token === undefined || identities?.kept?.token !== undefined) return;
  const ends = claimsOf(token)?.["exp"];
  if (typeof ends !== "number" || ends * 1000 <= Date.now()) return;
  leaveInvite();
  identities?.keepToken(token);
}

/**
 * As whom the page begins. A screen without a link of its own shows what the user of this
 * browser sees.
 */
export function keptIdentity(): Identity | undefined {
  takeHost();
  return (
    (!hall && !isOfTab && invite.visitor) ||
    (identities?.kept ?? (hall && identitiesOf("attend")?.kept))
  );
}

/**
 * Takes the token out of the address, where histories and screenshots would keep it.
 * @returns whether there was one.
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

/** Forgets the user and their drafts: others may use this computer. */
export function forgetVisitor(): void {
  leaveInvite();
  identities?.forget();
  if (world === null) return;
  forgetAll(`foyer:${world}:chat:`, isOfTab);
  forgetAll(`foyer:${world}:draft:`, isOfTab);
}
