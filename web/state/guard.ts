import { writable, type Readable, type Writable } from "svelte/store";
import { routeOf, type Route } from "./route.js";

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
