import { writable, type Readable } from "svelte/store";
import type { Shelf } from "../lib/storage.js";

/** How many dismissals are kept: there are few announcements at a time. */
const KEPT = 200;

/** What was dismissed in this browser: announcements, or cards of polls. */
export class Dismissals implements Readable<ReadonlySet<string>> {
  readonly #shelf: Shelf;
  readonly #key: string;
  readonly #store;
  readonly subscribe: Readable<ReadonlySet<string>>["subscribe"];

  constructor(shelf: Shelf, world: string, kind?: "polls") {
    this.#shelf = shelf;
    this.#key = `foyer:${world}:attend:dismissed${kind ? `:${kind}` : ""}`;
    this.#store = writable<ReadonlySet<string>>(new Set(this.#kept()));
    this.subscribe = this.#store.subscribe;
  }

  dismiss(id: string): void {
    // Other windows dismiss as well, so it is read again.
    const all = [...this.#kept().filter((it) => it !== id), id].slice(-KEPT);
    this.#shelf.setItem(this.#key, all.join(" "));
    this.#store.set(new Set(all));
  }

  #kept(): string[] {
    return (this.#shelf.getItem(this.#key) ?? "").split(" ").filter(Boolean);
  }
}
