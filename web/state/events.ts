import type { Shelf } from "../lib/storage.js";
import { claimsOf } from "./identity.js";

// The events of a server that this browser has a link to the console for.

export interface KnownEvent {
  /** The id of its world. */
  readonly id: string;
  readonly title: string;
}

const TOKEN = /^foyer:([a-z0-9][a-z0-9-]{0,49}):console:token$/;
const titleOf = (id: string) => `foyer:${id}:console:title`;

/** Remembers what an event is called, for when another one is open. */
export function keepTitle(shelf: Shelf, id: string, title: string): void {
  if (shelf.getItem(titleOf(id)) !== title) shelf.setItem(titleOf(id), title);
}

/**
 * The events whose link has not expired, by their titles.
 * @param names of all items on the shelf.
 * @param now in milliseconds since 1970.
 */
export const knownEvents = (shelf: Shelf, names: readonly string[], now: number): KnownEvent[] =>
  names
    .flatMap((name) => {
      const id = TOKEN.exec(name)?.[1];
      const token = id && shelf.getItem(name);
      const exp = token ? claimsOf(token)?.["exp"] : undefined;
      if (!id || typeof exp !== "number" || exp * 1000 <= now) return [];
      return [{ id, title: shelf.getItem(titleOf(id)) ?? id }];
    })
    .sort((a, b) => a.title.localeCompare(b.title));
