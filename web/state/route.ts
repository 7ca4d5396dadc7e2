import { readable, type Readable, writable, type Writable } from "svelte/store";
import type { LiveState, SentRoom } from "../../client/index.js";

/** The current page: the segments of the address after `#/`. */
export type Route = readonly string[];

/** Parses the route in a URL fragment, such as `#/rooms/abc`. The landing page's route is empty. */
export function routeOf(hash: string): Route {
  if (!hash.startsWith("#/")) return [];
  return hash
    .slice(2)
    .split("/")
    .filter((word) => word !== "")
    .map((word) => {
      try {
        return decodeURIComponent(word);
      } catch {
        return word;
      }
    });
}

/** Whether a route is a room's host view. */
export const isHostView = ([page, , part]: Route): boolean => page === "rooms" && part === "host";

/** Whether a route is the test of a setup for the call of a room. */
export const isSetup = ([page, , part]: Route): boolean => page === "rooms" && part === "setup";

/** Returns the link to a route. */
export const linkTo = (...words: string[]): string =>
  `#/${words.map(encodeURIComponent).join("/")}`;

/** The window's current route. */
export const routes = (window: Window): Readable<Route> =>
  readable(routeOf(window.location.hash), (set) => {
    const update = () => set(routeOf(window.location.hash));
    update();
    window.addEventListener("hashchange", update);
    return () => window.removeEventListener("hashchange", update);
  });

/** Content of the main area, next to the list of rooms. */
export type Place =
  | { readonly is: "room"; readonly room: SentRoom }
  /** The room does not exist, or the user cannot see it. */
  | { readonly is: "gone" }
  /** The event has no rooms. */
  | { readonly is: "empty" }
  /** All rooms as cards. */
  | { readonly is: "lobby" }
  /** The direct messages; `channel` is the open conversation. */
  | { readonly is: "messages"; readonly channel?: string }
  | { readonly is: "profile" }
  /** The program, or one of its sessions, or `speakers`. */
  | { readonly is: "program"; readonly session?: string };

/** Resolves a route. An invalid route shows the lobby, or the only room. */
export function placeOf([page, id]: Route, rooms: readonly SentRoom[]): Place {
  if (page === "profile") return { is: "profile" };
  if (page === "program") {
    return id === undefined ? { is: page } : { is: page, session: id };
  }
  if (page === "messages") {
    return id === undefined ? { is: "messages" } : { is: page, channel: id };
  }
  const isNamed = page === "rooms" && id !== undefined;
  if (!isNamed && rooms.length > 1) return { is: "lobby" };
  const room = isNamed ? rooms.find((it) => it.id === id) : rooms[0];
  if (room) return { is: "room", room };
  return { is: isNamed ? "gone" : "empty" };
}

/**
 * Returns the full address of an incomplete route if there is only one room, or undefined
 * otherwise. The address names the room, so that visitors stay in this room when another room is
 * added.
 */
export function addressOf([page, id]: Route, rooms: readonly SentRoom[]): string | undefined {
  const isComplete =
    page === "profile" ||
    page === "messages" ||
    page === "program" ||
    (page === "rooms" && id !== undefined);
  const first = rooms[0];
  return isComplete || !first || rooms.length > 1 ? undefined : linkTo("rooms", first.id);
}

/** Returns the channel that is open, if any. A room's channel has the room's id. */
export function openChannel(place: Place): string | undefined {
  if (place.is === "room") return place.room.id;
  return place.is === "messages" ? place.channel : undefined;
}

/** Returns the number of new mentions and direct messages. */
export const notificationCount = (state: LiveState | undefined): number =>
  Object.values(state?.notificationCounts ?? {}).reduce((sum, count) => sum + count, 0);

/**
 * Returns the window's title, such as `(3) Hall · Conference`.
 * @param names from the most specific to the most general. Empty names and duplicates are omitted.
 */
export function windowTitle(count: number, ...names: (string | undefined)[]): string {
  const title = [...new Set(names)].filter(Boolean).join(" · ");
  return count > 0 ? `(${count}) ${title}` : title;
}

/** The part of `Window` that {@link GuardedRoute} uses. */
export type RouteWindow = Pick<Window, "addEventListener"> & {
  readonly location: Pick<Location, "hash">;
  readonly history: Pick<History, "pushState">;
};

/** The window's route, which cannot change while there are unsaved changes. */
export class GuardedRoute implements Readable<Route> {
  readonly #window: RouteWindow;
  readonly #route: Writable<Route>;
  readonly subscribe: Readable<Route>["subscribe"];
  /** The requested route that would discard the user's changes, or undefined if there is none. */
  readonly wanted = writable<string | undefined>();
  readonly #unsaved = new Set<() => boolean>();
  #shown: string;

  constructor(window: RouteWindow) {
    this.#window = window;
    this.#shown = window.location.hash;
    this.#route = writable(routeOf(this.#shown));
    this.subscribe = this.#route.subscribe;
    window.addEventListener("hashchange", () => this.#changed());
    window.addEventListener("beforeunload", (event) => {
      if (this.isUnsaved) event.preventDefault();
    });
  }

  /** Whether there are unsaved changes. */
  get isUnsaved(): boolean {
    return [...this.#unsaved].some((isUnsaved) => isUnsaved());
  }

  /**
   * Requires confirmation before changes are lost.
   * @param isUnsaved returns whether there are unsaved changes.
   * @returns a function that ends the protection.
   */
  protect(isUnsaved: () => boolean): () => void {
    this.#unsaved.add(isUnsaved);
    return () => void this.#unsaved.delete(isUnsaved);
  }

  /** Navigates to a route, discarding the changes. */
  leave(wanted: string): void {
    this.#unsaved.clear();
    this.wanted.set(undefined);
    this.#window.location.hash = wanted;
  }

  #changed(): void {
    const { hash } = this.#window.location;
    if (hash === this.#shown) return;
    if (this.isUnsaved) {
      this.#window.history.pushState(null, "", this.#shown || "#/");
      this.wanted.set(hash);
      return;
    }
    this.#shown = hash;
    this.#route.set(routeOf(hash));
  }
}
