import { writable, type Readable } from "svelte/store";

/** A short message that goes away. */
export interface Notice {
  readonly id: number;
  readonly kind: "info" | "error";
  readonly text: string;
  /** A page within this one that it is about. */
  readonly href?: string;
}

/** How long a notice stays, in milliseconds. Errors stay until they are closed, or the page changes. */
const STAY = 2500;

/** The notices of a page. */
export class Notices implements Readable<readonly Notice[]> {
  readonly #all = writable<readonly Notice[]>([]);
  readonly subscribe = this.#all.subscribe;
  #last = 0;

  info(text: string, href?: string): void {
    const id = this.#add("info", text, href);
    setTimeout(() => this.close(id), STAY);
  }

  error(text: string): void {
    this.#add("error", text);
  }

  /** The page changed: they were about the one before. */
  clear(): void {
    this.#all.set([]);
  }

  close(id: number): void {
    this.#all.update((all) => all.filter((notice) => notice.id !== id));
  }

  #add(kind: Notice["kind"], text: string, href?: string): number {
    const id = ++this.#last;
    // The same words twice say no more than once.
    this.#all.update((all) => [
      ...all.filter((notice) => notice.text !== text).slice(-3),
      { id, kind, text, ...(href !== undefined && { href }) },
    ]);
    return id;
  }
}
