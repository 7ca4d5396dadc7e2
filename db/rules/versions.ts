import { hash } from "node:crypto";
import type { Versioned } from "../contract/store.js";

/** The length of a version in characters of base64url: 132 bits of a SHA-256. */
const LENGTH = 22;

/**
 * Makes a record. Its JSON and its version are computed at their first use: most
 * records that are read while others are written are never sent.
 * @param value is frozen already.
 * @param toJson gives the value as compact JSON, the same on every engine.
 * @param state a number that the version also depends on. For a record it is the
 *   revision: a change and its reversal then give a new version. For a page it is
 *   the count, which the JSON does not contain.
 */
export const versioned = <T>(
  value: T,
  toJson: () => string,
  state: number,
): Versioned<T> => new VersionedValue(value, toJson, state);

class VersionedValue<T> implements Versioned<T> {
  readonly #toJson: () => string;
  readonly #state: number;
  #json: string | undefined;
  #version: string | undefined;

  constructor(
    readonly value: T,
    toJson: () => string,
    state: number,
  ) {
    this.#toJson = toJson;
    this.#state = state;
    Object.freeze(this);
  }

  get json(): string {
    return (this.#json ??= this.#toJson());
  }

  get version(): string {
    return (this.#version ??= digest(`${this.#state} ${this.json}`));
  }
}

const digest = (text: string) =>
  hash("sha256", text, "base64url").slice(0, LENGTH);

/** Freezes a value with all that it holds. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
