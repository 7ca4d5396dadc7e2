import { csvCell } from "../../schemas/plain/csv.js";
import { writable, type Readable } from "svelte/store";
import type { Shelf } from "../lib/storage.js";
import { fingerprintOf, type SigningKey } from "./signing.js";

/** The contents of a new token. */
export interface LinkOptions {
  readonly uid: string;
  /** Empty for none. */
  readonly name: string;
  readonly traits: readonly string[];
  /** In seconds since 1970. */
  readonly expires: number;
}

/** A link that was made in this browser. The token is not kept. */
export interface MadeLink extends LinkOptions {
  /** The fingerprint of the key that signed it. */
  readonly key: string;
  /** In seconds since 1970. */
  readonly madeAt: number;
}

/** A random user id, for a person without one. */
export const freshUid = (kind: "guest" | "host" = "guest"): string =>
  `${kind}-${Array.from(crypto.getRandomValues(new Uint8Array(5)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("")}`;

/** A table as CSV (RFC 4180). No cell begins a formula in a spreadsheet. */
export const csvOf = (rows: readonly (readonly string[])[]): string =>
  rows
    .map((row) => row.map(csvCell).join(","))
    .map((line) => `${line}\r\n`)
    .join("");

/** How many links are remembered. */
const KEPT = 1000;

/** The links that were made in this browser, the newest first. */
export class MadeLinks implements Readable<readonly MadeLink[]> {
  readonly #shelf: Shelf;
  readonly #key: string;
  readonly #all = writable<readonly MadeLink[]>([]);
  readonly subscribe = this.#all.subscribe;

  constructor(shelf: Shelf, world: string) {
    this.#shelf = shelf;
    this.#key = `foyer:${world}:console:links`;
    this.#all.set(this.#read());
  }

  add(list: readonly LinkOptions[], key: SigningKey, madeAt: number): void {
    const fingerprint = fingerprintOf(key.secret);
    const made = list.map((it) => ({ ...it, key: fingerprint, madeAt }));
    // Another tab may have added some.
    this.#write([...made.toReversed(), ...this.#read()].slice(0, KEPT));
  }

  /** The unexpired links that a key signed. */
  signedBy(secret: string, now: number): MadeLink[] {
    const key = fingerprintOf(secret);
    return this.#read().filter((it) => it.key === key && it.expires > now);
  }

  forget(link: MadeLink): void {
    const is = JSON.stringify(link);
    this.#write(this.#read().filter((it) => JSON.stringify(it) !== is));
  }

  forgetAll(): void {
    this.#write([]);
  }

  #read(): MadeLink[] {
    try {
      const list: unknown = JSON.parse(this.#shelf.getItem(this.#key) ?? "[]");
      return Array.isArray(list) ? list.filter(isMadeLink) : [];
    } catch {
      return [];
    }
  }

  #write(links: MadeLink[]): void {
    this.#shelf.setItem(this.#key, JSON.stringify(links));
    this.#all.set(links);
  }
}

const isMadeLink = (value: unknown): value is MadeLink => {
  const { uid, name, traits, expires, key, madeAt } = (value ?? {}) as Partial<MadeLink>;
  return (
    [uid, name, key].every((text) => typeof text === "string") &&
    Array.isArray(traits) &&
    [expires, madeAt].every((time) => typeof time === "number")
  );
};
