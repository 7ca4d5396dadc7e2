import type { Shelf } from "../lib/storage.js";

// The identity of a user in a world: the bearer of a token, or a guest with an id of its own.

/** Where a page keeps its token: a console's or a screen's never becomes an attendee's. */
export type Purpose = "attend" | "console" | "screen" | "preview" | "invite";

export interface Identity {
  token?: string;
  clientId?: string;
  /** The token of the link that a guest without a name opened. */
  inviteToken?: string;
}

/** The token of a link, such as `#token=…`; undefined if it has none. */
export const tokenOf = (hash: string): string | undefined =>
  new URLSearchParams(hash.replace(/^#/, "")).get("token") || undefined;

/** The token of a link for people without a name, `#invite=…`. */
export const inviteOf = (hash: string): string | undefined =>
  new URLSearchParams(hash.replace(/^#/, "")).get("invite") || undefined;

/** The `#` of a link without its token: the room that it names, or the view of its host. */
export function withoutToken(hash: string): string {
  if (tokenOf(hash) === undefined) return hash;
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const room = params.get("room");
  if (!room) return "";
  const view = params.get("view") === "host" ? "/host" : "";
  return `#/rooms/${encodeURIComponent(room)}${view}`;
}

/** The claims of a token, unverified: only for display. */
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

/** The traits that a token names, unverified. */
export function traitsClaimedBy(token = ""): string[] {
  const traits = claimsOf(token)?.["traits"];
  return Array.isArray(traits) ? traits.map(String) : [];
}

/**
 * The name in the profile of a token, unverified; empty without one. The server uses the profile
 * only when it makes the user, so a user who is there already may have no name all the same.
 */
export function nameClaimedBy(token = ""): string {
  const profile: unknown = claimsOf(token)?.["profile"];
  const { display_name } = Object(profile) as { display_name?: unknown };
  return typeof display_name === "string" ? display_name.trim() : "";
}

const keyOf = (world: string, purpose: Purpose, what: string) =>
  `foyer:${world}:${purpose}:${what}`;

/** This browser's storage for a world. */
export class Identities {
  readonly #shelf: Shelf;
  readonly #world: string;
  readonly #purpose: Purpose;

  constructor(shelf: Shelf, world: string, purpose: Purpose) {
    this.#shelf = shelf;
    this.#world = world;
    this.#purpose = purpose;
  }

  /** The token or the client id that is kept; undefined for a new visitor. */
  get kept(): Identity | undefined {
    const token = this.#get("token");
    if (token !== null) return { token };
    const clientId = this.#get("client");
    return clientId === null ? undefined : { clientId };
  }

  /**
   * Keeps a token. The client id stays, for when the token ends. A link that was cut or
   * mistyped does not sign out the present user.
   */
  keepToken(token: string): void {
    if (claimsOf(token) || this.#get("token") === null) {
      this.#set("token", token);
    }
  }

  /** The guest that this browser was before, or a new one. */
  guest(): Identity {
    const kept = this.#get("client");
    const clientId = kept ?? randomId();
    if (kept === null) this.#set("client", clientId);
    return { clientId };
  }

  /** Forgets the token. */
  signOut(): void {
    this.#shelf.removeItem(keyOf(this.#world, this.#purpose, "token"));
  }

  /** Forgets the guest as well: the next person at this computer is another user. */
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

/** Browsers offer `crypto.randomUUID` to secure pages only. */
const randomId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
