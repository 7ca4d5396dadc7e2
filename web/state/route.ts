import { readable, type Readable } from "svelte/store";

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
