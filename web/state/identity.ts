import type { Shelf } from "../lib/storage.js";

// A user's identity in a world: the bearer of a token, or a guest with a client id.

/**
 * The purpose for which a page stores its token. A console's or a screen's token never becomes an
 * attendee's token.
 */
export type Purpose = "attend" | "console" | "screen" | "preview" | "invite";

export interface Identity {
  token?: string;
  clientId?: string;
  /** Token of the invitation link that an anonymous guest opened. */
  inviteToken?: string;
}

/** Returns the token in a link's fragment, such as `#token=…`, or undefined if there is none. */
export const tokenOf = (hash: string): string | undefined =>
  new URLSearchParams(hash.replace(/^#/, "")).get("token") || undefined;

/** Returns the token in the fragment of an invitation link for anonymous guests, such as `#invite=…`. */
export const inviteOf = (hash: string): string | undefined =>
  new URLSearchParams(hash.replace(/^#/, "")).get("invite") || undefined;

/**
 * Removes the token from a link's fragment. The result leads to the room named in the fragment, or
 * to the room's host view.
 */
export function withoutToken(hash: string): string {
  if (tokenOf(hash) === undefined) return hash;
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const room = params.get("room");
  if (!room) return "";
  const view = params.get("view") === "host" ? "/host" : "";
  return `#/rooms/${encodeURIComponent(room)}${view}`;
}

/** Decodes a token's claims without verifying them, for display only. */
export function claimsOf(token: string): Record<string, unknown> | undefined {
  try {
    const [, payload = ""] = token.split(".");
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
      char.charCodeAt(0),
    );
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === "object" && claims !== null
      ? (claims as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the traits claimed by a token, without verifying the token. */
export function traitsClaimedBy(token = ""): string[] {
  const traits = claimsOf(token)?.["traits"];
  return Array.isArray(traits) ? traits.map(String) : [];
}

/**
 * Returns the name in a token's profile, without verifying the token, or an empty string if there
 * is no name. The server uses the profile only when it creates the user, so an existing user may
 * still have no name.
 */
export function nameClaimedBy(token = ""): string {
  const profile: unknown = claimsOf(token)?.["profile"];
  const { display_name } = Object(profile) as { display_name?: unknown };
  return typeof display_name === "string" ? display_name.trim() : "";
}

const keyOf = (world: string, purpose: Purpose, what: string) =>
  `foyer:${world}:${purpose}:${what}`;

/** The identities that this browser stores for a world. */
export class Identities {
  readonly #shelf: Shelf;
  readonly #world: string;
  readonly #purpose: Purpose;

  constructor(shelf: Shelf, world: string, purpose: Purpose) {
    this.#shelf = shelf;
    this.#world = world;
    this.#purpose = purpose;
  }

  /** The stored token or client id, or undefined for a new visitor. */
  get kept(): Identity | undefined {
    const token = this.#get("token");
    if (token !== null) return { token };
    const clientId = this.#get("client");
    return clientId === null ? undefined : { clientId };
  }

  /**
   * Stores a token. The client id is kept for the time after the token ends. A truncated or
   * mistyped link does not sign out the current user.
   */
  keepToken(token: string): void {
    if (claimsOf(token) || this.#get("token") === null) {
      this.#set("token", token);
    }
  }

  /** Returns this browser's guest identity, and creates it if necessary. */
  guest(): Identity {
    const kept = this.#get("client");
    const clientId = kept ?? randomId();
    if (kept === null) this.#set("client", clientId);
    return { clientId };
  }

  /** Stores an identity that a sign-in has proven. */
  keep({ token, clientId }: Identity): void {
    if (token !== undefined) return this.keepToken(token);
    this.signOut();
    if (clientId !== undefined) this.#set("client", clientId);
  }

  /** Forgets the token. */
  signOut(): void {
    this.#shelf.removeItem(keyOf(this.#world, this.#purpose, "token"));
  }

  /** Forgets the guest as well, so that the next person at this computer is a different user. */
  forget(): void {
    this.signOut();
    this.#shelf.removeItem(keyOf(this.#world, this.#purpose, "client"));
  }

  #get(what: string) {
    return this.#shelf.getItem(keyOf(this.#world, this.#purpose, what));
  }

  #set(what: string, value: string) {
    this.#shelf.setItem(keyOf(this.#world, this.#purpose, what), value);
  }
}

/** Generates a random id without `crypto.randomUUID`, which browsers offer on secure pages only. */
const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
