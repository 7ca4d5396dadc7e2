import { readable, type Readable, writable, type Writable } from "svelte/store";
import type { LiveState, SentRoom } from "../../client/index.js";

/** Which page is shown: the words of the address behind `#/`. */
export type Route = readonly string[];

/** The route of a `#`, such as `#/rooms/abc`; empty for the first page. */
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

/** Whether a route is the host view of a room. */
export const isHostView = ([page, , part]: Route): boolean => page === "rooms" && part === "host";

/** A link to a page within this one. */
export const linkTo = (...words: string[]): string =>
  `#/${words.map(encodeURIComponent).join("/")}`;

/** The route of a window, as it changes. */
export const routes = (window: Window): Readable<Route> =>
  readable(routeOf(window.location.hash), (set) => {
    const update = () => set(routeOf(window.location.hash));
    update();
    window.addEventListener("hashchange", update);
    return () => window.removeEventListener("hashchange", update);
  });

/** The place beside the list of rooms. */
export type Place =
  | { readonly is: "room"; readonly room: SentRoom }
  /** A room that does not exist, or not for this user. */
  | { readonly is: "gone" }
  /** The event has no room. */
  | { readonly is: "empty" }
  /** All rooms as cards. */
  | { readonly is: "lobby" }
  /** The direct messages; `channel` is the conversation that is open. */
  | { readonly is: "messages"; readonly channel?: string }
  | { readonly is: "profile" }
  /** The program, or one session of it. */
  | { readonly is: "program"; readonly session?: string };

/** The place of a route. An invalid route shows the lobby, or the only room. */
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
 * The address of the place of a route, if it is not the route itself. The only room keeps
 * its visitors when it is no longer the only one.
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

/** The channel that is open in a place; the channel of a room has the room's id. */
export function openChannel(place: Place): string | undefined {
  if (place.is === "room") return place.room.id;
  return place.is === "messages" ? place.channel : undefined;
}

/** How many mentions and direct messages are new. */
export const notificationCount = (state: LiveState | undefined): number =>
  Object.values(state?.notificationCounts ?? {}).reduce((sum, count) => sum + count, 0);

/**
 * The title of the window, such as `(3) Hall · Conference`.
 * @param names from the narrowest to the widest; empty ones and repetitions are left out.
 */
export function windowTitle(count: number, ...names: (string | undefined)[]): string {
  const title = [...new Set(names)].filter(Boolean).join(" · ");
  return count > 0 ? `(${count}) ${title}` : title;
}

/** The part of a window that a route needs. */
export type RouteWindow = Pick<Window, "addEventListener"> & {
  readonly location: Pick<Location, "hash">;
  readonly history: Pick<History, "pushState">;
};

/** The route of a window, which stays as long as there is something unsaved. */
export class GuardedRoute implements Readable<Route> {
  readonly #window: RouteWindow;
  readonly #route: Writable<Route>;
  readonly subscribe: Readable<Route>["subscribe"];
  /** The route that would lose the user's changes; undefined without one. */
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

  /** Whether there is something unsaved. */
  get isUnsaved(): boolean {
    return [...this.#unsaved].some((isUnsaved) => isUnsaved());
  }

  /**
   * Asks from now on before changes are lost.
   * @param isUnsaved whether there are any.
   * @returns ends it.
   */
  protect(isUnsaved: () => boolean): () => void {
    this.#unsaved.add(isUnsaved);
    return () => void this.#unsaved.delete(isUnsaved);
  }

  /** Goes to that route, and loses the changes. */
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
